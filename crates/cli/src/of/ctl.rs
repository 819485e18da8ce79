//! `wire of ctl`: asks and changes a switch, with the commands and the syntax of ovs-ofctl.

mod connection;
mod flows;
mod show;

use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::{Context, bail};
use connection::Connection;
use openflow::list::List;
use openflow::message::{
    ALL_GROUPS, ALL_METERS, ALL_QUEUES, Change, Config, FlowCommand, Message, PacketOut, PortMod,
    Query, decode,
};
use openflow::port::{PortDescription, PortNo, config};
use openflow::text::{Flow, Group, Meter, parse_actions, parse_port};
use openflow::version::Version;
use std::path::PathBuf;
use std::time::Duration;

/// Ask and change a switch, as ovs-ofctl does
///
/// TARGET is tcp:HOST or tcp:HOST:PORT, unix:PATH, or ptcp:PORT and punix:PATH to wait for the switch. What only Open vSwitch
/// has is refused with the reason.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Example:
  wire of ctl tcp:127.0.0.1:6653 add-flow priority=100,ip,nw_dst=10.0.0.0/8,actions=output:2"
)]
pub struct Ctl {
    /// The versions to offer, with commas between them: OpenFlow10, OpenFlow13; both if left out
    #[arg(
        short = 'O',
        long = "protocols",
        alias = "openflow",
        value_name = "VERSIONS",
        value_delimiter = ',',
        global = true
    )]
    versions: Vec<Version>,
    /// JSON Lines
    #[arg(long, global = true)]
    json: bool,
    /// Wait so long for an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = patience, global = true)]
    timeout: Duration,
    /// The switch
    target: String,
    #[command(subcommand)]
    command: Command,
}

/// How long to wait: 10s, or 10 for seconds.
fn patience(text: &str) -> Result<Duration, String> {
    let time = node::time::seconds(text).map_err(|error| error.to_string())?;
    let range = node::Time::from_ms(1)..=node::Time::from_secs(86_400);
    match range.contains(&time) {
        true => Ok(Duration::from_nanos(time.as_ns())),
        false => Err("from 1ms to 24h".into()),
    }
}

#[derive(clap::Subcommand)]
enum Command {
    /// What the switch is: features, ports, configuration
    Show,
    /// Who made the switch
    DumpDesc,
    /// Tables
    DumpTables,
    /// What tables can do
    DumpTableFeatures,
    /// Counters of all ports, or of one
    DumpPorts { port: Option<String> },
    /// Ports
    DumpPortsDesc,
    /// Entries, or those within a match
    DumpFlows {
        #[arg(default_value = "")]
        flow: String,
    },
    /// The sum over entries
    DumpAggregate {
        #[arg(default_value = "")]
        flow: String,
    },
    /// Add an entry
    AddFlow { flow: String },
    /// Add the entries of a file, or of - for standard input, a line each
    AddFlows {
        file: PathBuf,
        /// All or nothing, as a bundle (1.3)
        #[arg(long)]
        bundle: bool,
    },
    /// Change what entries do
    ModFlows {
        /// Only the entry with this match and priority
        #[arg(long)]
        strict: bool,
        flow: String,
    },
    /// Delete entries, all without a match
    DelFlows {
        /// Only the entry with this match and priority
        #[arg(long)]
        strict: bool,
        #[arg(default_value = "")]
        flow: String,
    },
    /// Make the entries those of a file
    ReplaceFlows {
        file: PathBuf,
        /// All or nothing, as a bundle (1.3)
        #[arg(long)]
        bundle: bool,
    },
    /// What the entries and those of a file differ in: - in the switch alone, + in the file alone; then exit code 1
    DiffFlows { file: PathBuf },
    /// Groups
    DumpGroups,
    /// Counters of all groups, or of one
    DumpGroupStats { group: Option<u32> },
    /// What groups the switch can have
    DumpGroupFeatures,
    /// Add a group
    AddGroup { group: String },
    /// Change a group
    ModGroup { group: String },
    /// Delete groups, all without one named
    DelGroups {
        #[arg(default_value = "")]
        group: String,
    },
    /// Meters
    DumpMeters,
    /// Counters of all meters, or of one
    MeterStats { meter: Option<u32> },
    /// What meters the switch can have
    MeterFeatures,
    /// Add a meter
    AddMeter { meter: String },
    /// Change a meter
    ModMeter { meter: String },
    /// Delete meters, all without one named
    DelMeters {
        #[arg(default_value = "")]
        meter: String,
    },
    /// Counters of queues
    QueueStats {
        port: Option<String>,
        queue: Option<u32>,
    },
    /// Queues of a port
    QueueGetConfig { port: String },
    /// Change a port: up, down, stp, receive, forward, flood, packet-in; with no- before it for the contrary
    ModPort { port: String, action: String },
    /// The configuration: fragments and miss length
    GetConfig,
    /// Set the configuration: fragments normal, drop or reassemble, and the bytes of a miss to send
    SetConfig {
        fragments: String,
        miss_send_len: u16,
    },
    /// Send a packet: in_port=PORT packet=HEX actions=ACTIONS
    PacketOut { packet: String },
    /// Show what the switch sends; MISSLEN bytes of each miss
    Monitor {
        miss_send_len: Option<u16>,
        /// End after so many messages
        #[arg(long)]
        count: Option<u64>,
    },
    /// Whether it answers
    Probe,
    /// The time that echoes take
    Ping {
        /// Bytes of each
        #[arg(default_value_t = 64)]
        bytes: u16,
        /// How many
        #[arg(long, default_value_t = 5)]
        count: u32,
    },
}

/// A connection, and where what it tells goes.
struct Session {
    connection: Connection,
    out: Output,
    json: bool,
}

impl Ctl {
    /// Does what was asked for.
    ///
    /// # Errors
    /// When there is no switch, it refuses, or an argument cannot be read.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let timeout = match self.command {
            Command::Monitor { .. } => Duration::from_secs(365 * 86_400),
            _ => self.timeout,
        };
        let mut session = Session {
            connection: Connection::open(&self.target, &self.versions, timeout)?,
            out: Output::open(&Buffering::default())?,
            json: self.json,
        };
        // It is connected; files of entries are only read.
        confine::ports(std::iter::empty::<&live::port::PortSpec>(), true)?;
        let verdict = session.run(self.command)?;
        session.out.finish()?;
        Ok(verdict)
    }
}

impl Session {
    fn run(&mut self, command: Command) -> anyhow::Result<Verdict> {
        let version = self.connection.version;
        match command {
            Command::Show => {
                self.ask(&Message::FeaturesRequest)?;
                if version == Version::V13 {
                    self.tell(Query::PortDescription)?;
                }
                self.ask(&Message::GetConfigRequest)?;
            }
            Command::DumpDesc => self.tell(Query::Description)?,
            Command::DumpTables => self.tell(Query::Table)?,
            Command::DumpTableFeatures => self.tell(Query::TableFeatures(List::EMPTY))?,
            Command::DumpPorts { port } => {
                let port = port.map_or(Ok(PortNo::ANY), |port| parse_port(&port))?;
                self.tell(Query::PortStats(port))?;
            }
            Command::DumpPortsDesc if version == Version::V10 => {
                self.ask(&Message::FeaturesRequest)?;
            }
            Command::DumpPortsDesc => self.tell(Query::PortDescription)?,
            Command::DumpFlows { flow } => {
                let flow = Flow::parse(version, &flow)?;
                self.tell(Query::Flow(flow.query()))?;
            }
            Command::DumpAggregate { flow } => {
                let flow = Flow::parse(version, &flow)?;
                self.tell(Query::Aggregate(flow.query()))?;
            }
            Command::AddFlow { flow } => self.change(FlowCommand::Add, &flow)?,
            Command::ModFlows { strict: true, flow } => {
                self.change(FlowCommand::ModifyStrict, &flow)?;
            }
            Command::ModFlows {
                strict: false,
                flow,
            } => self.change(FlowCommand::Modify, &flow)?,
            Command::DelFlows { strict: true, flow } => {
                self.change(FlowCommand::DeleteStrict, &flow)?;
            }
            Command::DelFlows {
                strict: false,
                flow,
            } => self.change(FlowCommand::Delete, &flow)?,
            Command::AddFlows { file, bundle } => {
                let flows = flows::read(&file, version)?;
                let changes: Vec<_> = flows
                    .into_iter()
                    .map(|flow| (FlowCommand::Add, flow))
                    .collect();
                flows::apply(&mut self.connection, &changes, bundle)?;
            }
            Command::ReplaceFlows { file, bundle } => {
                let wanted = flows::read(&file, version)?;
                let (gone, new) = flows::difference(&mut self.connection, wanted)?;
                let gone = gone
                    .into_iter()
                    .map(|flow| (FlowCommand::DeleteStrict, flow));
                let new = new.into_iter().map(|flow| (FlowCommand::Add, flow));
                // An entry that changes is replaced by its new self, and must not be deleted.
                let new: Vec<_> = new.collect();
                let changes: Vec<_> = gone
                    .filter(|(_, old)| !new.iter().any(|(_, new)| flows::same_place(old, new)))
                    .chain(new.iter().cloned())
                    .collect();
                flows::apply(&mut self.connection, &changes, bundle)?;
            }
            Command::DiffFlows { file } => return self.diff(&file),
            Command::DumpGroups => self.tell(Query::GroupDescription)?,
            Command::DumpGroupStats { group } => {
                self.tell(Query::Group(group.unwrap_or(ALL_GROUPS)))?;
            }
            Command::DumpGroupFeatures => self.tell(Query::GroupFeatures)?,
            Command::AddGroup { group } => self.group(Change::Add, &group)?,
            Command::ModGroup { group } => self.group(Change::Modify, &group)?,
            Command::DelGroups { group } => self.group(Change::Delete, &group)?,
            Command::DumpMeters => self.tell(Query::MeterConfig(ALL_METERS))?,
            Command::MeterStats { meter } => {
                self.tell(Query::Meter(meter.unwrap_or(ALL_METERS)))?;
            }
            Command::MeterFeatures => self.tell(Query::MeterFeatures)?,
            Command::AddMeter { meter } => self.meter(Change::Add, &meter)?,
            Command::ModMeter { meter } => self.meter(Change::Modify, &meter)?,
            Command::DelMeters { meter } => self.meter(Change::Delete, &meter)?,
            Command::QueueStats { port, queue } => {
                let all = if version == Version::V10 {
                    PortNo::ALL
                } else {
                    PortNo::ANY
                };
                let port = port.map_or(Ok(all), |port| parse_port(&port))?;
                self.tell(Query::Queue {
                    port,
                    queue: queue.unwrap_or(ALL_QUEUES),
                })?;
            }
            Command::QueueGetConfig { port } => {
                self.ask(&Message::QueueConfigRequest(parse_port(&port)?))?;
            }
            Command::ModPort { port, action } => self.mod_port(&port, &action)?,
            Command::GetConfig => self.ask(&Message::GetConfigRequest)?,
            Command::SetConfig {
                fragments,
                miss_send_len,
            } => {
                let kinds = ["normal", "drop", "reassemble"];
                let flags = kinds.iter().position(|kind| *kind == fragments);
                let flags = flags.context("fragments are normal, drop or reassemble")? as u16;
                self.connection.send(&Message::SetConfig(Config {
                    flags,
                    miss_send_len,
                }))?;
                self.connection.barrier()?;
            }
            Command::PacketOut { packet } => self.packet_out(&packet)?,
            Command::Monitor {
                miss_send_len,
                count,
            } => self.monitor(miss_send_len, count)?,
            Command::Probe => {
                self.connection.ask(&Message::EchoRequest(&[]))?;
            }
            Command::Ping { bytes, count } => self.ping(bytes, count)?,
        }
        Ok(Verdict::Good)
    }

    fn put(&mut self, told: show::Reported) -> anyhow::Result<()> {
        let (text, object) = told;
        let line = if self.json { object.to_string() } else { text };
        self.out.tell(&format!("{line}\n"))
    }

    /// Tells the answer to a request.
    fn ask(&mut self, message: &Message<'_>) -> anyhow::Result<()> {
        let bytes = self.connection.ask(message)?;
        let Ok((_, reply)) = decode(&bytes) else {
            bail!("an answer that cannot be read")
        };
        self.put(show::message(&reply, self.connection.version))
    }

    /// Tells the answer to a multipart request.
    fn tell(&mut self, query: Query<'_>) -> anyhow::Result<()> {
        let Session {
            connection,
            out,
            json,
        } = self;
        connection.multipart(query, |answer, version| {
            for (text, object) in show::answer(&answer, version) {
                let line = if *json { object.to_string() } else { text };
                out.tell(&format!("{line}\n"))?;
            }
            Ok(())
        })
    }

    fn change(&mut self, command: FlowCommand, text: &str) -> anyhow::Result<()> {
        let flow = Flow::parse(self.connection.version, text)?;
        if command == FlowCommand::Add && !text.contains("action") {
            bail!("a flow to add needs actions=..., if only actions=drop");
        }
        flows::apply(&mut self.connection, &[(command, flow)], false)
    }

    fn group(&mut self, command: Change, text: &str) -> anyhow::Result<()> {
        let group = Group::parse(text)?;
        self.connection
            .send(&Message::GroupMod(group.message(command)))?;
        self.connection.barrier()
    }

    fn meter(&mut self, command: Change, text: &str) -> anyhow::Result<()> {
        let meter = Meter::parse(text)?;
        self.connection
            .send(&Message::MeterMod(meter.message(command)))?;
        self.connection.barrier()
    }

    fn diff(&mut self, file: &std::path::Path) -> anyhow::Result<Verdict> {
        let wanted = flows::read(file, self.connection.version)?;
        let (gone, new) = flows::difference(&mut self.connection, wanted)?;
        let differ = !gone.is_empty() || !new.is_empty();
        for (mark, flows) in [("-", gone), ("+", new)] {
            for flow in flows {
                let mut text = String::new();
                flow.show(&mut text);
                let object = json_line!("of", "flow-difference", { "only": if mark == "-" { "switch" } else { "file" },
                    "flow": text,
                });
                self.put((format!("{mark}{text}"), object))?;
            }
        }
        Ok(if differ {
            Verdict::Failed
        } else {
            Verdict::Good
        })
    }

    fn mod_port(&mut self, port: &str, action: &str) -> anyhow::Result<()> {
        let (positive, word) = match action.strip_prefix("no-") {
            Some(word) => (false, word),
            None => (true, action),
        };
        let (mask, set) = match word {
            "up" => (config::PORT_DOWN, !positive),
            "down" => (config::PORT_DOWN, positive),
            "stp" => (config::NO_STP, !positive),
            "receive" => (config::NO_RECV, !positive),
            "forward" => (config::NO_FWD, !positive),
            "flood" => (config::NO_FLOOD, !positive),
            "packet-in" => (config::NO_PACKET_IN, !positive),
            _ => bail!(
                "{action}: up, down, stp, receive, forward, flood or packet-in, or no- before it"
            ),
        };
        let found = self.port(port)?;
        self.connection.send(&Message::PortMod(PortMod {
            port: found.number,
            hardware: found.hardware,
            config: if set { mask } else { 0 },
            mask,
            advertise: 0,
        }))?;
        self.connection.barrier()
    }

    /// The port of this number or name.
    fn port(&mut self, wanted: &str) -> anyhow::Result<PortDescription> {
        let number = parse_port(wanted).ok();
        let is =
            |port: &PortDescription| Some(port.number) == number || port.name.to_string() == wanted;
        let mut found = None;
        match self.connection.version {
            Version::V10 => {
                let bytes = self.connection.ask(&Message::FeaturesRequest)?;
                if let Ok((_, Message::FeaturesReply(features))) = decode(&bytes) {
                    found = features.ports.iter().find(is);
                }
            }
            Version::V13 => self
                .connection
                .multipart(Query::PortDescription, |answer, _| {
                    if let openflow::message::Answer::PortDescription(ports) = answer {
                        found = found.or(ports.iter().find(is));
                    }
                    Ok(())
                })?,
        }
        found.with_context(|| format!("{wanted}: the switch has no such port"))
    }

    fn packet_out(&mut self, text: &str) -> anyhow::Result<()> {
        let version = self.connection.version;
        let (front, actions) = text
            .split_once("actions=")
            .or_else(|| text.split_once("action="))
            .context("write in_port=PORT packet=HEX actions=ACTIONS")?;
        let (mut in_port, mut data) = (PortNo::CONTROLLER, None);
        for piece in front.split([',', ' ']).filter(|piece| !piece.is_empty()) {
            match piece.split_once('=') {
                Some(("in_port", port)) => in_port = parse_port(port)?,
                Some(("packet", hex)) => data = Some(unhex(hex)?),
                _ => bail!("{piece}: write in_port=PORT packet=HEX actions=ACTIONS"),
            }
        }
        let actions = parse_actions(version, actions, &[])?;
        self.connection.send(&Message::PacketOut(PacketOut {
            buffer: None,
            in_port,
            actions: List::from_checked(version, &actions),
            data: &data.context("packet=HEX is missing: the frame in hexadecimal")?,
        }))?;
        self.connection.barrier()
    }

    fn monitor(&mut self, miss_send_len: Option<u16>, count: Option<u64>) -> anyhow::Result<()> {
        // In 1.0 packets come without being asked for only above a miss length of zero.
        let miss_send_len = miss_send_len.unwrap_or(128);
        self.connection.send(&Message::SetConfig(Config {
            flags: 0,
            miss_send_len,
        }))?;
        self.connection.barrier()?;
        let mut left = count.unwrap_or(u64::MAX);
        while left > 0 {
            let bytes = self.connection.receive()?;
            let told = match decode(&bytes) {
                Ok((_, message)) => show::message(&message, self.connection.version),
                Err(error) => {
                    let text = format!("a message that cannot be read: {error}");
                    (text.clone(), json_line!("of", "message", { "error": text}))
                }
            };
            self.put(told)?;
            self.out.flush()?;
            left -= 1;
        }
        Ok(())
    }

    fn ping(&mut self, bytes: u16, count: u32) -> anyhow::Result<()> {
        let data = vec![0x5a; usize::from(bytes.min(65_000))];
        for _ in 0..count {
            // A duration for people to read, of a live peer.
            #[allow(clippy::disallowed_methods)]
            let start = std::time::Instant::now();
            let reply = self.connection.ask(&Message::EchoRequest(&data))?;
            let took = start.elapsed();
            if reply.get(8..) != Some(&data) {
                bail!("the echo is not what was sent");
            }
            let object = json_line!("of", "ping", { "bytes": data.len(), "ns": took.as_nanos() as u64,
            });
            self.put((
                format!("{} bytes: {:.3} ms", data.len(), took.as_secs_f64() * 1e3),
                object,
            ))?;
        }
        Ok(())
    }
}

fn unhex(text: &str) -> anyhow::Result<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2));
    let digits = digits.context("a packet is pairs of hexadecimal digits")?;
    Ok(digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect())
}
