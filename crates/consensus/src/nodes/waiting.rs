//! Requests that a coordinator has no room for yet, in the order in which they arrived.
//!
//! In any other order some clients could starve.

use crate::command::{Command, Value};
use crate::store::OPENS;
use alloc::collections::{BTreeMap, VecDeque};

/// Identifies a request: by its client, and by its value while the client has no number yet.
pub(super) type Asker = (u32, Value);

pub(super) fn asker(command: &Command) -> Asker {
    match command.client {
        OPENS => (OPENS, command.value),
        client => (client, Value::default()),
    }
}

/// Waiting requests, one of each client.
#[derive(Debug)]
pub(super) struct Waiting {
    most: usize,
    /// The last request of each client, and whether it was offered to a switch again.
    requests: BTreeMap<Asker, (Command, bool)>,
    order: VecDeque<Asker>,
}

impl Waiting {
    /// No requests, and room for `most`.
    pub fn new(most: usize) -> Waiting {
        Waiting {
            most,
            requests: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Adds a request, or replaces an earlier one of its client. `false`: there is no room.
    pub fn add(&mut self, command: Command) -> bool {
        let asker = asker(&command);
        match self.requests.get_mut(&asker) {
            Some((known, _)) if *known == command => {}
            Some(known) => *known = (command, false),
            None if self.order.len() >= self.most => return false,
            None => {
                self.requests.insert(asker, (command, false));
                self.order.push_back(asker);
            }
        }
        true
    }

    /// Removes the request that has waited the longest.
    pub fn pop(&mut self) -> Option<Command> {
        let asker = self.order.pop_front()?;
        let (command, _) = self.requests.remove(&asker)?;
        Some(command)
    }

    /// Marks all requests as offered to the switch again, and returns those that were not.
    pub fn offer(&mut self) -> impl Iterator<Item = Command> {
        let Waiting {
            requests, order, ..
        } = self;
        order.iter().filter_map(|asker| {
            let (command, is_offered) = requests.get_mut(asker)?;
            (!core::mem::replace(is_offered, true)).then_some(*command)
        })
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn clear(&mut self) {
        self.requests.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(client: u32, sequence: u32) -> Command {
        Command {
            client,
            sequence,
            ..Command::default()
        }
    }

    #[test]
    fn requests_leave_in_the_order_of_their_clients_and_no_more_wait_than_there_is_room_for() {
        let mut waiting = Waiting::new(2);
        assert!(waiting.add(request(9, 1)) && waiting.add(request(3, 1)));
        assert!(!waiting.add(request(1, 1)), "no room");
        assert!(waiting.add(request(9, 2)), "in the place of the one before");
        assert_eq!(waiting.offer().count(), 2);
        assert_eq!(waiting.offer().count(), 0, "offered once");
        assert_eq!(waiting.pop(), Some(request(9, 2)));
        assert!(waiting.add(request(1, 1)));
        assert_eq!(waiting.pop(), Some(request(3, 1)));
        assert_eq!(waiting.pop(), Some(request(1, 1)));
        assert!(waiting.pop().is_none() && waiting.is_empty());
    }
}
