//! A replicated store of keys and values: what is decided is done, in order, once.

use crate::command::{Command, Value};
use alloc::collections::BTreeMap;

/// A key.
pub type Key = u64;
/// A value. 0 is for none.
pub type Item = u64;

/// What a client wants of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reads.
    Get(Key),
    /// Writes.
    Put(Key, Item),
    /// Writes the second if the first is there (compare-and-swap).
    Swap(Key, Item, Item),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// The command means nothing to the store.
    #[default]
    Unknown,
    /// What is there.
    Found(Item),
    /// It is written.
    Written,
    /// Something else is there.
    Differs(Item),
}

impl Operation {
    /// Which key it is about.
    pub fn key(self) -> Key {
        match self {
            Operation::Get(key) | Operation::Put(key, _) | Operation::Swap(key, ..) => key,
        }
    }

    /// Does it to what is there under its key.
    pub fn apply(self, item: &mut Item) -> Answer {
        match self {
            Operation::Get(_) => Answer::Found(*item),
            Operation::Put(_, new) => {
                *item = new;
                Answer::Written
            }
            Operation::Swap(_, expected, new) if *item == expected => {
                *item = new;
                Answer::Written
            }
            Operation::Swap(..) => Answer::Differs(*item),
        }
    }

    /// As a command's value.
    pub fn encode(self) -> Value {
        let (code, [one, two, three]) = match self {
            Operation::Get(key) => (1, [key, 0, 0]),
            Operation::Put(key, item) => (2, [key, item, 0]),
            Operation::Swap(key, expected, new) => (3, [key, expected, new]),
        };
        numbers(code, &[one, two, three])
    }

    /// From a command's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Operation> {
        let (code, [one, two, three]) = parts::<3>(value)?;
        match code {
            1 => Some(Operation::Get(one)),
            2 => Some(Operation::Put(one, two)),
            3 => Some(Operation::Swap(one, two, three)),
            _ => None,
        }
    }
}

impl Answer {
    /// As a response's value.
    pub fn encode(self) -> Value {
        match self {
            Answer::Unknown => numbers(0, &[0]),
            Answer::Found(item) => numbers(1, &[item]),
            Answer::Written => numbers(2, &[0]),
            Answer::Differs(item) => numbers(3, &[item]),
        }
    }

    /// From a response's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Answer> {
        let (code, [item]) = parts::<1>(value)?;
        match code {
            0 => Some(Answer::Unknown),
            1 => Some(Answer::Found(item)),
            2 => Some(Answer::Written),
            3 => Some(Answer::Differs(item)),
            _ => None,
        }
    }
}

/// A code and numbers as bytes.
fn numbers(code: u8, numbers: &[u64]) -> Value {
    let mut bytes = [0; 1 + 3 * 8];
    bytes[0] = code;
    let places = bytes[1..].chunks_exact_mut(8);
    places
        .zip(numbers)
        .for_each(|(place, number)| place.copy_from_slice(&number.to_be_bytes()));
    // 25 bytes fit.
    Value::new(&bytes[..1 + numbers.len() * 8]).unwrap_or_default()
}

/// A code and exactly so many numbers.
fn parts<const N: usize>(value: &Value) -> Option<(u8, [u64; N])> {
    let (code, rest) = value.split_first()?;
    let (numbers, []) = rest.as_chunks::<8>() else {
        return None;
    };
    let numbers: &[[u8; 8]; N] = numbers.try_into().ok()?;
    Some((*code, numbers.map(u64::from_be_bytes)))
}

/// The store, with the last answer to each client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    items: BTreeMap<Key, Item>,
    clients: BTreeMap<u32, (u32, Answer)>,
    /// Commands that were decided again, and not done again.
    pub repeated: u64,
}

impl Store {
    /// Does a command, unless it was done before; `None` for a no-op, and for a command that the client has long gone past.
    pub fn apply(&mut self, command: &Command) -> Option<Answer> {
        if command.is_no_op() {
            return None;
        }
        match self.clients.get(&command.client) {
            Some((last, answer)) if *last == command.sequence => {
                self.repeated += 1;
                return Some(*answer);
            }
            Some((last, _)) if *last > command.sequence => {
                self.repeated += 1;
                return None;
            }
            _ => {}
        }
        let answer = match Operation::decode(&command.value) {
            Some(operation) => operation.apply(self.items.entry(operation.key()).or_default()),
            None => Answer::Unknown,
        };
        self.clients
            .insert(command.client, (command.sequence, answer));
        Some(answer)
    }

    /// Its keys and what is there.
    pub(crate) fn items(&self) -> impl Iterator<Item = (Key, Item)> {
        self.items.iter().map(|(key, item)| (*key, *item))
    }

    /// Its clients, each with the number of its last command, and the answer to that.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (u32, u32, Answer)> {
        let all = self.clients.iter();
        all.map(|(client, (sequence, answer))| (*client, *sequence, *answer))
    }

    pub(crate) fn set_item(&mut self, key: Key, item: Item) {
        self.items.insert(key, item);
    }

    pub(crate) fn set_answer(&mut self, client: u32, sequence: u32, answer: Answer) {
        self.clients.insert(client, (sequence, answer));
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_answers_come_back_as_they_were_written() {
        for operation in [
            Operation::Get(1),
            Operation::Put(2, 3),
            Operation::Swap(4, 5, 6),
        ] {
            assert_eq!(Operation::decode(&operation.encode()), Some(operation));
        }
        for answer in [
            Answer::Unknown,
            Answer::Found(1),
            Answer::Written,
            Answer::Differs(2),
        ] {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        }
        for bytes in [&b""[..], &[9; 25], &[1; 24], &[1; 26], &[2; 9]] {
            assert_eq!(Operation::decode(&Value::new(bytes).unwrap()), None);
        }
        assert_eq!(Answer::decode(&Value::new(&[7; 9]).unwrap()), None);
    }

    #[test]
    fn what_is_decided_twice_is_done_once() {
        let mut store = Store::default();
        let command = |sequence, operation: Operation| Command {
            client: 1,
            sequence,
            value: operation.encode(),
        };
        let swap = command(1, Operation::Swap(7, 0, 5));
        assert_eq!(store.apply(&swap), Some(Answer::Written));
        assert_eq!(
            store.apply(&swap),
            Some(Answer::Written),
            "the answer again"
        );
        assert_eq!(
            store.apply(&command(2, Operation::Swap(7, 0, 6))),
            Some(Answer::Differs(5))
        );
        assert_eq!(store.apply(&swap), None, "gone past");
        assert_eq!(
            store.apply(&command(3, Operation::Get(7))),
            Some(Answer::Found(5))
        );
        assert_eq!(store.apply(&Command::default()), None, "no-op");
        let nonsense = Command {
            client: 2,
            sequence: 1,
            value: Value::default(),
        };
        assert_eq!(store.apply(&nonsense), Some(Answer::Unknown));
        assert_eq!(
            (store.repeated, store.len(), store.is_empty()),
            (2, 1, false)
        );
    }
}
