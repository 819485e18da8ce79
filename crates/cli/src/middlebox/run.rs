//! A middlebox that runs, and where it takes commands.

use crate::Verdict;
use crate::complaints::Leniency;
use crate::control::{Listener, Rows};
use crate::output::{Buffering, Output};
use crate::report::Detail;
use crate::run::{Opened, drive};
use crate::time::tick;
use ::report::text::bits;
use live::port::Options;
use node::{Rate, Time};
use nodes::bandwidth::estimate::Method;
use nodes::bandwidth::middlebox::{CommandError, Config, Control, Flow, Middlebox, Mode};
use nodes::bandwidth::prober::Estimate;
use nodes::train::Trains;
use packet::Tick;
use parking_lot::Mutex;
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Run a middlebox between two ports until Ctrl-C
///
/// Applications are at the first port, the network is at the second. An estimate is a line when its sample is over. Offload that
/// merges packets has to be off (`ethtool -K PORT gro off gso off tso off`).
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire middlebox run --on eth0 eth1 --flow '10.0.0.1 10.9.0.2 udp * 5001' --rate 1Gb/s \\
      --trains '20, 50:50:950 Mb/s, 100 us, 100 ms' --method minprobe")]
pub struct Run {
    /// The two ports: --on A B, --on A,B or --on A --on B
    #[arg(long, value_names = ["A", "B"], num_args = 1..=2, required = true)]
    on: Vec<OsString>,
    /// What it does with packets of its flows: forward, modulate or extract
    #[arg(long, value_name = "MODE", default_value = "modulate", value_parser = mode)]
    mode: Mode,
    /// A flow whose packets are probes: SOURCE DESTINATION [PROTOCOL [SOURCE-PORT [DESTINATION-PORT]]], * for any
    #[arg(long, value_name = "FLOW")]
    flow: Vec<Flow>,
    /// N, R, G, D: packets, rates, and what is between trains and between samples
    #[arg(
        long,
        value_name = "TRAINS",
        default_value = "20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms"
    )]
    trains: Trains,
    /// When the oldest packet has waited so long, dummies make up the train
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "1ms")]
    timeout: Time,
    /// Estimate available bandwidth by minprobe, topp or spruce
    #[arg(long, value_name = "METHOD", value_parser = method)]
    method: Option<Method>,
    /// Of both ports, and of the tight link at most
    #[arg(long, value_name = "RATE", default_value = "10Gb/s")]
    rate: Rate,
    /// For which all that passes is held: at least twice as long as its longest frame takes
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "50us")]
    latency: Time,
    /// Take commands at this socket: set_mode, set_gap, flow_add, flow_remove, flows, gaps, counters
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// Estimates and the report as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    leniency: Leniency,
}

fn mode(text: &str) -> Result<Mode, &'static str> {
    let all = [Mode::Forward, Mode::Modulate, Mode::Extract];
    let found = all.into_iter().find(|mode| mode.name() == text);
    found.ok_or("it is forward, modulate or extract")
}

fn method(text: &str) -> Result<Method, &'static str> {
    // Others choose their rates themselves, or send single packets.
    let all = [Method::MinProbe, Method::Topp, Method::Spruce];
    let found = all.into_iter().find(|method| method.name() == text);
    found.ok_or("it is minprobe, topp or spruce: others choose their rates by what came back")
}

impl Run {
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let on = crate::on::ports(&self.on)?;
        anyhow::ensure!(on.len() == 2, "a middlebox is between two ports: --on A B");
        let config = Config {
            mode: self.mode,
            flows: self.flow.clone(),
            trains: self.trains,
            timeout: self.timeout,
            method: self.method,
            capacity: self.rate,
            rate: self.rate,
            latency: self.latency,
            ..Config::default()
        };
        let as_json = self.json;
        let tell = Box::new(move |estimate| tell(&estimate, as_json));
        let mut node = Middlebox::new(config, tell, Box::new(|_, _, _| {}))?;
        let listener = match &self.control {
            Some(path) => {
                let (sender, questions) = channel();
                let sender = Mutex::new(sender);
                node = node.with_control(Box::new(Questions {
                    questions,
                    asked: None,
                }));
                Some(Listener::open(path)?.start(move |line| ask(&sender, line))?)
            }
            None => None,
        };
        let options = Options {
            tick: self.tick,
            ..Options::of_nodes(on.len())
        };
        let opened = Opened::open(&on, &options)?;
        // The name of its socket is removed in the end.
        confine::ports(&on, listener.is_some())?;
        drive(
            "middlebox",
            Box::new(node),
            opened,
            self.duration,
            self.json,
            self.detail,
            &self.leniency.complaints(),
        )
    }
}

fn tell(estimate: &Estimate, as_json: bool) {
    let method = estimate.method.name();
    let line = match (&estimate.answer.estimate, as_json) {
        (it, true) => json_line!("middlebox", "estimate", {
            "method": method, "available_bps": it.map(|it| it.value), "low_bps": it.map(|it| it.low), "high_bps": it.map(|it| it.high),
            "how": estimate.answer.how, "packets": estimate.packets, "dummy_bits": estimate.bits, "lost": estimate.lost, "trains": estimate.trains,
        })
        .to_string(),
        (Some(it), false) => format!(
            "available {} ({} to {}) by {method}, {} packets, {} lost",
            bits(it.value),
            bits(it.low),
            bits(it.high),
            estimate.packets,
            estimate.lost
        ),
        (None, false) => format!("available: no answer by {method}: {}", estimate.answer.how),
    };
    let told = || -> anyhow::Result<()> {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.tell(&format!("{line}\n"))?;
        stdout.finish()
    };
    // Who does not listen any more does not hear the report either, and that is told there.
    let _ = told();
}

type Answer = Result<String, CommandError>;

/// What came at the socket, for the node.
struct Questions {
    questions: Receiver<(String, Sender<Answer>)>,
    asked: Option<Sender<Answer>>,
}

impl Control for Questions {
    fn next(&mut self) -> Option<String> {
        let (text, asked) = self.questions.try_recv().ok()?;
        self.asked = Some(asked);
        Some(text)
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(asked) = self.asked.take() {
            // Who asked may have gone.
            let _ = asked.send(answer);
        }
    }
}

/// Has the node carry out a line.
fn ask(sender: &Mutex<Sender<(String, Sender<Answer>)>>, line: &str) -> Result<Rows, String> {
    const GONE: &str = "the middlebox has ended";
    let (asked, answer) = channel();
    let sender = sender.lock().clone();
    sender.send((line.into(), asked)).map_err(|_| GONE)?;
    let answer = answer.recv().map_err(|_| GONE)?;
    let rows = answer.map_err(|error| error.to_string())?;
    Ok(rows.lines().map(|row| (row.into(), json!(row))).collect())
}
