//! Answers to `wire trace`: a tracer that awaits a probe's answer takes any frame, and what it then writes as an archive is read again.
//! The first byte chooses version, protocol and algorithm, the others are the frames, each after its length. Some are put behind the
//! headers of an ICMP error about a probe of the tracer, with right checksums, so that quotes and extensions are read.

use ip::header::{self, ETHERNET};
use node::{Frame, Node, Out, Port, Time};
use packet::checksum::checksum;
use std::net::IpAddr;
use std::time::Duration;
use trace::Algorithm;
use trace::archive::{self, About};
use trace::graph::MAX_WIDTH;
use trace::labels::Labels;
use trace::probe::Protocol;
use trace::tracer::{Config, Trace};
use trace::warts;

/// Number of frames of one input.
const FRAMES: usize = 64;
const ROUTER: [u8; 6] = [2; 6];

pub fn target(data: &[u8]) {
    let Some((choice, mut rest)) = data.split_first() else {
        return;
    };
    for is_v4 in [true, false] {
        let _ = Labels::read(rest, is_v4);
    }
    let is_v4 = choice & 1 == 0;
    let address = |four: [u8; 4], six: u16| -> IpAddr {
        match is_v4 {
            true => four.into(),
            false => [0x2001, 0xDB8, 0, 0, 0, 0, 0, six].into(),
        }
    };
    let mut trace = Trace::new(Config {
        source: address([198, 18, 0, 1], 1),
        target: address([198, 18, 0, 2], 2),
        protocol: [Protocol::Udp, Protocol::Icmp, Protocol::Tcp][usize::from(choice >> 1) % 3],
        algorithm: [Algorithm::Paris, Algorithm::MdaLite][usize::from(choice >> 4) % 2],
        rate: 1_000_000,
        max_hops: 8,
        ..Config::default()
    })
    .expect("a good configuration");
    trace.keep_log(1_000);
    let mut world = World {
        now: Time::from_us(1),
        probe: Vec::new(),
        out: Out::default(),
    };
    world.resolve(&mut trace, is_v4);
    for _ in 0..FRAMES {
        let Some((length, after)) = rest.split_first() else {
            break;
        };
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let frame = match length & 1 {
            0 => Frame::new(content),
            _ => world.error(content, is_v4),
        };
        world.give(&mut trace, frame);
    }
    let widest = trace
        .graph()
        .hops()
        .map(|(_, hop)| hop.vertices.len())
        .max();
    assert!(widest.unwrap_or(0) <= MAX_WIDTH);
    let about = About {
        epoch: Duration::from_secs(1),
        end: world.now,
        host: "",
    };
    let file = archive::file(&trace, &about).expect("few probes");
    assert!(warts::records(&file.bytes).all(|record| record.is_ok()));
}

struct World {
    now: Time,
    /// The last probe.
    probe: Vec<u8>,
    out: Out,
}

impl World {
    /// Lets the tracer send until it awaits an answer, and keeps the last probe.
    fn wake(&mut self, trace: &mut Trace) {
        self.now += Time::from_us(1);
        trace.wake(self.now, &mut self.out);
        for departure in self.out.sends() {
            if departure.frame[..6] == ROUTER {
                self.probe = departure.frame.to_vec();
            }
        }
    }

    fn give(&mut self, trace: &mut Trace, mut frame: Frame) {
        self.wake(trace);
        self.now += Time::from_us(1);
        frame.set_arrived(self.now);
        trace.frames(self.now, Port(0), &mut vec![frame], &mut self.out);
        self.wake(trace);
    }

    /// Answers the tracer's question for the MAC address of the target.
    fn resolve(&mut self, trace: &mut Trace, is_v4: bool) {
        let own = trace.config().mac.0;
        trace.wake(self.now, &mut self.out);
        let mut neighbour = ip::Interface::new(ip::Config {
            mac: ROUTER,
            addresses: [trace.config().target.into()].into(),
            ..ip::Config::default()
        });
        let questions: Vec<_> = self.out.sends().collect();
        let mut answers = Out::default();
        for question in questions {
            neighbour.handle_frame(self.now, question.frame, &mut answers);
        }
        for mut answer in answers.sends().collect::<Vec<_>>() {
            answer.frame[..6].copy_from_slice(&own);
            trace.frames(self.now, Port(0), &mut vec![answer.frame], &mut self.out);
        }
        assert!(trace.is_resolved(), "{is_v4}");
    }

    /// An ICMP error about the last probe: type, code and the four bytes after the checksum from the content, then the probe, of which a
    /// byte may be changed, padding to 128 bytes, and the rest of the content.
    fn error(&self, content: &[u8], is_v4: bool) -> Frame {
        let mut head = [0; 8];
        let count = content.len().min(head.len());
        head[..count].copy_from_slice(&content[..count]);
        let quoted = self.probe.get(ETHERNET..).unwrap_or_default();
        let mut message = vec![head[0], head[1], 0, 0, head[2], head[3], head[4], head[5]];
        message.extend(quoted);
        if let Some(byte) = message.get_mut(8 + usize::from(head[6])) {
            *byte ^= head[7];
        }
        message.resize(136, 0);
        message.extend(content.get(8..).unwrap_or_default());
        let (router, source): (IpAddr, IpAddr) = match is_v4 {
            true => ([10, 0, 0, head[1]].into(), [198, 18, 0, 1].into()),
            false => (
                [0xFE80, 0, 0, 0, 0, 0, 0, u16::from(head[1])].into(),
                [0x2001, 0xDB8, 0, 0, 0, 0, 0, 1].into(),
            ),
        };
        let at = ETHERNET + header::length(router);
        let mut frame = Frame::new(&vec![0; at + message.len()]);
        let protocol = if is_v4 { header::ICMP } else { header::ICMPV6 };
        header::write(&mut frame, router, source, protocol);
        frame[..6].copy_from_slice(&Config::default().mac.0);
        let sum = match is_v4 {
            true => checksum(&message),
            false => {
                let pseudo = header::pseudo(router, source, protocol).sum(message.len());
                pseudo.plus(&message).checksum()
            }
        };
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        frame[at..].copy_from_slice(&message);
        frame
    }
}
