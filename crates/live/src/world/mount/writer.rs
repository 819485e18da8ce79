//! Puts packets together from the pieces in which one open file's writes arrive.
//!
//! Each open file has its own: two writers' lines never mix, however their writes are cut. A line
//! that is not whole yet is kept until its end comes, or the file is closed.

use packet::line::{self, LineError, Lines};
use packet::{BadWord, Departure, Stamp, record};

/// Bytes of a write that are tried at first behind what was kept of the write before.
const TASTE: usize = 4096;

/// Something written that is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line that does not parse.
    #[error("line {0}, {1}")]
    Line(u64, LineError),
    /// A line longer than any packet.
    #[error("line {0} is longer than {longest} bytes, which no packet needs", longest = line::MAX_LINE_LEN)]
    TooLong(u64),
    /// A packet, counted from 1, whose timestamp is no departure.
    #[error("packet {0}, {1}")]
    Word(u64, BadWord),
    /// A packet, counted from 1, with a date.
    #[error(
        "packet {0} has a date, and a port sends at departures: leave the date out, or let `wire send` replay it"
    )]
    Date(u64),
    /// Bytes between records that are no record.
    #[error(
        "{1} bytes behind packet {0} are no record (a record begins with 3776 and a length) and were skipped"
    )]
    Skipped(u64, usize),
    /// The file was closed inside a packet.
    #[error("the file was closed inside a {what}, after {bytes} bytes of it: {why}")]
    Torn {
        /// What it was.
        what: &'static str,
        /// How much of it had come.
        bytes: usize,
        /// What became of it.
        why: &'static str,
    },
}

/// Takes what a [`Writer`] finds.
pub trait Taker {
    /// A packet to send; false when there is no room for it now.
    fn packet(&mut self, departure: Departure, bytes: &[u8]) -> bool;
    /// Something else; false when the writer is to be told.
    fn fault(&mut self, fault: Fault) -> bool;
}

/// How far a write got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    All,
    /// So many bytes; there is no room for the packet after them.
    Full(usize),
    /// So many bytes; what follows them is refused.
    Refused(usize),
}

enum Codec {
    Lines(Lines),
    Records,
}

/// The packets of one open file.
pub struct Writer {
    codec: Codec,
    /// The beginning of a packet whose end has not come.
    partial: Vec<u8>,
    frame: Vec<u8>,
    packets: u64,
}

/// What one step found.
enum Step {
    Used(usize),
    More,
    Full,
    Refused(usize),
}

/// The departure that stands before a packet; without any it is at once.
fn departure(stamp: Option<Stamp>, packet: u64) -> Result<Departure, Fault> {
    match stamp.unwrap_or(Stamp::Word(0)) {
        Stamp::Word(word) => Departure::from_word(word).map_err(|error| Fault::Word(packet, error)),
        Stamp::Date(_) => Err(Fault::Date(packet)),
    }
}

impl Writer {
    pub fn of_lines() -> Writer {
        Writer::new(Codec::Lines(Lines::default()))
    }

    pub fn of_records() -> Writer {
        Writer::new(Codec::Records)
    }

    fn new(codec: Codec) -> Writer {
        Writer {
            codec,
            partial: Vec::new(),
            frame: Vec::new(),
            packets: 0,
        }
    }

    /// Takes the next bytes of the file. What was not taken is to be given again.
    pub fn write(&mut self, data: &[u8], taker: &mut dyn Taker) -> Got {
        let mut at = 0;
        while at < data.len() {
            let kept = self.partial.len();
            let (got, used, offered) = if kept == 0 {
                let (got, used) = self.steps(&data[at..], false, taker);
                (got, used, data.len() - at)
            } else {
                let offered = (data.len() - at).min(TASTE);
                let mut input = std::mem::take(&mut self.partial);
                input.extend_from_slice(&data[at..at + offered]);
                let (got, used) = self.steps(&input, false, taker);
                if !matches!(got, Got::All) {
                    input.truncate(kept.max(used));
                }
                if used >= kept {
                    input.clear();
                } else {
                    input.drain(..used);
                }
                self.partial = input;
                if used >= kept {
                    // What is left lies in `data`, and is read from there.
                    at += used - kept;
                    match got {
                        Got::All => continue,
                        Got::Full(_) => return Got::Full(at),
                        Got::Refused(_) => return Got::Refused(at),
                    }
                }
                (got, 0, offered)
            };
            match got {
                Got::All => {
                    if kept == 0 {
                        self.partial.extend_from_slice(&data[at + used..]);
                    }
                    at += offered;
                }
                Got::Full(_) => return Got::Full(at + used),
                Got::Refused(_) => return Got::Refused(at + used),
            }
        }
        Got::All
    }

    /// The file was closed: a last line needs no end; half a record, what is no line, and a line that ends before its IP
    /// packet does, are faults; `cut` says that such a line is a packet all the same.
    pub fn finish(&mut self, cut: bool, taker: &mut dyn Taker) {
        let rest = std::mem::take(&mut self.partial);
        if rest.is_empty() {
            return;
        }
        let (what, why) = match &self.codec {
            Codec::Lines(_) => match line::decode(&rest, &mut self.frame) {
                Ok(Some(_)) if !cut && packet::flow::is_cut(&self.frame) => {
                    ("line", "its IP packet is longer, and was not sent")
                }
                Ok(_) => {
                    self.steps(&rest, true, taker);
                    return;
                }
                Err(_) => ("line", "it is no packet, and was not sent"),
            },
            Codec::Records => ("record", "it was not sent"),
        };
        taker.fault(Fault::Torn {
            what,
            bytes: rest.len(),
            why,
        });
    }

    /// Takes a line that has no line feed yet as complete if it is a packet whose IP packet does not end later; `cut` says that it
    /// may. The line feed that follows is an empty line.
    pub fn complete_line(&mut self, cut: bool, taker: &mut dyn Taker) {
        let is_line = matches!(self.codec, Codec::Lines(_)) && !self.partial.is_empty();
        let is_packet =
            is_line && matches!(line::decode(&self.partial, &mut self.frame), Ok(Some(_)));
        if !is_packet || !cut && packet::flow::is_cut(&self.frame) {
            return;
        }
        let mut rest = std::mem::take(&mut self.partial);
        let (_, used) = self.steps(&rest, true, taker);
        rest.drain(..used);
        self.partial = rest;
    }

    /// Takes steps as long as there are any; returns how far they led.
    fn steps(&mut self, input: &[u8], end: bool, taker: &mut dyn Taker) -> (Got, usize) {
        let mut used = 0;
        loop {
            match self.step(&input[used..], end, taker) {
                Step::Used(bytes) => used += bytes,
                Step::More => return (Got::All, used),
                Step::Full => return (Got::Full(used), used),
                Step::Refused(bytes) => return (Got::Refused(used + bytes), used + bytes),
            }
        }
    }

    fn step(&mut self, input: &[u8], end: bool, taker: &mut dyn Taker) -> Step {
        let after = |used, go_on| {
            if go_on {
                Step::Used(used)
            } else {
                Step::Refused(used)
            }
        };
        match &mut self.codec {
            Codec::Lines(lines) => {
                let mut next = *lines;
                let step = next.next(input, end);
                let (used, number, text) = match step {
                    line::Step::More => return Step::More,
                    line::Step::Skip { used } => {
                        *lines = next;
                        return Step::Used(used);
                    }
                    line::Step::TooLong { used, number } => {
                        *lines = next;
                        return after(used, taker.fault(Fault::TooLong(number)));
                    }
                    line::Step::Line { used, number, line } => (used, number, line),
                };
                let go_on = match line::decode(text, &mut self.frame) {
                    Ok(None) => true,
                    Ok(Some(head)) => match departure(head.stamp, self.packets + 1) {
                        Ok(departure) => {
                            if !taker.packet(departure, &self.frame) {
                                return Step::Full;
                            }
                            self.packets += 1;
                            true
                        }
                        Err(fault) => taker.fault(fault),
                    },
                    Err(error) => taker.fault(Fault::Line(number, error)),
                };
                *lines = next;
                after(used, go_on)
            }
            Codec::Records => match record::next(input, end) {
                record::Step::More => Step::More,
                record::Step::Skip { bytes } => {
                    after(bytes, taker.fault(Fault::Skipped(self.packets, bytes)))
                }
                record::Step::Packet { used, packet } => {
                    let go_on = match departure(packet.stamp, self.packets + 1) {
                        Ok(departure) => {
                            if !taker.packet(departure, packet.bytes) {
                                return Step::Full;
                            }
                            true
                        }
                        Err(fault) => taker.fault(fault),
                    };
                    self.packets += 1;
                    after(used, go_on)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;
