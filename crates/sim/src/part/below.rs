//! Events below the nodes: sublayers, in the idle blocks of a part's lanes.

use super::{CLOCK_SAMPLES, FILLS, Lower, Message, Network, Part, rank_of};
use crate::event_queue::Due;
use crate::lane::{Carried, Carrier, Transit};
use node::{NodeId, Port, Time};

impl Part {
    /// Tells sublayers of the links that are there at the beginning.
    pub(super) fn begin_sublayers(&mut self) {
        for member in 0..self.members.len() {
            for port in 0..self.members[member].ports.len() {
                self.link(member, Port(port as u16), true);
            }
        }
        if self.members.iter().any(|member| member.lower.is_some()) {
            self.plan_look(Time::ZERO);
        }
    }

    /// The link at a node's port comes up or goes down.
    pub(super) fn link(&mut self, member: usize, port: Port, up: bool) {
        let (member, network) = (&mut self.members[member], &mut self.network);
        let Some(lower) = &mut member.lower else {
            return;
        };
        let ends = member.ports.get(port.index()).copied().flatten();
        let blocks = |&(sender, _): &(usize, usize)| {
            matches!(network.senders[sender].carrier, Carrier::Blocks(_))
        };
        if ends.as_ref().is_some_and(blocks) {
            let tick = lower.ticks.at(network.now);
            lower.sublayer.link(tick, port, up);
            network.ask_for_idle_blocks(lower, &member.ports);
        }
    }

    /// Sends a command to a member's sublayer; `None` without a sublayer.
    pub fn command(&mut self, member: usize, line: &str) -> Option<Result<String, String>> {
        let (member, network) = (&mut self.members[member], &mut self.network);
        let lower = member.lower.as_mut()?;
        let tick = lower.ticks.at(network.now);
        let said = lower.sublayer.command(tick, line);
        network.ask_for_idle_blocks(lower, &member.ports);
        Some(said)
    }

    /// Handles the event of a source below the nodes: a sample of the clocks, an idle block of a sender, a message for a receiver, or a
    /// queue discipline of a sender.
    pub(super) fn below(&mut self, source: usize) {
        let (senders, receivers) = (self.network.senders.len(), self.network.receivers.len());
        match source.checked_sub(1) {
            None => self.look(),
            Some(sender) if sender < senders => self.fill(sender),
            Some(other) if other < senders + receivers => self.hear(other - senders),
            Some(other) => self.serve(other - senders - receivers),
        }
    }

    fn look(&mut self) {
        let now = self.network.now;
        let Some(clocks) = &self.clocks else {
            return;
        };
        // Nothing happens in the network by a look, and every part has looks of its own.
        self.events -= 1;
        for member in &mut self.members {
            if let Some(Lower { sublayer, ticks }) = &mut member.lower {
                let counter = sublayer.counter(ticks.at(now));
                (clocks.see)(now, NodeId(member.node), counter);
            }
        }
        let next = now + clocks.every;
        self.plan_look(next);
    }

    fn plan_look(&mut self, at: Time) {
        let looked_at = self.clocks.is_some() && at < Time::MAX;
        let due = looked_at.then_some(Due {
            at,
            rank: CLOCK_SAMPLES,
        });
        let source = self.sources().looks;
        self.network.queue.set(source, due);
    }

    /// A block is idle: a sublayer may say something in it.
    fn fill(&mut self, index: usize) {
        let network = &mut self.network;
        let sender = &mut network.senders[index];
        let (port, to) = (sender.port, sender.to);
        let (Some(lower), Carrier::Blocks(link)) =
            (&mut self.members[sender.member].lower, &mut sender.carrier)
        else {
            return;
        };
        let tick = lower.ticks.at(network.now);
        let free = link.next_idle(network.now, tick);
        let mut message = None;
        // A frame may have come since this was planned.
        if free.is_some_and(|(next, _)| next == tick) {
            let bits = lower.sublayer.fill(tick, port);
            message = link.send_message(tick, bits).filter(|_| !sender.is_down);
        }
        network.ask_for_idle_block(lower, index, true);
        if let Some(message) = message {
            network.transmit_message(to, message);
        }
    }

    /// A message has come.
    fn hear(&mut self, index: usize) {
        let network = &mut self.network;
        let receiver = &mut network.receivers[index];
        let message = receiver.messages.pop_front();
        let (member, port) = (receiver.member, receiver.port);
        network.plan_message(index);
        let member = &mut self.members[member];
        if let (Some(message), Some(lower)) = (message, &mut member.lower) {
            lower.sublayer.take(message.tick, port, message.bits);
            network.ask_for_idle_blocks(lower, &member.ports);
        }
    }
}

impl Network {
    /// A message is on its way to a receiver.
    pub(super) fn transmit_message(&mut self, (part, receiver): (usize, usize), message: Message) {
        if part != self.own {
            let what = Carried::Message(message);
            return self.outboxes[part].push(Transit { receiver, what });
        }
        let messages = &mut self.receivers[receiver].messages;
        messages.push_back(message);
        if messages.len() == 1 {
            self.plan_message(receiver);
        }
    }

    pub(super) fn plan_message(&mut self, receiver: usize) {
        let first = self.receivers[receiver].messages.front();
        let rank = rank_of(self.receivers[receiver].rank) + 2;
        let due = first.map(|message| Due {
            at: message.at,
            rank,
        });
        let source = self.first_message + receiver;
        self.queue.set(source, due);
    }

    fn ask_for_idle_blocks(&mut self, lower: &mut Lower, ports: &[Option<(usize, usize)>]) {
        for &(sender, _) in ports.iter().flatten() {
            self.ask_for_idle_block(lower, sender, false);
        }
    }

    /// Notes when a sublayer next has an idle block to fill: again, or if it has changed its mind.
    fn ask_for_idle_block(&mut self, lower: &mut Lower, index: usize, anew: bool) {
        let now = self.now;
        let sender = &mut self.senders[index];
        let Carrier::Blocks(link) = &mut sender.carrier else {
            return;
        };
        let due = lower.sublayer.due(sender.port);
        if due == sender.asked && !anew {
            return;
        }
        sender.asked = due;
        let rank = FILLS + sender.rank;
        let next = due.and_then(|tick| link.next_idle(now, tick));
        let due = next.map(|(_, at)| Due { at, rank });
        let source = self.first_message - self.senders.len() + index;
        self.queue.set(source, due);
    }
}
