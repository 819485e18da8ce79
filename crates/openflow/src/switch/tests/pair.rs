//! A switch and whoever stands in for its controller, with a clock moved by hand.

use crate::channel::{Channels, Event, Peer, Settings};
use crate::handshake::Handshake;
use crate::message::{Header, Message, decode};
use crate::switch::{Config, Switch};
use crate::version::Version;
use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Time};

/// A switch of four ports with one controller, which has said hello.
pub struct Pair {
    pub switch: Switch,
    pub now: Time,
    version: Version,
    channels: Channels,
    peer: Option<Peer>,
    /// Messages to the controller.
    pub got: Vec<Vec<u8>>,
    /// Frames that left, by port.
    pub sent: Vec<(u16, Vec<u8>)>,
    out: Out,
    xid: u32,
}

impl Pair {
    pub fn new(version: Version) -> Pair {
        Pair::with(version, Config::default())
    }

    pub fn with(version: Version, config: Config) -> Pair {
        let mut pair = Pair {
            switch: Switch::new(config).unwrap(),
            now: Time::ZERO,
            version,
            channels: Channels::new(Settings::default()),
            peer: None,
            got: Vec::new(),
            sent: Vec::new(),
            out: Out::default(),
            xid: 100,
        };
        pair.pass(Time::ZERO);
        assert!(pair.peer.is_some());
        pair.got.clear();
        pair
    }

    /// Lets time pass, and takes down what the switch did.
    pub fn pass(&mut self, time: Time) {
        let end = self.now + time;
        loop {
            self.settle();
            match self.switch.next_wake() {
                Some(at) if at <= end => {
                    self.now = self.now.max(at);
                    self.switch.wake(self.now, &mut self.out);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    /// Passes frames on until none are left.
    fn settle(&mut self) {
        let first = Switch::ports(&self.switch) as u16 - 1;
        loop {
            let sends: Vec<_> = self.out.sends().collect();
            if sends.is_empty() {
                return;
            }
            for departure in sends {
                if departure.port.0 < first {
                    self.sent.push((departure.port.0, departure.frame.to_vec()));
                } else {
                    self.control(departure.frame);
                }
            }
        }
    }

    /// The controller's side takes a segment.
    fn control(&mut self, frame: Frame) {
        let mut answers = Out::default();
        let mut batch = self.channels.frame(self.now, Port(0), frame);
        while let Some(event) = batch.next(&mut self.channels) {
            match event {
                Event::Opened(peer) => {
                    self.peer = Some(peer);
                    let mut hello = Vec::new();
                    Handshake::new(&[self.version]).hello(1, &mut hello);
                    self.channels.send(peer, &hello);
                }
                Event::Message(peer, bytes) => {
                    if bytes[1] == 0 {
                        self.channels.agreed(peer, self.version.wire());
                    } else {
                        self.got.push(bytes.to_vec());
                    }
                }
                Event::Closed(..) => self.peer = None,
            }
        }
        self.channels.finish(batch, &mut answers);
        self.deliver(&mut answers);
    }

    fn deliver(&mut self, answers: &mut Out) {
        let control = Port(Switch::ports(&self.switch) as u16 - 1);
        for departure in answers.sends() {
            self.switch
                .frame(self.now, control, departure.frame, &mut self.out);
        }
    }

    /// Sends a message, and gives its xid.
    pub fn send(&mut self, message: &Message<'_>) -> u32 {
        self.xid += 1;
        let mut bytes = Vec::new();
        message.encode(self.version, self.xid, &mut bytes).unwrap();
        self.send_bytes(&bytes);
        self.xid
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.channels.send(self.peer.unwrap(), bytes);
        let mut answers = Out::default();
        self.channels.flush(&mut answers);
        self.deliver(&mut answers);
        self.settle();
    }

    /// A frame comes in by an OpenFlow port; what left because of it.
    pub fn receive(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.sent.clear();
        self.switch
            .frame(self.now, Port(port - 1), Frame::new(frame), &mut self.out);
        self.settle();
        let sent = core::mem::take(&mut self.sent);
        sent.into_iter()
            .map(|(port, frame)| (port + 1, frame))
            .collect()
    }

    /// The ports by which a frame leaves.
    pub fn ports(&mut self, port: u16, frame: &[u8]) -> Vec<u16> {
        self.receive(port, frame)
            .iter()
            .map(|(port, _)| *port)
            .collect()
    }

    /// Shows the messages since the last time.
    pub fn messages(&mut self, mut show: impl FnMut(&Header, &Message<'_>)) {
        for bytes in core::mem::take(&mut self.got) {
            let (header, message) = decode(&bytes).unwrap();
            show(&header, &message);
        }
    }

    /// The error that answers a message; `None` if all went well.
    pub fn fault(&mut self, message: &Message<'_>) -> Option<crate::fault::Fault> {
        let version = self.version;
        let xid = self.send(message);
        let mut fault = None;
        self.messages(|header, message| {
            if let Message::Error(error) = message {
                assert_eq!(header.xid, xid);
                fault = crate::fault::Fault::from_wire(version, error.kind, error.code);
            }
        });
        fault
    }
}
