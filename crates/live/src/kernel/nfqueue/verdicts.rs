//! Answers to the kernel, many in one call.

use super::message::{self, NFQA_PAYLOAD, NFQA_VERDICT_HDR, VERDICT, VERDICT_BATCH};
use super::pending::Pending;
use crate::kernel::netlink::{Message, Socket};
use node::{Frame, Pool, Ticket};
use std::io::{self, IoSlice};

/// `NF_DROP`.
const DROP: u32 = 0;
/// `NF_ACCEPT`.
const ACCEPT: u32 = 1;
/// Maximum size of the changed packets of one call, bytes. The kernel copies the bytes of a call
/// into one piece of memory, and finds a short piece sooner.
const MAX_BATCH_BYTES: usize = 24 * 1024;
/// Pieces in one call; the system takes 1024.
const PIECES: usize = 1000;

/// Verdict for a packet.
#[derive(Debug)]
pub enum Answer {
    /// It goes on as it is.
    Accept,
    /// It continues with the bytes of this frame after its Ethernet header.
    Change(Frame),
    /// It ends here.
    Drop,
}

/// Answers that have not been told to the kernel.
#[derive(Default)]
pub struct Verdicts {
    answers: Vec<(Ticket, Answer)>,
    /// Headers of messages, in their order.
    heads: Vec<u8>,
    /// What a call is made of: a stretch of `heads`, or the frame of an answer.
    parts: Vec<Part>,
    /// Empty between calls: kept for its memory.
    pieces: Vec<IoSlice<'static>>,
}

#[derive(Clone, Copy)]
enum Part {
    Heads(usize, usize),
    Frame(usize),
}

impl Verdicts {
    /// Adds an answer.
    pub fn put(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.push((ticket, answer));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Tells the kernel all answers, in their order. `done` is told of each packet that is answered.
    ///
    /// # Errors
    /// What the system says; the answers count as told.
    pub fn send(
        &mut self,
        socket: &Socket,
        queue: u16,
        pending: &mut Pending,
        pool: &mut Pool,
        mut done: impl FnMut(&super::pending::Waiting, &Answer),
    ) -> io::Result<()> {
        let mut result = Ok(());
        // Accepted packets that one message is to answer: all up to this one, and how many those are.
        let mut run: Option<(u64, u64)> = None;
        let mut begun = 0;
        let mut bytes = 0;
        for index in 0..self.answers.len() {
            let (ticket, answer) = &self.answers[index];
            let Some(packet) = pending.remove(*ticket) else {
                continue;
            };
            done(packet, answer);
            let id = packet.id;
            match answer {
                Answer::Accept => {
                    // One message answers for every packet up to a number, so there must be no older one that waits.
                    let all = pending.oldest().is_none_or(|oldest| oldest > id);
                    match run {
                        Some((last, count)) if all && id > last => run = Some((id, count + 1)),
                        _ => {
                            self.end_run(queue, run.take());
                            match all {
                                true => run = Some((id, 1)),
                                false => self.verdict(queue, VERDICT, ACCEPT, id).end(),
                            }
                        }
                    }
                }
                Answer::Drop => {
                    self.end_run(queue, run.take());
                    self.verdict(queue, VERDICT, DROP, id).end();
                }
                Answer::Change(frame) => {
                    let len = frame.len() - super::packets::ETHERNET;
                    self.end_run(queue, run.take());
                    let padding = self
                        .verdict(queue, VERDICT, ACCEPT, id)
                        .end_with(NFQA_PAYLOAD, len);
                    self.parts.push(Part::Heads(begun, self.heads.len()));
                    self.parts.push(Part::Frame(index));
                    begun = self.heads.len();
                    self.heads.resize(begun + padding, 0);
                    bytes += len;
                }
            }
            if bytes >= MAX_BATCH_BYTES
                || self.parts.len() >= PIECES - 2
                || self.heads.len() >= MAX_BATCH_BYTES
            {
                self.end_run(queue, run.take());
                result = self.call(socket, begun).and(result);
                (begun, bytes) = (0, 0);
            }
        }
        self.end_run(queue, run.take());
        result = self.call(socket, begun).and(result);
        for (_, answer) in self.answers.drain(..) {
            if let Answer::Change(frame) = answer {
                pool.give(frame);
            }
        }
        result
    }

    fn end_run(&mut self, queue: u16, run: Option<(u64, u64)>) {
        match run {
            Some((last, 1)) => self.verdict(queue, VERDICT, ACCEPT, last).end(),
            Some((last, _)) => self.verdict(queue, VERDICT_BATCH, ACCEPT, last).end(),
            None => {}
        }
    }

    fn verdict(&mut self, queue: u16, kind: u16, verdict: u32, id: u64) -> Message<'_> {
        let mut value = [0; 8];
        value[..4].copy_from_slice(&verdict.to_be_bytes());
        value[4..].copy_from_slice(&(id as u32).to_be_bytes());
        message::begin(&mut self.heads, kind, 0, 0, 0, queue).with(NFQA_VERDICT_HDR, &value)
    }

    fn call(&mut self, socket: &Socket, begun: usize) -> io::Result<()> {
        if self.heads.len() > begun {
            self.parts.push(Part::Heads(begun, self.heads.len()));
        }
        if self.parts.is_empty() {
            return Ok(());
        }
        let mut pieces: Vec<IoSlice<'_>> = std::mem::take(&mut self.pieces);
        pieces.extend(self.parts.drain(..).map(|part| {
            IoSlice::new(match part {
                Part::Heads(from, to) => &self.heads[from..to],
                Part::Frame(index) => match &self.answers[index].1 {
                    Answer::Change(frame) => &frame[super::packets::ETHERNET..],
                    _ => &[],
                },
            })
        }));
        let result = socket.send(&pieces);
        pieces.clear();
        // In place: nothing is left of what was borrowed but the memory.
        self.pieces = pieces.into_iter().map(|_| IoSlice::new(&[])).collect();
        self.heads.clear();
        result
    }
}
