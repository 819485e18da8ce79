//! A controller that speaks to a switch in the same thread.

use node::{Frame, Node, Out, Port, Time};
use openflow::message::{FlowCommand, FlowMod, Message, MultipartReply, decode};
use openflow::oxm::Oxm;
use openflow::switch::{Config, Switch};
use openflow::version::Version;
use packet::segment::{Kind, MAX_DATA_LEN, Segment};

const CONNECTION: u32 = 1;

/// Replies that have come, by type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replies {
    pub errors: u64,
    pub barriers: u64,
    pub statistics: u64,
    /// Parts of an answer that said that more follows.
    pub more: u64,
    /// Flow statistics in them.
    pub flows: u64,
}

pub struct Remote {
    pub switch: Switch,
    pub out: Out,
    control: Port,
    pub now: Time,
    pub version: Version,
    sent: u32,
    taken: u32,
    /// What has come and is not worked through.
    received: Vec<u8>,
    spare: Vec<Frame>,
    /// Room for frames that arrive together.
    pub frames: Vec<Frame>,
    pub replies: Replies,
    /// Frames that have left by data ports.
    pub forwarded: u64,
    /// Whether replies are read as well as counted.
    pub reads: bool,
}

impl Remote {
    pub fn new(version: Version) -> Remote {
        Remote::with_ports(version, 4)
    }

    /// To a switch of so many data ports; its listener is behind them.
    pub fn with_ports(version: Version, ports: u16) -> Remote {
        let config = Config {
            ports,
            controllers: 0,
            listeners: 1,
            protocols: vec![version],
            seed: 0x5EED_0F5E_ED00,
            ..Config::default()
        };
        let mut remote = Remote {
            switch: Switch::new(config).expect("a good configuration"),
            control: Port(ports),
            out: Out::default(),
            now: Time::from_us(1),
            version,
            sent: 0,
            taken: 0,
            received: Vec::new(),
            spare: Vec::new(),
            frames: Vec::new(),
            replies: Replies::default(),
            forwarded: 0,
            reads: false,
        };
        remote.segment(Kind::Open, 0, b"");
        remote.collect();
        remote.send(&[version.wire(), 0, 0, 8, 0, 0, 0, 0]);
        remote
    }

    fn segment(&mut self, kind: Kind, count: u32, bytes: &[u8]) {
        let segment = Segment {
            kind,
            connection: CONNECTION,
            count,
            bytes,
        };
        let mut frame = self.out.frame();
        frame.extend(&segment.header());
        frame.extend(bytes);
        self.frames.push(frame);
        let (now, frames) = (self.now, &mut self.frames);
        self.switch.frames(now, self.control, frames, &mut self.out);
    }

    /// Sends whole messages, and takes the replies.
    pub fn send(&mut self, messages: &[u8]) {
        for bytes in messages.chunks(MAX_DATA_LEN) {
            self.segment(Kind::Data, self.sent, bytes);
            self.sent = self.sent.wrapping_add(bytes.len() as u32);
            self.collect();
        }
    }

    /// Takes what the switch has sent, until it has no more to say.
    pub fn collect(&mut self) {
        loop {
            let mut spare = std::mem::take(&mut self.spare);
            let mut some = false;
            for departure in self.out.sends() {
                if departure.port != self.control {
                    self.forwarded += 1;
                } else if let Ok(segment) = Segment::read(&departure.frame)
                    && segment.kind == Kind::Data
                {
                    self.received.extend_from_slice(segment.bytes);
                    self.taken = self.taken.wrapping_add(segment.bytes.len() as u32);
                    some = true;
                }
                spare.push(departure.frame);
            }
            spare.drain(..).for_each(|frame| self.out.done(frame));
            self.spare = spare;
            if !some {
                return;
            }
            self.walk();
            self.segment(Kind::Acknowledge, self.taken, b"");
        }
    }

    fn walk(&mut self) {
        let mut at = 0;
        while let Some(&[_, kind, high, low]) = self.received[at..].first_chunk::<4>() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            let Some(message) = self.received.get(at..at + length) else {
                break;
            };
            let (barrier, statistics) = match self.version {
                Version::V10 => (19, 17),
                Version::V13 => (21, 19),
            };
            match kind {
                1 => self.replies.errors += 1,
                kind if kind == barrier => self.replies.barriers += 1,
                kind if kind == statistics => {
                    self.replies.statistics += 1;
                    self.replies.more += u64::from(message[11] & 1);
                    if self.reads
                        && let Ok((_, Message::MultipartReply(reply))) = decode(message)
                        && let MultipartReply {
                            body: openflow::message::Answer::Flow(flows),
                            ..
                        } = reply
                    {
                        self.replies.flows += flows.len() as u64;
                    }
                }
                _ => {}
            }
            at += length;
        }
        self.received.drain(..at);
    }

    /// Whether a frame leaves by a data port.
    pub fn forwards(&mut self, frame: &[u8]) -> bool {
        let before = self.forwarded;
        self.frames.push(self.out.pool().take_with(frame));
        let (now, frames) = (self.now, &mut self.frames);
        self.switch.frames(now, Port(0), frames, &mut self.out);
        self.collect();
        self.forwarded > before
    }
}

/// Appends a flow-mod that has packets leave by a port.
pub fn change(
    version: Version,
    command: FlowCommand,
    (fields, priority): &(Vec<Oxm>, u16),
    port: u32,
    out: &mut Vec<u8>,
) {
    use openflow::action::{Action, NO_BUFFER};
    use openflow::instruction::Instruction;
    let actions = [Action::Output {
        port: openflow::port::PortNo(port),
        max_len: NO_BUFFER,
    }];
    let instructions = [Instruction::ApplyActions((&actions).into())];
    let flow = FlowMod {
        command,
        matching: openflow::matching::Match::new(&fields[..]),
        priority: *priority,
        instructions: match command.is_delete() {
            true => openflow::list::List::EMPTY,
            false => (&instructions).into(),
        },
        ..FlowMod::default()
    };
    Message::FlowMod(flow)
        .encode(version, 7, out)
        .expect("a flow-mod that there is");
}
