//! The instrument, tested against a switch whose every delay is known.

use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Time};
use openflow::action::Action;
use openflow::channel::{Channels, Event, Peer, Settings};
use openflow::flops::actions::{self, Actions};
use openflow::flops::intercept::{self, Direction, Intercept};
use openflow::flops::monitor::{self, Monitor};
use openflow::flops::update::{self, Change, Update};
use openflow::flops::{Flops, Matching, Module, Report, Setup};
use openflow::handshake::Handshake;
use openflow::instruction::Instruction;
use openflow::list::List;
use openflow::matching::Match;
use openflow::message::{
    Answer, ErrorMessage, Features, FlowStats, Message, MultipartReply, PacketIn, PacketInReason,
    decode,
};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use openflow::switch;
use openflow::version::Version;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// How long a packet takes through the switch.
const FORWARD: Time = Time::from_us(3);
/// How long after the barrier's reply an entry is changed.
const LAG: Time = Time::from_us(300);

/// What an entry does, as far as this switch can.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Drop,
    Forward,
    Controller,
}

/// Keeps entries by destination and obeys them `lag` after it has confirmed them.
struct Clockwork {
    version: Version,
    /// Actions of an entry that it takes; it refuses entries with more.
    most: usize,
    channels: Channels,
    peer: Option<Peer>,
    agreed: bool,
    /// By IPv4 destination; `None` for all others.
    entries: BTreeMap<Option<u32>, Does>,
    later: Vec<(Time, Option<u32>, Option<Does>)>,
    lag: Time,
}

impl Clockwork {
    fn new(version: Version, lag: Time) -> Clockwork {
        let mut channels = Channels::new(Settings::default());
        channels.dial(Port(0), 1);
        Clockwork {
            version,
            most: usize::MAX,
            channels,
            peer: None,
            agreed: false,
            entries: BTreeMap::new(),
            later: Vec::new(),
            lag,
        }
    }

    fn settle(&mut self, now: Time) {
        let (due, later) = self.later.iter().copied().partition(|(at, ..)| *at <= now);
        self.later = later;
        let due: Vec<_> = due;
        for (_, key, does) in due {
            match does {
                Some(does) => drop(self.entries.insert(key, does)),
                None => drop(self.entries.remove(&key)),
            }
        }
    }

    fn message(&mut self, now: Time, bytes: &[u8], out: &mut Out) -> Vec<u8> {
        let mut answer = Vec::new();
        let (header, message) = decode(bytes).expect("the instrument speaks well");
        let mut say = |message: Message<'_>| {
            let encoded = message.encode(self.version, header.xid, &mut answer);
            encoded.expect("a form of this version");
        };
        match message {
            Message::BarrierRequest => say(Message::BarrierReply),
            Message::FeaturesRequest => say(Message::FeaturesReply(Features {
                datapath_id: 1,
                n_buffers: 0,
                n_tables: 1,
                auxiliary_id: 0,
                capabilities: 0,
                actions: 0,
                ports: List::EMPTY,
            })),
            Message::FlowMod(flow) => {
                let key = flow
                    .matching
                    .get(Field::Ipv4Dst)
                    .map(|oxm| oxm.value as u32);
                let mut does = Does::Drop;
                let mut actions_there = 0;
                for instruction in flow.instructions.iter() {
                    let Instruction::ApplyActions(actions) = instruction else {
                        continue;
                    };
                    actions_there += actions.iter().count();
                    for action in actions.iter() {
                        match action {
                            Action::Output { port, .. } if port == PortNo::CONTROLLER => {
                                does = Does::Controller
                            }
                            Action::Output { .. } => does = Does::Forward,
                            _ => {}
                        }
                    }
                }
                if actions_there > self.most {
                    // Bad action: too many.
                    say(Message::Error(ErrorMessage {
                        kind: 2,
                        code: 7,
                        data: &bytes[..8],
                    }));
                    return answer;
                }
                let does = (!flow.command.is_delete()).then_some(does);
                match (key, does, flow.matching.is_empty()) {
                    (None, None, true) => self.entries.clear(),
                    _ => self.later.push((now + self.lag, key, does)),
                }
            }
            Message::PacketOut(packet) => {
                out.send_at(Port(2), now + FORWARD, Frame::new(packet.data));
            }
            Message::MultipartRequest(_) => {
                let entry = FlowStats {
                    table: 0,
                    duration_s: 1,
                    duration_ns: 0,
                    priority: 1,
                    idle_timeout: 0,
                    hard_timeout: 0,
                    flags: 0,
                    cookie: 0,
                    packets: 0,
                    bytes: 0,
                    matching: Match::ALL,
                    instructions: List::EMPTY,
                };
                let flows = vec![entry; self.entries.len()];
                let body = Answer::Flow((&flows).into());
                say(Message::MultipartReply(MultipartReply {
                    more: false,
                    body,
                }));
            }
            _ => {}
        }
        answer
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        self.settle(now);
        if port == Port(0) {
            let mut batch = self.channels.frame(now, port, frame);
            let mut channels =
                std::mem::replace(&mut self.channels, Channels::new(Settings::default()));
            while let Some(event) = batch.next(&mut channels) {
                match event {
                    Event::Opened(peer) => {
                        self.peer = Some(peer);
                        let mut hello = Vec::new();
                        Handshake::new(&[self.version]).hello(1, &mut hello);
                        channels.send(peer, &hello);
                    }
                    Event::Message(peer, _) if !self.agreed => {
                        self.agreed = true;
                        channels.agreed(peer, self.version.wire());
                    }
                    Event::Message(peer, bytes) => {
                        let bytes = bytes.to_vec();
                        let answer = self.message(now, &bytes, out);
                        channels.send(peer, &answer);
                    }
                    Event::Closed(..) => self.peer = None,
                }
            }
            self.channels = channels;
            self.channels.finish(batch, out);
            return;
        }
        let destination = frame
            .get(30..34)
            .map(|at| u32::from_be_bytes(at.try_into().unwrap()));
        let does = self
            .entries
            .get(&destination)
            .or_else(|| self.entries.get(&None));
        match does {
            Some(Does::Forward) => {
                let at = frame.arrived() + FORWARD;
                out.send_at(Port(2), at, frame);
            }
            Some(Does::Controller) => {
                let mut message = Vec::new();
                let fields = [Oxm::new(Field::InPort, 1)];
                Message::PacketIn(PacketIn {
                    buffer: None,
                    total_len: frame.len() as u16,
                    reason: PacketInReason::Action,
                    table: 0,
                    cookie: 0,
                    fields: Match::new(&fields),
                    data: &frame,
                })
                .encode(self.version, 0, &mut message)
                .unwrap();
                if let Some(peer) = self.peer {
                    self.channels.send(peer, &message);
                    self.channels.flush(out);
                }
            }
            _ => {}
        }
    }
}

impl Node for Clockwork {
    fn properties(&self) -> Properties {
        Properties::of(3)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        let mut batch = self.channels.wake(now);
        while batch.next(&mut self.channels).is_some() {}
        self.channels.finish(batch, out);
    }

    fn next_wake(&self) -> Option<Time> {
        // Without a controller left there is nothing to keep alive.
        self.peer
            .is_none()
            .then(|| self.channels.next_wake())
            .flatten()
    }
}

fn run(version: Version, lag: Time, module: Box<dyn Module>) -> Report {
    let switch = Box::new(Clockwork::new(version, lag));
    run_on(version, switch, [0, 1, 2], module)
}

/// Runs a test on a switch whose control port and data ports are these.
fn run_on(
    version: Version,
    switch: Box<dyn Node>,
    ports: [u16; 3],
    module: Box<dyn Module>,
) -> Report {
    let report = Arc::new(Mutex::new(None));
    let kept = report.clone();
    let sink = Box::new(move |report| *kept.lock().unwrap() = Some(report));
    let setup = Setup {
        version,
        ..Setup::default()
    };
    let mut graph = Graph::default();
    let flops = graph.add("flops", Box::new(Flops::new(setup, [module], sink)));
    let switch = graph.add("switch", switch);
    let wire = Channel {
        rate: None,
        ..Channel::default()
    };
    for (own, far) in (0..).zip(ports) {
        graph.connect((flops, own), (switch, far), wire.clone());
    }
    let options = sim::Options {
        until: Some(Time::from_secs(100)),
        ..sim::Options::default()
    };
    sim::run(graph, options).unwrap();
    let report = report.lock().unwrap().take();
    report.expect("the test came to its end")
}

#[test]
fn a_known_delay_of_forwarding_is_told_as_it_is() {
    for version in Version::ALL {
        let settings = actions::Settings {
            count: 500,
            ..actions::Settings::default()
        };
        let report = run(version, Time::ZERO, Box::new(Actions::new(settings)));
        assert_eq!(report.faults, Vec::<String>::new());
        assert_eq!(report.rows.len(), 8);
        let forward = &report.rows[0];
        assert_eq!(
            (forward.sent, forward.received, forward.wrong),
            (500, 500, 0)
        );
        assert!(forward.times("delay").iter().all(|&time| time == FORWARD));
        assert_eq!(forward.series[0].mean_and_deviation().1, 0.0);
        // This switch changes nothing, which must not pass for a change.
        assert!(report.rows[1..].iter().all(|row| row.received == 0));
        assert_eq!(report.rows[1].wrong, 500);
    }
}

#[test]
fn ten_actions_in_one_entry_are_all_done_by_a_switch_without_a_limit() {
    let numbers: Vec<u32> = (1..=12).chain([40]).collect();
    for version in Version::ALL {
        let config = switch::Config {
            ports: 2,
            ..switch::Config::default()
        };
        let switch = Box::new(switch::Switch::new(config).expect("a switch"));
        let settings = actions::Settings {
            count: 20,
            ..actions::Settings::default()
        };
        let combined = Box::new(Actions::combined(settings, &numbers));
        let report = run_on(version, switch, [2, 0, 1], combined);
        assert_eq!(report.faults, Vec::<String>::new());
        let x: Vec<u64> = report.rows.iter().map(|row| row.x).collect();
        let expected: Vec<u64> = numbers.iter().map(|&number| number.into()).collect();
        assert_eq!(x, expected);
        for row in &report.rows {
            let counts = (row.sent, row.received, row.wrong, row.refused);
            assert_eq!(counts, (20, 20, 0, 0), "{version} {}", row.name);
        }
    }
}

#[test]
fn a_limit_of_actions_is_a_result_and_no_fault() {
    for limit in [1, 3, 7] {
        let mut switch = Clockwork::new(Version::V13, Time::ZERO);
        // Modifications, and the output.
        switch.most = limit + 1;
        let settings = actions::Settings {
            count: 20,
            ..actions::Settings::default()
        };
        let combined = Box::new(Actions::combined(settings, &[1, 2, 3, 4, 6, 7, 8, 9]));
        let report = run_on(Version::V13, Box::new(switch), [0, 1, 2], combined);
        assert_eq!(report.faults, Vec::<String>::new());
        for row in &report.rows {
            let is_refused = row.x > limit as u64;
            assert_eq!(row.refused, u64::from(is_refused), "{}", row.name);
            // It takes them, and does nothing: unchanged probes are wrong.
            let expected = if is_refused { (0, 0, 0) } else { (20, 0, 20) };
            assert_eq!((row.sent, row.received, row.wrong), expected);
        }
    }
}

#[test]
fn a_barrier_that_comes_too_early_is_seen() {
    let both = [Matching::Wildcard, Matching::Exact];
    let all = Change::ALL.map(|change| both.map(|matching| (change, matching)));
    for (change, matching) in all.concat() {
        let settings = update::Settings {
            change,
            matching,
            entries: vec![1, 20],
            repeats: 3,
            ..update::Settings::default()
        };
        let gap = settings.gap;
        let version = match change {
            Change::Modify => Version::V10,
            _ => Version::V13,
        };
        let report = run(version, LAG, Box::new(Update::new(settings)));
        assert_eq!(report.faults, Vec::<String>::new());
        assert_eq!(report.rows.len(), 2, "{change:?}");
        for row in &report.rows {
            assert_eq!(row.times("barrier"), [Time::ZERO; 3], "answered at once");
            let series = if change == Change::Delete {
                "last packet"
            } else {
                "first packet"
            };
            let times = row.times(series);
            assert_eq!(times.len(), 3);
            // The lag and the way through the switch, to one gap between probes.
            let (least, most) = match change {
                Change::Delete => (LAG + FORWARD - gap, LAG + FORWARD),
                _ => (LAG + FORWARD, LAG + FORWARD + gap),
            };
            assert!(
                times.iter().all(|&time| (least..=most).contains(&time)),
                "{change:?} {times:?}"
            );
            assert_eq!(row.wrong, 3, "each time the barrier was first");
        }
    }
}

#[test]
fn a_truthful_barrier_is_not_blamed() {
    for change in [Change::Insert, Change::Modify, Change::Delete] {
        let settings = update::Settings {
            change,
            entries: vec![5],
            repeats: 2,
            ..update::Settings::default()
        };
        let gap = settings.gap;
        let report = run(Version::V10, Time::ZERO, Box::new(Update::new(settings)));
        // Only what was in the switch when it said so may still come, or what goes in next.
        let after = report.rows[0].times("after the barrier");
        assert!(after.iter().all(|&time| time <= FORWARD + gap), "{after:?}");
        assert_eq!(report.rows[0].wrong, 0, "{change:?}");
    }
}

#[test]
fn packets_to_and_from_the_controller_take_what_they_take() {
    for (direction, expected) in [(Direction::In, Time::ZERO), (Direction::Out, FORWARD)] {
        let settings = intercept::Settings {
            direction,
            rates: vec![100, 1000],
            time: Time::from_ms(500),
            length: 100,
        };
        let report = run(Version::V13, Time::ZERO, Box::new(Intercept::new(settings)));
        assert_eq!(report.faults, Vec::<String>::new());
        let counts: Vec<_> = report
            .rows
            .iter()
            .map(|row| (row.sent, row.received))
            .collect();
        assert_eq!(counts, [(50, 50), (500, 500)], "{direction:?}");
        for row in &report.rows {
            assert!(
                row.times("latency").iter().all(|&time| time == expected),
                "{direction:?}"
            );
        }
    }
}

#[test]
fn statistics_are_counted_and_timed() {
    let settings = monitor::Settings {
        entries: 40,
        rates: vec![10],
        time: Time::from_secs(1),
        load: None,
    };
    let report = run(Version::V13, Time::ZERO, Box::new(Monitor::new(settings)));
    let row = &report.rows[0];
    assert_eq!((row.sent, row.received, row.wrong), (10, 10, 0));
    assert_eq!(row.times("delay"), [Time::ZERO; 10]);
}

#[test]
fn tests_run_one_after_another_and_a_cable_tells_what_the_instrument_takes() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = reports.clone();
    let sink = Box::new(move |report: Report| kept.lock().unwrap().push(report));
    let setup = Setup {
        cable: true,
        ..Setup::default()
    };
    let actions = actions::Settings {
        count: 50,
        ..actions::Settings::default()
    };
    let update = update::Settings {
        entries: vec![3],
        repeats: 1,
        ..update::Settings::default()
    };
    let modules: [Box<dyn Module>; 2] = [
        Box::new(Actions::new(actions)),
        Box::new(Update::new(update)),
    ];
    let mut graph = Graph::default();
    let flops = graph.add("flops", Box::new(Flops::new(setup, modules, sink)));
    let switch = graph.add("switch", Box::new(Clockwork::new(Version::V13, Time::ZERO)));
    let wire = Channel {
        rate: None,
        ..Channel::default()
    };
    for port in 0..3 {
        graph.connect((flops, port), (switch, port), wire.clone());
    }
    let cable = Channel {
        delay: Time::from_ns(700),
        ..wire
    };
    graph.connect((flops, 3), (flops, 4), cable);
    let options = sim::Options {
        until: Some(Time::from_secs(100)),
        ..sim::Options::default()
    };
    sim::run(graph, options).unwrap();
    let reports = reports.lock().unwrap();
    let tests: Vec<_> = reports.iter().map(|report| &report.test[..]).collect();
    assert_eq!(tests, ["actions", "insert"]);
    assert!(reports.iter().all(|report| report.faults.is_empty()));
    let [floor, forward, ..] = &reports[0].rows[..] else {
        panic!("rows are missing")
    };
    assert_eq!((floor.name.as_str(), floor.received), ("(no switch)", 50));
    let nanoseconds = Time::from_ns(700);
    assert!(floor.times("delay").iter().all(|&time| time == nanoseconds));
    assert!(forward.times("delay").iter().all(|&time| time == FORWARD));
    assert_eq!(reports[1].rows[0].times("first packet").len(), 1);
}
