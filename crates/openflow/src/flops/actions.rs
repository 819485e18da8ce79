//! Table 3.2: the delay and the loss of each action, and of several in one entry.

use super::modification::{self as modify, Expected, Modification};
use super::probe::{Arrival, Stream};
use super::report::{Report, Row};
use super::rules::{self, Matching};
use super::{Bench, CABLE, CAPTURE, Module, SETTLE};
use crate::action::Action;
use crate::message::{FlowCommand, Message};
use ::node::Time;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Parameters of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Probes of each action.
    pub count: u64,
    /// Bits a second of the probes' own bytes; the paper's is 100 Mb/s.
    pub rate: u64,
    /// Bytes of a probe; the paper's is 100.
    pub length: usize,
}

impl Default for Settings {
    /// As in the paper, 10,000 probes each.
    fn default() -> Settings {
        Settings {
            count: 10_000,
            rate: 100_000_000,
            length: 100,
        }
    }
}

/// The most modifications of one entry.
pub const MAX_COMBINED: u32 = 1000;

/// An entry to measure.
struct Case {
    name: String,
    x: u64,
    tagged: bool,
    by_cable: bool,
    modifications: Vec<&'static Modification>,
}

impl Case {
    fn new(name: impl Into<String>, x: u64, modifications: Vec<&'static Modification>) -> Case {
        Case {
            name: name.into(),
            x,
            tagged: false,
            by_cable: false,
            modifications,
        }
    }
}

/// The instrument's own part.
fn cable() -> Case {
    Case {
        by_cable: true,
        ..Case::new("(no switch)", 0, Vec::new())
    }
}

/// Measures entries one after another.
pub struct Actions {
    name: &'static str,
    of: &'static str,
    settings: Settings,
    cases: Vec<Case>,
    case: usize,
    /// Headers of the probes of this case after the switch.
    expected: Option<Expected>,
    /// The barrier that ends the installation of this case.
    barrier: u32,
    rows: Vec<Row>,
}

/// Timers.
const BEGIN: u64 = 0;
const END: u64 = 1;

impl Actions {
    /// The rows of table 3.2.
    pub fn new(settings: Settings) -> Actions {
        let rows: [(&str, bool, Option<&Modification>); 8] = [
            ("Forward", false, None),
            ("MAC addr.", false, Some(&modify::ETH_DST)),
            ("IP addr.", false, Some(&modify::IP_DST)),
            ("IP ToS", false, Some(&modify::IP_TOS)),
            ("L4 port", false, Some(&modify::L4_DST)),
            ("VLAN pcp", true, Some(&modify::VLAN_PCP)),
            ("VLAN id", true, Some(&modify::VLAN_ID)),
            ("VLAN rem.", true, Some(&modify::VLAN_REMOVE)),
        ];
        let numbered = (1..).zip(rows);
        let cases = numbered.map(|(x, (name, tagged, one))| Case {
            tagged,
            ..Case::new(name, x, one.into_iter().collect())
        });
        Actions::of("actions", "action", settings, cases)
    }

    /// Entries with each of these numbers of modifications (section 3.4.1), up to [`MAX_COMBINED`]. From 1 to 10 they
    /// are different ones, in an order of their own: addresses, ToS, ports, tag. Above ten fields are set again.
    pub fn combined(settings: Settings, numbers: &[u32]) -> Actions {
        let cases = numbers.iter().map(|&number| {
            let number = number.min(MAX_COMBINED);
            let all = modify::combined(number as usize).collect();
            Case {
                tagged: true,
                ..Case::new(format!("{number} actions"), number.into(), all)
            }
        });
        Actions::of("combined", "actions", settings, cases)
    }

    fn of(
        name: &'static str,
        of: &'static str,
        settings: Settings,
        cases: impl Iterator<Item = Case>,
    ) -> Actions {
        Actions {
            name,
            of,
            settings,
            cases: [cable()].into_iter().chain(cases).collect(),
            case: 0,
            expected: None,
            barrier: 0,
            rows: Vec::new(),
        }
    }

    /// Installs the entry of this case: the only one, for all probes, which all go one way.
    fn install(&mut self, bench: &mut Bench<'_>) {
        let Some(case) = self.cases.get(self.case) else {
            bench.finish();
            return;
        };
        self.rows.push(Row::new(case.name.clone(), case.x));
        let stream = self.stream(case, Time::ZERO);
        self.expected = Some(Expected::of(&stream, case.modifications.iter().copied()));
        if case.by_cable {
            bench.timer(bench.now() + SETTLE, BEGIN);
            return;
        }
        rules::delete_all(bench);
        let setup = bench.setup();
        let own = case.modifications.iter();
        let own = own.map(|one| one.action(setup.version));
        let actions: Vec<Action<'_>> = own.chain([rules::forward(&setup)]).collect();
        match case.tagged {
            true => rules::tagged(bench, &actions),
            false => rules::one(bench, FlowCommand::Add, (Matching::Wildcard, 0), &actions),
        };
        self.barrier = bench.send(&Message::BarrierRequest);
    }

    fn stream(&self, case: &Case, start: Time) -> Stream {
        let Settings {
            count,
            rate,
            length,
        } = self.settings;
        Stream {
            number: self.case as u32,
            start,
            gap: Stream::gap_at(rate, length),
            count,
            length,
            flows: (0, 1),
            tagged: case.tagged,
            by_cable: case.by_cable,
        }
    }

    fn next(&mut self, bench: &mut Bench<'_>) {
        self.case += 1;
        self.install(bench);
    }
}

impl Module for Actions {
    fn name(&self) -> &str {
        self.name
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        self.case = usize::from(!bench.setup().cable);
        self.install(bench);
    }

    /// A switch that has no such action says so, and that is a row of the table.
    fn measures_refusals(&self) -> bool {
        true
    }

    fn message(&mut self, bench: &mut Bench<'_>, xid: u32, message: &Message<'_>) {
        match message {
            Message::Error(_) => {
                if let Some(row) = self.rows.last_mut() {
                    row.refused += 1;
                }
            }
            Message::BarrierReply if xid == self.barrier => {
                // Without an entry there is nothing to send probes through.
                match self.rows.last().is_some_and(|row| row.refused > 0) {
                    true => self.next(bench),
                    false => bench.timer(bench.now() + SETTLE, BEGIN),
                }
            }
            _ => {}
        }
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        if number == BEGIN {
            let stream = self.stream(&self.cases[self.case], bench.now() + Time::from_ms(1));
            bench.generate(stream);
            bench.timer(stream.start + stream.gap * stream.count + SETTLE * 5, END);
            return;
        }
        let sent = bench.stop(self.case as u32);
        if let Some(row) = self.rows.last_mut() {
            row.sent = sent;
        }
        self.next(bench);
    }

    fn probe(&mut self, _bench: &mut Bench<'_>, arrival: &Arrival<'_>) {
        let by_cable = self.cases.get(self.case).is_some_and(|case| case.by_cable);
        let channel = match by_cable {
            true => CABLE[1],
            false => CAPTURE,
        };
        if arrival.channel != channel || arrival.tag.stream as usize != self.case {
            return;
        }
        let (Some(row), Some(left), Some(expected)) =
            (self.rows.last_mut(), arrival.left, &self.expected)
        else {
            return;
        };
        match expected.is_met_by(arrival.frame) {
            true => {
                row.received += 1;
                row.add("delay", arrival.at - left);
            }
            false => row.wrong += 1,
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: self.of.into(),
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
