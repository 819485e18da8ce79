//! `wire of flops`: OFLOPS.

use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use lab::flops::{Device as Measured, figure};
use lab::{Options, World};
use node::{Rate, Time};
use openflow::version::Version;
use std::path::PathBuf;

/// Measure an OpenFlow switch: what it says beside what it does
///
/// Tests: actions (delay and loss of each action), insert, modify, delete (the barrier beside the data plane, by the number of
/// entries), packet-in, packet-out, statistics (by rate), interaction (100 of 1024 entries modified while statistics are asked for). Our own switch is measured in simulated time, as any user, or live; Open vSwitch
/// with its userspace datapath live, started for the test in a namespace of its own, as root.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire of flops actions insert --entries 1,10")]
pub struct Flops {
    /// The tests
    #[arg(value_name = "TEST", default_values_t = ["actions".to_string(), "insert".into()])]
    tests: Vec<String>,
    /// The switch: ours, or Open vSwitch (live only); or both, one after the other: wire,openvswitch
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
    /// From one probe to the next, in the tests of entries
    #[arg(long, value_name = "TIME", default_value = "40 us")]
    gap: Time,
    /// Packets, or requests, a second [default: 100,500,1000,2000; of interaction 5,10,20,50]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    rates: Vec<u64>,
    /// How long each rate; with --snmp 20 s or more, as agents look at their processor every 5 s or so
    #[arg(long, alias = "time", value_name = "TIME", value_parser = node::time::seconds, default_value = "2 s")]
    duration: Time,
    /// Entries that are there beside those that change [default: 0; of interaction 924]
    #[arg(long, value_name = "N")]
    others: Option<u32>,
    /// Ask for the statistics of the whole table this often meanwhile
    #[arg(long, value_name = "TIME")]
    poll: Option<Time>,
    /// The SNMP agent of the switch, HOST or HOST:PORT, that tells its processor's load; without one that of the process
    #[arg(long, value_name = "HOST")]
    snmp: Option<String>,
    /// The community to ask it as
    #[arg(long, value_name = "NAME", default_value = "public")]
    community: String,
    /// Draw what was measured, as .png or .svg; `wire plot --kind flops` draws several switches from their JSON Lines
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
        for &switch in &self.switch {
            let text = self.lab(switch);
            let lab = lab::parse(&text)
                .map_err(|faults| anyhow::anyhow!("{}", faults.list[0].message))?;
            let options = Options {
                dry: true,
                stop: Some(live::signal::stop_requested),
                ..Options::default()
            };
            let name = self.device(switch);
            if world == World::Live {
                eprintln!(
                    "wire: OFLOPS on {name}: {}, or until Ctrl-C",
                    self.tests.join(", ")
                );
            }
            let report = lab::run(&lab, world, &options)?;
            let mut text = match self.json {
                true => report.json(),
                false => lab::flops::verdict(&report.flops) + &lab::flops::text(&report.flops),
            };
            if self.switch.len() > 1 && !self.json {
                text = format!("\n{name}\n{text}");
            }
            stdout.write(text.as_bytes())?;
            stdout.flush()?;
            devices.push(Measured {
                name: name.into(),
                lines: lab::flops::lines(&report.flops),
            });
            flops.extend(report.flops);
            if live::signal::stop_requested() {
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
        let (done, all) = (flops.len(), self.tests.len() * self.switch.len());
        if Verdict::if_done(done == all) == Verdict::Stopped {
            return Ok(Verdict::Stopped);
        }
        anyhow::ensure!(done == all, "stopped after {done} of {all} tests");
        let good = flops.iter().all(|one| one.faults.is_empty());
        Ok(Verdict::if_good(good))
    }

    /// What the switch is called.
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
            ..
        } = self;
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
             device = \"s1\"\ncable = true\n{poll}\n[node.s1]\n{switch}\nports = 2\ncontrollers = 1\n\
             [[link]]\nends = [\"flops.0\", \"s1.2\"]\n[[link]]\nends = [\"flops.1\", \"s1.0\"]\n\
             [[link]]\nends = [\"flops.2\", \"s1.1\"]\n[[link]]\nends = [\"flops.3\", \"flops.4\"]\n"
        )
    }
}
