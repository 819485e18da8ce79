//! A whole that is cut into parts while it runs.
//!
//! A part's queue has nothing but what is due first at each of its sources, so that what was due stays due when sources have moved.

use super::{OUT_OF_ORDER, OutOfOrder, Part, Sources};
use crate::lane::{Receiver, Sender};
use crate::part::{Change, Member};

/// What will be a part: nodes, their ends of links, and who changes or looks at those.
#[derive(Default)]
pub(crate) struct Draft {
    pub members: Vec<Member>,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    pub changes: Vec<Change>,
}

impl Part {
    /// Cuts a whole into so many parts, by the part of each node; where each node is then.
    pub fn split(self, part_of: &[usize], parts: usize) -> (Vec<Part>, Vec<(usize, usize)>) {
        let was = self.sources();
        let network = self.network;
        let mut drafts: Vec<Draft> = (0..parts).map(|_| Draft::default()).collect();
        let mut places = Vec::with_capacity(self.members.len());
        for member in self.members {
            let part = part_of[member.node];
            let members = &mut drafts[part].members;
            places.push((part, members.len()));
            members.push(member);
        }
        // Ends go where their nodes are.
        let mut receivers = Vec::with_capacity(network.receivers.len());
        for mut receiver in network.receivers {
            let (part, member) = places[receiver.member];
            receiver.member = member;
            let draft = &mut drafts[part];
            receivers.push((part, draft.receivers.len()));
            draft.receivers.push(receiver);
        }
        let mut senders = Vec::with_capacity(network.senders.len());
        for mut sender in network.senders {
            let (part, member) = places[sender.member];
            (sender.member, sender.to) = (member, receivers[sender.to.1]);
            let draft = &mut drafts[part];
            senders.push((part, draft.senders.len()));
            draft.senders.push(sender);
        }
        let members = drafts.iter_mut().flat_map(|draft| &mut draft.members);
        for (sender, receiver) in members.flat_map(|member| member.ports.iter_mut().flatten()) {
            (*sender, *receiver) = (senders[*sender].1, receivers[*receiver].1);
        }
        for (at, member, port, up) in self.changes {
            let (part, member) = places[member];
            drafts[part].changes.push((at, member, port, up));
        }
        let drafts = drafts.into_iter().enumerate();
        let mut parts: Vec<Part> = drafts
            .map(|(index, draft)| Part::at_rest((index, parts), draft, self.clocks.clone()))
            .collect();
        for late in network.out_of_order {
            let (part, receiver) = receivers[late.receiver];
            parts[part]
                .network
                .out_of_order
                .push(OutOfOrder { receiver, ..late });
        }
        let looks = network.queue.due(was.looks);
        for part in &mut parts {
            part.network.now = network.now;
            part.network.numbered = network.numbered;
            part.stalled = self.stalled;
            part.plan_change();
            let first = part.network.first_out_of_order();
            part.network.queue.set(OUT_OF_ORDER, first);
            if part.members.iter().any(|member| member.lower.is_some()) {
                let source = part.sources().looks;
                part.network.queue.set(source, looks);
            }
        }
        let sources: Vec<Sources> = parts.iter().map(Part::sources).collect();
        let mut stays_due = |part: usize, new: usize, old: usize| {
            let due = network.queue.due(old);
            parts[part].network.queue.set(new, due);
        };
        for (old, &(part, new)) in places.iter().enumerate() {
            stays_due(part, sources[part].alarms + new, was.alarms + old);
        }
        for (old, &(part, new)) in receivers.iter().enumerate() {
            stays_due(part, 1 + new, 1 + old);
            stays_due(part, sources[part].messages + new, was.messages + old);
        }
        for (old, &(part, new)) in senders.iter().enumerate() {
            stays_due(part, sources[part].fills + new, was.fills + old);
            stays_due(part, sources[part].queues + new, was.queues + old);
        }
        // What was counted, and buffers that are free, are in the first part.
        let first = &mut parts[0];
        (first.frames, first.events) = (self.frames, self.events);
        first.network.pool = network.pool;
        (parts, places)
    }
}
