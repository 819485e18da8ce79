//! A test that is a program in any language: the loadable modules of paper 003, section 3.2.
//!
//! Each event is a line of JSON on the program's standard input; the program answers it by one line, a list of
//! [actions](Action). The node waits for the answer, and stamps come from its ports: the program's own time is in no
//! measured time, but it delays what the program does next.

mod action;
mod child;

use action::{Action, Stream};
use child::Child;
use node::Time;
use openflow::flops::{Bench, CAPTURE, Module, Report, Row, Value, probe};
use openflow::message::{Message, decode};
use openflow::text::Flow;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rows of one program, at most.
const MAX_ROWS: usize = 10_000;

/// A test whose events a program answers.
pub(crate) struct Program {
    name: String,
    command: String,
    folder: Option<PathBuf>,
    child: Option<Child>,
    over: bool,
    /// The program's words for messages that it sent, by xid.
    labels: BTreeMap<u32, String>,
    /// Streams whose probes go into a row without asking the program: stream, row, series.
    recorded: BTreeMap<u32, (String, String)>,
    report: Report,
}

impl Program {
    /// The test `name`, by a command line for the shell, which runs in `folder`.
    pub fn new(name: String, command: String, folder: Option<PathBuf>) -> Program {
        Program {
            name,
            command,
            folder,
            child: None,
            over: false,
            labels: BTreeMap::new(),
            recorded: BTreeMap::new(),
            report: Report {
                of: "row".into(),
                ..Report::default()
            },
        }
    }

    /// Gives an event to the program, and does what it answers.
    fn event(&mut self, bench: &mut Bench<'_>, event: &Json) {
        if self.over {
            return;
        }
        let Some(child) = &mut self.child else {
            return;
        };
        let done = child.ask(event).and_then(|line| {
            let actions: Vec<Action> = serde_json::from_str(&line)
                .map_err(|error| format!("its answer `{}`: {error}", child::short(&line)))?;
            actions.into_iter().try_for_each(|one| self.act(bench, one))
        });
        if let Err(why) = done {
            self.fail(bench, &why);
        }
    }

    fn fail(&mut self, bench: &mut Bench<'_>, why: &str) {
        bench.fault(format!("`{}`: {why}", self.command));
        bench.finish();
        self.over = true;
    }

    fn act(&mut self, bench: &mut Bench<'_>, action: Action) -> Result<(), String> {
        match action {
            Action::Flow {
                command,
                flow,
                label,
            } => {
                let version = bench.setup().version;
                let read = Flow::parse(version, &flow);
                let read = read.map_err(|error| format!("the flow `{flow}`: {error}"))?;
                let xid = bench.send(&Message::FlowMod(read.message(command.into())));
                self.label(xid, label);
            }
            Action::Barrier { label } => {
                let xid = bench.send(&Message::BarrierRequest);
                self.label(xid, label);
            }
            Action::Send { hex, label } => {
                let bytes =
                    bytes(&hex).ok_or_else(|| format!("`{hex}` is not a message in hex"))?;
                let read = decode(&bytes);
                let (_, message) = read.map_err(|error| format!("the message {hex}: {error}"))?;
                let xid = bench.send(&message);
                self.label(xid, label);
            }
            Action::Generate(stream) => self.generate(bench, stream)?,
            Action::Stop { stream } => {
                let sent = bench.stop(stream);
                if let Some((row, _)) = self.recorded.remove(&stream) {
                    self.row(&row)?.sent += sent;
                }
            }
            Action::Timer { at_ps, number } => bench.timer(Time::from_ps(at_ps), number),
            Action::Ask { name } => bench.ask(name),
            Action::Watch {} => bench.watch(),
            Action::Time { row, series, ps } => {
                self.row(&row)?.add(series, Time::from_ps(ps));
            }
            Action::Count {
                row,
                x,
                sent,
                received,
                wrong,
            } => {
                let row = self.row(&row)?;
                row.x = x.unwrap_or(row.x);
                row.sent += sent;
                row.received += received;
                row.wrong += wrong;
            }
            Action::Fault { text } => bench.fault(text),
            Action::Finish { of } => {
                if let Some(of) = of {
                    self.report.of = of.into();
                }
                self.over = true;
                bench.finish();
            }
        }
        Ok(())
    }

    fn generate(&mut self, bench: &mut Bench<'_>, stream: Stream) -> Result<(), String> {
        let recorded = stream.row.clone().map(|row| (row, stream.series.clone()));
        let number = stream.stream;
        let probes = stream.probes()?;
        if let Some((row, series)) = recorded {
            self.row(&row)?;
            self.recorded.insert(number, (row, series));
        }
        bench.generate(probes);
        Ok(())
    }

    fn label(&mut self, xid: u32, label: Option<String>) {
        if let Some(label) = label {
            self.labels.insert(xid, label);
        }
    }

    /// The row of this name, which is new if there is none.
    fn row(&mut self, name: &str) -> Result<&mut Row, String> {
        let rows = &mut self.report.rows;
        let at = match rows.iter().position(|row| row.name == name) {
            Some(at) => at,
            None if rows.len() >= MAX_ROWS => return Err(format!("more than {MAX_ROWS} rows")),
            None => {
                rows.push(Row::new(name, rows.len() as u64));
                rows.len() - 1
            }
        };
        Ok(&mut rows[at])
    }
}

impl Module for Program {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        match Child::start(&self.command, self.folder.as_deref()) {
            Ok(child) => self.child = Some(child),
            Err(error) => {
                self.fail(bench, &error.to_string());
                return;
            }
        }
        let setup = bench.setup();
        let event = json!({
            "event": "start", "at_ps": bench.now().as_ps(), "version": setup.version.to_string(),
            "enters": setup.enters.0, "leaves": setup.leaves.0, "cable": setup.cable,
        });
        self.event(bench, &event);
    }

    fn measures_refusals(&self) -> bool {
        true
    }

    fn message(&mut self, bench: &mut Bench<'_>, xid: u32, message: &Message<'_>) {
        let mut bytes = Vec::new();
        // A received message always encodes, except in a form that this version lacks.
        let _ = message.encode(bench.setup().version, xid, &mut bytes);
        let more = matches!(message, Message::MultipartReply(reply) if reply.more);
        let label = match more {
            true => self.labels.get(&xid).cloned(),
            false => self.labels.remove(&xid),
        };
        let mut event = json!({
            "event": "message", "at_ps": bench.now().as_ps(), "xid": xid, "as": label,
            "type": kind(message), "hex": hex(&bytes),
        });
        if let Message::Error(error) = message {
            event["error"] = json!([error.kind, error.code]);
        }
        self.event(bench, &event);
    }

    fn probe(&mut self, bench: &mut Bench<'_>, arrival: &probe::Arrival<'_>) {
        let probe::Arrival { at, left, tag, .. } = *arrival;
        if let Some((row, series)) = self.recorded.get(&tag.stream) {
            let row = self.report.rows.iter_mut().find(|one| one.name == *row);
            if let (Some(row), Some(left), CAPTURE) = (row, left, arrival.channel) {
                row.received += 1;
                row.add(series.clone(), at - left);
            }
            return;
        }
        let event = json!({
            "event": "probe", "at_ps": at.as_ps(), "left_ps": left.map(Time::as_ps),
            "channel": arrival.channel, "stream": tag.stream, "number": tag.number,
            "hex": hex(arrival.frame),
        });
        self.event(bench, &event);
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        let event = json!({ "event": "timer", "at_ps": bench.now().as_ps(), "number": number });
        self.event(bench, &event);
    }

    fn value(&mut self, bench: &mut Bench<'_>, value: Value) {
        let at = bench.now().as_ps();
        let event = json!({
            "event": "value", "at_ps": at, "name": value.name, "number": value.number,
        });
        self.event(bench, &event);
    }

    fn taken(&mut self, bench: &mut Bench<'_>) {
        let event = json!({ "event": "taken", "at_ps": bench.now().as_ps() });
        self.event(bench, &event);
    }

    fn report(&mut self) -> Report {
        self.child = None;
        std::mem::take(&mut self.report)
    }
}

/// The names of messages that tests wait for; all have their bytes.
fn kind(message: &Message<'_>) -> &'static str {
    match message {
        Message::BarrierReply => "barrier-reply",
        Message::Error(_) => "error",
        Message::PacketIn(_) => "packet-in",
        Message::FlowRemoved(_) => "flow-removed",
        Message::PortStatus(_) => "port-status",
        Message::MultipartReply(_) => "multipart-reply",
        Message::FeaturesReply(_) => "features-reply",
        _ => "other",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect(),
    )
}

#[cfg(test)]
mod tests;
