//! A switch that two controllers and the wire speak to at will: messages that are whole, half valid or noise, packets, links that
//! go, and time. What it keeps stays bounded, what it says can be read, and it goes on.

use node::event::What;
use node::{Event, Frame, Node, Out, Port, Time};
use openflow::message::{Version, decode};
use openflow::switch::{Config, FailMode, QueueConfig, Switch};
use packet::segment::{Kind, Segment};

const PORTS: u16 = 4;
/// Maximum number of bytes that wait for controllers that read nothing. Packet-ins stop at 128 KiB;
/// answers are not limited.
const MAX_UNREAD_BYTES: usize = 64 << 20;

struct Bench {
    switch: Switch,
    now: Time,
    out: Out,
    /// Bytes sent to the switch and received from it, of each control connection.
    sent: [u32; 2],
    taken: [u32; 2],
    stream: [Vec<u8>; 2],
    told: usize,
}

impl Bench {
    fn new() -> Bench {
        let config = Config {
            ports: PORTS,
            controllers: 1,
            listeners: 1,
            tables: 4,
            flows: 64,
            eviction: true,
            buffers: 4,
            fail_mode: FailMode::Standalone,
            queues: vec![QueueConfig {
                port: 2,
                queue: 1,
                min_rate: Some(100),
                max_rate: Some(500),
            }],
            ..Config::default()
        };
        let mut bench = Bench {
            switch: Switch::new(config).expect("a good configuration"),
            now: Time::ZERO,
            out: Out::default(),
            sent: [0; 2],
            taken: [0; 2],
            stream: Default::default(),
            told: 0,
        };
        bench.pass(Time::ZERO);
        bench
    }

    /// A frame of the control connection.
    fn segment(&mut self, control: usize, kind: Kind, count: u32, bytes: &[u8]) {
        let mut frame = Vec::new();
        Segment {
            kind,
            connection: 0,
            count,
            bytes,
        }
        .write(&mut frame);
        let port = Port(PORTS + control as u16);
        self.switch
            .frames(self.now, port, &mut vec![Frame::new(&frame)], &mut self.out);
        self.settle();
    }

    fn say(&mut self, control: usize, bytes: &[u8]) {
        for piece in bytes.chunks(packet::segment::MAX_DATA_LEN) {
            let count = self.sent[control];
            self.sent[control] = count.wrapping_add(piece.len() as u32);
            self.segment(control, Kind::Data, count, piece);
        }
    }

    /// What has left by now: frames by ports that there are, segments, and in them messages.
    fn settle(&mut self) {
        let departures: Vec<_> = self.out.sends().collect();
        for departure in departures {
            let Some(control) = departure.port.0.checked_sub(PORTS).map(usize::from) else {
                assert!(departure.frame.len() <= node::frame::MAX_FRAME_LEN);
                continue;
            };
            let segment = Segment::read(&departure.frame).expect("a segment");
            match segment.kind {
                Kind::Open => self.reset(control, segment.connection),
                Kind::Close => self.stream[control].clear(),
                Kind::Data => {
                    self.told += segment.bytes.len();
                    assert!(self.told < MAX_UNREAD_BYTES);
                    self.stream[control].extend(segment.bytes);
                    self.taken[control] =
                        self.taken[control].wrapping_add(segment.bytes.len() as u32);
                    self.read(control);
                }
                Kind::Acknowledge => {}
            }
        }
    }

    fn reset(&mut self, control: usize, _connection: u32) {
        self.sent[control] = 0;
        self.taken[control] = 0;
        self.stream[control].clear();
    }

    fn read(&mut self, control: usize) {
        let stream = &mut self.stream[control];
        while let Some(&[_, _, high, low]) = stream.first_chunk::<4>() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            assert!(length >= 8);
            if stream.len() < length {
                return;
            }
            decode(&stream[..length]).expect("a switch's messages are well formed");
            stream.drain(..length);
        }
    }

    /// Lets time pass.
    fn pass(&mut self, time: Time) {
        let end = self.now + time;
        for _ in 0..200 {
            self.settle();
            match self.switch.next_wake() {
                Some(at) if at <= end => {
                    self.now = self.now.max(at);
                    self.switch.wake(self.now, &mut self.out);
                }
                _ => break,
            }
        }
        self.settle();
        self.now = end;
    }
}

/// A step: what, a byte for it, a length, and so many bytes.
pub fn target(data: &[u8]) {
    let mut bench = Bench::new();
    // The one that it dials has answered, the other one opens.
    for control in 0..2 {
        bench.segment(control, Kind::Open, 0, b"");
    }
    let version = match data.first() {
        Some(byte) if byte % 2 == 0 => Version::V10,
        _ => Version::V13,
    };
    for (control, hello) in [version, Version::V13].into_iter().enumerate() {
        bench.say(control, &[hello.wire(), 0, 0, 8, 0, 0, 0, 1]);
    }
    let mut rest = data.get(1..).unwrap_or_default();
    let mut steps = 0;
    while let Some((&[what, byte, length], behind)) = rest.split_first_chunk() {
        let (bytes, behind) = behind.split_at(behind.len().min(length.into()));
        rest = behind;
        steps += 1;
        if steps > 500 {
            break;
        }
        let control = usize::from(what >> 7);
        match what % 8 {
            0 => bench.pass(Time::from_ms(u64::from(byte) * 40)),
            1 => {
                let (at, port, what) = (
                    bench.now,
                    Port(u16::from(byte % 8)),
                    What::Link(byte >= 128),
                );
                bench
                    .switch
                    .event(at, &Event { at, port, what }, &mut bench.out);
            }
            2 | 3 => {
                let port = Port(u16::from(byte) % PORTS);
                bench.switch.frames(
                    bench.now,
                    port,
                    &mut vec![Frame::new(bytes)],
                    &mut bench.out,
                );
            }
            // The far end takes what it got.
            4 => {
                let count = bench.taken[control];
                bench.segment(control, Kind::Acknowledge, count, &[]);
            }
            5 if byte == 7 => bench.segment(control, Kind::Close, 0, b"bye"),
            5 if byte == 8 => {
                bench.segment(control, Kind::Open, 0, b"again");
                bench.reset(control, 0);
                bench.say(control, &[4, 0, 0, 8, 0, 0, 0, 1]);
            }
            // As it is: seldom a message.
            5 => bench.say(control, bytes),
            // A message of this type whose header is right.
            _ => {
                let version = if control == 0 { version } else { Version::V13 };
                let [high, low] = (8 + bytes.len() as u16).to_be_bytes();
                let header = [version.wire(), byte % 32, high, low, 0, 0, 0, steps as u8];
                bench.say(control, &[&header, bytes].concat());
            }
        }
        bench.settle();
    }
    bench.pass(Time::from_secs(1));
    assert!(bench.switch.statistics().get("flows") <= Some(4 * 64));
}
