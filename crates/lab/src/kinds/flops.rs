//! `kind = "flops"`: OFLOPS, the measurement of an OpenFlow switch.

use crate::fault::Fault;
use crate::fields::{Fields, OneOrMore};
use crate::flops::agent;
use crate::flops::program::Program;
use crate::kind::{Context, Kind, Made, Planned};
use crate::tree::{Value, What};
use node::{Rate, Time};
use openflow::flops::actions::{self, Actions};
use openflow::flops::intercept::{self, Direction, Intercept};
use openflow::flops::monitor::{self, Monitor};
use openflow::flops::update::{self, Change, Update};
use openflow::flops::{Flops, Matching, Module, Setup};
use openflow::version::Version;
use std::collections::BTreeMap;
use std::path::Path;

/// Tests that come with the node.
pub(crate) const TESTS: [&str; 12] = [
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

/// The kind.
pub(super) fn kinds() -> Vec<Kind> {
    let flops = Kind::new("flops", |config, folder| {
        let tests = match config.get("test").map(|test| &test.what) {
            Some(What::List(tests)) => tests.len(),
            _ => 1,
        };
        let programs = programs(config)?;
        let commands: Vec<&str> = programs.values().map(|command| &command[..]).collect();
        Ok(Planned {
            tests,
            command: (!commands.is_empty()).then(|| commands.join("\n")),
            ..Planned::by(config, folder, make)?
        })
    });
    vec![Kind {
        measures: true,
        runs_programs: true,
        ..flops
    }]
}

/// Tests that are programs, by name: the table `programs`.
fn programs(config: &Value) -> Result<BTreeMap<String, String>, Fault> {
    let Some(value) = config.get("programs") else {
        return Ok(BTreeMap::new());
    };
    let programs: BTreeMap<String, String> = value.read()?;
    let wrong = |message: String| Err(Fault::new(value.span.clone(), message));
    for (name, command) in &programs {
        if TESTS.contains(&&name[..]) {
            return wrong(format!(
                "`{name}` is a test that comes with the node: name the program otherwise"
            ));
        }
        if command.trim().is_empty() {
            return wrong(format!("`{name}`: expected a command line for the shell"));
        }
    }
    Ok(programs)
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let mut faults = Vec::new();
    let mut fields = Fields::of(config, "a table", &mut faults);
    let tests = fields.required::<OneOrMore<String>>("test", "\"actions\"", &mut faults);
    let tests = tests.map(OneOrMore::into_vec).unwrap_or_default();
    let cable = fields.optional("cable", &mut faults).unwrap_or(false);
    let version = fields.optional::<String>("version", &mut faults);
    let count = fields
        .optional::<u64>("count", &mut faults)
        .unwrap_or(10_000);
    let rate = fields.optional::<Rate>("rate", &mut faults);
    let rate = rate.map_or(100_000_000, Rate::bits_per_second);
    let length = fields.optional::<u16>("length", &mut faults).unwrap_or(100);
    let entries = fields.optional::<OneOrMore<u32>>("entries", &mut faults);
    let repeats = fields.optional::<u32>("repeats", &mut faults).unwrap_or(10);
    let gap = fields.optional::<Time>("gap", &mut faults);
    let round = fields.optional("round", &mut faults).unwrap_or(false);
    let rates = fields.optional::<OneOrMore<u64>>("rates", &mut faults);
    let time = fields.optional::<Time>("time", &mut faults);
    let others = fields.optional::<u32>("others", &mut faults);
    let poll = fields.optional::<Time>("poll", &mut faults);
    let snmp = fields.optional::<String>("snmp", &mut faults);
    let community = fields.optional::<String>("community", &mut faults);
    let device = fields.optional::<String>("device", &mut faults);
    let combined = fields.optional::<OneOrMore<u32>>("combined", &mut faults);
    let combined = combined.map_or((1..=10).collect(), OneOrMore::into_vec);
    fields.value("programs");
    let programs = programs(config)?;
    fields.finish(&mut faults);
    let refuse = |key: &str, message: String| {
        let span = config.get(key).unwrap_or(config).span.clone();
        Fault::new(span, message)
    };
    let version = match version.as_deref() {
        None | Some("1.3") => Version::V13,
        Some("1.0") => Version::V10,
        Some(_) => return Err(refuse("version", "a version is \"1.0\" or \"1.3\"".into())),
    };
    let length = usize::from(length);
    if !(openflow::flops::probe::MIN_PROBE_LEN..=openflow::flops::probe::MAX_PROBE_LEN)
        .contains(&length)
    {
        return Err(refuse("length", "a probe has 64 to 1514 bytes".into()));
    }
    let entries = entries.map_or(vec![1, 10, 100, 1000], OneOrMore::into_vec);
    let rates = rates.map(OneOrMore::into_vec);
    // All of a table of 1024 is much more to tell than one packet.
    let polls = rates.clone().unwrap_or(vec![5, 10, 20, 50]);
    let rates = rates.unwrap_or(vec![100, 500, 1000, 2000]);
    let time = time.unwrap_or(Time::from_secs(2));
    let whole = |key: &str, numbers: &[u64]| {
        let good = numbers
            .iter()
            .all(|number| (1..=MAX_COUNT).contains(number));
        good.then_some(())
            .ok_or_else(|| refuse(key, format!("from 1 to {MAX_COUNT}")))
    };
    let wide: Vec<u64> = entries.iter().map(|&entries| entries.into()).collect();
    whole("entries", &wide)?;
    whole("rates", &rates)?;
    whole("count", &[count])?;
    whole("repeats", &[repeats.into()])?;
    let within = 1..=actions::MAX_COMBINED;
    if combined.is_empty() || !combined.iter().all(|number| within.contains(number)) {
        let message = format!("numbers of actions, from 1 to {}", actions::MAX_COMBINED);
        return Err(refuse("combined", message));
    }
    let gap = gap.unwrap_or(Time::from_us(40));
    if gap < Time::from_ns(100) {
        return Err(refuse(
            "gap",
            "a gap between probes is at least 100 ns".into(),
        ));
    }
    if poll.is_some_and(|poll| poll < Time::from_us(10)) {
        return Err(refuse("poll", "requests are at least 10 us apart".into()));
    }
    if let Some(fault) = faults.into_iter().next() {
        return Err(fault);
    }
    let folder = context.folder.map(Path::to_path_buf);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let change = |change, matching| -> Box<dyn Module> {
        Box::new(Update::new(update::Settings {
            change,
            matching,
            entries: entries.clone(),
            repeats,
            gap,
            round,
            length,
            others: others.unwrap_or(0),
            poll,
            polls: Vec::new(),
        }))
    };
    // As in the paper: 100 of 1024 exact entries change.
    let interaction = || -> Box<dyn Module> {
        let others = others.unwrap_or(1024 - 100);
        Box::new(Update::new(update::Settings {
            change: Change::Modify,
            matching: Matching::Exact,
            entries: vec![100],
            repeats,
            gap,
            round,
            length,
            others,
            poll: None,
            polls: polls.clone(),
        }))
    };
    let intercept = |direction| -> Box<dyn Module> {
        Box::new(Intercept::new(intercept::Settings {
            direction,
            rates: rates.clone(),
            time,
            length,
        }))
    };
    let counters = |(busy, idle): (&[&str], &[&str])| {
        let text = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        monitor::Load {
            busy: text(busy),
            idle: text(idle),
        }
    };
    let load = match (&snmp, &device) {
        (Some(_), _) => Some(counters((&agent::TICKS.0, &agent::TICKS.1))),
        (None, Some(_)) => Some(counters((&agent::PROCESS.0, &agent::PROCESS.1))),
        (None, None) => None,
    };
    let probes = actions::Settings {
        count,
        rate,
        length,
    };
    let module = |test: &str| -> Result<Box<dyn Module>, Fault> {
        Ok(match test {
            "actions" => Box::new(Actions::new(probes)),
            "combined" => Box::new(Actions::combined(probes, &combined)),
            "insert" => change(Change::Insert, Matching::Wildcard),
            "insert-exact" => change(Change::Insert, Matching::Exact),
            "modify" => change(Change::Modify, Matching::Wildcard),
            "modify-exact" => change(Change::Modify, Matching::Exact),
            "delete" => change(Change::Delete, Matching::Wildcard),
            "delete-exact" => change(Change::Delete, Matching::Exact),
            "packet-in" => intercept(Direction::In),
            "packet-out" => intercept(Direction::Out),
            "statistics" => Box::new(Monitor::new(monitor::Settings {
                entries: entries[0],
                rates: rates.clone(),
                time,
                load: load.clone(),
            })),
            "interaction" => interaction(),
            other => match programs.get(other) {
                Some(command) => {
                    let (name, command) = (other.into(), command.clone());
                    Box::new(Program::new(name, command, folder.clone()))
                }
                None => {
                    let fault = refuse("test", format!("there is no test `{other}`"));
                    return Err(fault.help(format!(
                        "the tests are {}, and those in `programs`",
                        TESTS.join(", ")
                    )));
                }
            },
        })
    };
    let modules: Vec<_> = tests
        .iter()
        .map(|test| module(test))
        .collect::<Result<_, _>>()?;
    if modules.is_empty() || modules.len() > MAX_TESTS {
        return Err(refuse("test", "one test, or a list of up to 100".into()));
    }
    let live = context.live;
    let measured = context.measured;
    let setup = Setup {
        version,
        cable,
        ..Setup::default()
    };
    let sink = Box::new(move |report| measured.add(report));
    let flops = Flops::new(setup, modules, sink);
    Ok(Box::new(match (snmp, device) {
        (Some(to), _) if live => {
            let community = community.as_deref().unwrap_or("public");
            let agent = agent::Snmp::new(&to, community);
            let agent = agent.map_err(|error| refuse("snmp", format!("{to}: {error}")))?;
            flops.with_agent(Box::new(agent))
        }
        (None, Some(node)) if live => flops.with_agent(Box::new(agent::Process::new(node))),
        _ => flops,
    }))
}
