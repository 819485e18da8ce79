//! A switch and whoever stands in for its controllers, with a clock moved by hand.

use crate::channel::{Channels, Event, Peer, Settings};
use crate::handshake::Handshake;
use crate::message::{Header, Message, decode};
use crate::switch::{Config, Switch};
use crate::version::Version;
use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Time};
use packet::segment::{Kind, Segment};

/// A switch with its controllers, which have said hello. One of them speaks.
pub struct Pair {
    pub switch: Switch,
    pub now: Time,
    version: Version,
    channels: Channels,
    /// By controller; those of one with auxiliary connections stand together.
    peers: Vec<Option<Peer>>,
    /// Which of them speaks, and is asked what it got.
    pub speaks: usize,
    connections: usize,
    /// The first control port.
    first: u16,
    /// Messages to each.
    got: Vec<Vec<Vec<u8>>>,
    /// Whether controllers take nothing more off their channels, and what is there for them.
    pub stalls: bool,
    unread: Vec<(u16, Frame)>,
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
        let connections = usize::from(config.auxiliary) + 1;
        let count = usize::from(config.controllers) * connections;
        let first = config.ports;
        let mut pair = Pair {
            switch: Switch::new(config).unwrap(),
            now: Time::ZERO,
            version,
            channels: Channels::new(Settings::default()),
            peers: alloc::vec![None; count],
            speaks: 0,
            connections,
            first,
            got: alloc::vec![Vec::new(); count],
            stalls: false,
            unread: Vec::new(),
            sent: Vec::new(),
            out: Out::default(),
            xid: 100,
        };
        pair.pass(Time::ZERO);
        assert!(pair.peers.iter().all(Option::is_some));
        pair.forget();
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
        loop {
            let sends: Vec<_> = self.out.sends().collect();
            if sends.is_empty() {
                return;
            }
            for departure in sends {
                match departure.port.0.checked_sub(self.first) {
                    None => self.sent.push((departure.port.0, departure.frame.to_vec())),
                    Some(controller) if self.stalls => {
                        self.unread.push((controller, departure.frame));
                    }
                    Some(controller) => self.control(controller, departure.frame),
                }
            }
        }
    }

    /// The controller's side takes a segment.
    fn control(&mut self, controller: u16, frame: Frame) {
        let mut answers = Out::default();
        let mut batch = self.channels.frame(self.now, Port(controller), frame);
        while let Some(event) = batch.next(&mut self.channels) {
            match event {
                Event::Opened(peer) => {
                    let number = self.channels.number(peer).unwrap() as usize;
                    let index = usize::from(controller) * self.connections + number;
                    self.peers[index] = Some(peer);
                    let mut hello = Vec::new();
                    Handshake::new(&[self.version]).hello(1, &mut hello);
                    self.channels.send(peer, &hello);
                }
                Event::Message(peer, bytes) => {
                    if bytes[1] == 0 {
                        self.channels.agreed(peer, self.version.wire());
                    } else {
                        let index = self.peers.iter().position(|p| *p == Some(peer)).unwrap();
                        self.got[index].push(bytes.to_vec());
                    }
                }
                Event::Closed(gone, _) => {
                    let place = self.peers.iter_mut().find(|p| **p == Some(gone));
                    *place.unwrap() = None;
                }
            }
        }
        self.channels.finish(batch, &mut answers);
        self.deliver(&mut answers);
    }

    fn deliver(&mut self, answers: &mut Out) {
        for departure in answers.sends() {
            let control = Port(self.first + departure.port.0);
            self.switch.frames(
                self.now,
                control,
                &mut alloc::vec![departure.frame],
                &mut self.out,
            );
        }
    }

    /// The xid of the next message.
    pub fn next_xid(&self) -> u32 {
        self.xid + 1
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
        self.channels.send(self.peers[self.speaks].unwrap(), bytes);
        let mut answers = Out::default();
        self.channels.flush(&mut answers);
        self.deliver(&mut answers);
        self.settle();
    }

    /// A frame comes in by an OpenFlow port; what left because of it.
    pub fn receive(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.sent.clear();
        self.switch.frames(
            self.now,
            Port(port - 1),
            &mut alloc::vec![Frame::new(frame)],
            &mut self.out,
        );
        self.settle();
        let sent = core::mem::take(&mut self.sent);
        sent.into_iter()
            .map(|(port, frame)| (port + 1, frame))
            .collect()
    }

    /// Frames come in by an OpenFlow port, so many at once.
    pub fn receive_lots(&mut self, port: u16, frames: &[Vec<u8>], at_once: usize) {
        for frames in frames.chunks(at_once) {
            let mut lot = frames.iter().map(|frame| Frame::new(frame)).collect();
            self.switch
                .frames(self.now, Port(port - 1), &mut lot, &mut self.out);
            self.settle();
        }
    }

    /// How many frames were dropped, by reason.
    pub fn drops(&self) -> &[(&'static str, u64)] {
        self.out.drops()
    }

    /// The ports by which a frame leaves.
    pub fn ports(&mut self, port: u16, frame: &[u8]) -> Vec<u16> {
        self.receive(port, frame)
            .iter()
            .map(|(port, _)| *port)
            .collect()
    }

    /// Another one speaks.
    pub fn by(&mut self, controller: usize) -> &mut Pair {
        self.speaks = controller;
        self
    }

    /// Whether the one that speaks has a connection.
    pub fn is_connected(&self) -> bool {
        self.peers[self.speaks].is_some()
    }

    /// Ends the connection of the one that speaks.
    pub fn hang_up(&mut self) {
        self.channels
            .close(self.peers[self.speaks].unwrap(), "done");
        let mut answers = Out::default();
        let mut batch = self.channels.wake(self.now);
        while batch.next(&mut self.channels).is_some() {}
        self.channels.finish(batch, &mut answers);
        self.peers[self.speaks] = None;
        self.deliver(&mut answers);
        self.settle();
    }

    /// The link at an OpenFlow port goes or comes.
    pub fn link(&mut self, port: u16, up: bool) {
        let (at, port, what) = (self.now, Port(port - 1), node::event::What::Link(up));
        let event = node::Event { at, port, what };
        self.switch.event(at, &event, &mut self.out);
        self.settle();
    }

    /// The controllers read again what they left in the channel meanwhile. Returns how many of the
    /// messages came too late: the switch had closed their connection.
    pub fn take_up(&mut self) -> usize {
        self.stalls = false;
        let unread = core::mem::take(&mut self.unread);
        let is_close = |frame: &Frame| Segment::read(frame).is_ok_and(|s| s.kind == Kind::Close);
        let last_close = unread.iter().rposition(|(_, frame)| is_close(frame));
        let messages = |pair: &Pair| pair.got.iter().map(Vec::len).sum::<usize>();
        let (before, mut late) = (messages(self), 0);
        for (index, (controller, frame)) in unread.into_iter().enumerate() {
            self.control(controller, frame);
            if Some(index) == last_close {
                late = messages(self) - before;
            }
        }
        self.settle();
        late
    }

    /// The controllers die with all that is in their channels, and begin again.
    pub fn die(&mut self) {
        self.stalls = false;
        self.unread.clear();
        self.channels = Channels::new(Settings::default());
        self.peers.fill(None);
    }

    /// Throws away what all controllers got.
    pub fn forget(&mut self) {
        self.got.iter_mut().for_each(Vec::clear);
    }

    /// How many messages the one that speaks got, none of which was shown.
    pub fn count(&self) -> usize {
        self.got[self.speaks].len()
    }

    /// The messages since the last time, as they came.
    pub fn bytes(&mut self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.got[self.speaks])
    }

    /// Shows the messages since the last time.
    pub fn messages(&mut self, mut show: impl FnMut(&Header, &Message<'_>)) {
        for bytes in core::mem::take(&mut self.got[self.speaks]) {
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
