//! Sends packets on as they came: what a hook costs by itself (004 section 5.1).
//!
//! - **Ports:** 2; what comes in by one goes out by the other.
//! - **Parameters:** `cost`, 0: what a packet takes of the one processor that serves both ways, in a world where work takes no
//!   time; in others it takes what it takes. `queue`, 1024: packets that wait for it.
//! - **Counters:** `packets`; `bytes`, without FCS: of those that were sent on.
//! - **Drops:** `no room in the queue`.

use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// What it is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What a packet takes, in a world where work takes no time.
    pub cost: Time,
    /// How many packets wait, beside the one that is being dealt with: what a netfilter queue has room for.
    pub queue: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            cost: Time::ZERO,
            queue: 1024,
        }
    }
}

/// The node. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Through {
    config: Config,
    /// When the processor has done what it was given.
    busy_until: Time,
    packets: u64,
    bytes: u64,
}

impl Default for Through {
    fn default() -> Through {
        Through::new(Config::default())
    }
}

impl Through {
    pub fn new(config: Config) -> Through {
        Through {
            config,
            busy_until: Time::ZERO,
            packets: 0,
            bytes: 0,
        }
    }

    /// Whether one more packet may wait for the processor.
    fn has_room(&self, now: Time) -> bool {
        let ahead = (self.busy_until - now).as_ps();
        // The first of those is being dealt with.
        ahead.div_ceil(self.config.cost.as_ps()) <= u64::from(self.config.queue)
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        let works = self.config.cost > Time::ZERO && out.stopwatch().is_none();
        if works && !self.has_room(now) {
            out.drop(frame, "no room in the queue");
            return;
        }
        self.packets += 1;
        self.bytes += frame.len() as u64;
        let to = Port(1 - port.0);
        match works {
            true => {
                self.busy_until = now.max(self.busy_until) + self.config.cost;
                out.send_at(to, self.busy_until, frame);
            }
            false => out.send(to, frame),
        }
    }
}

impl Node for Through {
    fn properties(&self) -> Properties {
        Properties {
            changes_frames: false,
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.packets), ("bytes", self.bytes)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn sent(config: Config, frames: u64, gap: Time) -> (Vec<node::When>, u64) {
        let (mut node, mut out) = (Through::new(config), Out::default());
        let mut when = Vec::new();
        for number in 0..frames {
            let frame = out.frame();
            node.frame(gap * number, Port(0), frame, &mut out);
            when.extend(out.sends().map(|departure| departure.when));
        }
        let drops = out.drops().iter().map(|(_, count)| count).sum();
        (when, drops)
    }

    #[test]
    fn packets_take_the_processor_one_after_the_other_and_beyond_the_queue_none() {
        let us = Time::from_us;
        let config = Config {
            cost: us(10),
            queue: 2,
        };
        let (when, drops) = sent(config, 6, us(1));
        let at = |us| node::When::At(Time::from_us(us));
        assert_eq!((when, drops), (vec![at(10), at(20), at(30)], 3));
        let (when, drops) = sent(config, 3, us(10));
        assert_eq!((when, drops), (vec![at(10), at(20), at(30)], 0));
    }

    #[test]
    fn without_a_cost_they_leave_at_once() {
        let (when, drops) = sent(Config::default(), 3, Time::ZERO);
        assert_eq!((when, drops), (vec![node::When::Now; 3], 0));
    }
}
