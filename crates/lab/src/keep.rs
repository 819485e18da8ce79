//! Capture files, written as a run goes.

use crate::plan::{CapturePlan, Lab, Resolution};
use node::{Frame, Time};
use packet::capture::{self, Interface, PcapWriter, PcapngWriter};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BLOCK: usize = 1 << 18;

/// What a run's zero is, and how fine its stamps are, in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    /// Picoseconds since 1970 at the start of the run.
    pub zero_ps: u128,
    /// What stamps are worth if the lab file does not say.
    pub resolution: Resolution,
}

/// A capture file being written. After the first error nothing more is written, and the error is
/// kept for the end.
pub(crate) struct Keep {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    format: Format,
    era: Era,
    /// Frames by view.
    counts: Vec<u64>,
    failed: Option<io::Error>,
}

enum Format {
    Pcapng(PcapngWriter),
    Pcap(PcapWriter),
}

impl Keep {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(lab: &Lab, plan: &CapturePlan, folder: &Path, mut era: Era) -> io::Result<Keep> {
        let path = folder.join(&plan.file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let file = Box::new(File::create(&path)?);
        era.resolution = plan.resolution.unwrap_or(era.resolution);
        let mut keep = Keep {
            path,
            file,
            buffer: Vec::with_capacity(BLOCK + BLOCK / 4),
            format: Format::Pcap(PcapWriter::NANO),
            era,
            counts: vec![0; plan.views.len()],
            failed: None,
        };
        if plan.file.ends_with(".pcap") {
            PcapWriter::NANO.header(capture::ETHERNET, 0, &mut keep.buffer);
            return Ok(keep);
        }
        let mut writer = PcapngWriter::default();
        writer.header("wireline", &mut keep.buffer);
        for &view in &plan.views {
            let interface = Interface {
                name: lab.views[view].label.clone(),
                resolution: match era.resolution {
                    Resolution::Picosecond => capture::Resolution::PICO,
                    Resolution::Nanosecond => capture::Resolution::NANO,
                },
                // Picoseconds reach 213 days: from the start of the run they do.
                offset_s: match era.resolution {
                    Resolution::Picosecond => (era.zero_ps / 1_000_000_000_000) as i64,
                    Resolution::Nanosecond => 0,
                },
                speed: lab.rate_at(view).map_or(0, |rate| rate.bits_per_second()),
                ..Interface::default()
            };
            writer.interface(&interface, &mut keep.buffer);
        }
        keep.format = Format::Pcapng(writer);
        Ok(keep)
    }

    /// Keeps a frame that one of the file's views saw.
    pub fn frame(&mut self, interface: usize, frame: &Frame) {
        let at_ps = self.at(frame.arrived());
        self.counts[interface] += 1;
        match &self.format {
            Format::Pcapng(writer) => {
                writer.packet(interface as u32, at_ps, frame, &mut self.buffer);
            }
            Format::Pcap(writer) => writer.packet(at_ps, frame, &mut self.buffer),
        }
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    fn at(&self, time: Time) -> u128 {
        self.era.zero_ps + u128::from(time.as_ps())
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Ends the file, and tells where it is.
    ///
    /// # Errors
    /// The first error there was, and the file's path.
    pub fn finish(&mut self, ended: Time) -> Result<PathBuf, (PathBuf, io::Error)> {
        let at_ps = self.at(ended);
        if let Format::Pcapng(writer) = &self.format {
            for (interface, &count) in (0..).zip(&self.counts) {
                let statistics = capture::Statistics {
                    interface,
                    at_ps,
                    start_ps: Some(self.era.zero_ps),
                    end_ps: Some(at_ps),
                    received: Some(count),
                    dropped: Some(0),
                    ..capture::Statistics::default()
                };
                writer.statistics(&statistics, &mut self.buffer);
            }
        }
        self.flush();
        match self.failed.take().or_else(|| self.file.flush().err()) {
            None => Ok(self.path.clone()),
            Some(error) => Err((self.path.clone(), error)),
        }
    }
}
