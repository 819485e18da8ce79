//! Multicast: the pipeline in two halves, with a replication engine between them.
//!
//! What the second half needs of the first is one vector, which comes out once for each copy.

use crate::graph::{Id, Input};
use crate::map::Source;
use crate::state::{Lookup, Split, State, Walk, reason};
use p4::ir::SlotId;
use pipeline::engine::Step;

/// v1model's `instance_type` of copies for a group.
const REPLICATED: u8 = 5;

impl Walk<'_> {
    /// What comes with a packet; behind the replication engine as it was before it.
    pub(crate) fn arrival(&mut self, input: Input) -> Id {
        let value = self.graph.input(input);
        match self.split {
            Some(_) => self.graph.crossed(value),
            None => value,
        }
    }

    /// Goes through the replication engine: packets of which this slot is not zero go to the group with this number. `port` is where the
    /// architecture looks for the port.
    pub(crate) fn replicate(
        &mut self,
        slot: SlotId,
        port: Option<SlotId>,
        alive: Id,
        state: &mut State,
    ) -> Id {
        let number = state.values[slot.index()];
        let width = self.graph.width(number).max(16);
        let number = self.graph.resize(number, width);
        let none = self.graph.equal_to(number, 0u8);
        let some = self.graph.not(none);
        let group = self.graph.and(alive, some);
        let key = self.graph.resize(number, 16);
        // A group's number is one of 16 bits wherever it is declared.
        let result = self.graph.lookup(self.lookups.len() as u32, 1 + 8 + 1 + 8);
        self.lookups.push(Lookup {
            source: Source::Groups,
            keys: alloc::vec![key],
            result,
            latency: 2,
            second: false,
        });
        self.graph.name(result, || "multicast group".into());
        let hit = self.graph.slice(result, 17, 17);
        let start = self.graph.slice(result, 16, 9);
        let count = self.graph.slice(result, 7, 0);
        let zero = self.graph.constant(8, 0u8);
        let count = self.graph.choose(hit, count, zero);
        self.split = Some(Split {
            group,
            start,
            count,
        });
        for value in &mut state.values {
            *value = self.graph.crossed(*value);
        }
        for (when, _) in &mut self.ends {
            *when = self.graph.crossed(*when);
        }
        let nobody = self.graph.input(Input::NoCopy);
        self.ends.push((nobody, reason::NO_GROUP));
        if let Some(port) = port {
            let value = state.values[port.index()];
            let copy = self.copied(Input::CopyPort, value);
            state.values[port.index()] = copy;
        }
        let alive = self.graph.crossed(alive);
        let not = self.graph.not(nobody);
        self.graph.and(alive, not)
    }

    /// The copy's own value, or this one of a packet that is no copy.
    fn copied(&mut self, own: Input, value: Id) -> Id {
        let is_copy = self.graph.input(Input::IsCopy);
        let own = self.graph.input(own);
        let own = self.graph.resize(own, self.graph.width(value));
        self.graph.choose(is_copy, own, value)
    }

    /// What the architecture tells egress of copies in place of a number that it sets.
    pub(crate) fn of_copy(&mut self, slot: SlotId, value: Id) -> Id {
        if self.split.is_none() {
            return value;
        }
        let parameters = self
            .program
            .sections
            .iter()
            .flat_map(|section| &section.parameters);
        let mut standard = parameters.filter(|parameter| {
            matches!(&*parameter.ty, "standard_metadata_t" | "switch_metadata_t")
        });
        let name = standard.find_map(|parameter| {
            let mut fields = parameter.fields.iter();
            fields
                .find(|(_, field)| *field == slot)
                .map(|(name, _)| name.clone())
        });
        match name.as_deref() {
            Some("egress_rid" | "instance") => self.copied(Input::CopyInstance, value),
            Some("instance_type") => {
                let is_copy = self.graph.input(Input::IsCopy);
                let kind = self.graph.constant(self.graph.width(value), REPLICATED);
                self.graph.choose(is_copy, kind, value)
            }
            _ => value,
        }
    }
}

/// Which slot the path takes the port from.
pub(crate) fn port_of(steps: &[Step]) -> Option<SlotId> {
    steps.iter().find_map(|step| match step {
        Step::Port(slot) => Some(*slot),
        _ => None,
    })
}
