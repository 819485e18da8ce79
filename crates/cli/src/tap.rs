//! `wire tap`: a TAP interface between standard input and output (`tappipe`, paper 001 section 6.6).

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::form::FormOptions;
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Packets};
use crate::report::begin_watched;
use crate::select::Selection;
use ::capture::file::Item;
use live::port::{self, Options, Port, PortError, PortSpec, Transmit};
use packet::{Packet, Stamp, Tick};
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// Timeout of a wait for a packet, after which the loop checks whether to stop.
const WAIT: Duration = Duration::from_millis(50);
/// Timeout, after a signal, for packets that arrived on standard input before it.
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// Turns in which what the system had sent at the end is read: as many packets as such an interface keeps, many times over.
const REST: u32 = 256;

/// Put the system's network stack on standard input and output
///
/// Makes a TAP interface and sets it up. Packets on standard input arrive at it, at once whatever their timestamps;
/// what the system sends by it, or what is selected of that, is written to standard output. It goes when the input ends, on
/// Ctrl-C, or when nobody reads the output.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire tap pipe0 < /dev/ethpipe/0 > /dev/ethpipe/0")]
pub struct Tap {
    /// The name of the interface
    name: String,
    /// Go on when the input has ended
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

impl Tap {
    /// Carries packets both ways until one side ends.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        // A name that the kernel would cut short is refused.
        let spec: PortSpec = format!("tap:{}", self.name).parse()?;
        let Port { info, rx, tx } = port::open(&spec, &Options::default())?;
        let mut stdout = Output::open(&self.buffering)?;
        confine::ports([&spec], false)?;
        begin_watched("tap", &self.name, "until standard input ends, or Ctrl-C");
        let complaints = self.strictness.complaints().endless();
        // Reading standard input may wait for ever, so it has a thread that nobody waits for.
        let (tell, input) = channel();
        let inward = complaints.clone();
        live::thread::spawn("input", move || {
            // Nobody listens any more when the other side has ended first.
            let _ = tell.send(feed(tx, &inward));
        })?;
        let result = self.drain(rx, info.tick, &mut stdout, &input);
        let flushed = stdout.finish();
        let verdict = complaints.finish();
        result.and(flushed)?;
        Ok(verdict)
    }

    /// Writes what the system sends, until the input's thread has ended or somebody asks to stop. What was sent or read before
    /// that is carried to its end.
    fn drain(
        &self,
        mut rx: Box<dyn port::Receive>,
        tick: Tick,
        stdout: &mut Output,
        input: &Receiver<anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        let mut form = self.form.form();
        let mut selector = self.selection.selector()?;
        let epoch_ps = u128::from(::capture::clock::epoch_ns()) * 1_000;
        let now = || epoch_ps + u128::from(::capture::clock::now_ns()) * 1_000;
        let mut ended = false;
        let mut rest = None;
        while rest != Some(0) {
            if !selector.wants_more() || selector.is_over(now()) {
                return Ok(());
            }
            if rest.is_none() && ::capture::signal::stop_requested() {
                if !ended && let Ok(result) = input.recv_timeout(INPUT_TIMEOUT) {
                    result?;
                }
                rest = Some(REST);
            }
            let wait = if rest.is_some() { Duration::ZERO } else { WAIT };
            let mut written = Ok(());
            let received = rx.receive(wait, &mut |frame| {
                let at_ps = || epoch_ps + u128::from(frame.at_ns) * 1_000;
                match selector.takes(&Item::of(frame.bytes), at_ps) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        written = Err(error);
                        return;
                    }
                }
                let packet = Packet {
                    stamp: Some(Stamp::Word(tick.count(u128::from(frame.at_ns) * 1_000))),
                    hash: None,
                    bytes: frame.bytes,
                };
                if form.append(&packet, tick, stdout.buffer()).is_ok() && written.is_ok() {
                    written = stdout.relieve();
                }
            });
            written?;
            // A stack waits for answers, so nothing stays in the buffer.
            stdout.flush()?;
            let came = match received {
                Ok(came) => came,
                Err(PortError::Ended { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if let Some(left) = &mut rest {
                *left = if came == 0 { 0 } else { *left - 1 };
                continue;
            }
            if !ended {
                match input.try_recv() {
                    Ok(result) => {
                        result?;
                        ended = true;
                    }
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => ended = true,
                }
            }
            if ended && !self.keep {
                rest = Some(REST);
            }
        }
        Ok(())
    }
}

/// Gives the packets on standard input to the interface.
fn feed(tx: Box<dyn Transmit>, complaints: &Complaints) -> anyhow::Result<()> {
    let mut feeder = Feeder {
        tx,
        complaints: complaints.clone(),
    };
    Packets::open(Path::new("-"), complaints)?.copy(&mut feeder)?;
    Ok(())
}

struct Feeder {
    tx: Box<dyn Transmit>,
    complaints: Complaints,
}

impl Consumer for Feeder {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        match self.tx.send(&[item.bytes]) {
            Ok(_) => {}
            Err(error) if error.is_end() => return Err(error.into()),
            Err(error) => self.complaints.bad("standard input", error)?,
        }
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
