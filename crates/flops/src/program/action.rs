//! Actions of a program, as it writes them: `{"do": "timer", "at_ps": 5000, "number": 1}`.

use node::Time;
use openflow::flops::probe;
use openflow::message::FlowCommand;
use serde::Deserialize;

/// An action. `as` is a label that the event of the reply carries.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Action {
    /// Send a flow-mod: the flow in the form of ovs-ofctl.
    Flow {
        #[serde(default)]
        command: Command,
        flow: String,
        #[serde(rename = "as")]
        label: Option<String>,
    },
    /// Send a barrier request.
    Barrier {
        #[serde(rename = "as")]
        label: Option<String>,
    },
    /// Send any message; it gets an xid of the node.
    Send {
        hex: String,
        #[serde(rename = "as")]
        label: Option<String>,
    },
    /// Start a stream of probes.
    Generate(Stream),
    /// End a stream.
    Stop { stream: u32 },
    /// Set a timer.
    Timer { at_ps: u64, number: u64 },
    /// Ask the SNMP agent, or the kernel, for a value.
    Ask { name: String },
    /// Ask for the event `taken`, once the switch's side has taken everything sent so far.
    Watch {},
    /// Add a measured time to a row.
    Time {
        row: String,
        series: String,
        ps: u64,
    },
    /// Add to the counts of a row, and set its number.
    Count {
        row: String,
        x: Option<u64>,
        #[serde(default)]
        sent: u64,
        #[serde(default)]
        received: u64,
        #[serde(default)]
        wrong: u64,
    },
    /// Report a fault.
    Fault { text: String },
    /// End the test; `of` is the head of the table's first column.
    Finish { of: Option<String> },
}

/// Commands of a flow-mod.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Command {
    #[default]
    Add,
    Modify,
    ModifyStrict,
    Delete,
    DeleteStrict,
}

impl From<Command> for FlowCommand {
    fn from(command: Command) -> FlowCommand {
        match command {
            Command::Add => FlowCommand::Add,
            Command::Modify => FlowCommand::Modify,
            Command::ModifyStrict => FlowCommand::ModifyStrict,
            Command::Delete => FlowCommand::Delete,
            Command::DeleteStrict => FlowCommand::DeleteStrict,
        }
    }
}

/// A stream of probes. With `row` the node takes the delays of its probes into `series` of that row; without, each
/// arrival is an event.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    pub stream: u32,
    start_ps: u64,
    gap_ps: u64,
    /// Probes; without it they go on until they are stopped.
    count: Option<u64>,
    #[serde(default = "usual_length")]
    length: usize,
    /// The first flow, and the number of flows.
    #[serde(default)]
    flow: u32,
    #[serde(default = "one")]
    flows: u32,
    #[serde(default)]
    tagged: bool,
    #[serde(default)]
    cable: bool,
    pub row: Option<String>,
    #[serde(default = "delay")]
    pub series: String,
}

fn usual_length() -> usize {
    100
}

fn one() -> u32 {
    1
}

fn delay() -> String {
    "delay".into()
}

/// The least gap between probes.
const MIN_GAP_PS: u64 = 100_000;

impl Stream {
    /// As the node sends it.
    pub fn probes(self) -> Result<probe::Stream, String> {
        if self.gap_ps < MIN_GAP_PS {
            return Err("a gap between probes is at least 100 ns".into());
        }
        if !(probe::MIN_PROBE_LEN..=probe::MAX_PROBE_LEN).contains(&self.length) {
            return Err("a probe has 64 to 1514 bytes".into());
        }
        Ok(probe::Stream {
            number: self.stream,
            start: Time::from_ps(self.start_ps),
            gap: Time::from_ps(self.gap_ps),
            count: self.count.unwrap_or(u64::MAX),
            length: self.length,
            flows: (self.flow, self.flows.max(1)),
            tagged: self.tagged,
            by_cable: self.cable,
        })
    }
}
