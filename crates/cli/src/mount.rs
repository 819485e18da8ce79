//! `wire mount`: ports as files (FORMATS section 5).

use crate::Verdict;
use crate::multicall;
use crate::on::{names, ports};
use crate::report::{PAST, put_timing};
use crate::time::tick;
use ::capture::signal;
use anyhow::{Context, bail};
use live::interface;
use live::port::{self, Options, PortSpec};
use live::world::mount::{Mount, PortReport, Settings};
use packet::Tick;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The place of EtherPIPE's device tree.
const DEFAULT: &str = "/dev/ethpipe";

/// Serve ports as files: cat, grep, sed and tee become packet functions
///
/// DIR/0, DIR/1... are the ports as text lines, DIR/r0, DIR/r1... as binary records, for reading
/// and writing; DIR/0.d/ holds counters, global_time, tick, epoch, timer1 to timer7, name, error,
/// readers and ctl, to which time=off, hash=on, strict=on, cut=on or line_buffered=off may be written;
/// DIR/bin/ has the papers' ethdump, tappipe and epcmd; DIR/stack/NAME is the port tap:NAME, an interface of the
/// kernel's stack; DIR/sys/kernel/pktdev/local_time1 is timer 1 of port 0. Runs until Ctrl-C or
/// `umount DIR`.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire mount /dev/ethpipe --on eth0 eth1 &
  cat /dev/ethpipe/0 | tee /dev/ethpipe/0 > /dev/ethpipe/1")]
pub struct MountCommand {
    /// Where to mount; made if it is not there [default: /dev/ethpipe]
    dir: Option<PathBuf>,
    /// The ports, numbered from 0 in this order
    #[arg(long, value_name = "PORT", num_args = 1.., required_unless_present = "all")]
    on: Vec<OsString>,
    /// Every Ethernet interface that is up, in the order of `wire ports`
    #[arg(long, conflicts_with = "on")]
    all: bool,
    /// Lines without timestamps: the destination address is the first field
    #[arg(long)]
    no_time: bool,
    /// Lines with the five-tuple hash
    #[arg(long)]
    hash: bool,
    /// Refuse a write with a line that is no packet, instead of counting and skipping the line
    #[arg(long)]
    strict: bool,
    /// Send a last line without line feed though its IP packet is longer, instead of counting it
    #[arg(long)]
    send_cut: bool,
    /// Permissions of the ports' files, octal; chmod and chown change them later
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = permissions)]
    mode: u32,
    /// MiB kept for readers that fall behind, for each port and form that is read
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    buffer: u16,
    /// Mount over the ports of another `wire mount` that are there already
    #[arg(long)]
    over: bool,
    /// The unit of timestamps, such as "6.4 ns"
    #[arg(long, default_value = "8 ns", value_parser = tick)]
    tick: Tick,
    /// Report as JSON lines
    #[arg(long)]
    json: bool,
}

/// Links to the papers' commands, to ports that are interfaces of the kernel's stack by name, and to the timers of port 0 by the
/// names that ping.sh has for them (Kuga's thesis, figure 6.11).
fn links(specs: &[PortSpec]) -> Vec<(String, PathBuf)> {
    let commands = multicall::links().into_iter();
    let mut links: Vec<_> = commands
        .map(|(name, program)| (format!("bin/{name}"), program))
        .collect();
    for (index, spec) in specs.iter().enumerate() {
        if let PortSpec::Tap(interface) = spec {
            links.push((format!("stack/{interface}"), format!("../{index}").into()));
        }
    }
    for timer in 1..=7 {
        let target = format!("../../../0.d/timer{timer}");
        links.push((
            format!("sys/kernel/pktdev/local_time{timer}"),
            target.into(),
        ));
    }
    links
}

fn permissions(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("permissions are octal digits, such as 660".into()),
    }
}

/// What `--json` writes.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    Mounted {
        version: u32,
        dir: &'a Path,
        ports: &'a [String],
    },
    Port {
        version: u32,
        index: usize,
        name: &'a str,
        received: u64,
        dropped: u64,
        sent: u64,
        refused: u64,
        unsent: u64,
        late: u64,
        past: u64,
        lost: u64,
        bad: u64,
        torn: u64,
    },
}

impl Event<'_> {
    fn print(&self) -> anyhow::Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

impl MountCommand {
    /// Mounts, serves until the end, and reports.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let dir = self.dir.clone().unwrap_or_else(|| DEFAULT.into());
        let specs = if self.all {
            all_interfaces()?
        } else {
            ports(&names(&self.on))?
        };
        let options = Options {
            tick: self.tick,
            returns: true,
            ..Options::default()
        };
        let (mut ports, mut names) = (Vec::new(), Vec::new());
        for spec in &specs {
            let port = port::open(spec, &options)?;
            names.push(port.info.name.clone());
            ports.push(port);
        }
        let settings = Settings {
            time: !self.no_time,
            hash: self.hash,
            strict: self.strict,
            cut: self.send_cut,
            links: links(&specs),
            mode: self.mode,
            buffer: usize::from(self.buffer) << 20,
            over: self.over,
        };
        signal::install();
        let mount = Mount::start(&dir, ports, &settings).with_context(|| match self.dir {
            Some(_) => "mount".to_owned(),
            None => format!("mount at {DEFAULT}; name another directory: wire mount DIR"),
        })?;
        if self.json {
            Event::Mounted {
                version: 1,
                dir: mount.path(),
                ports: &names,
            }
            .print()?;
        } else {
            for (index, name) in names.iter().enumerate() {
                eprintln!(
                    "wire mount: {} is {name}",
                    mount.path().join(index.to_string()).display()
                );
            }
        }
        mount.wait();
        let reports = mount.finish();
        for (index, report) in reports.iter().enumerate() {
            self.report(index, report)?;
        }
        match reports.into_iter().find_map(|report| report.tx.error) {
            Some(error) if !error.is_end() => Err(error.into()),
            _ => Ok(Verdict::Good),
        }
    }

    fn report(&self, index: usize, report: &PortReport) -> anyhow::Result<()> {
        let (rx, tx) = (&report.rx, &report.tx);
        if self.json {
            let event = Event::Port {
                version: 1,
                index,
                name: &report.name,
                received: rx.received,
                dropped: rx.dropped,
                sent: tx.sent,
                refused: tx.refused,
                unsent: tx.unsent,
                late: tx.timing.late,
                past: tx.past,
                lost: report.lost,
                bad: report.bad,
                torn: report.torn,
            };
            let mut line = serde_json::to_value(event)?;
            put_timing(&mut line, &tx.timing);
            println!("{line}");
            return Ok(());
        }
        let name = &report.name;
        print!("{index} {name}: received {}, sent {}", rx.received, tx.sent);
        for (count, what) in [
            (rx.dropped, "dropped by the kernel"),
            (report.lost, "lost by slow readers"),
            (report.bad, "lines or records were no packets"),
            (report.torn, "cut off"),
            (tx.refused, "refused by the port"),
            (tx.unsent, "not sent before the end"),
            (tx.timing.late, "too late for their departure"),
            (tx.past, PAST),
        ] {
            if count > 0 {
                print!(", {count} {what}");
            }
        }
        print!("\n");
        for line in tx.timing.lines() {
            println!("{index} {name}: {line}");
        }
        if let Some(refusal) = &tx.refusal {
            eprintln!(
                "wire mount: {index} {}: the first refused: {refusal}",
                report.name
            );
        }
        Ok(())
    }
}

/// Every Ethernet interface that is up.
fn all_interfaces() -> anyhow::Result<Vec<PortSpec>> {
    let mut found = Vec::new();
    for name in interface::names()? {
        if let Some(interface) = interface::find(&name)?
            && interface.is_ethernet()
            && interface.up
        {
            found.push(PortSpec::Interface(name));
        }
    }
    if found.is_empty() {
        bail!("no Ethernet interface is up here; name a port: wire mount DIR --on PORT");
    }
    Ok(found)
}
