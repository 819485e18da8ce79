//! Messages of a sublayer in the idle blocks of one direction of a link.
//!
//! A frame's place is known when it is offered, so a block is known to stay idle two ticks after it began to leave, at the latest:
//! a frame that is to leave at once has its preamble before that time. So at tick `n` of the sender's clock block `n - 2` is filled,
//! with what the sublayer says at tick `n`, and it is in, whole, when the link's delay is over. That the sublayer's block leaves two
//! ticks after it looks at it is a constant, like the depth of the PHY's other stages, and so is left to the delay.
//!
//! The receiver takes a message at a tick of its own clock: the first one behind the message's arrival, or, by the lot of its
//! synchronisation FIFO, the next.

use super::BlockLink;
use node::clock::Ticks;
use node::sublayer::Fifo;
use node::{Level, Time};
use std::collections::VecDeque;

/// Between a block and the tick at which it is filled.
const BEHIND: u64 = 2;

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When the receiver takes it.
    pub at: Time,
    /// The receiver's tick then.
    pub tick: u64,
    /// The 56 bits of its block.
    pub bits: u64,
}

/// The blocks of a direction, and the far end's clock.
#[derive(Debug)]
pub struct Idle {
    sender: Ticks,
    receiver: Ticks,
    fifo: Fifo,
    /// The first and last block of each frame that has not left yet.
    busy: VecDeque<(u64, u64)>,
    /// The first block that is not filled.
    free: u64,
}

impl BlockLink {
    /// From now on there are messages in idle blocks.
    pub fn carry_messages(&mut self, seed: u64) {
        let Level::Block(clocks) = &self.channel.level else {
            return;
        };
        self.idle = Some(Box::new(Idle {
            sender: Ticks::new(&clocks.sender),
            receiver: Ticks::new(&clocks.receiver),
            fifo: Fifo::new(clocks.fifo, seed),
            busy: VecDeque::new(),
            free: 0,
        }));
        if let Some(stream) = &mut self.stream {
            stream.expect_messages();
        }
    }

    /// The tick, from this one on, at which an idle block can be filled, as far as is known now, and when that is.
    pub fn next_idle(&mut self, now: Time, tick: u64) -> Option<(u64, Time)> {
        let idle = self.idle.as_mut()?;
        let this = idle.sender.at(now);
        // A tick that has begun is over.
        let over = u64::from(idle.sender.when(this) < now);
        let past = (this + over).saturating_sub(BEHIND);
        while idle.busy.front().is_some_and(|&(_, last)| last < past) {
            idle.busy.pop_front();
        }
        let mut block = tick.saturating_sub(BEHIND).max(past).max(idle.free);
        for &(first, last) in &idle.busy {
            if block < first {
                break;
            }
            block = block.max(last + 1);
        }
        let tick = block + BEHIND;
        Some((tick, idle.sender.when(tick)))
    }

    /// Blocks that a frame takes, between two columns.
    pub(super) fn note_busy(&mut self, start: u64, terminate: u64) {
        if let Some(idle) = &mut self.idle {
            idle.busy.push_back((start / 2, terminate / 2));
        }
    }

    /// Sends a message in the block that is filled at this tick; `None` when it is lost.
    pub fn send_message(&mut self, tick: u64, bits: u64) -> Option<Message> {
        let idle = self.idle.as_mut()?;
        let block = tick - BEHIND;
        idle.free = block + 1;
        if bits == 0 {
            return None;
        }
        let sent = idle.sender.when(tick);
        let arrived = sent + self.channel.delay;
        let held = u64::from(idle.fifo.holds());
        let tick = idle.receiver.next(arrived) + held;
        let at = idle.receiver.when(tick);
        if self.channel.is_down(sent, arrived) {
            return None;
        }
        let bits = match &mut self.stream {
            Some(stream) => stream.message(block, bits)?,
            None => bits,
        };
        Some(Message { at, tick, bits })
    }
}
