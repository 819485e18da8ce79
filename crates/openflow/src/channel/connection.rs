//! One connection: the window, and what waits on either side of it.

use super::Reason;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use node::{Out, Port, Time};
use packet::segment::{Kind, MAX_DATA_LEN, Segment, WINDOW};

/// Maximum capacity of an empty buffer, bytes; the rest is freed.
const MAX_IDLE_CAPACITY: usize = 1 << 20;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// None; the place is free.
    #[default]
    Free,
    /// An open was sent and is not answered.
    Dialled,
    /// Open, but no version is agreed on.
    Greeting,
    /// At work.
    Up,
}

/// One connection of a port.
#[derive(Debug)]
pub struct Connection {
    pub port: Port,
    pub id: u32,
    pub life: u32,
    pub stage: Stage,
    pub version: u8,
    pub name: String,
    /// The number of the open by which this side asked for the connection; 0 if the far end did.
    pub attempt: u32,
    /// Something is to be sent or acknowledged.
    pub dirty: bool,
    /// Reading stands still because of the backlog.
    pub held: bool,
    /// Whether nothing is to be read until this side says so.
    pub paused: bool,
    /// When the connection began.
    pub began: Time,
    /// When something came last, or the connection began.
    pub heard: Time,
    /// When the echo request was sent that is not answered.
    pub asked: Option<Time>,
    /// Bytes sent, and of these acknowledged by the far end, modulo 2^32.
    sent: u32,
    acknowledged: u32,
    /// What is to be sent; the first `gone` bytes of it are.
    outbox: Vec<u8>,
    gone: usize,
    /// Where in the stream messages end that are followed until they are acknowledged.
    followed: VecDeque<u32>,
    /// Bytes that came, and of these acknowledged to the far end, modulo 2^32.
    received: u32,
    told: u32,
    /// What came and is not worked through: a part of a message, or all that is held up.
    pub inbox: Vec<u8>,
}

impl Connection {
    /// A free place.
    pub fn free() -> Connection {
        Connection {
            port: Port(0),
            id: 0,
            life: 0,
            stage: Stage::Free,
            version: 0,
            name: String::new(),
            attempt: 0,
            dirty: false,
            held: false,
            paused: false,
            began: Time::ZERO,
            heard: Time::ZERO,
            asked: None,
            sent: 0,
            acknowledged: 0,
            outbox: Vec::new(),
            gone: 0,
            followed: VecDeque::new(),
            received: 0,
            told: 0,
            inbox: Vec::new(),
        }
    }

    /// Takes a free place. Its buffers are empty, and it may still be marked as dirty.
    pub fn begin(&mut self, port: Port, id: u32, stage: Stage, now: Time) {
        (self.port, self.id, self.stage) = (port, id, stage);
        (self.began, self.heard) = (now, now);
    }

    /// Makes the place free again.
    pub fn end(&mut self) {
        let (mut outbox, mut inbox) = (mem::take(&mut self.outbox), mem::take(&mut self.inbox));
        for buffer in [&mut outbox, &mut inbox] {
            buffer.clear();
            buffer.shrink_to(MAX_IDLE_CAPACITY);
        }
        let mut followed = mem::take(&mut self.followed);
        followed.clear();
        *self = Connection {
            followed,
            life: self.life.wrapping_add(1),
            dirty: self.dirty,
            outbox,
            inbox,
            ..Connection::free()
        };
    }

    /// Something came from the far end.
    pub fn heard(&mut self, now: Time) {
        self.heard = now;
        self.asked = None;
    }

    /// Takes data of so many bytes into account, which begin at `count` of the stream.
    pub fn arrived(&mut self, count: u32, bytes: usize) -> Result<(), Reason> {
        if count != self.received {
            let (due, came) = (self.received, count);
            return Err(Reason::Gap { due, came });
        }
        // A segment has 65,535 bytes at most.
        let received = self.received.wrapping_add(bytes as u32);
        if received.wrapping_sub(self.told) > WINDOW {
            return Err(Reason::Window);
        }
        self.received = received;
        Ok(())
    }

    /// The far end has taken what went before `count`.
    pub fn acknowledged(&mut self, count: u32) -> Result<(), Reason> {
        if count.wrapping_sub(self.acknowledged) > self.in_flight() {
            return Err(Reason::Acknowledgement);
        }
        self.acknowledged = count;
        while let Some(&end) = self.followed.front()
            && (count.wrapping_sub(end) as i32) >= 0
        {
            self.followed.pop_front();
        }
        Ok(())
    }

    /// Follows the last message of the outbox.
    pub fn follow(&mut self) {
        let waits = (self.outbox.len() - self.gone) as u32;
        self.followed.push_back(self.sent.wrapping_add(waits));
    }

    /// Followed messages that the far end has not taken.
    pub fn unacknowledged(&self) -> u64 {
        self.followed.len() as u64
    }

    fn in_flight(&self) -> u32 {
        self.sent.wrapping_sub(self.acknowledged)
    }

    /// Bytes that the far end has not taken.
    pub fn backlog(&self) -> usize {
        self.outbox.len() - self.gone + self.in_flight() as usize
    }

    /// What is to be sent, to append to.
    pub fn outbox(&mut self) -> &mut Vec<u8> {
        &mut self.outbox
    }

    /// What may still leave when the connection is over: where in the stream, and the bytes.
    pub fn last_words(&mut self) -> (u32, Vec<u8>) {
        let room = (WINDOW - self.in_flight()) as usize;
        let mut words = mem::take(&mut self.outbox);
        words.drain(..mem::take(&mut self.gone));
        words.truncate(room);
        (self.sent, words)
    }

    /// Acknowledges what was taken, and sends as far as the window allows.
    pub fn flush(&mut self, out: &mut Out) {
        // What is held up is not taken. A part of a message is: it is bounded.
        let kept = if self.held { self.inbox.len() } else { 0 };
        let taken = self.received.wrapping_sub(kept as u32);
        if taken != self.told {
            self.told = taken;
            let segment = Segment {
                kind: Kind::Acknowledge,
                connection: self.id,
                count: taken,
                bytes: &[],
            };
            put(self.port, &segment, out);
        }
        if self.stage == Stage::Dialled || self.gone == self.outbox.len() {
            return;
        }
        let room = (WINDOW - self.in_flight()) as usize;
        let end = self.outbox.len().min(self.gone + room);
        let bytes = &self.outbox[self.gone..end];
        put_data(self.port, self.id, &mut self.sent, bytes, out);
        self.gone = end;
        if self.gone == self.outbox.len() {
            self.outbox.clear();
            self.outbox.shrink_to(MAX_IDLE_CAPACITY);
            self.gone = 0;
        } else if self.gone >= WINDOW as usize {
            // As much is moved as has left: the cost stays in proportion.
            if self.outbox.len() < 2 * self.gone {
                self.outbox.drain(..self.gone);
                self.gone = 0;
            }
        }
    }
}

/// Sends a segment.
pub fn put(port: Port, segment: &Segment<'_>, out: &mut Out) {
    let mut frame = out.frame();
    frame.extend(&segment.header());
    frame.extend(segment.carried());
    out.send(port, frame);
}

/// Cuts bytes into segments and sends them.
pub fn put_data(port: Port, connection: u32, sent: &mut u32, bytes: &[u8], out: &mut Out) {
    for bytes in bytes.chunks(MAX_DATA_LEN) {
        let segment = Segment {
            kind: Kind::Data,
            connection,
            count: *sent,
            bytes,
        };
        put(port, &segment, out);
        *sent = sent.wrapping_add(bytes.len() as u32);
    }
}
