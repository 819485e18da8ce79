//! `wire of flops`: OFLOPS.

use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use flops::{Device as Measured, Runs, Tests, figure};
use lab::{Options, Registry, World};
use node::{Rate, Time};
use openflow::version::Version;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Measure an OpenFlow switch: its messages compared with its packets
///
/// Tests: actions (delay and loss), combined (several actions in an entry), insert, modify, delete (barrier and data plane by number
/// of entries; insert-exact, modify-exact, delete-exact: without wildcards), packet-in, packet-out, statistics (by rate),
/// interaction (100 of 1024 exact entries modified during requests for statistics). Open vSwitch is started in a namespace, as root.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire of flops actions insert --entries 1,10")]
pub struct Flops {
    /// The tests
    #[arg(value_name = "TEST", default_values_t = ["actions".to_string(), "insert".into()])]
    tests: Vec<String>,
    /// The switch, or both: wire,openvswitch; Open vSwitch is live only
    #[arg(long, value_enum, value_delimiter = ',', default_value = "wire")]
    switch: Vec<Device>,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = WorldName::Sim)]
    world: WorldName,
    /// The version to speak: 1.0 or 1.3
    #[arg(
        long,
        short = 'O',
        alias = "protocol",
        alias = "openflow",
        value_name = "VERSION",
        default_value = "1.3"
    )]
    protocols: Version,
    /// Probes of each action
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    count: u64,
    /// Actions in an entry, of combined [default: 1 to 10]
    #[arg(
        long,
        hide_default_value = true,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,3,4,5,6,7,8,9,10"
    )]
    combined: Vec<u32>,
    /// A test of your own, which answers events on standard input
    #[arg(long, value_name = "NAME=COMMAND", value_parser = program)]
    program: Vec<(String, String)>,
    /// Repetitions; reports the range of medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Rate of probes of actions
    #[arg(long, value_name = "RATE", default_value = "100 Mb/s")]
    rate: Rate,
    /// Numbers of entries
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,10,100,1000"
    )]
    entries: Vec<u32>,
    /// Times each number of entries
    #[arg(long, value_name = "N", default_value_t = 10)]
    repeats: u32,
    /// Time between probes of entries
    #[arg(long, value_name = "TIME", default_value = "40 us")]
    gap: Time,
    /// Packets, or requests, a second [default: 100,500,1000,2000; of interaction 5,10,20,50]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    rates: Vec<u64>,
    /// Time of each rate; with --snmp 20 s or more
    #[arg(long, alias = "time", value_name = "TIME", value_parser = node::time::seconds, default_value = "2 s")]
    duration: Time,
    /// Other entries [default: 0; of interaction 924]
    #[arg(long, value_name = "N")]
    others: Option<u32>,
    /// Interval of requests for the statistics of the whole table
    #[arg(long, value_name = "TIME")]
    poll: Option<Time>,
    /// SNMP agent for the switch's load, HOST or HOST:PORT
    #[arg(long, value_name = "HOST")]
    snmp: Option<String>,
    /// The community to ask it as
    #[arg(long, value_name = "NAME", default_value = "public")]
    community: String,
    /// Draw a picture, .png or .svg; see `wire plot --kind flops`
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Report as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Devices under test.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Device {
    /// Ours
    Wire,
    /// Open vSwitch
    Openvswitch,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum WorldName {
    /// In exact virtual time
    Sim,
    /// In real time
    Live,
}

/// A test of one's own, as it is written: `NAME=COMMAND`.
fn program(text: &str) -> Result<(String, String), String> {
    let (name, command) = text.split_once('=').unwrap_or((text, ""));
    match name.is_empty() || command.trim().is_empty() {
        true => Err("write NAME=COMMAND, as in takeover='python3 takeover.py'".into()),
        false => Ok((name.into(), command.into())),
    }
}

/// A string of TOML.
fn toml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Results of one switch.
struct Done {
    measured: Measured,
    reports: Vec<openflow::flops::Report>,
}

/// Packets that nodes and links dropped in all runs, by place and reason.
#[derive(Default)]
struct Losses(BTreeMap<(String, String), u64>);

impl Losses {
    fn add(&mut self, report: &lab::Report) {
        for (place, reason, count) in report.losses() {
            *self.0.entry((place, reason)).or_default() += count;
        }
    }

    /// A table; empty without losses.
    fn text(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let head = ["at", "packets not forwarded", "packets"].map(String::from);
        let lines = self.0.iter().map(|((place, reason), count)| {
            [
                place.clone(),
                reason.clone(),
                ::report::text::number(*count),
            ]
        });
        let lines = [head].into_iter().chain(lines).map(Vec::from);
        format!("\n{}", ::report::text::Table::new(lines))
    }
}

impl Flops {
    /// Runs the tests, one after another.
    pub fn run(self) -> anyhow::Result<Verdict> {
        anyhow::ensure!(
            self.world == WorldName::Live || !self.switch.contains(&Device::Openvswitch),
            "Open vSwitch runs in real time only: add --world live"
        );
        let mut stdout = Output::open(&Buffering::default())?;
        let world = match self.world {
            WorldName::Sim => World::Sim,
            WorldName::Live => World::Live,
        };
        let (mut devices, mut flops) = (Vec::new(), Vec::new());
        let registry = ::flops::add(Registry::standard());
        for &switch in &self.switch {
            let text = self.lab(switch);
            let lab = registry
                .parse(&text)
                .map_err(|faults| anyhow::anyhow!("{}", faults.list[0].message))?;
            let name = self.device(switch);
            if world == World::Live {
                eprintln!(
                    "wire: OFLOPS on {name}: {}, or until Ctrl-C",
                    self.tests.join(", ")
                );
            }
            let done = self.measure(&lab, world, name, &mut stdout)?;
            devices.push(done.measured);
            flops.extend(done.reports);
            if ::capture::signal::stop_requested() {
                break;
            }
        }
        stdout.finish()?;
        if self.world == WorldName::Sim {
            eprintln!(
                "wire: in simulated time the switch takes none: these are the times of links of 1 Gb/s; --world live measures switches"
            );
        }
        if let Some(path) = &self.plot {
            let names: Vec<&str> = devices.iter().map(|device| &device.name[..]).collect();
            let title = format!("OFLOPS: {}", names.join(", "));
            match figure(&title, &devices) {
                Some(figure) => picture(&figure, path)?,
                None => eprintln!("wire: no figure: what actions take is a table"),
            }
        }
        let runs = self.runs as usize;
        let (done, all) = (flops.len(), self.tests.len() * self.switch.len() * runs);
        if Verdict::if_done(done == all) == Verdict::Stopped {
            return Ok(Verdict::Stopped);
        }
        anyhow::ensure!(done == all, "stopped after {done} of {all} tests");
        let good = flops.iter().all(|one| one.faults.is_empty());
        Ok(Verdict::if_good(good))
    }

    /// Measures one switch, `runs` times, and writes the report.
    fn measure(
        &self,
        lab: &lab::Lab,
        world: World,
        name: &str,
        stdout: &mut Output,
    ) -> anyhow::Result<Done> {
        let options = Options {
            dry: true,
            // Programs are those of the command line.
            allow_commands: true,
            stop: Some(::capture::signal::stop_requested),
            ..Options::default()
        };
        let (mut runs, mut reports, mut losses) = (Runs::default(), Vec::new(), Losses::default());
        for run in 1..=self.runs {
            let report = lab::run(lab, world, &options)?;
            if self.json {
                stdout.write(report.json().as_bytes())?;
            }
            losses.add(&report);
            let tests = report.section::<Tests>();
            let tests = tests.map_or(Vec::new(), |tests| tests.0.clone());
            reports.extend(tests.iter().cloned());
            runs.add(tests);
            if ::capture::signal::stop_requested() {
                break;
            }
            if self.runs > 1 && world == World::Live {
                eprintln!("wire: run {run} of {} done", self.runs);
            }
        }
        let lines = match self.runs {
            1 => flops::lines(&reports),
            _ => runs.lines(),
        };
        let text = match (self.json, self.runs) {
            (true, 1) => String::new(),
            (true, _) => lines.iter().map(|line| format!("{line}\n")).collect(),
            (false, 1) => flops::verdict(&reports) + &flops::text(&reports),
            (false, _) => flops::verdict(&reports) + &runs.text(),
        };
        let mut text = match self.json {
            true => text,
            false => text + &losses.text(),
        };
        if self.switch.len() > 1 && !self.json {
            text = format!("\n{name}\n{text}");
        }
        stdout.write(text.as_bytes())?;
        stdout.flush()?;
        Ok(Done {
            measured: Measured {
                name: name.into(),
                lines,
            },
            reports,
        })
    }

    /// The name of a switch in reports.
    fn device(&self, switch: Device) -> &'static str {
        match (switch, self.world) {
            (Device::Wire, WorldName::Sim) => "Wireline, simulated",
            (Device::Wire, WorldName::Live) => "Wireline",
            (Device::Openvswitch, _) => "Open vSwitch",
        }
    }

    /// A lab for the tests.
    fn lab(&self, switch: Device) -> String {
        let Flops {
            tests,
            protocols,
            count,
            rate,
            entries,
            repeats,
            gap,
            rates,
            others,
            combined,
            ..
        } = self;
        let programs = self.program.iter();
        let programs =
            programs.map(|(name, command)| format!("{} = {}", toml(name), toml(command)));
        let programs = match self.program.len() {
            0 => String::new(),
            _ => format!(
                "programs = {{ {} }}",
                programs.collect::<Vec<_>>().join(", ")
            ),
        };
        let poll = self.poll.as_ref().map(|poll| format!("poll = \"{poll}\""));
        let poll = poll.unwrap_or_default();
        let rates = match rates.is_empty() {
            true => String::new(),
            false => format!("rates = {rates:?}"),
        };
        let time = self.duration.to_string();
        let snmp = self.snmp.as_ref().map(|host| format!("snmp = {host:?}"));
        let (snmp, community) = (snmp.unwrap_or_default(), &self.community);
        let others = others.map(|others| format!("others = {others}"));
        let others = others.unwrap_or_default();
        // Which of several a report is of.
        let name = match self.switch.len() {
            1 => "flops",
            _ => self.device(switch),
        };
        let switch = match switch {
            Device::Wire => "kind = \"openflow-switch\"",
            Device::Openvswitch => {
                "kind = \"openvswitch\"\nprotocols = [\"OpenFlow10\", \"OpenFlow13\"]"
            }
        };
        let link = match self.world {
            // In simulated time nothing but the links takes any, so that with ideal ones all would be zero.
            WorldName::Sim => "rate = \"1 Gb/s\"\nqueue = \"1000000 packets\"",
            WorldName::Live => "rate = \"unlimited\"",
        };
        format!(
            "[lab]\nname = {name:?}\n[default.link]\n{link}\n\
             [node.flops]\nkind = \"flops\"\ntest = {tests:?}\nversion = \"{protocols}\"\ncount = {count}\n\
             rate = \"{rate}\"\nentries = {entries:?}\nrepeats = {repeats}\ngap = \"{gap}\"\n{rates}\ntime = {time:?}\n\
             {others}\n{snmp}\ncommunity = {community:?}\n\
             combined = {combined:?}\n{programs}\n\
             device = \"s1\"\ncable = true\n{poll}\n[node.s1]\n{switch}\nports = 2\ncontrollers = 1\n\
             [[link]]\nends = [\"flops.0\", \"s1.2\"]\n[[link]]\nends = [\"flops.1\", \"s1.0\"]\n\
             [[link]]\nends = [\"flops.2\", \"s1.1\"]\n[[link]]\nends = [\"flops.3\", \"flops.4\"]\n"
        )
    }
}
