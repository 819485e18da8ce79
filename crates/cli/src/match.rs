//! `wire match`: packets that fit one of several rules.

mod rules;

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::input::{Input, NO_LINE, place};
use crate::output::{Buffering, Output};
use crate::select::{Filter, Network, Selector, Span};
use ::capture::file::Next;
use confine::Permissions;
use rules::{Rule, Rules};
use std::path::PathBuf;

/// Choose packets by rules such as dst=001122334455
///
/// A rule is FIELD=VALUE: dst and src (a MAC address), type (hexadecimal), vlan, proto, sport,
/// dport (decimal; proto also udp, tcp, icmp), ip.src and ip.dst (an address, or a prefix such as
/// 10.0.0.0/8). A packet is written, as it came, if it fits any of the rules. Exit code 1 says
/// that none did.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire match dst=01:80:C2:00:00:0E ip.dst=10.0.0.0/8 < trace.lines")]
pub struct Match {
    /// What to look for
    #[arg(required = true, value_name = "FIELD=VALUE")]
    rules: Vec<Rule>,
    /// A file to read instead of standard input; may be given several times
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    file: Vec<PathBuf>,
    /// Choose the packets that fit all rules, not any of them
    #[arg(long)]
    all: bool,
    /// Choose the packets that do not fit
    #[arg(long, short = 'v')]
    invert: bool,
    /// Write the number of packets instead of the packets, as grep -c does
    #[arg(long, short)]
    count: bool,
    /// Only among packets that fit an expression as tcpdump has them, such as 'udp port 53'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    span: Span,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

impl Match {
    /// Goes through every file in turn.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let mut stdout = Output::reading(&self.file, &self.buffering)?;
        let complaints = self.strictness.complaints();
        let rules = Rules::new(self.rules.clone(), self.all, self.invert);
        let filter = Filter::of(self.filter.clone(), self.network);
        let mut selector = self.span.selector(&filter)?;
        confine::reader(Permissions::default())?;
        let mut found = 0;
        let chosen = self.choose(&rules, &mut selector, &mut stdout, &complaints, &mut found);
        if self.count {
            stdout.write(format!("{found}\n").as_bytes())?;
        }
        // What was found before something went wrong is written all the same.
        stdout.finish()?;
        let verdict = complaints.finish();
        chosen?;
        Ok(verdict.max(Verdict::if_good(found > 0)))
    }

    /// Writes the packets that fit, or only counts them.
    fn choose(
        &self,
        rules: &Rules,
        selector: &mut Selector,
        stdout: &mut Output,
        complaints: &Complaints,
        found: &mut u64,
    ) -> anyhow::Result<()> {
        let mut scratch = Vec::new();
        for path in &self.file {
            let mut input = Input::open(path, selector.selects(), complaints)?;
            loop {
                let block = match input.next(complaints, selector, &mut || stdout.flush())? {
                    Next::Item(block) => block,
                    Next::End => break,
                    Next::Stopped => return Ok(()),
                };
                // Neighbours that all fit are one copy.
                let mut run = 0..0;
                let mut at = 0;
                for (number, end) in (block.line..).zip(block.ends()) {
                    match rules.judge(&block.text[at..end], &mut scratch) {
                        Some(true) => {
                            *found += 1;
                            if run.end != at {
                                stdout.buffer().extend_from_slice(&block.text[run]);
                                run = at..at;
                            }
                            run.end = end;
                        }
                        Some(false) => {}
                        None => complaints.bad(place(path, number), NO_LINE)?,
                    }
                    at = end;
                }
                if self.count {
                    stdout.buffer().clear();
                } else {
                    stdout.buffer().extend_from_slice(&block.text[run]);
                    stdout.relieve()?;
                }
            }
        }
        Ok(())
    }
}
