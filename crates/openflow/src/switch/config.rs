//! What a switch is made from.

use super::queues::WHOLE;
use crate::port::Name;
use crate::version::Version;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::{ConfigError, Rate, Time};
use packet::ethernet::Mac;

/// What a switch does without a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum FailMode {
    /// It goes on with the entries that it has.
    #[default]
    Secure,
    /// It forwards by learned addresses, as a switch without OpenFlow does.
    Standalone,
}

/// A queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct QueueConfig {
    /// The port, from 1 on.
    pub port: u16,
    /// The queue's number.
    pub queue: u32,
    /// The rate that it gets at least while frames wait in it, in tenths of a percent of the port's.
    #[cfg_attr(feature = "serde", serde(default))]
    pub min_rate: Option<u16>,
    /// The highest rate, in tenths of a percent of the port's.
    #[cfg_attr(feature = "serde", serde(default))]
    pub max_rate: Option<u16>,
}

/// A queue discipline of a port.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct DisciplineConfig {
    /// The port, from 1 on.
    pub port: u16,
    /// The discipline. With `by = "queue"` the number of a frame's queue chooses its class.
    pub discipline: queue::Config,
}

impl DisciplineConfig {
    /// Least and highest rate of a queue, in tenths of a percent of the port's, rounded down, as controllers read them as its properties: of
    /// `htb` whose classes have no classes themselves, its class's rate and ceiling. Of other disciplines none.
    pub(super) fn rates(&self, number: u32, port: Rate) -> [Option<u16>; 2] {
        let queue::Config::Htb(tree) = &self.discipline else {
            return [None; 2];
        };
        let is_flat = tree.classes.iter().all(|class| class.classes.is_empty());
        if !is_flat || tree.by != queue::classify::By::Queue {
            return [None; 2];
        }
        let class = tree.priomap.get(number as usize);
        let class = class.and_then(|class| tree.classes.get(*class as usize));
        let Some(class) = class.or(tree.classes.last()) else {
            return [None; 2];
        };
        [class.rate, class.ceil.unwrap_or(class.rate)].map(|rate| {
            let tenths = u128::from(rate.bits_per_second()) * 1_000;
            let tenths = tenths / u128::from(port.bits_per_second());
            Some(u16::try_from(tenths).unwrap_or(u16::MAX).min(1_000))
        })
    }
}

/// What a switch is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many data ports, 1 to 65,000.
    pub ports: u16,
    /// Control ports by which it opens connections.
    pub controllers: u16,
    /// Control ports by which it accepts connections.
    pub listeners: u16,
    /// Connections beside the main one to each controller, at most 15.
    pub auxiliary: u8,
    /// What controllers know the switch by.
    pub datapath_id: u64,
    /// The versions that it speaks; all, if empty.
    pub protocols: Vec<Version>,
    /// How many flow tables, 1 to 255.
    pub tables: u8,
    /// The most entries of a table.
    pub flows: usize,
    /// Whether a full table gives up the entry that would time out first.
    pub eviction: bool,
    /// Packets that are kept for controllers, at most 32,768.
    pub buffers: u16,
    /// How long one is kept at least.
    pub buffer_life: Time,
    /// Bytes of a packet without an entry that go to the controller.
    pub miss_send_len: u16,
    /// What it does without a controller.
    pub fail_mode: FailMode,
    /// Entries that are there from the start, as texts that ovs-ofctl reads: so that a switch forwards without a controller,
    /// and what is for its controller finds its way in band. Those of OpenFlow 1.3.
    pub entries: Vec<String>,
    /// Groups that are there from the start, as texts that ovs-ofctl reads: one leads only to those before it.
    pub groups: Vec<String>,
    /// Meters that are there from the start, as texts that ovs-ofctl reads.
    pub meters: Vec<String>,
    /// Of the data ports, as controllers are told it, and queues reckon with.
    pub rate: Rate,
    /// Queues of ports.
    pub queues: Vec<QueueConfig>,
    /// Queue disciplines of ports; a port has one at most.
    pub disciplines: Vec<DisciplineConfig>,
    /// Names of ports; `eth` and the number, without one.
    pub names: Vec<String>,
    /// Silence before a controller is asked for an echo, and how long it has to answer.
    pub idle: Time,
    /// Hashes come from this.
    pub seed: u64,
}

/// The rate of ports, if none is given: 1 Gb/s.
const GIGABIT: Rate = match Rate::from_bits_per_second(1_000_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: 4,
            controllers: 1,
            listeners: 0,
            auxiliary: 0,
            datapath_id: 1,
            protocols: Version::ALL.into(),
            tables: 255,
            flows: 1_000_000,
            eviction: false,
            buffers: 256,
            buffer_life: Time::from_secs(1),
            miss_send_len: 128,
            fail_mode: FailMode::Secure,
            entries: Vec::new(),
            groups: Vec::new(),
            meters: Vec::new(),
            rate: GIGABIT,
            queues: Vec::new(),
            disciplines: Vec::new(),
            names: Vec::new(),
            idle: Time::from_secs(5),
            seed: 0,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key, reason: String| Err(ConfigError { key, reason });
        let control = u32::from(self.controllers) + u32::from(self.listeners);
        if self.ports == 0 || self.ports > 65_000 {
            return refuse("ports", "1 to 65,000 data ports".into());
        }
        if u32::from(self.ports) + control > u32::from(u16::MAX) {
            return refuse(
                "controllers",
                "65,535 ports at most, with those for control".into(),
            );
        }
        if self.auxiliary > 15 {
            return refuse("auxiliary", "15 at most".into());
        }
        if self.tables == 0 {
            return refuse("tables", "1 to 255".into());
        }
        if self.buffers > 0x8000 {
            return refuse("buffers", "32,768 at most".into());
        }
        if self.flows == 0 || self.flows > 1 << 24 {
            return refuse("flows", "1 to 16,777,216 entries of a table".into());
        }
        if self.idle == Time::ZERO {
            return refuse("idle", "longer than no time".into());
        }
        let mut disciplined = BTreeSet::new();
        for own in &self.disciplines {
            if own.port == 0 || own.port > self.ports {
                return refuse("disciplines", format!("there is no port {}", own.port));
            }
            if !disciplined.insert(own.port) {
                return refuse(
                    "disciplines",
                    format!("port {} has more than one", own.port),
                );
            }
            own.discipline.build(self.seed)?;
        }
        let (mut seen, mut promised) = (BTreeSet::new(), BTreeMap::new());
        for queue in &self.queues {
            if queue.port == 0 || queue.port > self.ports {
                return refuse("queues", format!("there is no port {}", queue.port));
            }
            let place = format!("queue {} of port {}", queue.queue, queue.port);
            let range = |rate: Option<u16>| rate.is_none_or(|rate| (1..=1000).contains(&rate));
            if !range(queue.min_rate) || !range(queue.max_rate) {
                return refuse(
                    "queues",
                    format!("{place}: `min_rate` and `max_rate` are 1 to 1000 tenths of a percent"),
                );
            }
            if queue
                .max_rate
                .is_some_and(|most| queue.min_rate.is_some_and(|least| least > most))
            {
                return refuse("queues", format!("{place}: `min_rate` is above `max_rate`"));
            }
            if disciplined.contains(&queue.port)
                && (queue.min_rate.is_some() || queue.max_rate.is_some())
            {
                let reason =
                    "the discipline of the port has its rates; take out `min_rate` and `max_rate`";
                return refuse("queues", format!("{place}: {reason}"));
            }
            if !seen.insert((queue.port, queue.queue)) {
                return refuse("queues", format!("there is more than one {place}"));
            }
            let promised = promised.entry(queue.port).or_insert(0);
            *promised += u32::from(queue.min_rate.unwrap_or(0));
            let promised = *promised;
            if promised > WHOLE {
                return refuse(
                    "queues",
                    format!(
                        "the queues of port {} have least rates of {}.{} % together, of which there are 100",
                        queue.port,
                        promised / 10,
                        promised % 10
                    ),
                );
            }
        }
        Ok(())
    }

    /// The name of a data port, by its index.
    pub(super) fn name(&self, index: u16) -> Name<16> {
        match self.names.get(usize::from(index)) {
            Some(name) => Name::new(name),
            None => Name::new(&format!("eth{}", index + 1)),
        }
    }

    /// The address of a data port: locally administered, of the datapath's number and the port's.
    pub(super) fn hardware(&self, index: u16) -> Mac {
        let [.., a, b, c] = self.datapath_id.to_be_bytes();
        let [high, low] = (index + 1).to_be_bytes();
        Mac([0x02, a, b, c, high, low])
    }
}
