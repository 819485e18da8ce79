use super::*;
use crate::action::Action;
use crate::matching::Match;
use crate::message::{Features, Hello, PacketInReason};
use crate::port::{Name, PortNo};
use alloc::string::String;
use alloc::vec;
use packet::arp::Arp;
use packet::ethernet::Mac;
use std::net::Ipv4Addr;

const PORT: Port = Port(0);

/// A controller, and switches that a test plays.
struct Stage {
    controller: Controller,
    out: Out,
    far: Channels,
    far_out: Out,
    peers: Vec<Peer>,
    /// What the controller has said, by switch: type and message.
    heard: Vec<Vec<Vec<u8>>>,
    closed: Vec<String>,
    now: Time,
}

impl Stage {
    fn new(config: &config::Config) -> Stage {
        Stage {
            controller: Controller::of(config),
            out: Out::default(),
            far: Channels::new(Settings::default()),
            far_out: Out::default(),
            peers: Vec::new(),
            heard: Vec::new(),
            closed: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Carries everything to and fro until nothing moves.
    fn carry(&mut self) {
        self.far.flush(&mut self.far_out);
        loop {
            let forth: Vec<Frame> = self.far_out.sends().map(|one| one.frame).collect();
            for frame in &forth {
                let copy = Frame::new(frame);
                self.controller
                    .frames(self.now, PORT, &mut vec![copy], &mut self.out);
            }
            let back: Vec<Frame> = self.out.sends().map(|one| one.frame).collect();
            if forth.is_empty() && back.is_empty() {
                return;
            }
            for frame in back {
                let mut batch = self.far.frame(self.now, PORT, frame);
                while let Some(event) = batch.next(&mut self.far) {
                    match event {
                        Event::Opened(peer) => {
                            self.peers.push(peer);
                            self.heard.push(Vec::new());
                        }
                        Event::Message(peer, bytes) => {
                            let at = self.peers.iter().position(|known| *known == peer);
                            self.heard[at.unwrap()].push(bytes.to_vec());
                        }
                        Event::Closed(_, reason) => self.note(reason),
                    }
                }
                self.far.finish(batch, &mut self.far_out);
            }
        }
    }

    fn wake(&mut self, now: Time) {
        self.now = now;
        self.controller.wake(now, &mut self.out);
        self.carry();
    }

    /// Takes down why the controller has closed a connection.
    fn note(&mut self, reason: crate::channel::Reason) {
        if let crate::channel::Reason::Far(text) = reason {
            self.closed.push(text);
        }
    }

    /// A connection, before its hello.
    fn connect(&mut self) -> usize {
        self.far.dial(PORT, self.peers.len() as u32);
        let mut batch = self.far.wake(self.now);
        while let Some(Event::Closed(_, reason)) = batch.next(&mut self.far) {
            self.note(reason);
        }
        self.far.finish(batch, &mut self.far_out);
        self.carry();
        self.peers.len() - 1
    }

    fn say(&mut self, switch: usize, version: Version, xid: u32, message: &Message<'_>) {
        let buffer = self.far.buffer(self.peers[switch]).unwrap();
        message.encode(version, xid, buffer).unwrap();
        self.carry();
    }

    fn raw(&mut self, switch: usize, bytes: &[u8]) {
        self.far.send(self.peers[switch], bytes);
        self.carry();
    }

    /// A switch with two ports that is up.
    fn switch(&mut self, version: Version, datapath_id: u64) -> usize {
        let switch = self.connect();
        let hello = Hello::of(&[version]);
        self.say(switch, version, 0, &Message::Hello(hello));
        let ports = [port(1), port(2)];
        let mut features = Features {
            datapath_id,
            n_buffers: 0,
            n_tables: 1,
            auxiliary_id: 0,
            capabilities: 0,
            actions: 0,
            ports: (&ports[..]).into(),
        };
        if version == Version::V13 {
            features.ports = crate::list::List::EMPTY;
        }
        self.say(switch, version, 0, &Message::FeaturesReply(features));
        if version == Version::V13 {
            let body = Answer::PortDescription((&ports[..]).into());
            let reply = MultipartReply { more: false, body };
            self.say(switch, version, 0, &Message::MultipartReply(reply));
        }
        switch
    }

    fn packet(&mut self, switch: usize, version: Version, in_port: u32, data: &[u8]) {
        let packet = PacketIn {
            buffer: None,
            total_len: data.len() as u16,
            reason: PacketInReason::NoMatch,
            table: 0,
            cookie: u64::MAX,
            fields: Match::in_port(PortNo(in_port)),
            data,
        };
        self.say(switch, version, 0, &Message::PacketIn(packet));
    }

    /// The packets that the controller has had sent by a switch, with the first port, and forgets them.
    fn packet_outs(&mut self, switch: usize) -> Vec<(PortNo, Vec<u8>)> {
        let heard = core::mem::take(&mut self.heard[switch]);
        let outs = heard.iter().filter_map(|bytes| match decode(bytes) {
            Ok((_, Message::PacketOut(out))) => {
                let port = out.actions.iter().find_map(|action| match action {
                    Action::Output { port, .. } => Some(port),
                    _ => None,
                });
                Some((port?, out.data.to_vec()))
            }
            _ => None,
        });
        outs.collect()
    }

    /// The flow-mods that a switch has got, as texts, and forgets them.
    fn flow_mods(&mut self, switch: usize) -> Vec<String> {
        let heard = core::mem::take(&mut self.heard[switch]);
        let mods = heard.iter().filter_map(|bytes| match decode(bytes) {
            Ok((_, Message::FlowMod(flow))) => Some(alloc::format!("{flow:?}")),
            _ => None,
        });
        mods.collect()
    }

    fn count(&self, wanted: &str) -> u64 {
        self.controller.statistics().get(wanted).unwrap()
    }
}

fn port(number: u32) -> PortDescription {
    PortDescription {
        number: PortNo(number),
        hardware: Mac([2, 0, 0, 0, 9, number as u8]),
        name: Name::new("p"),
        config: 0,
        state: 0,
        current: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        current_speed: 0,
        max_speed: 0,
    }
}

fn ethernet(to: u8, from: u8, kind: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
    frame.extend(kind.to_be_bytes());
    frame.resize(60, 0);
    frame
}

/// A packet of UDP.
fn udp(to: ([u8; 4], u16), from: [u8; 4]) -> Vec<u8> {
    let mut frame = ethernet(2, 1, 0x0800);
    frame[14..34].copy_from_slice(&[
        0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    frame[26..30].copy_from_slice(&from);
    frame[30..34].copy_from_slice(&to.0);
    frame[34..36].copy_from_slice(&7u16.to_be_bytes());
    frame[36..38].copy_from_slice(&to.1.to_be_bytes());
    frame
}

fn learning() -> config::Config {
    config::Config::default()
}

#[test]
fn a_station_that_moves_takes_its_entries_along() {
    for version in Version::ALL {
        let mut stage = Stage::new(&learning());
        let switch = stage.switch(version, 7);
        assert_eq!(stage.count("switches"), 1);
        stage.packet(switch, version, 1, &ethernet(2, 1, 0x0800));
        assert_eq!(stage.packet_outs(switch)[0].0, PortNo::FLOOD);
        stage.packet(switch, version, 2, &ethernet(1, 2, 0x0800));
        assert_eq!(stage.packet_outs(switch)[0].0, PortNo(1));
        // Station 1 turns up at port 2.
        stage.packet(switch, version, 2, &ethernet(2, 1, 0x0800));
        let mods = stage.flow_mods(switch);
        assert_eq!(mods.len(), 1, "{mods:?}");
        assert!(mods[0].contains("Delete"), "{mods:?}");
        assert_eq!(stage.count("moved"), 1);
    }
}

#[test]
fn who_speaks_another_version_is_told_and_closed() {
    let config = config::Config {
        versions: vec![Version::V13],
        ..learning()
    };
    let mut stage = Stage::new(&config);
    let switch = stage.connect();
    stage.heard[switch].clear();
    stage.raw(switch, &[1, 0, 0, 8, 0, 0, 0, 0]);
    let heard = &stage.heard[switch][0];
    assert_eq!(heard[1], 1, "an error");
    assert_eq!(stage.closed, ["no version in common"]);
}

#[test]
fn nonsense_is_answered_by_the_error_and_does_no_harm() {
    for version in Version::ALL {
        let mut stage = Stage::new(&learning());
        let switch = stage.switch(version, 7);
        stage.heard[switch].clear();
        stage.raw(switch, &[version.wire(), 99, 0, 8, 0, 0, 0, 5]);
        stage.raw(switch, &[version.wire(), 10, 0, 9, 0, 0, 0, 6, 1]);
        // An error that cannot be read is not answered, lest it go on for ever.
        stage.raw(switch, &[version.wire(), 1, 0, 9, 0, 0, 0, 7, 1]);
        let heard: Vec<u8> = stage.heard[switch].iter().map(|one| one[1]).collect();
        assert_eq!(heard, [1, 1]);
        assert_eq!(stage.count("nonsense"), 3);
        stage.packet(switch, version, 1, &ethernet(2, 1, 0x0800));
        assert_eq!(stage.packet_outs(switch).len(), 1);
    }
}

#[test]
fn a_switch_that_vanishes_in_the_middle_of_a_message_is_gone() {
    let mut stage = Stage::new(&learning());
    let switch = stage.switch(Version::V10, 7);
    stage.raw(switch, &[1, 10, 0, 60, 0, 0]);
    stage.far.close(stage.peers[switch], "gone");
    stage.carry();
    assert_eq!((stage.count("switches"), stage.count("packet_ins")), (0, 0));
    // It comes again, with nothing left of before.
    let again = stage.switch(Version::V10, 7);
    stage.packet(again, Version::V10, 1, &ethernet(2, 1, 0x0800));
    assert_eq!((stage.count("switches"), stage.count("packet_ins")), (1, 1));
}

#[test]
fn the_same_switch_anew_takes_the_place_of_the_older_connection() {
    let mut stage = Stage::new(&learning());
    stage.switch(Version::V13, 7);
    stage.switch(Version::V13, 7);
    stage.wake(Time::from_ms(1));
    assert_eq!(stage.count("switches"), 1);
    assert_eq!(stage.closed, ["the switch has connected anew"]);
}

#[test]
fn who_never_says_what_it_is_is_closed() {
    let mut stage = Stage::new(&learning());
    stage.connect();
    let stranger = stage.connect();
    stage.raw(stranger, &[4, 0, 0, 8, 0, 0, 0, 0]);
    stage.wake(Time::from_secs(5));
    assert_eq!(stage.closed, ["no answer to the hello in time"]);
    stage.wake(Time::from_secs(10));
    stage.wake(Time::from_secs(10));
    assert_eq!(stage.closed.len(), 2, "{:?}", stage.closed);
}

#[test]
fn packets_of_a_switch_that_does_not_read_are_refused() {
    let mut stage = Stage::new(&learning());
    let switch = stage.switch(Version::V10, 7);
    stage.far.flush(&mut stage.far_out);
    // The switch goes on asking, and acknowledges nothing.
    let packet = PacketIn {
        buffer: None,
        total_len: 1500,
        reason: PacketInReason::NoMatch,
        table: 0,
        cookie: u64::MAX,
        fields: Match::in_port(PortNo(1)),
        data: &[9; 1500],
    };
    for _ in 0..1_200 {
        let buffer = stage.far.buffer(stage.peers[switch]).unwrap();
        Message::PacketIn(packet)
            .encode(Version::V10, 0, buffer)
            .unwrap();
        stage.far.flush(&mut stage.far_out);
        let frames: Vec<Frame> = stage.far_out.sends().map(|one| one.frame).collect();
        for frame in frames {
            stage
                .controller
                .frames(Time::ZERO, PORT, &mut vec![frame], &mut stage.out);
        }
        // Acknowledgements of the controller come back, its data does not.
        let back: Vec<Frame> = stage.out.sends().map(|one| one.frame).collect();
        for frame in back.into_iter().filter(|frame| frame[14] == 2) {
            let batch = stage.far.frame(Time::ZERO, PORT, frame);
            stage.far.finish(batch, &mut stage.far_out);
        }
    }
    let (all, refused) = (stage.count("packet_ins"), stage.count("refused"));
    assert_eq!(all, 1_200);
    assert!(refused > 300 && refused < 1_200, "{refused}");
}

#[test]
fn links_are_found_and_floods_go_round_them_once() {
    let config = config::Config {
        topology: Some(topology::Config::default()),
        ..learning()
    };
    for version in Version::ALL {
        let mut stage = Stage::new(&config);
        // Two switches with both ports joined would be a ring; each has a host port 1, and links would need more.
        let switches = [stage.switch(version, 1), stage.switch(version, 2)];
        // What leaves port 1 and 2 of one comes in by port 1 and 2 of the other.
        for side in 0..2 {
            for (port, data) in stage.packet_outs(switches[side]) {
                stage.packet(switches[1 - side], version, port.0, &data);
            }
        }
        assert_eq!(stage.count("links"), 4);
        assert_eq!(stage.count("blocked"), 2);
        stage.packet_outs(switches[0]);
        // A packet that came by the open link floods to the other ports, of which the blocked one is none.
        stage.packet(switches[0], version, 1, &ethernet(0xFF, 1, 0x0806));
        assert!(stage.packet_outs(switches[0]).is_empty());
        // Not seen for long: gone.
        stage.wake(Time::from_secs(1));
        stage.wake(Time::from_secs(5));
        assert_eq!((stage.count("links"), stage.count("blocked")), (0, 0));
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rule = |action, port| firewall::Rule {
        action,
        source: "10.0.0.0/8".parse().ok(),
        protocol: Some(17),
        destination_port: port,
        ..firewall::Rule::default()
    };
    let config = config::Config {
        firewall: Some(firewall::Config {
            rules: vec![
                rule(firewall::Decision::Allow, Some(53)),
                rule(firewall::Decision::Deny, None),
            ],
            ..firewall::Config::default()
        }),
        ..learning()
    };
    for version in Version::ALL {
        let mut stage = Stage::new(&config);
        let switch = stage.switch(version, 7);
        stage.heard[switch].clear();
        let to = [192, 0, 2, 1];
        stage.packet(switch, version, 1, &udp((to, 53), [10, 1, 1, 1]));
        assert_eq!(stage.packet_outs(switch).len(), 1);
        stage.packet(switch, version, 1, &udp((to, 80), [10, 1, 1, 1]));
        let mods = stage.flow_mods(switch);
        assert_eq!(mods.len(), 1);
        assert!(
            mods[0].contains("UdpDst"),
            "the whole flow, and no more: {mods:?}"
        );
        stage.packet(switch, version, 1, &udp((to, 80), [172, 16, 0, 1]));
        assert_eq!(stage.packet_outs(switch).len(), 1);
        assert_eq!((stage.count("allowed"), stage.count("denied")), (2, 1));
    }
}

#[test]
fn the_router_answers_asks_and_forwards() {
    let mac = |last| Mac([2, 0, 0, 0, 0, last]);
    let interface = |port: u32, address: &str| router::Interface {
        switch: 7,
        port,
        address: address.parse().unwrap(),
        mac: mac(0xF0 + port as u8),
    };
    let config = config::Config {
        router: Some(router::Config {
            interfaces: vec![interface(1, "10.0.1.1/24"), interface(2, "10.0.2.1/24")],
            routes: vec![router::Route {
                switch: 7,
                to: "10.9.0.0/16".parse().unwrap(),
                via: Ipv4Addr::new(10, 0, 2, 9),
            }],
            ..router::Config::default()
        }),
        ..learning()
    };
    for version in Version::ALL {
        let mut stage = Stage::new(&config);
        let switch = stage.switch(version, 7);
        stage.heard[switch].clear();
        // Somebody at port 1 asks for the router.
        let mut asks = ethernet(0xFF, 1, 0x0806);
        asks.truncate(14);
        let (host, own) = (Ipv4Addr::new(10, 0, 1, 5), Ipv4Addr::new(10, 0, 1, 1));
        Arp::request(mac(1), host, own).build(&mut asks);
        stage.packet(switch, version, 1, &asks);
        let answers = stage.packet_outs(switch);
        let answer = Arp::parse(&answers[0].1[14..]).unwrap();
        assert_eq!((answers[0].0, answer.sender_mac), (PortNo(1), mac(0xF1)));
        // A packet for a network behind the other side: the next hop is asked for first.
        let mut packet = udp(([10, 9, 1, 1], 80), [10, 0, 1, 5]);
        packet[5] = 0xF1;
        stage.packet(switch, version, 1, &packet);
        let asked = stage.packet_outs(switch);
        let question = Arp::parse(&asked[0].1[14..]).unwrap();
        assert_eq!(
            (asked[0].0, question.target),
            (PortNo(2), Ipv4Addr::new(10, 0, 2, 9))
        );
        // It answers: the packet goes on, and those after it by an entry.
        let mut reply = ethernet(0xF2, 9, 0x0806);
        reply.truncate(14);
        question.reply(mac(9)).build(&mut reply);
        stage.packet(switch, version, 2, &reply);
        let heard = stage.heard[switch].clone();
        assert_eq!(stage.flow_mods(switch).len(), 1);
        stage.heard[switch] = heard;
        let sent = stage.packet_outs(switch);
        assert_eq!((sent[0].0, &sent[0].1), (PortNo(2), &packet));
        assert_eq!(stage.count("routed"), 1);
        // Nobody knows the way.
        let mut lost = udp(([172, 16, 0, 1], 80), [10, 0, 1, 5]);
        lost[5] = 0xF1;
        stage.packet(switch, version, 1, &lost);
        assert_eq!(stage.count("unreachable"), 1);
    }
}

#[test]
fn random_messages_do_no_harm() {
    let config = config::Config {
        topology: Some(topology::Config::default()),
        collector: Some(collector::Config::default()),
        firewall: Some(firewall::Config::default()),
        learning: Some(learning::Config::default()),
        ..config::Config::default()
    };
    let mut seed = 5u64;
    let mut draw = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for version in Version::ALL {
        let mut stage = Stage::new(&config);
        let switch = stage.switch(version, 7);
        for round in 0..3_000u64 {
            let length = 8 + draw(120) as usize;
            let mut message = vec![version.wire(), draw(34) as u8];
            message.extend((length as u16).to_be_bytes());
            message.resize(length, 0);
            message[4..].fill_with(|| (draw(3) * draw(256)) as u8);
            stage.raw(switch, &message);
            if round % 500 == 0 {
                stage.wake(Time::from_ms(round));
            }
            stage.heard[switch].clear();
        }
        assert_eq!(stage.count("switches"), 1);
        assert!(stage.count("nonsense") > 100);
    }
}
