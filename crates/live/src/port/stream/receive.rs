//! Frames from a file or pipe.

use super::fault;
use crate::kernel::thread;
use crate::port::{PortError, Receive, Received, RxCounters};
use ::capture::clock::now_ns;
use ::capture::file::{FileError, Item, Next, Source};
use packet::Tick;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Frames given in one call, so that other ports have their turn.
const BATCH: usize = 64;
/// Frames that a pipe's thread reads ahead.
const AHEAD: usize = 256;

/// Turns what a file says into the counter's time.
#[derive(Clone, Copy, Debug)]
pub struct Stamper {
    tick: Tick,
    epoch: u64,
}

impl Stamper {
    fn at_ns(self, item: &Item<'_>) -> u64 {
        match (item.at_ps, item.word) {
            (Some(at), _) => {
                let ns = u64::try_from(at / 1000).unwrap_or(u64::MAX);
                ns.saturating_sub(self.epoch)
            }
            (None, Some(word)) if word != 0 => {
                u64::try_from(self.tick.ps(word) / 1000).unwrap_or(u64::MAX)
            }
            _ => now_ns(),
        }
    }
}

fn count(counters: &mut RxCounters, frame: &[u8]) {
    counters.received += 1;
    counters.bytes += frame.len() as u64;
}

/// A file that never keeps its reader waiting.
pub struct Files {
    name: String,
    source: Source,
    stamper: Stamper,
    /// The first frame, which was looked at for its time.
    first: Option<(u64, Vec<u8>)>,
    counters: RxCounters,
}

impl Files {
    /// Looks at the first frame. A capture from before this machine's boot has its own zero: the
    /// second in which it begins.
    pub fn open(
        name: &str,
        mut source: Source,
        tick: Tick,
        mut epoch: u64,
    ) -> Result<Files, PortError> {
        let mut first = None;
        if let Next::Item(item) = source.next().map_err(|error| fault(name, error))? {
            if let Some(at) = item.at_ps.and_then(|ps| u64::try_from(ps / 1000).ok())
                && at < epoch
            {
                epoch = at - at % 1_000_000_000;
            }
            first = Some((Stamper { tick, epoch }.at_ns(&item), item.bytes.to_vec()));
        }
        Ok(Files {
            name: name.into(),
            source,
            stamper: Stamper { tick, epoch },
            first,
            counters: RxCounters::default(),
        })
    }

    /// The wall-clock time of zero, ns since 1970.
    pub fn epoch(&self) -> u64 {
        self.stamper.epoch
    }
}

impl Receive for Files {
    fn receive(
        &mut self,
        _: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = 0;
        if let Some((at_ns, bytes)) = self.first.take() {
            count(&mut self.counters, &bytes);
            given += 1;
            sink(Received {
                bytes: &bytes,
                at_ns,
            });
        }
        while given < BATCH {
            match self.source.next() {
                Ok(Next::Item(item)) => {
                    count(&mut self.counters, item.bytes);
                    given += 1;
                    sink(Received {
                        bytes: item.bytes,
                        at_ns: self.stamper.at_ns(&item),
                    });
                }
                // What was given is told first; the same comes again next time.
                _ if given > 0 => break,
                Ok(Next::End | Next::Stopped) => {
                    return Err(PortError::Ended {
                        name: self.name.clone(),
                    });
                }
                Err(error) => return Err(fault(&self.name, error)),
            }
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            refused: self.source.counters().skipped,
            ..self.counters
        }
    }
}

/// A frame from a pipe's thread, or its end.
type Read = Result<(u64, Vec<u8>), Option<FileError>>;

/// A pipe or terminal: a thread of its own waits for it.
pub struct Piped {
    name: String,
    frames: Receiver<Read>,
    /// Buffers on their way back.
    spent: Sender<Vec<u8>>,
    counters: RxCounters,
    ended: bool,
}

impl Piped {
    /// Starts the thread. It ends with the pipe, when this value goes, or by a signal.
    pub fn start(name: &str, source: Source, tick: Tick, epoch: u64) -> Result<Piped, PortError> {
        let (give, frames) = sync_channel(AHEAD);
        let (spent, buffers) = channel();
        let stamper = Stamper { tick, epoch };
        let body = move || pump(source, stamper, &give, &buffers);
        thread::spawn("pipe", body).map_err(|source| PortError::Io {
            name: name.into(),
            doing: "starting its thread",
            source,
        })?;
        Ok(Piped {
            name: name.into(),
            frames,
            spent,
            counters: RxCounters::default(),
            ended: false,
        })
    }
}

fn pump(
    mut source: Source,
    stamper: Stamper,
    give: &SyncSender<Read>,
    buffers: &Receiver<Vec<u8>>,
) {
    loop {
        let read = match source.next() {
            Ok(Next::Item(item)) => {
                let mut buffer = buffers.try_recv().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(item.bytes);
                Ok((stamper.at_ns(&item), buffer))
            }
            Ok(Next::End | Next::Stopped) => Err(None),
            Err(error) => Err(Some(error)),
        };
        let end = read.is_err();
        if give.send(read).is_err() || end {
            break;
        }
    }
}

impl Receive for Piped {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = 0;
        while given < BATCH && !self.ended {
            let patience = if given == 0 { wait } else { Duration::ZERO };
            match self.frames.recv_timeout(patience) {
                Ok(Ok((at_ns, bytes))) => {
                    count(&mut self.counters, &bytes);
                    given += 1;
                    sink(Received {
                        bytes: &bytes,
                        at_ns,
                    });
                    // The thread may have ended already; then nobody needs the buffer.
                    let _ = self.spent.send(bytes);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(given),
                Ok(Err(None)) | Err(RecvTimeoutError::Disconnected) => self.ended = true,
                Ok(Err(Some(error))) => {
                    self.ended = true;
                    return Err(fault(&self.name, error));
                }
            }
        }
        if given == 0 && self.ended {
            return Err(PortError::Ended {
                name: self.name.clone(),
            });
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        self.counters
    }
}

/// A file that is not there yet: it can be written, and has nothing to read.
pub struct Nothing(String);

impl Nothing {
    /// For the port of that name.
    pub fn new(name: &str) -> Nothing {
        Nothing(name.into())
    }
}

impl Receive for Nothing {
    fn receive(
        &mut self,
        _: Duration,
        _: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        Err(PortError::Ended {
            name: self.0.clone(),
        })
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}
