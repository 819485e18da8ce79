//! Capture files, written as a run goes.

use crate::error::LabError;
use crate::output_file::BufferedFile;
use crate::plan::{CapturePlan, Lab, Resolution};
use ::capture::output::OutputError;
use node::{Frame, Time};
use packet::capture::{self, Interface, PcapWriter, PcapngWriter};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a run's zero is, and how fine its stamps are, in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeBase {
    /// Picoseconds since 1970 at the start of the run.
    pub zero_ps: u128,
    /// What stamps are worth if the lab file does not say.
    pub resolution: Resolution,
}

/// A capture file being written.
pub(crate) struct CaptureFile {
    file: BufferedFile,
    format: Format,
    time_base: TimeBase,
    /// Frames by view.
    counts: Vec<u64>,
    /// Frames that wait until all before them have come, where several threads see frames.
    waiting: Option<Waiting>,
}

/// Frames in the order in which they came.
#[derive(Default)]
struct Waiting {
    /// When a node was told, the view, and the frame's stamp and bytes.
    frames: Vec<(Time, usize, Time, Range<usize>)>,
    bytes: Vec<u8>,
}

enum Format {
    Pcapng(PcapngWriter),
    Pcap(PcapWriter),
}

impl CaptureFile {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(
        lab: &Lab,
        plan: &CapturePlan,
        folder: &Path,
        mut time_base: TimeBase,
    ) -> Result<CaptureFile, LabError> {
        time_base.resolution = plan.resolution.unwrap_or(time_base.resolution);
        let mut capture = CaptureFile {
            file: BufferedFile::create(folder.join(&plan.file))?,
            format: Format::Pcap(PcapWriter::NANO),
            time_base,
            counts: vec![0; plan.views.len()],
            waiting: None,
        };
        if plan.file.ends_with(".pcap") {
            PcapWriter::NANO.header(capture::ETHERNET, 0, &mut capture.file.buffer);
            return Ok(capture);
        }
        let mut writer = PcapngWriter::default();
        writer.header("wireline", &mut capture.file.buffer);
        for &view in &plan.views {
            let interface = Interface {
                name: lab.views[view].label.clone(),
                resolution: match time_base.resolution {
                    Resolution::Picosecond => capture::Resolution::PICO,
                    Resolution::Nanosecond => capture::Resolution::NANO,
                },
                // Picoseconds reach 213 days: from the start of the run they do.
                offset_s: match time_base.resolution {
                    Resolution::Picosecond => (time_base.zero_ps / 1_000_000_000_000) as i64,
                    Resolution::Nanosecond => 0,
                },
                speed: lab.rate_at(view).map_or(0, |rate| rate.bits_per_second()),
                ..Interface::default()
            };
            writer.interface(&interface, &mut capture.file.buffer);
        }
        capture.format = Format::Pcapng(writer);
        Ok(capture)
    }

    /// Brings what comes into the order of time, and at one time into that of the views: frames wait until
    /// [all before them](Keep::pass) have come.
    pub fn put_in_order(&mut self) {
        self.waiting.get_or_insert_default();
    }

    /// Keeps a frame that one of the file's views saw when a node was told of it, at `now`.
    pub fn frame(&mut self, now: Time, interface: usize, frame: &Frame) {
        self.counts[interface] += 1;
        let stamp = frame.arrived();
        match &mut self.waiting {
            None => self.write(interface, stamp, frame),
            Some(Waiting { frames, bytes }) => {
                let start = bytes.len();
                bytes.extend_from_slice(frame);
                frames.push((now, interface, stamp, start..bytes.len()));
            }
        }
    }

    /// No frame comes any more of which a node was told up to this time.
    pub fn pass(&mut self, time: Time) {
        let Some(mut waiting) = self.waiting.take() else {
            return;
        };
        // What came first of one view stays first.
        waiting
            .frames
            .sort_by_key(|(now, interface, ..)| (*now, *interface));
        let count = waiting.frames.partition_point(|(now, ..)| *now <= time);
        for (_, interface, stamp, range) in waiting.frames.drain(..count) {
            self.write(interface, stamp, &waiting.bytes[range]);
        }
        let mut rest = Vec::new();
        for (.., range) in &mut waiting.frames {
            let start = rest.len();
            rest.extend_from_slice(&waiting.bytes[range.clone()]);
            *range = start..rest.len();
        }
        waiting.bytes.clear();
        waiting.bytes.append(&mut rest);
        self.waiting = Some(waiting);
    }

    fn write(&mut self, interface: usize, stamp: Time, frame: &[u8]) {
        let at_ps = self.at(stamp);
        let out = &mut self.file.buffer;
        match &self.format {
            Format::Pcapng(writer) => writer.packet(interface as u32, at_ps, frame, out),
            Format::Pcap(writer) => writer.packet(at_ps, frame, out),
        }
        self.file.relieve();
    }

    fn at(&self, time: Time) -> u128 {
        self.time_base.zero_ps + u128::from(time.as_ps())
    }

    /// Ends the file, and tells where it is.
    ///
    /// # Errors
    /// The first error there was.
    pub fn finish(&mut self, ended: Time) -> Result<PathBuf, OutputError> {
        self.pass(Time::MAX);
        let at_ps = self.at(ended);
        if let Format::Pcapng(writer) = &self.format {
            for (interface, &count) in (0..).zip(&self.counts) {
                let statistics = capture::Statistics {
                    interface,
                    at_ps,
                    start_ps: Some(self.time_base.zero_ps),
                    end_ps: Some(at_ps),
                    received: Some(count),
                    dropped: Some(0),
                    ..capture::Statistics::default()
                };
                writer.statistics(&statistics, &mut self.file.buffer);
            }
        }
        self.file.finish()
    }

    /// Leaves what was captured beside the file's name, and tells where, if there is anything.
    pub fn give_up(&mut self) -> Option<PathBuf> {
        if self.counts.iter().all(|&count| count == 0) {
            return None;
        }
        self.pass(Time::MAX);
        self.file.give_up()
    }
}
