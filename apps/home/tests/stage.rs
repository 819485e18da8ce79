//! A switch and the control program of a home, with time moved by hand. The test plays devices and the router.

use core::net::{Ipv4Addr, SocketAddrV4};
use dhcp::v4::message::{Header, Kind, Message, REQUEST, Writer, option};
use home::record::Record;
use home::{Change, Home, HomeNode, Settings, Shared};
use node::{Frame, Node, Out, Port, Time};
use openflow::switch::{Config, Switch};
use packet::arp::Arp;
use packet::ethernet::Mac;

/// Data ports of the switch; port 1 leads to the router.
pub const PORTS: u16 = 8;
/// The router's MAC address.
pub const ROUTER: Mac = Mac([2, 0, 0, 0, 9, 9]);
/// The control program's MAC address.
pub const GATEWAY: Mac = Mac([2, 0, 0, 0, 0, 1]);
/// A server on the Internet, and one of DNS.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 80);
/// A server of DNS.
pub const DNS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 53);

/// A frame that left the switch: its port, from 1, and its bytes.
pub type Sent = (u32, Vec<u8>);

pub struct Stage {
    pub now: Time,
    pub home: Shared,
    switch: Switch,
    program: HomeNode,
    outs: [Out; 2],
    sent: Vec<Sent>,
    /// Whether the control channel is connected.
    pub is_connected: bool,
}

/// The MAC address of a device of the test.
pub fn mac(index: u16) -> Mac {
    let [a, b] = index.to_be_bytes();
    Mac([2, 0, 0, 1, a, b])
}

impl Stage {
    pub fn new(home: Home, settings: Settings) -> Stage {
        Stage::with_record(home, settings, Box::new(home::record::NoRecord))
    }

    /// A stage whose program writes rows.
    pub fn with_record(home: Home, settings: Settings, record: Box<dyn Record>) -> Stage {
        let home = home.shared();
        let config = Config {
            ports: PORTS,
            ..Config::default()
        };
        let settings = Settings {
            mac: GATEWAY,
            uplink: 1,
            dns: vec![SocketAddrV4::new(DNS, 53).into()],
            ..settings
        };
        let program = HomeNode::new(home.clone(), settings, record, Vec::new());
        let mut stage = Stage {
            now: Time::ZERO,
            home,
            switch: Switch::new(config).expect("a switch"),
            program,
            outs: Default::default(),
            sent: Vec::new(),
            is_connected: true,
        };
        stage.run(Time::from_secs(2));
        assert!(stage.counter("switches") == 1, "the switch connects");
        stage
    }

    /// Advances time.
    pub fn run(&mut self, time: Time) {
        let until = self.now + time;
        self.settle();
        for _ in 0..1_000_000 {
            let wakes = [self.switch.next_wake(), self.program.next_wake()];
            let Some(next) = wakes.into_iter().flatten().min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            let due = |at: Option<Time>| at.is_some_and(|at| at <= self.now);
            if due(wakes[0]) {
                self.switch.wake(self.now, &mut self.outs[0]);
            }
            if due(wakes[1]) {
                self.program.wake(self.now, &mut self.outs[1]);
            }
            self.settle();
        }
        self.now = until;
    }

    /// Delivers frames between switch and program until none is left, and answers ARP as the router.
    fn settle(&mut self) {
        loop {
            let from_switch: Vec<_> = self.outs[0].sends().collect();
            let from_program: Vec<_> = self.outs[1].sends().collect();
            if from_switch.is_empty() && from_program.is_empty() {
                return;
            }
            for sent in from_switch {
                if sent.port.0 < PORTS {
                    self.leave(u32::from(sent.port.0) + 1, &sent.frame);
                } else if self.is_connected {
                    let frames = &mut vec![sent.frame];
                    self.program
                        .frames(self.now, Port(0), frames, &mut self.outs[1]);
                }
            }
            for sent in from_program {
                if self.is_connected {
                    let frames = &mut vec![sent.frame];
                    self.switch
                        .frames(self.now, Port(PORTS), frames, &mut self.outs[0]);
                }
            }
        }
    }

    fn leave(&mut self, port: u32, frame: &[u8]) {
        let arp = frame.get(14..).and_then(|packet| Arp::parse(packet).ok());
        let gateway = Ipv4Addr::new(10, 2, 0, 1);
        if port == 1
            && frame[12..14] == [8, 6]
            && let Some(arp) = arp.filter(|arp| arp.target == gateway)
        {
            let mut reply = [GATEWAY.0, ROUTER.0].concat();
            reply.extend([8, 6]);
            arp.reply(ROUTER).build(&mut reply);
            let frames = &mut vec![Frame::new(&reply)];
            self.switch
                .frames(self.now, Port(0), frames, &mut self.outs[0]);
            return;
        }
        self.sent.push((port, frame.to_vec()));
    }

    /// Sends a frame into a port of the switch, from 1. Returns the frames that leave the switch.
    pub fn send(&mut self, port: u32, frame: &[u8]) -> Vec<Sent> {
        self.sent.clear();
        let frames = &mut vec![Frame::new(frame)];
        let port = Port(port as u16 - 1);
        self.switch
            .frames(self.now, port, frames, &mut self.outs[0]);
        self.settle();
        core::mem::take(&mut self.sent)
    }

    /// Makes a decision.
    pub fn change(&mut self, mac: Mac, change: Change) {
        let now = self.now;
        self.home
            .lock()
            .change(now, mac, change)
            .expect("a known device");
        self.run(Time::ZERO);
    }

    /// Sends a DHCP message. Returns the response.
    pub fn dhcp(
        &mut self,
        port: u32,
        mac: Mac,
        kind: Kind,
        address: Option<Ipv4Addr>,
    ) -> Option<(Kind, Ipv4Addr, u32)> {
        self.dhcp_with(port, mac, kind, address, &[])
    }

    /// Sends a DHCP message with more options. Returns the response.
    pub fn dhcp_with(
        &mut self,
        port: u32,
        mac: Mac,
        kind: Kind,
        address: Option<Ipv4Addr>,
        options: &[(u8, &[u8])],
    ) -> Option<(Kind, Ipv4Addr, u32)> {
        let header = Header {
            op: REQUEST,
            xid: 7,
            secs: 0,
            broadcast: false,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            chaddr: mac,
        };
        let mut message = Vec::new();
        let mut writer = Writer::new(&mut message, &header, kind, 1472);
        if let Some(address) = address {
            writer.option(option::REQUESTED, &address.octets());
        }
        for (number, value) in options {
            writer.option(*number, value);
        }
        writer.end();
        let from = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        let to = SocketAddrV4::new(Ipv4Addr::BROADCAST, 67);
        let frame = udp((mac, Mac::BROADCAST), from, to, &message);
        let sent = self.send(port, &frame);
        let (_, reply) = sent
            .iter()
            .find(|(to, frame)| *to == port && frame.len() > 282)?;
        let message = Message::new(reply.get(42..)?).expect("a message");
        let lease = message.option(option::LEASE_TIME);
        let lease =
            lease.and_then(|value| Some(u32::from_be_bytes(value.as_ref().try_into().ok()?)));
        Some((message.kind(), message.yiaddr(), lease.unwrap_or(0)))
    }

    /// A device joins: it gets an address.
    pub fn join(&mut self, port: u32, mac: Mac) -> Option<Ipv4Addr> {
        let (kind, address, _) = self.dhcp(port, mac, Kind::Discover, None)?;
        assert_eq!(kind, Kind::Offer);
        let (kind, bound, _) = self.dhcp(port, mac, Kind::Request, Some(address))?;
        assert_eq!((kind, bound), (Kind::Ack, address));
        Some(address)
    }

    /// Answers a query to the server with one record. Returns the frames that leave the switch.
    pub fn reply(&mut self, query: &Sent, rtype: u8, data: &[u8]) -> Vec<Sent> {
        let (port, frame) = query;
        assert_eq!(*port, 1);
        assert_eq!(frame[30..34], DNS.octets());
        let own = u16::from_be_bytes([frame[34], frame[35]]);
        let mut message = frame[42..].to_vec();
        let end = 12
            + message[12..]
                .iter()
                .position(|byte| *byte == 0)
                .expect("a root")
            + 5;
        message.truncate(end);
        message[2..4].copy_from_slice(&[0x81, 0x80]);
        message[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
        message.extend([0xC0, 12, 0, rtype, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
        message.extend(data);
        let to = Ipv4Addr::new(10, 2, 0, 2);
        let frame = udp(
            (ROUTER, GATEWAY),
            SocketAddrV4::new(DNS, 53),
            SocketAddrV4::new(to, own),
            &message,
        );
        self.send(1, &frame)
    }

    /// The frames that have left the switch since the last call or [`send`](Stage::send).
    pub fn take_sent(&mut self) -> Vec<Sent> {
        core::mem::take(&mut self.sent)
    }

    pub fn counter(&self, name: &str) -> u64 {
        let counters = self.program.statistics().counters;
        let counter = counters.iter().find(|(known, _)| known == name);
        counter.map_or(0, |(_, count)| *count)
    }
}

/// A frame with a datagram.
pub fn udp(macs: (Mac, Mac), from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let mut frames = home::frame::Frames::default();
    frames.datagram(macs, from, to, payload).to_vec()
}

/// A query of DNS with one question.
pub fn question(name: &str, rtype: u8) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, rtype, 0, 1]);
    message
}
