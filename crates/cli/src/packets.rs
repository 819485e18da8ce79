//! Packets out of a file, pipe or terminal: lines, records and captures, told apart by content.

use crate::complaints::Complaints;
use crate::stream::{self, Pausing, Stream};
use live::file::{FileError, Item, Source};
use std::io::ErrorKind;
use std::path::Path;

/// Who takes packets.
pub trait Consumer {
    /// Takes a packet; `Ok(false)` to be given no more.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool>;

    /// Nothing more is there for now: what lies in a buffer has to go on.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn idle(&mut self) -> anyhow::Result<()>;
}

/// An open file of packets.
pub struct Packets {
    source: Source,
    complaints: Complaints,
}

impl Packets {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: &Path, complaints: &Complaints) -> anyhow::Result<Packets> {
        Packets::new(Stream::open(path)?, stream::name(path), complaints)
    }

    /// The packets of `stream`, called `name` in messages.
    ///
    /// # Errors
    /// When its first bytes make no sense.
    pub fn new(stream: Stream, name: String, complaints: &Complaints) -> anyhow::Result<Packets> {
        let place = name.clone();
        let source = Source::from_reader(name, Box::new(Pausing::new(stream)))?;
        let complaints = complaints.clone();
        let source = if complaints.strict() {
            source.strict()
        } else {
            let complaints = complaints.clone();
            source.on_complaint(move |complaint| complaints.tell(&place, complaint))
        };
        Ok(Packets { source, complaints })
    }

    /// Gives all packets to `consumer`, until it wants no more or somebody asks to stop.
    ///
    /// # Errors
    /// As [`read`](Packets::read).
    pub fn copy(&mut self, consumer: &mut impl Consumer) -> anyhow::Result<()> {
        while self.read(usize::MAX, consumer)? {}
        Ok(())
    }

    /// Gives up to `count` packets to `consumer`; false at the end, when it wants no more, or when
    /// somebody has asked to stop.
    ///
    /// # Errors
    /// When reading fails, or `consumer` does, or at the first bad packet if complaints are strict.
    pub fn read(&mut self, count: usize, consumer: &mut impl Consumer) -> anyhow::Result<bool> {
        for _ in 0..count {
            match self.source.next() {
                // By reference: moving an item just written, by wider words than it was written in,
                // made the processor wait for a fifth of the time that short packets took.
                Ok(Some(ref item)) => {
                    if !consumer.packet(item)? {
                        return Ok(false);
                    }
                }
                Ok(None) => return Ok(self.end()),
                Err(FileError::Read { source, .. }) if source.kind() == ErrorKind::WouldBlock => {
                    consumer.idle()?;
                }
                Err(error) => {
                    self.end();
                    return Err(error.into());
                }
            }
        }
        Ok(true)
    }

    /// Says how many packets the capture had cut short.
    fn end(&self) -> bool {
        let cut = self.source.counters().cut;
        if cut > 0 {
            self.complaints.note(format_args!(
                "{}: {cut} packets had been cut short when they were captured; what is there of them was used",
                self.source.name()
            ));
        }
        false
    }
}
