//! Table 3.2: how long each action takes, and how many packets it loses.

use super::probe::{Arrival, Stream, headers};
use super::report::{Report, Row};
use super::{Bench, CABLE, CAPTURE, Module, SETTLE, rules};
use crate::action::Action;
use crate::message::Message;
use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::version::Version;
use ::node::Time;
use alloc::vec::Vec;

/// How it is measured.
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

/// An action of the table, and how to see that it was done.
struct Case {
    name: &'static str,
    tagged: bool,
    v10: Option<Action<'static>>,
    v13: Option<Action<'static>>,
    /// Whether a frame is as it should be.
    done: fn(&[u8]) -> bool,
}

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const ADDRESS: [u8; 4] = [10, 9, 9, 9];

fn at(frame: &[u8], from: usize, bytes: &[u8]) -> bool {
    frame.get(from..from + bytes.len()) == Some(bytes)
}

const fn set(field: Field, value: u128) -> Option<Action<'static>> {
    Some(Action::SetField(Oxm::new(field, value)))
}

/// The instrument's own part, and the rows of table 3.2.
const CASES: [Case; 9] = [
    Case {
        name: "(no switch)",
        tagged: false,
        v10: None,
        v13: None,
        done: |frame| at(frame, 0, &headers::DESTINATION),
    },
    Case {
        name: "Forward",
        tagged: false,
        v10: None,
        v13: None,
        done: |frame| at(frame, 0, &headers::DESTINATION),
    },
    Case {
        name: "MAC addr.",
        tagged: false,
        v10: set(Field::EthDst, 0x0200_0000_0009),
        v13: set(Field::EthDst, 0x0200_0000_0009),
        done: |frame| at(frame, 0, &MAC),
    },
    Case {
        name: "IP addr.",
        tagged: false,
        v10: set(Field::Ipv4Dst, 0x0a09_0909),
        v13: set(Field::Ipv4Dst, 0x0a09_0909),
        done: |frame| at(frame, 30, &ADDRESS),
    },
    Case {
        name: "IP ToS",
        tagged: false,
        v10: set(Field::IpDscp, 10),
        v13: set(Field::IpDscp, 10),
        done: |frame| at(frame, 15, &[10 << 2]),
    },
    Case {
        name: "L4 port",
        tagged: false,
        v10: Some(Action::SetTpDst(7777)),
        v13: set(Field::UdpDst, 7777),
        done: |frame| at(frame, 36, &7777u16.to_be_bytes()),
    },
    Case {
        name: "VLAN pcp",
        tagged: true,
        v10: Some(Action::SetVlanPcp(5)),
        v13: set(Field::VlanPcp, 5),
        done: |frame| at(frame, 12, &[0x81, 0, 0xa0, 100]),
    },
    Case {
        name: "VLAN id",
        tagged: true,
        v10: Some(Action::SetVlanVid(200)),
        v13: set(Field::VlanVid, VLAN_PRESENT as u128 | 200),
        done: |frame| at(frame, 12, &[0x81, 0, 0, 200]),
    },
    Case {
        name: "VLAN rem.",
        tagged: true,
        v10: Some(Action::PopVlan),
        v13: Some(Action::PopVlan),
        done: |frame| at(frame, 12, &[8, 0]),
    },
];

/// Measures each action in turn.
pub struct Actions {
    settings: Settings,
    case: usize,
    rows: Vec<Row>,
}

/// Timers.
const BEGIN: u64 = 0;
const END: u64 = 1;

impl Actions {
    /// Nothing measured yet.
    pub fn new(settings: Settings) -> Actions {
        Actions {
            settings,
            case: 0,
            rows: Vec::new(),
        }
    }

    /// Matching sets a single field to the same flow for all probes, which all go one way.
    fn install(&mut self, bench: &mut Bench<'_>) {
        let Some(case) = CASES.get(self.case) else {
            bench.finish();
            return;
        };
        self.rows.push(Row::new(case.name, self.case as u64));
        if self.case == 0 {
            bench.timer(bench.now() + SETTLE, BEGIN);
            return;
        }
        rules::delete_all(bench);
        let setup = bench.setup();
        let action = match setup.version {
            Version::V10 => case.v10,
            Version::V13 => case.v13,
        };
        let forward = rules::forward(&setup);
        let actions: Vec<Action<'_>> = action.into_iter().chain([forward]).collect();
        match case.tagged {
            true => rules::tagged(bench, &actions),
            false => rules::one(bench, crate::message::FlowCommand::Add, 0, &actions),
        };
        bench.send(&Message::BarrierRequest);
    }
}

impl Module for Actions {
    fn name(&self) -> &'static str {
        "actions"
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        self.case = usize::from(!bench.setup().cable);
        self.install(bench);
    }

    fn message(&mut self, bench: &mut Bench<'_>, _xid: u32, message: &Message<'_>) {
        if matches!(message, Message::BarrierReply) {
            bench.timer(bench.now() + SETTLE, BEGIN);
        }
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        let Settings {
            count,
            rate,
            length,
        } = self.settings;
        if number == BEGIN {
            let gap = Stream::gap_at(rate, length);
            let start = bench.now() + Time::from_ms(1);
            bench.generate(Stream {
                number: self.case as u32,
                start,
                gap,
                count,
                length,
                flows: (0, 1),
                tagged: CASES[self.case].tagged,
                by_cable: self.case == 0,
            });
            bench.timer(start + gap * count + SETTLE * 5, END);
            return;
        }
        let sent = bench.stop(self.case as u32);
        if let Some(row) = self.rows.last_mut() {
            row.sent = sent;
        }
        self.case += 1;
        self.install(bench);
    }

    fn probe(&mut self, _bench: &mut Bench<'_>, arrival: &Arrival<'_>) {
        let channel = match self.case {
            0 => CABLE[1],
            _ => CAPTURE,
        };
        if arrival.channel != channel || arrival.tag.stream as usize != self.case {
            return;
        }
        let (Some(row), Some(left)) = (self.rows.last_mut(), arrival.left) else {
            return;
        };
        match (CASES[self.case].done)(arrival.frame) {
            true => {
                row.received += 1;
                row.add("delay", arrival.at - left);
            }
            false => row.wrong += 1,
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: "action",
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
