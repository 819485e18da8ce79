//! Random configurations and packets: the NAT does what the model does, and every translated packet
//! is the one that would have been built with the new endpoints, byte by byte.

use super::generator::{Generator, config, pick};
use super::model::{Answer, Model};
use super::packets::*;
use core::net::Ipv4Addr;
use node::random::Random;
use node::{Frame, Time};
use router::nat::config::Ports;
use router::nat::{Config, Nat, Verdict};

struct Bench {
    nat: Nat,
    model: Model,
    now: Time,
    made: usize,
}

impl Bench {
    /// Gives both a packet, and compares.
    fn check(
        &mut self,
        packet: &Packet,
        run: impl Fn(&mut Nat, Time, &mut Frame) -> Verdict,
        expect: impl Fn(&mut Model, &Packet) -> Answer,
    ) -> Answer {
        let before = packet.frame();
        let mut frame = before.clone();
        let verdict = run(&mut self.nat, self.now, &mut frame);
        let mut answer = expect(&mut self.model, packet);
        if let Answer::New(allowed) = &answer {
            assert_eq!(verdict, Verdict::Translated, "one of {allowed:?} is free");
            let external = self.source_of(packet, &frame);
            assert!(allowed.contains(&external), "{external:?} of {allowed:?}");
            self.made += 1;
            answer = self.model.adopt(packet, external);
        }
        self.judge(verdict, &answer, &before, &frame);
        answer
    }

    fn judge(&self, verdict: Verdict, answer: &Answer, before: &Frame, frame: &Frame) {
        match (verdict, answer) {
            (Verdict::Translated, Answer::Packet(expected)) => {
                assert_eq!(frame[..], expected.frame()[..], "{expected:?}");
            }
            (Verdict::NotForNat, Answer::NotForNat) | (Verdict::Prohibit(_), Answer::Prohibit) => {
                assert_eq!(frame, before);
            }
            (Verdict::Drop(_), Answer::Drop) => {}
            _ => panic!("{verdict:?} instead of {answer:?}"),
        }
    }

    fn source_of(&self, packet: &Packet, frame: &Frame) -> End {
        let (source, _) = ends(frame);
        let payload = 14 + usize::from(frame[14] & 15) * 4;
        match packet.protocol() {
            TCP | UDP => source,
            ICMP => {
                let id = u16::from_be_bytes([frame[payload + 4], frame[payload + 5]]);
                (source.0, id)
            }
            _ => (source.0, 0),
        }
    }

    fn advance(&mut self, by: Time) {
        self.now += by;
        let wake = self.nat.next_wake();
        let sessions = self.model.mappings.iter().flat_map(|m| &m.sessions);
        let ends = sessions.map(|session| session.expires);
        let first = ends.chain(self.model.held.iter().map(|held| held.0)).min();
        assert!(wake <= first || first.is_none(), "{wake:?} {first:?}");
        assert!(wake.is_some() || first.is_none());
        self.model.advance(self.now);
        while let Some(frame) = self.nat.poll_unanswered(self.now) {
            let (until, _, _, packet) = self.model.held.remove(0);
            assert!(until <= self.now && frame[..] == packet.frame()[..]);
        }
        let mut held = self.model.held.iter();
        assert!(held.all(|held| held.0 > self.now));
    }

    /// The tables of both have the same content.
    fn compare(&self) {
        let rows = self.nat.rows(self.now);
        let mut own: Vec<_> = rows
            .iter()
            .filter_map(|row| {
                let end = |socket: core::net::SocketAddrV4| (*socket.ip(), socket.port());
                let remote = end(row.remote?);
                let ends = (end(row.inside), end(row.external), remote);
                Some((row.protocol, ends, row.left))
            })
            .collect();
        let mappings = self.model.mappings.iter();
        let mut model: Vec<_> = mappings
            .flat_map(|m| {
                let sessions = m.sessions.iter();
                sessions.map(|session| {
                    let ends = (m.inside, m.external, session.remote);
                    (m.protocol, ends, session.expires - self.now)
                })
            })
            .collect();
        own.sort();
        model.sort();
        assert_eq!(own, model);
        let [mappings, sessions, hosts] = self.nat.sizes();
        assert_eq!((mappings, sessions), (self.model.mappings.len(), own.len()));
        assert!(sessions <= self.model.config.sessions && hosts <= mappings);
        self.endpoints_are_unique();
        self.blocks_are_exclusive();
    }

    /// No two inside endpoints share an external one, unless overloading allows it.
    fn endpoints_are_unique(&self) {
        if self.model.config.overload {
            return;
        }
        let mappings = self.model.mappings.iter();
        let with_ids = mappings.filter(|m| [TCP, UDP, ICMP].contains(&m.protocol));
        let mut all: Vec<_> = with_ids.map(|m| (m.protocol, m.external)).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// Blocks of ports belong to one host each, and have its mappings.
    fn blocks_are_exclusive(&self) {
        let Some(blocks) = self.model.config.port_blocks else {
            return;
        };
        let rows = self.nat.blocks();
        for (index, row) in rows.iter().enumerate() {
            assert!(
                rows[..index]
                    .iter()
                    .all(|other| { (other.external, &other.ports) != (row.external, &row.ports) })
            );
            let own = rows.iter().filter(|other| other.inside == row.inside);
            assert!(own.count() <= blocks.per_host.into());
        }
        for mapping in &self.model.mappings {
            let mut own = rows.iter().filter(|row| row.inside == mapping.inside.0);
            let has = own.any(|row| row.ports.contains(&mapping.external.1));
            assert!(has || ![TCP, UDP, ICMP].contains(&mapping.protocol));
        }
    }

    fn outbound(&mut self, packet: &Packet) -> Answer {
        self.check(packet, Nat::outbound, Model::outbound)
    }

    fn inbound(&mut self, packet: &Packet) -> Answer {
        self.check(packet, Nat::inbound, |model, packet| {
            model.inbound(packet, false)
        })
    }

    fn hairpin(&mut self, packet: &Packet) {
        let before = packet.frame();
        let mut frame = before.clone();
        let verdict = self.nat.hairpin(self.now, &mut frame);
        if let Some(answer) = self.model.hairpin_is_refused(packet) {
            return self.judge(verdict, &answer, &before, &frame);
        }
        let mut answer = self.model.outbound(packet);
        if let Answer::New(allowed) = &answer {
            // The chosen endpoint is in the table whether or not the second half succeeded.
            let rows = self.nat.rows(self.now);
            let row = rows.iter().find(|row| {
                let (inside, remote) = (packet.source, packet.destination);
                let of = |socket: core::net::SocketAddrV4| (*socket.ip(), socket.port());
                (row.protocol, of(row.inside)) == (packet.protocol(), inside)
                    && row.remote.map(of) == Some(remote)
            });
            let external = row.expect("a new session").external;
            let external = (*external.ip(), external.port());
            assert!(allowed.contains(&external), "{external:?} of {allowed:?}");
            self.made += 1;
            answer = self.model.adopt(packet, external);
        }
        let answer = match answer {
            Answer::Packet(outside) => match self.model.inbound(&outside, true) {
                Answer::NotForNat => Answer::Drop,
                answer => answer,
            },
            refused => refused,
        };
        self.judge(verdict, &answer, &before, &frame);
    }
}

fn step(bench: &mut Bench, generator: &mut Generator) -> usize {
    let protocol = generator.protocol();
    let mut translated = 0;
    let by = match generator.random.below(60) {
        0..48 => Time::from_us(generator.random.below(3)),
        48..56 => Time::from_ms(generator.random.below(9_000)),
        56..59 => Time::from_secs(generator.random.below(60)),
        _ => Time::from_secs(generator.random.below(200)),
    };
    bench.advance(by);
    match generator.random.below(20) {
        0..8 => {
            let (inside, remote) = (generator.inside(), generator.remote());
            let packet = generator.packet(protocol, inside, remote, true);
            if let Answer::Packet(outside) = bench.outbound(&packet) {
                translated += 1;
                if generator.random.below(2) == 0 {
                    // The answer comes back to the endpoint that has sent.
                    let reply = Packet {
                        source: outside.destination,
                        destination: outside.source,
                        body: match outside.body {
                            Body::Query(8) => Body::Query(0),
                            Body::Query(kind) => Body::Query(kind + 1),
                            body => body,
                        },
                        ..*outside
                    };
                    let Answer::Packet(back) = bench.inbound(&reply) else {
                        panic!("the answer to {packet:?} is not let in");
                    };
                    assert_eq!(back.destination, packet.source);
                    assert_eq!(back.source, packet.destination);
                }
            }
        }
        8..13 => {
            let (remote, external) = (
                generator.remote(),
                generator.external(&bench.model, protocol),
            );
            let packet = generator.packet(protocol, remote, external, false);
            translated += usize::from(matches!(bench.inbound(&packet), Answer::Packet(_)));
        }
        13..15 => {
            let (external, remote) = (
                generator.external(&bench.model, protocol),
                generator.remote(),
            );
            let about = generator.packet(protocol, external, remote, true);
            let packet = generator.error(Ipv4Addr::new(203, 0, 113, 9), about);
            translated += usize::from(matches!(bench.inbound(&packet), Answer::Packet(_)));
        }
        15..17 => {
            let (inside, remote) = (generator.inside(), generator.remote());
            let about = generator.packet(protocol, remote, inside, false);
            let packet = generator.error(Ipv4Addr::new(10, 0, 0, 1), about);
            translated += usize::from(matches!(bench.outbound(&packet), Answer::Packet(_)));
        }
        17..19 => {
            let (inside, external) = (
                generator.inside(),
                generator.external(&bench.model, protocol),
            );
            let mut packet = generator.packet(protocol, inside, external, true);
            if generator.random.below(5) == 0 {
                let about = generator.packet(protocol, external, inside, false);
                packet = generator.error(inside.0, about);
            }
            bench.hairpin(&packet);
        }
        _ => broken(bench, generator, protocol),
    }
    bench.compare();
    translated
}

/// A packet that no NAT translates, and that changes nothing.
fn broken(bench: &mut Bench, generator: &mut Generator, protocol: u8) {
    let (inside, remote) = (generator.inside(), generator.remote());
    let good = generator.packet(protocol, inside, remote, true).frame();
    let mut frame = good.clone();
    let expected = match generator.random.below(7) {
        0 => {
            frame[12] = 0x86;
            Verdict::NotForNat
        }
        1 => {
            frame.resize(generator.random.index(14));
            Verdict::NotForNat
        }
        2 => {
            frame.resize(14 + generator.random.index(20));
            Verdict::Drop("malformed packet")
        }
        3 => {
            frame[20] |= 0x20;
            Verdict::Drop("fragment at the NAT")
        }
        kind @ (4 | 5) => {
            // An error with a wrong checksum of its own, or of the quoted header (RFC 5508 REQ-3).
            let about = Packet::udp(remote, inside);
            let error = Body::Error(3, Box::new(about), 28);
            frame = Packet::new(inside, (remote.0, 0), error).frame();
            frame[if kind == 4 { 36 } else { 52 }] ^= 1;
            if kind == 5 {
                frame[36..38].fill(0);
                let sum = ::packet::checksum::checksum(&frame[34..]);
                frame[36..38].copy_from_slice(&sum.to_be_bytes());
            }
            Verdict::Drop("ICMP error with a wrong checksum")
        }
        _ => {
            frame[14] = 0x40 | generator.random.below(5) as u8;
            Verdict::Drop("malformed packet")
        }
    };
    let before = frame.clone();
    for run in [Nat::outbound, Nat::inbound, Nat::hairpin] {
        assert_eq!(run(&mut bench.nat, bench.now, &mut frame), expected);
        assert_eq!(frame, before);
    }
}

/// Configurations, with 250 packets each.
const SEEDS: u64 = 1_000;

#[test]
fn every_packet_is_treated_as_the_model_has_it() {
    let mut totals = [0; 3];
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let config = config(&mut random);
        let mut bench = Bench {
            nat: Nat::new(config.clone(), seed).unwrap(),
            model: Model::new(config),
            now: Time::ZERO,
            made: 0,
        };
        let mut generator = Generator { random };
        for number in 0..250 {
            let run = || step(&mut bench, &mut generator);
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                Ok(translated) => totals[0] += translated,
                Err(panic) => {
                    println!("seed {seed} step {number}: {:#?}", bench.model.config);
                    std::panic::resume_unwind(panic);
                }
            }
        }
        totals[1] += bench.made;
        totals[2] += bench.nat.counters().hairpinned as usize;
    }
    println!("{totals:?} packets translated, mappings made, packets hairpinned");
    assert!(
        totals[0] > 90_000 && totals[1] > 30_000 && totals[2] > 2_000,
        "{totals:?}"
    );
}

/// Random bytes over good packets: no panic, and memory stays within its bounds.
#[test]
fn garbage_does_no_harm() {
    let mut random = Random::new(5);
    let mut nat = Nat::new(
        Config {
            external: vec![Ipv4Addr::new(192, 0, 2, 1).into()],
            sessions: 50,
            ..Config::default()
        },
        1,
    )
    .unwrap();
    let mut generator = Generator {
        random: Random::new(6),
    };
    for number in 0..100_000 {
        let protocol = generator.protocol();
        let (inside, remote) = (generator.inside(), generator.remote());
        let mut packet = generator.packet(protocol, inside, remote, true);
        if number % 3 == 0 {
            packet = generator.error(inside.0, packet);
        }
        let mut frame = packet.frame();
        for _ in 0..random.below(4) {
            let at = random.index(frame.len());
            frame[at] = random.bits() as u8;
        }
        if random.below(3) == 0 {
            frame.resize(random.index(frame.len() + 30));
        }
        let run = pick(&mut random, &[Nat::outbound, Nat::inbound, Nat::hairpin]);
        run(&mut nat, Time::from_ms(number), &mut frame);
        assert!(nat.sizes()[1] <= 50);
    }
}

/// Of all datagrams with two bytes some become one whose checksum is 0, which would mean none.
#[test]
fn a_udp_checksum_of_zero_is_sent_as_ones() {
    let config = Config {
        external: vec![Ipv4Addr::new(192, 0, 2, 1).into()],
        ports: Ports::Preserve,
        ..Config::default()
    };
    let mut nat = Nat::new(config, 1).unwrap();
    let ends = [
        (Ipv4Addr::new(10, 0, 0, 2), 5_000),
        (Ipv4Addr::new(198, 51, 100, 7), 53),
    ];
    let mut ones = 0;
    for word in 0..=u16::MAX {
        let mut packet = Packet::udp(ends[0], ends[1]);
        packet.data = word.to_be_bytes().into();
        let mut frame = packet.frame();
        assert_eq!(nat.outbound(Time::ZERO, &mut frame), Verdict::Translated);
        packet.source.0 = Ipv4Addr::new(192, 0, 2, 1);
        assert_eq!(frame[..], packet.frame()[..]);
        ones += usize::from(frame[40..42] == [0xFF, 0xFF]);
    }
    assert!(ones > 0);
}
