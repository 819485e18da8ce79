//! `kind = "flops"`: the keys of a node that measures an OpenFlow switch.

use super::program::Program;
use super::{KIND, Measured, agent};
use lab::{Context, Kind, OneOrMore};
use node::{ConfigError, Rate, Time};
use openflow::flops::actions::{self, Actions};
use openflow::flops::intercept::{self, Direction, Intercept};
use openflow::flops::monitor::{self, Monitor};
use openflow::flops::update::{self, Change, Update};
use openflow::flops::{Flops, Matching, Module, Setup};
use openflow::version::Version;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tests that come with the node.
const TESTS: [&str; 12] = [
    "actions",
    "combined",
    "insert",
    "insert-exact",
    "modify",
    "modify-exact",
    "delete",
    "delete-exact",
    "packet-in",
    "packet-out",
    "statistics",
    "interaction",
];

/// Maximum number of tests of one node.
const MAX_TESTS: usize = 100;
/// Maximum number of entries, packets and repeats of a test.
const MAX_COUNT: u64 = 10_000_000;
/// Entries that the test `interaction` changes, and those in the table beside them: the paper changes 100 of 1024.
const INTERACTION_ENTRIES: (u32, u32) = (100, 1024 - 100);

/// The keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    test: OneOrMore<String>,
    /// Tests that are programs, by name: command lines for the shell.
    #[serde(default)]
    programs: BTreeMap<String, String>,
    #[serde(default)]
    cable: bool,
    version: Option<String>,
    #[serde(default = "usual::count")]
    count: u64,
    #[serde(default = "usual::rate")]
    rate: Rate,
    #[serde(default = "usual::length")]
    length: u16,
    entries: Option<OneOrMore<u32>>,
    #[serde(default = "usual::repeats")]
    repeats: u32,
    #[serde(default = "usual::gap")]
    gap: Time,
    #[serde(default)]
    round: bool,
    rates: Option<OneOrMore<u64>>,
    #[serde(default = "usual::time")]
    time: Time,
    others: Option<u32>,
    poll: Option<Time>,
    snmp: Option<String>,
    community: Option<String>,
    device: Option<String>,
    combined: Option<OneOrMore<u32>>,
}

/// Values of keys that are left out.
mod usual {
    use node::{Rate, Time};

    pub fn count() -> u64 {
        10_000
    }

    pub fn rate() -> Rate {
        Rate::from_bits_per_second(100_000_000).expect("it is above zero")
    }

    pub fn length() -> u16 {
        100
    }

    pub fn repeats() -> u32 {
        10
    }

    pub fn gap() -> Time {
        Time::from_us(40)
    }

    pub fn time() -> Time {
        Time::from_secs(2)
    }
}

/// The kind.
pub(super) fn kind() -> Kind {
    Kind::of(KIND, make)
        .with_results(|config: &Config| config.tests().len())
        .with_command(Config::command)
        .measuring()
        .described(include_str!("flops.toml"))
}

fn refuse(key: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError::new(key, reason)
}

impl Config {
    fn tests(&self) -> Vec<String> {
        self.test.clone().into_vec()
    }

    /// The programs that it runs.
    fn command(&self) -> Option<String> {
        let commands: Vec<&str> = self.programs.values().map(String::as_str).collect();
        (!commands.is_empty()).then(|| commands.join("\n"))
    }

    fn entries(&self) -> Vec<u32> {
        let entries = self.entries.clone();
        entries.map_or(vec![1, 10, 100, 1000], OneOrMore::into_vec)
    }

    fn combined(&self) -> Vec<u32> {
        let combined = self.combined.clone();
        combined.map_or((1..=10).collect(), OneOrMore::into_vec)
    }

    fn rates(&self, usual: &[u64]) -> Vec<u64> {
        let rates = self.rates.clone();
        rates.map_or(usual.to_vec(), OneOrMore::into_vec)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let lengths = openflow::flops::probe::MIN_PROBE_LEN..=openflow::flops::probe::MAX_PROBE_LEN;
        if !lengths.contains(&usize::from(self.length)) {
            return Err(refuse("length", "a probe has 64 to 1514 bytes"));
        }
        let whole = |key, numbers: &[u64]| {
            let mut numbers = numbers.iter();
            match numbers.all(|number| (1..=MAX_COUNT).contains(number)) {
                true => Ok(()),
                false => Err(refuse(key, format!("from 1 to {MAX_COUNT}"))),
            }
        };
        let entries: Vec<u64> = self.entries().into_iter().map(u64::from).collect();
        whole("entries", &entries)?;
        whole("rates", &self.rates(&[]))?;
        whole("count", &[self.count])?;
        whole("repeats", &[self.repeats.into()])?;
        let (combined, within) = (self.combined(), 1..=actions::MAX_COMBINED);
        if combined.is_empty() || !combined.iter().all(|number| within.contains(number)) {
            let reason = format!("numbers of actions, from 1 to {}", actions::MAX_COMBINED);
            return Err(refuse("combined", reason));
        }
        if self.gap < Time::from_ns(100) {
            return Err(refuse("gap", "a gap between probes is at least 100 ns"));
        }
        if self.poll.is_some_and(|poll| poll < Time::from_us(10)) {
            return Err(refuse("poll", "requests are at least 10 us apart"));
        }
        for (name, command) in &self.programs {
            if TESTS.contains(&name.as_str()) {
                let reason = format!(
                    "`{name}` is a test that comes with the node: name the program otherwise"
                );
                return Err(refuse("programs", reason));
            }
            if command.trim().is_empty() {
                let reason = format!("`{name}`: expected a command line for the shell");
                return Err(refuse("programs", reason));
            }
        }
        Ok(())
    }

    fn version(&self) -> Result<Version, ConfigError> {
        match self.version.as_deref() {
            None | Some("1.3") => Ok(Version::V13),
            Some("1.0") => Ok(Version::V10),
            Some(_) => Err(refuse("version", "a version is \"1.0\" or \"1.3\"")),
        }
    }

    /// A test by its name.
    fn module(&self, test: &str, folder: Option<&Path>) -> Result<Box<dyn Module>, ConfigError> {
        let probes = actions::Settings {
            count: self.count,
            rate: self.rate.bits_per_second(),
            length: self.length.into(),
        };
        Ok(match test {
            "actions" => Box::new(Actions::new(probes)),
            "combined" => Box::new(Actions::combined(probes, &self.combined())),
            "insert" => self.update(Change::Insert, Matching::Wildcard),
            "insert-exact" => self.update(Change::Insert, Matching::Exact),
            "modify" => self.update(Change::Modify, Matching::Wildcard),
            "modify-exact" => self.update(Change::Modify, Matching::Exact),
            "delete" => self.update(Change::Delete, Matching::Wildcard),
            "delete-exact" => self.update(Change::Delete, Matching::Exact),
            "packet-in" => self.intercept(Direction::In),
            "packet-out" => self.intercept(Direction::Out),
            "statistics" => Box::new(Monitor::new(monitor::Settings {
                entries: self.entries()[0],
                rates: self.rates(&[100, 500, 1000, 2000]),
                time: self.time,
                load: self.load(),
            })),
            "interaction" => self.interaction(),
            other => match self.programs.get(other) {
                Some(command) => {
                    let folder = folder.map(PathBuf::from);
                    Box::new(Program::new(other.into(), command.clone(), folder))
                }
                None => {
                    let known = TESTS.join(", ");
                    let reason = format!(
                        "there is no test `{other}`: the tests are {known}, and those in `programs`"
                    );
                    return Err(refuse("test", reason));
                }
            },
        })
    }

    fn update(&self, change: Change, matching: Matching) -> Box<dyn Module> {
        Box::new(Update::new(update::Settings {
            change,
            matching,
            entries: self.entries(),
            repeats: self.repeats,
            gap: self.gap,
            round: self.round,
            length: self.length.into(),
            others: self.others.unwrap_or(0),
            poll: self.poll,
            polls: Vec::new(),
        }))
    }

    fn interaction(&self) -> Box<dyn Module> {
        let (entries, others) = INTERACTION_ENTRIES;
        Box::new(Update::new(update::Settings {
            change: Change::Modify,
            matching: Matching::Exact,
            entries: vec![entries],
            repeats: self.repeats,
            gap: self.gap,
            round: self.round,
            length: self.length.into(),
            others: self.others.unwrap_or(others),
            poll: None,
            // All of a table of 1024 is much more to tell than one packet.
            polls: self.rates(&[5, 10, 20, 50]),
        }))
    }

    fn intercept(&self, direction: Direction) -> Box<dyn Module> {
        Box::new(Intercept::new(intercept::Settings {
            direction,
            rates: self.rates(&[100, 500, 1000, 2000]),
            time: self.time,
            length: self.length.into(),
        }))
    }

    /// The counters of the switch's processor, if it has an agent.
    fn load(&self) -> Option<monitor::Load> {
        let (busy, idle): (&[&str], &[&str]) = match (&self.snmp, &self.device) {
            (Some(_), _) => (&agent::TICKS.0, &agent::TICKS.1),
            (None, Some(_)) => (&agent::PROCESS.0, &agent::PROCESS.1),
            (None, None) => return None,
        };
        let text = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Some(monitor::Load {
            busy: text(busy),
            idle: text(idle),
        })
    }
}

fn make(config: Config, context: &Context<'_>) -> Result<Flops, ConfigError> {
    config.check()?;
    let version = config.version()?;
    let folder = context.folder();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let tests = config.tests();
    if tests.is_empty() || tests.len() > MAX_TESTS {
        return Err(refuse("test", "one test, or a list of up to 100"));
    }
    let modules = tests.iter().map(|test| config.module(test, folder));
    let modules = modules.collect::<Result<Vec<_>, _>>()?;
    let measured = context.service::<Measured>().cloned().unwrap_or_default();
    let setup = Setup {
        version,
        cable: config.cable,
        ..Setup::default()
    };
    let sink = Box::new(move |report| measured.0.lock().push(report));
    let flops = Flops::new(setup, modules, sink);
    let live = context.is_live();
    Ok(match (config.snmp, config.device) {
        (Some(to), _) if live => {
            let community = config.community.as_deref().unwrap_or("public");
            let agent = agent::Snmp::new(&to, community);
            let agent = agent.map_err(|error| refuse("snmp", format!("{to}: {error}")))?;
            flops.with_agent(Box::new(agent))
        }
        (None, Some(node)) if live => flops.with_agent(Box::new(agent::Process::new(node))),
        _ => flops,
    })
}
