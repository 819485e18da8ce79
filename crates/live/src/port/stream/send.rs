//! Frames into a file or pipe.

use crate::port::{PortError, Transmit, TxCounters};
use ::capture::clock::{epoch_ns, now_ns};
use ::capture::file_system::is_fuse;
use ::capture::output::{OutputError, OutputFile};
use packet::capture::{Interface, PcapngWriter};
use packet::line::{self, Form};
use packet::{MAX_FRAME_LEN, MIN_FRAME_LEN, Packet, Stamp, Tick, record};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Size of the block that is collected before it is written, bytes.
const BLOCK: usize = 64 << 10;
/// Maximum delay of the block while more is sent, ns.
const MAX_FLUSH_DELAY_NS: u64 = 50_000_000;

/// How frames are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A capture.
    Pcapng,
    /// Text.
    Lines,
    /// Binary records.
    Records,
}

/// A sending half that writes. A file takes its place when nothing more will be sent.
pub struct Writer {
    name: String,
    path: PathBuf,
    format: Format,
    tick: Tick,
    file: Option<Sink>,
    /// Whether a word is a departure there, not a stamp.
    departures: bool,
    pcapng: PcapngWriter,
    epoch: u64,
    pending: Vec<u8>,
    written_at: u64,
    counters: TxCounters,
}

/// Where bytes go.
enum Sink {
    Standard(File),
    File(OutputFile),
    /// It has its place, or an error has been told: nothing more is taken.
    Ended,
}

impl Writer {
    /// Nothing is opened yet.
    pub fn new(name: &str, path: &Path, format: Format, tick: Tick) -> Writer {
        Writer {
            name: name.into(),
            path: path.into(),
            format,
            tick,
            file: None,
            departures: false,
            pcapng: PcapngWriter::default(),
            epoch: epoch_ns(),
            pending: Vec::new(),
            written_at: now_ns(),
            counters: TxCounters::default(),
        }
    }

    fn open(&mut self) -> Result<(), PortError> {
        if self.file.is_some() {
            return Ok(());
        }
        let opened = if self.path.as_os_str() == "-" {
            let owned = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
            owned.map(|owned| Sink::Standard(File::from(owned)))
        } else {
            self.departures = is_fuse(&self.path);
            let file = OutputFile::create(&self.path);
            file.map(Sink::File).map_err(|error| error.source)
        };
        self.file = Some(opened.map_err(|error| self.fault("opening it for writing", error))?);
        if self.format == Format::Pcapng {
            self.pcapng.header("wire", &mut self.pending);
            let interface = Interface {
                name: self.name.clone(),
                ..Interface::default()
            };
            self.pcapng.interface(&interface, &mut self.pending);
        }
        Ok(())
    }

    fn fault(&self, doing: &'static str, error: io::Error) -> PortError {
        let name = self.name.clone();
        match error.kind() {
            // A reader that has seen enough is a normal end.
            io::ErrorKind::BrokenPipe => PortError::Ended { name },
            _ => PortError::from_io(&name, doing, "the right to write there", error),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), PortError> {
        let now = now_ns();
        let word = match self.departures {
            true => 0,
            false => self.tick.count(u128::from(now) * 1000),
        };
        let packet = Packet {
            stamp: Some(Stamp::Word(word)),
            hash: None,
            bytes,
        };
        let taken = match self.format {
            Format::Lines => line::encode(&packet, Form::default(), &mut self.pending),
            Format::Records => record::encode(&packet, &mut self.pending),
            Format::Pcapng => {
                let at_ps = u128::from(self.epoch + now) * 1000;
                packet.check().map(|()| {
                    self.pcapng.packet(0, at_ps, bytes, &mut self.pending);
                })
            }
        };
        taken.map_err(|_| match bytes.len() {
            len @ ..MIN_FRAME_LEN => PortError::TooShort { len },
            len => PortError::TooLong {
                name: self.name.clone(),
                len,
                mtu: MAX_FRAME_LEN as u32 - 14,
                longest: MAX_FRAME_LEN,
            },
        })
    }

    fn write(&mut self) -> Result<(), PortError> {
        self.written_at = now_ns();
        let result = match &mut self.file {
            None => return Ok(()),
            Some(Sink::Standard(file)) => file.write_all(&self.pending),
            Some(Sink::File(file)) => file.write_all(&self.pending),
            Some(Sink::Ended) if self.pending.is_empty() => return Ok(()),
            Some(Sink::Ended) => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.pending.clear();
        match (result, &self.file) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some(Sink::File(file))) if error.kind() != io::ErrorKind::BrokenPipe => {
                let error = file.fault(error);
                // Cut short, it must not take its place.
                self.file = Some(Sink::Ended);
                Err(self.failed(error))
            }
            (Err(error), _) => Err(self.fault("writing", error)),
        }
    }

    fn failed(&self, source: OutputError) -> PortError {
        PortError::Output {
            name: self.name.clone(),
            source,
        }
    }
}

impl Transmit for Writer {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.open()?;
        let mut sent = 0;
        for frame in frames {
            match self.put(frame) {
                Ok(()) => {
                    sent += 1;
                    self.counters.sent += 1;
                    self.counters.bytes += frame.len() as u64;
                }
                Err(_) if sent > 0 => break,
                Err(error) => {
                    self.counters.refused += 1;
                    return Err(error);
                }
            }
        }
        // A pipe's reader waits for every frame; a file's does not.
        let prompt = self.departures || self.path.as_os_str() == "-";
        if prompt || self.pending.len() >= BLOCK || now_ns() - self.written_at > MAX_FLUSH_DELAY_NS
        {
            self.write()?;
        }
        Ok(sent)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.write()
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.write()?;
        match self.file.replace(Sink::Ended) {
            Some(Sink::File(file)) => file.commit().map_err(|error| self.failed(error)),
            Some(Sink::Standard(_) | Sink::Ended) | None => Ok(()),
        }
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            eprintln!("wire: {error}");
        }
    }
}
