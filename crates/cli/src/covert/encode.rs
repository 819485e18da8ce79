//! `wire covert encode`: packets again, with a message in their gaps.

use super::{Gaps, Times};
use crate::Verdict;
use crate::complaints::Strictness;
use crate::form::{Form, FormOptions};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Packets};
use crate::select::Selection;
use ::capture::file::Item;
use anyhow::{Context, bail};
use confine::Permissions;
use node::{Time, link};
use nodes::covert::{Config, Modulator};
use packet::word::Timer;
use packet::{Departure, Packet, Stamp, Tick};
use std::path::PathBuf;

/// Write packets with departures that carry a message
///
/// The first one marks timer 1, the others leave so long after it, as `wire gen` writes them; in text and
/// JSON times count from zero. Packets stay as they are, and in order.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire covert encode 'attack at dawn' trace.pcapng --idles 1000 | wire dump --tick 800ps -o out.pcapng")]
pub struct Encode {
    /// What to say, up to 4096 bytes; @FILE says what is in a file
    message: String,
    /// The packets, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    gaps: Gaps,
    /// Say it so often; 0 for as long as there are packets
    #[arg(long = "loop", alias = "times", value_name = "N", default_value_t = 0)]
    times: u64,
    /// How long a packet is held, so that it can be early or late
    #[arg(long, value_name = "TIME", default_value = "5us")]
    delay: Time,
    /// Held longer, packets leave with least gaps and without bits
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    limit: Time,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

struct Writer {
    out: Output,
    form: Form,
    tick: Tick,
    times: Times,
    line: node::Rate,
    modulator: Modulator,
    first: Option<Time>,
}

impl Encode {
    /// Writes every packet.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let message = match self.message.strip_prefix('@') {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the message from {path}"))?,
            None => self.message.clone(),
        };
        let (line, tick) = (self.gaps.line.line, self.gaps.line.tick);
        // Each departure is cut to a tick, so that a gap is off by less than one either way.
        let least =
            8_000_000_000_000 * u128::from(self.gaps.epsilon) / u128::from(line.bits_per_second());
        if u128::from(tick.as_ps()) > least {
            bail!(
                "ticks of {} ps cannot tell gaps that differ by {least} ps; give --tick 800ps, or a greater --epsilon",
                tick.as_ps()
            );
        }
        let config = Config {
            message,
            times: self.times,
            delay: self.delay,
            limit: self.limit,
            ..self.gaps.config()
        };
        let mut writer = Writer {
            out: Output::reading(std::slice::from_ref(&self.file), &self.buffering)?,
            form: self.form.form(),
            tick,
            times: Times::new(tick),
            line,
            modulator: Modulator::new(&config).context("cannot encode")?,
            first: None,
        };
        let mut selector = self.selection.selector()?;
        confine::reader(Permissions::default())?;
        let complaints = self.strictness.complaints();
        let result = Packets::open(&self.file, &complaints)
            .and_then(|mut packets| packets.choose(&mut selector, tick, &mut writer));
        let (bits, uncoded) = (writer.modulator.bits(), writer.modulator.uncoded());
        writer.out.finish()?;
        let verdict = complaints.finish();
        result?;
        eprintln!("wire: {bits} bits sent, {uncoded} gaps without one");
        Ok(verdict)
    }
}

impl Consumer for Writer {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let len = item.bytes.len();
        // The first packet is not at the very beginning of time: a preamble goes before it.
        let arrived = Time::from_us(1) + self.times.of(item)?;
        let bytes = (len.max(link::MIN_WIRE_FRAME_LEN) + link::FCS) as u64;
        let now = arrived + self.line.time_of(8 * bytes, 0).0;
        let at = self.modulator.departure(now, arrived, len);
        let since = at - *self.first.get_or_insert(at);
        let ticks = self.tick.checked_count(since.as_ps().into());
        let ticks = ticks.context(
            "a packet leaves later than a departure can say, which counts up to 2^56 ticks; use a longer --tick",
        )?;
        let departure = match (&self.form, Timer::new(1)) {
            (Form::Lines(_) | Form::Records, Some(timer)) if ticks == 0 => Departure::Mark(timer),
            (Form::Lines(_) | Form::Records, Some(timer)) => Departure::After(timer, ticks),
            _ => Departure::At(ticks),
        };
        let packet = Packet {
            stamp: Some(Stamp::Word(departure.to_word())),
            hash: item.hash,
            bytes: item.bytes,
        };
        self.form.append(&packet, self.tick, self.out.buffer())?;
        self.out.relieve()?;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.flush()
    }
}
