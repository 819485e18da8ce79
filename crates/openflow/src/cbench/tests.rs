use super::*;
use crate::controller::learning::{self, Learning};
use crate::controller::{Controller, Options};
use alloc::vec;
use node::Properties;
use std::sync::{Arc, Mutex};

/// Runs a benchmark against a controller with a delay between them; what was told, and the counters of both.
fn run(config: Config) -> (Vec<Progress>, [Vec<(String, u64)>; 2]) {
    let learning = Learning::new(learning::Config::default());
    let controller = Controller::new(Options::default(), vec![Box::new(learning)]);
    run_with(config, Box::new(controller))
}

fn run_with(config: Config, controller: Box<dyn Node>) -> (Vec<Progress>, [Vec<(String, u64)>; 2]) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let cbench = Cbench::new(config, Box::new(move |one| tell.lock().unwrap().push(one)));
    let mut nodes: [Box<dyn Node>; 2] = [Box::new(cbench), controller];
    let mut outs = [Out::default(), Out::default()];
    let mut now = Time::ZERO;
    for _ in 0..200_000 {
        for side in 0..2 {
            if nodes[side].next_wake().is_some_and(|at| at <= now) {
                nodes[side].wake(now, &mut outs[side]);
            }
            let sent: Vec<Frame> = outs[side].sends().map(|one| one.frame).collect();
            for frame in sent {
                nodes[1 - side].frames(now, PORT, &mut vec![frame], &mut outs[1 - side]);
            }
        }
        if matches!(
            told.lock().unwrap().last(),
            Some(Progress::Finished | Progress::Failed(_))
        ) {
            break;
        }
        now += Time::from_us(50);
    }
    let counters = nodes.map(|node| node.statistics().counters);
    let told = told.lock().unwrap().clone();
    (told, counters)
}

fn count(counters: &[(String, u64)], name: &str) -> u64 {
    counters.iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn every_packet_is_answered_once_in_both_modes_and_versions() {
    for version in Version::ALL {
        for (mode, macs) in [
            (Mode::Latency, 9),
            (Mode::Throughput, 100),
            (Mode::Latency, 1),
        ] {
            let config = Config {
                version,
                mode,
                switches: 5,
                macs,
                loops: 3,
                round: Time::from_ms(4),
                ..Config::default()
            };
            let (told, [bench, controller]) = run(config);
            let rounds: Vec<&Round> = told
                .iter()
                .filter_map(|one| match one {
                    Progress::Round(round) => Some(round),
                    _ => None,
                })
                .collect();
            assert_eq!(rounds.len(), 4, "{told:?}");
            assert!(rounds[0].warmup && !rounds[1].warmup);
            assert_eq!(told.last(), Some(&Progress::Finished));
            for round in &rounds {
                assert!(round.answers.iter().all(|&answers| answers > 20));
                let fair = Fairness::of(&round.answers);
                assert!(fair.min_over_max > 0.9, "{fair:?}");
            }
            assert_eq!(count(&bench, "repeated"), 0);
            assert_eq!(count(&controller, "switches"), 5);
            assert_eq!(count(&controller, "learned"), 5 * u64::from(macs));
            assert_eq!(count(&controller, "nonsense"), 0);
            let forwarded = count(&controller, "forwarded");
            match macs {
                // A packet to its own sender's address goes nowhere.
                1 => assert_eq!(forwarded, 0),
                _ => assert!(forwarded > 400),
            }
        }
    }
}

/// A controller that floods every packet and asks for features only.
struct Plain(Channels);

impl Node for Plain {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            use crate::message::PacketOut;
            let mut batch = self.0.frame(now, port, frame);
            while let Some(event) = batch.next(&mut self.0) {
                let mut answer = Vec::new();
                let peer = match event {
                    Event::Opened(peer) => peer,
                    Event::Closed(..) => continue,
                    Event::Message(peer, bytes) => {
                        let message = match decode(bytes).unwrap().1 {
                            Message::Hello(_) => Message::FeaturesRequest,
                            Message::PacketIn(packet) => Message::PacketOut(PacketOut {
                                buffer: packet.buffer,
                                in_port: packet.in_port(),
                                actions: crate::list::List::EMPTY,
                                data: &[],
                            }),
                            _ => continue,
                        };
                        message.encode(Version::V13, 0, &mut answer).unwrap();
                        peer
                    }
                };
                if answer.is_empty() {
                    answer.extend([4, 0, 0, 8, 0, 0, 0, 0]);
                }
                self.0.send(peer, &answer);
            }
            self.0.finish(batch, out);
        }
    }
}

#[test]
fn a_controller_that_does_not_ask_for_ports_is_measured_too() {
    let config = Config {
        version: Version::V13,
        switches: 2,
        macs: 5,
        loops: 2,
        round: Time::from_ms(4),
        ..Config::default()
    };
    let plain = Plain(Channels::new(Settings::default()));
    let (told, [bench, _]) = run_with(config, Box::new(plain));
    assert!(matches!(told[0], Progress::Ready(at) if at >= GRACE));
    assert_eq!(told.last(), Some(&Progress::Finished));
    assert!(count(&bench, "answers") > 100);
}

#[test]
fn an_answer_counts_for_its_packet_only_and_once() {
    let mut asked = Outstanding::new();
    assert!(!asked.take(0));
    let first = asked.put();
    assert_eq!(asked.open(), 1);
    assert!(asked.take(first));
    assert!(!asked.take(first));
    assert!(!asked.take(1 << 18));
    for _ in 0..1 << 19 {
        asked.put();
    }
    assert!(!asked.take(5), "too old");
    assert!(asked.take(1 << 19));
}

#[test]
fn packet_outs_with_the_bytes_are_known_by_these() {
    use crate::action::Action;
    use crate::message::PacketOut;
    use crate::port::PortNo;
    for version in Version::ALL {
        let template = Template::new(version);
        let mut message = Vec::new();
        template.between(3, 1, 10, 77, &mut message);
        let (_, read) = decode(&message).unwrap();
        let Message::PacketIn(packet) = read else {
            panic!("{read:?}");
        };
        assert_eq!((packet.in_port(), packet.buffer), (PortNo(2), Some(77)));
        let actions = [Action::output(PortNo::FLOOD)];
        let out = PacketOut {
            buffer: None,
            in_port: packet.in_port(),
            actions: (&actions[..]).into(),
            data: packet.data,
        };
        let mut answer = Vec::new();
        Message::PacketOut(out)
            .encode(version, 0, &mut answer)
            .unwrap();
        assert_eq!(answered(version, &answer), Some(77));
        answer.truncate(60);
        assert_eq!(answered(version, &answer), None);
    }
}
