//! `wire flows`: who talks with whom, how much, for how long, and how TCP fares.

mod report;
mod table;
mod tcp;

use crate::Verdict;
use crate::complaints::Strictness;
use crate::departures::Departures;
use crate::listen::{Directions, Listener};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Ended, Packets};
use crate::select::{Selection, Selector};
use crate::sources::Sources;
use crate::time::tick;
use ::capture::clock;
use ::capture::file::Item;
use confine::Permissions;
use packet::Tick;
use std::ffi::OsString;
use table::{By, Table};

/// List flows: who talks with whom, how much, for how long, and how TCP fares
///
/// Packets of both directions are one flow. Of TCP it tells retransmissions, segments out of order, round trips and how the
/// connection ended; round trips are those from here to the receiver and back, as packets are seen where they were captured. A
/// PORT is listened to until Ctrl-C, or as long as --duration says; of `any` a packet counts at each interface that it passes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire flows trace.pcapng --filter tcp --sort retransmissions --top 10
  wire cat eth0 --count 10000 | wire flows --by ip")]
pub struct Flows {
    /// What to read
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    sources: Vec<OsString>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    directions: Directions,
    /// What makes a flow: five-tuple, ip or mac
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "five-tuple",
        hide_possible_values = true
    )]
    by: By,
    /// What comes first: bytes, packets, duration or retransmissions, the most of it; or the first packet: time
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "bytes",
        hide_possible_values = true
    )]
    sort: report::Sort,
    /// Only so many flows, the first of them
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Keep at most so many flows; packets of others are counted
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_flows: usize,
    /// The unit of timestamp words, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// One JSON object a flow, and one of all
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

struct Reader {
    table: Table,
    selector: Selector,
    departures: Departures,
    /// The zero of words, ps since 1970.
    epoch_ps: u128,
}

impl Consumer for Reader {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at_ps = match item.at_ps {
            Some(at_ps) => at_ps,
            None => self.epoch_ps + self.departures.ps(item.word.unwrap_or(0)),
        };
        if self.selector.takes(item, || at_ps)? {
            // Some programs write a length below that of the bytes they have.
            let length = item.original_len.max(item.bytes.len() as u32);
            self.table.packet(item.bytes, length, at_ps);
        }
        Ok(self.selector.wants_more())
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn is_over(&mut self, now_ps: u128) -> bool {
        self.selector.is_over(now_ps)
    }
}

impl Flows {
    /// Reads everything, files before ports, and tells.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let sources = Sources::of(&self.sources)?;
        let mut stdout = Output::reading(&sources.files, &Buffering::default())?;
        let mut feed = Reader {
            table: Table::new(self.by, self.max_flows),
            selector: self.selection.selector()?,
            departures: Departures::new(self.tick),
            epoch_ps: u128::from(clock::epoch_ns()) * 1_000,
        };
        let complaints = self.strictness.complaints();
        let mut listener = Listener::open(&sources.ports, self.tick, self.directions.or_both())?;
        sources.confine(Permissions::default())?;
        listener.tell_life(&self.selection);
        let mut copy = || -> anyhow::Result<()> {
            for path in &sources.files {
                let mut packets = Packets::open(path, &complaints)?.with_lengths();
                if packets.copy(&mut feed)? == Ended::Stopped {
                    return Ok(());
                }
            }
            listener.copy(&mut feed, &complaints)
        };
        let result = copy();
        let flows = report::sorted(feed.table.flows(), self.sort, self.top);
        let text = match self.json {
            true => report::objects(&feed.table, &flows),
            false => report::text(&feed.table, &flows),
        };
        // What was seen before something went wrong is told all the same.
        stdout.tell(&text)?;
        stdout.finish()?;
        let (packets, _) = feed.table.beyond();
        complaints.lost(
            packets,
            format_args!(
                "{packets} packets belong to flows beyond the {} of --max-flows and are in no flow",
                self.max_flows
            ),
        );
        let verdict = complaints.finish();
        result?;
        let done = feed.selector.is_done();
        Ok(match sources.ports.is_empty() {
            true => verdict,
            false => verdict.max(Verdict::if_done(done)),
        })
    }
}
