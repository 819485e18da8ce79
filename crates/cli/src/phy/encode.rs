//! `wire phy encode`: packets onto the line.

use super::damage::{Damage, Slip};
use super::line::Line;
use super::lock::with_type;
use super::order::Order;
use super::timing::{Pace, Timing};
use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Ended, Packets};
use crate::profile::count;
use crate::select::Selection;
use crate::time::tick;
use ::capture::file::Item;
use ::report::text;
use anyhow::{bail, ensure};
use confine::Permissions;
use node::random::split_mix;
use node::{Rate, Time};
use packet::Tick;
use phy::file::{BLOCK, Header};
use phy::gap::Rounding;
use phy::{Encoder, Sink, Stamp, Start};
use serde_json::json;
use std::path::PathBuf;

/// Write packets as the bit stream of a 10GBASE-R line
///
/// Packets leave at their own times, or with the idles, gap or rate asked for. A frame starts in lane 0
/// or 4, every 3.2 ns, not before its time; gaps keep their mean (deficit idle count).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire gen --count 100 --size 1518 | wire phy encode --idles 170 -o line.phy
  wire gen --count 9 | wire phy encode --raw lsb --skew 5 --errors 1e-5 > line.bits")]
pub struct Encode {
    /// Lines, records or captures, `-` for standard input
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write raw bits, in this order, rather than a file with an index
    #[arg(long, value_name = "ORDER")]
    raw: Option<Order>,
    /// With --raw, in which each idle takes its bits: write no more than so many MB
    #[arg(long, value_name = "MB", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    limit: u64,
    /// So many idles before each frame; fewer than 12 are not the standard's
    #[arg(long, value_name = "N", group = "pace", value_parser = clap::value_parser!(u64).range(1..=1 << 48))]
    idles: Option<u64>,
    /// From the beginning of a frame to that of the next, such as 1356.8ns
    #[arg(long, value_name = "TIME", group = "pace")]
    gap: Option<Time>,
    /// Bits a second, such as 9Gb/s, preamble and gap between frames counted
    #[arg(long, value_name = "RATE", group = "pace")]
    rate: Option<Rate>,
    /// The fewest idles before a frame (default 12, or --idles)
    #[arg(long, value_name = "N")]
    least: Option<u64>,
    /// Never shorten a gap to reach lane 0 or 4; the mean grows
    #[arg(long)]
    round_up: bool,
    /// Idle blocks before the first frame: a receiver needs 64 to lock
    #[arg(long, value_name = "BLOCKS", default_value_t = 128, value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    lead: u64,
    /// Idle blocks behind the last frame
    #[arg(long, value_name = "BLOCKS", default_value_t = 16, value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    trail: u64,
    /// The chance of each bit to be wrong, such as 1e-6
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = chance)]
    errors: f64,
    /// Bits to be wrong, by their places
    #[arg(long, value_name = "BIT", value_delimiter = ',')]
    flip: Vec<u64>,
    /// Put in or leave out bits: 6600+1 puts one in at bit 6600, 6600-3 leaves out three
    #[arg(long, value_name = "BIT+N", value_delimiter = ',')]
    slip: Vec<Slip>,
    /// Bits of no block before the first one
    #[arg(long, value_name = "BITS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    skew: u64,
    /// What errors and skew are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    selection: Selection,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// Report as a JSON object on standard output; needs -o
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

fn chance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate @ 0.0..=0.5) => Ok(rate),
        _ => Err("a bit error rate is 0 to 0.5, such as 1e-6".into()),
    }
}

impl Encode {
    /// Encodes all packets.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let out = Output::create(&self.output, &self.files, &Buffering::default())?;
        if out.is_terminal() && self.raw != Some(Order::Text) {
            bail!(
                "a bit stream is not for a terminal; use -o FILE, or pipe it into another command"
            );
        }
        let standard = self.output.as_os_str() == "-";
        ensure!(
            !(self.json && standard),
            "--json reports on standard output, where the stream goes; use -o FILE"
        );
        let mut selector = self.selection.selector()?;
        confine::reader(Permissions {
            writes: !standard,
            ..Permissions::default()
        })?;
        let complaints = self.strictness.complaints();
        let pace = match (self.idles, self.gap, self.rate) {
            (Some(idles), ..) => Pace::Idles(idles),
            (_, Some(gap), _) => Pace::Gap(gap),
            (.., Some(rate)) => Pace::Rate(rate),
            _ => Pace::Own,
        };
        let rounding = match self.round_up {
            true => Rounding::Up,
            false => Rounding::Deficit,
        };
        let standard = phy::gap::STANDARD;
        let least = self
            .least
            .unwrap_or(self.idles.unwrap_or(standard).min(standard));
        let mut work = Work {
            encoder: Encoder::new().minimum(least).rounding(rounding),
            timing: Timing::new(pace, self.tick),
            out: Some(out),
            line: None,
            origin: Stamp::of_block(self.lead + 1),
            complaints: complaints.clone(),
            counters: Counters::default(),
            encode: &self,
        };
        let mut copy = |work: &mut Work<'_>| -> anyhow::Result<()> {
            for path in &self.files {
                let mut packets = Packets::open(path, &complaints)?;
                if packets.choose(&mut selector, self.tick, work)? != Ended::End {
                    break;
                }
            }
            Ok(())
        };
        let result = copy(&mut work);
        // What was taken before an error is a whole stream; without the error it takes its place.
        if result.is_ok() || work.counters.frames > 0 {
            work.finish(result.is_ok())?;
        }
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}

/// The last bit at which a frame may start, with room after it for the frame and the trailing
/// idles. A place has 64 bits, which is 56 years.
const LAST_START: u64 = u64::MAX - (1 << 40);

/// What is being encoded.
struct Work<'a> {
    encoder: Encoder,
    timing: Timing,
    /// Until there is a line.
    out: Option<Output>,
    line: Option<Line>,
    /// Where the first frame starts.
    origin: Stamp,
    complaints: Complaints,
    counters: Counters,
    encode: &'a Encode,
}

#[derive(Default)]
struct Counters {
    frames: u64,
    bytes: u64,
    /// Could not start when asked to.
    late: u64,
    /// The most that a start was behind what was asked, in ps.
    behind_ps: u128,
    idles: Option<(u64, u64)>,
}

impl Consumer for Work<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let since = self.timing.since(item)?;
        self.begin()?;
        let Some(line) = &mut self.line else {
            return Ok(false);
        };
        let mut start = self.timing.start(since, self.origin);
        if self.counters.frames == 0 {
            start = Start::At(self.origin);
        }
        let until = match start {
            Start::At(stamp) => stamp.0.max(line.bits()),
            Start::After(idles) => line
                .bits()
                .saturating_add((idles / 8).saturating_mul(BLOCK)),
        };
        ensure!(
            until <= LAST_START,
            "packet {}: it starts later than the last place of a stream, which is 56 years after its \
             start. Give --gap, --rate or fewer --idles, or leave it out by --until",
            self.counters.frames + 1
        );
        if let Some(order) = self.encode.raw {
            let blocks = (item.bytes.len() as u64 / 8 + 2).saturating_add(self.encode.trail);
            let megabytes = order
                .bytes(until.saturating_add(blocks * BLOCK))
                .div_ceil(1_000_000);
            ensure!(
                megabytes <= self.encode.limit,
                "packet {}: the idles before it bring the stream to {megabytes} MB, and --limit allows {}. Leave out --raw: a file with an \
                 index keeps the number of idles instead. Or give --gap, --idles, or a higher --limit",
                self.counters.frames + 1,
                self.encode.limit
            );
        }
        let sent = match self.encoder.frame(item.bytes, start, line) {
            Ok(sent) => sent,
            Err(error) => {
                let place = format_args!("packet {}", self.counters.frames + 1);
                self.complaints.bad(place, error)?;
                return Ok(true);
            }
        };
        let counters = &mut self.counters;
        if counters.frames > 0 {
            let (least, most) = counters.idles.unwrap_or((u64::MAX, 0));
            counters.idles = Some((least.min(sent.idles), most.max(sent.idles)));
        }
        counters.frames += 1;
        counters.bytes += item.bytes.len() as u64;
        if let (Start::At(asked), Some(since)) = (start, since) {
            counters.late += u64::from(sent.stamp > asked);
            let at = u128::from((sent.stamp - self.origin) / Stamp::COLUMN)
                * u128::from(Stamp::COLUMN_PS);
            counters.behind_ps = counters.behind_ps.max(at.saturating_sub(since));
        }
        line.relieve()?;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        match &mut self.line {
            Some(line) => line.flush(),
            None => Ok(()),
        }
    }
}

impl Work<'_> {
    /// The stream's beginning, once its first packet is known, or that there is none.
    fn begin(&mut self) -> anyhow::Result<()> {
        let Some(out) = self.out.take() else {
            return Ok(());
        };
        let encode = self.encode;
        let damage = Damage::new(
            encode.errors,
            encode.seed,
            encode.flip.clone(),
            &encode.slip,
        );
        let (first_ps, epoch_ns) = self.timing.first.unwrap_or_default();
        let mut line = match encode.raw {
            Some(order) => Line::raw(out, order, damage),
            None => {
                let lead = u128::from(self.origin.0) + u128::from(encode.skew);
                let lead_ps = Header::default().ps(lead as u64);
                let header = Header {
                    start_ps: i128::try_from(first_ps).unwrap_or(i128::MAX) - lead_ps,
                    epoch_ns,
                    ..Header::default()
                };
                Line::file(out, &header, damage)
            }
        };
        let mut left = encode.skew;
        while left > 0 {
            let count = left.min(64) as u32;
            line.loose(split_mix(encode.seed ^ left, 0), count);
            left -= u64::from(count);
        }
        self.line = Some(line);
        Ok(())
    }

    fn finish(mut self, whole: bool) -> anyhow::Result<()> {
        self.begin()?;
        let Some(mut line) = self.line.take() else {
            return Ok(());
        };
        self.encoder.flush(&mut line);
        line.idle(self.encode.trail);
        let (bits, flipped) = (line.bits(), line.flipped());
        let out = line.end()?;
        if whole {
            out.finish()?;
        }
        let Counters {
            frames,
            bytes,
            late,
            behind_ps,
            idles,
        } = self.counters;
        let (least, most) = idles.unzip();
        let damaged = self.encode.errors > 0.0 || !self.encode.flip.is_empty();
        if self.encode.json {
            let object = json!({
                "frames": frames,
                "bytes": bytes,
                "bits": bits,
                "idles_min": least,
                "idles_max": most,
                "late": late,
                "behind_max_ps": count(behind_ps),
                "wrong_bits": flipped,
            });
            println!("{}", with_type("encoded", object));
            return Ok(());
        }
        let mut text = format!("{frames} frames in {bits} bits");
        match (least, most) {
            (Some(least), Some(most)) if least == most => {
                text += &format!("; {least} idles before each");
            }
            (Some(least), Some(most)) => text += &format!("; {least} to {most} idles before each"),
            _ => {}
        }
        if behind_ps > 0 {
            // The time of a run ends after 213 days.
            let behind = match u64::try_from(behind_ps) {
                Ok(ps) => Time::from_ps(ps).to_string(),
                Err(_) => text::time(behind_ps as f64),
            };
            text += &format!("; up to {behind} behind its time, {late} for want of room");
        }
        if damaged {
            text += &format!("; {flipped} wrong bits");
        }
        eprintln!("wire: {text}");
        Ok(())
    }
}
