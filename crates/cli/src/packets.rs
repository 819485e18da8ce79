//! Packets out of a file, pipe or terminal: lines, records and captures, told apart by content.

use crate::complaints::Complaints;
use crate::select::Selector;
use crate::stream::{self, Pausing, Stream};
use ::capture::file::{Captured, FileError, Item, Next, Source};
use ::capture::{clock, signal};
use packet::Tick;
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

    /// Whether what ports receive from now on, ps since 1970, comes too late.
    fn is_over(&mut self, now_ps: u128) -> bool {
        let _ = now_ps;
        false
    }

    /// Whether anything lies in a buffer, so that a port is not to be waited for.
    fn waits(&self) -> bool {
        false
    }
}

/// Why no more packets are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The input has ended; or it is damaged, which has been told, and is accepted.
    End,
    /// The consumer wants no more.
    Enough,
    /// A signal asked to stop.
    Stopped,
}

/// An open file of packets.
pub struct Packets {
    source: Source,
    complaints: Complaints,
    /// It never keeps anybody waiting, so that a stop takes effect at the next packet.
    whole: bool,
    /// Its user takes packets for as long as they were before the capture cut them short.
    lengths_known: bool,
    /// Its user can keep packets without a time as they are, and counts those that it cannot.
    keeps_undated: bool,
    /// Packets of a capture without a time (Simple Packet Blocks).
    undated: u64,
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
        let (place, whole) = (name.clone(), stream.is_whole());
        let source = Source::from_reader(name, Box::new(Pausing::new(stream)))?;
        let complaints = complaints.clone();
        let source = if complaints.strict() {
            source.strict()
        } else {
            let complaints = complaints.clone();
            source.on_complaint(move |complaint| complaints.tell(&place, complaint))
        };
        Ok(Packets {
            source,
            complaints,
            whole,
            lengths_known: false,
            keeps_undated: false,
            undated: 0,
        })
    }

    /// The same for a user of [`original_len`](Item::original_len), to whom a packet that the capture had cut
    /// short is no lesser one.
    #[must_use]
    pub fn with_lengths(self) -> Packets {
        Packets {
            lengths_known: true,
            ..self
        }
    }

    /// Gives what a capture has as it is: all link types, lengths and options, for another capture.
    #[must_use]
    pub fn verbatim(self) -> Packets {
        Packets {
            source: self.source.verbatim(),
            lengths_known: true,
            keeps_undated: true,
            ..self
        }
    }

    /// Gives frames of fewer than 14 bytes too, which a capture can have, for what does not write them as lines or records.
    #[must_use]
    pub fn any_length(self) -> Packets {
        Packets {
            source: self.source.any_length(),
            ..self
        }
    }

    /// What a capture says beside its packets.
    pub fn captured(&self) -> Option<&Captured> {
        self.source.captured()
    }

    /// Gives all packets to `consumer`, until it wants no more or somebody asks to stop.
    ///
    /// # Errors
    /// As [`read`](Packets::read).
    pub fn copy(&mut self, consumer: &mut impl Consumer) -> anyhow::Result<Ended> {
        loop {
            if let Some(ended) = self.read(usize::MAX, consumer)? {
                return Ok(ended);
            }
        }
    }

    /// Gives the packets that are selected to `consumer`; `tick` is the unit of words.
    ///
    /// # Errors
    /// As [`read`](Packets::read).
    pub fn choose(
        &mut self,
        selector: &mut Selector,
        tick: Tick,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<Ended> {
        match selector.wants_more() {
            true => self.copy(&mut Selecting::new(selector, tick, consumer)),
            false => Ok(Ended::Enough),
        }
    }

    /// Gives up to `count` packets to `consumer`; and why there were fewer, if there were.
    ///
    /// # Errors
    /// When reading fails, or `consumer` does, or at the first bad packet if complaints are strict.
    pub fn read(
        &mut self,
        count: usize,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<Option<Ended>> {
        for _ in 0..count {
            if self.whole && signal::stop_requested() {
                return Ok(Some(self.end(Ended::Stopped)));
            }
            match self.source.next() {
                // By reference: moving an item just written, by wider words than it was written in,
                // made the processor wait for a fifth of the time that short packets took.
                Ok(Next::Item(ref item)) => {
                    let undated = item.captured.is_some() && item.at_ps.is_none();
                    self.undated += u64::from(undated && !self.keeps_undated);
                    if !consumer.packet(item)? {
                        return Ok(Some(self.end(Ended::Enough)));
                    }
                }
                Ok(Next::End) => return Ok(Some(self.end(Ended::End))),
                Ok(Next::Stopped) => return Ok(Some(self.end(Ended::Stopped))),
                Err(FileError::Read { source, .. }) if source.kind() == ErrorKind::WouldBlock => {
                    consumer.idle()?;
                }
                Err(error) if error.is_damage() && self.complaints.lenient() => {
                    let rest = format_args!("{error}; nothing behind that can be read");
                    self.complaints.lost(1, rest);
                    return Ok(Some(self.end(Ended::End)));
                }
                Err(error) => {
                    self.end(Ended::End);
                    return Err(error.into());
                }
            }
        }
        Ok(None)
    }

    /// Says how many packets the capture had cut short.
    fn end(&mut self, ended: Ended) -> Ended {
        if ended == Ended::Stopped {
            self.complaints.stopped();
        }
        let (name, cut) = (self.source.name(), self.source.counters().cut);
        let inexact = self.source.counters().inexact;
        self.complaints.lost(
            inexact,
            format_args!(
                "{name}: {inexact} packets have stamps finer than a picosecond, which were rounded down, or before 1970, which became 1970"
            ),
        );
        let undated = std::mem::take(&mut self.undated);
        self.complaints.lost(
            undated,
            format_args!("{name}: {undated} packets have no time; lines give them the word 0"),
        );
        let headed = self.source.counters().headed;
        if headed > 0 {
            self.complaints.note(format_args!(
                "{name}: {headed} packets have no Ethernet header; each got one, with zeros for addresses that are not known"
            ));
        }
        if self.lengths_known && cut > 0 {
            self.complaints.note(format_args!(
                "{name}: {cut} packets had been cut short when they were captured; their lengths are kept"
            ));
        } else {
            let what = format_args!(
                "{name}: {cut} packets had been cut short when they were captured; what is there of them was used"
            );
            self.complaints.lost(cut, what);
        }
        ended
    }
}

/// Gives on what is selected.
pub struct Selecting<'a, C> {
    selector: &'a mut Selector,
    consumer: &'a mut C,
    /// The unit of words, and their zero.
    tick: Tick,
    epoch_ps: u128,
}

impl<'a, C: Consumer> Selecting<'a, C> {
    /// For `consumer`, of packets whose words count `tick`.
    pub fn new(selector: &'a mut Selector, tick: Tick, consumer: &'a mut C) -> Selecting<'a, C> {
        Selecting {
            selector,
            consumer,
            tick,
            epoch_ps: u128::from(clock::epoch_ns()) * 1_000,
        }
    }
}

impl<C: Consumer> Consumer for Selecting<'_, C> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let words = || self.epoch_ps + self.tick.ps(item.word.unwrap_or(0));
        let taken = self
            .selector
            .takes(item, || item.at_ps.unwrap_or_else(words))?;
        let more = !taken || self.consumer.packet(item)?;
        Ok(more && self.selector.wants_more())
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.consumer.idle()
    }

    fn is_over(&mut self, now_ps: u128) -> bool {
        self.selector.is_over(now_ps) || self.consumer.is_over(now_ps)
    }

    fn waits(&self) -> bool {
        self.consumer.waits()
    }
}
