//! A checkpoint: what a store is before some instance, cut into parts that fit into messages.
//!
//! A replica that has been away for longer than its peers remember decisions gets one from a peer, and goes on from there.

use crate::command::Value;
use crate::configuration::Configuration;
use crate::message::Instance;
use crate::store::{Answer, Client, FIRST_SESSION, Open, Store};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Entries of a part: a client with its last answer has 17 bytes, and a part one byte in front of them.
const ENTRIES: usize = 3;
/// The most parts that somebody may say there are.
pub const PARTS: u64 = 1 << 32;

/// What a part has.
const ITEMS: u8 = 1;
const CLIENTS: u8 = 2;
/// One session: a client plus its last instance, nonce and name.
const SESSION: u8 = 3;
/// The members, where they have changed.
const MEMBERS: u8 = 4;

/// The parts of a store.
pub fn parts(store: &Store) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut part = |kind: u8, entries: &[Vec<u8>]| {
        let mut bytes = alloc::vec![kind];
        entries.iter().for_each(|entry| bytes.extend(entry));
        // 1 + 3 * 17 bytes fit.
        parts.extend(Value::new(&bytes));
    };
    let items = store.items().map(|(key, item)| {
        let mut entry = key.to_be_bytes().to_vec();
        entry.extend(item.to_be_bytes());
        entry
    });
    let items: Vec<_> = items.collect();
    items.chunks(ENTRIES).for_each(|some| part(ITEMS, some));
    let (mut clients, mut sessions) = (Vec::new(), Vec::new());
    for (number, client) in store.clients() {
        let mut entry = number.to_be_bytes().to_vec();
        entry.extend(client.sequence.to_be_bytes());
        entry.extend(&*client.answer.encode());
        if number < FIRST_SESSION {
            clients.push(entry);
            continue;
        }
        entry.extend(client.last.to_be_bytes());
        entry.extend(client.open.nonce.to_be_bytes());
        entry.extend(client.open.name.to_be_bytes());
        sessions.push(entry);
    }
    clients.chunks(ENTRIES).for_each(|some| part(CLIENTS, some));
    sessions.chunks(1).for_each(|one| part(SESSION, one));
    if store.configuration().version > 0 {
        let mut bytes = alloc::vec![MEMBERS];
        bytes.extend(&*store.configuration().encode());
        // 28 bytes fit.
        parts.extend(Value::new(&bytes));
    }
    if parts.is_empty() {
        // A store with nothing in it is one, too.
        parts.extend(Value::new(&[ITEMS]));
    }
    parts
}

/// The store of which these are all parts, in a group that began as that of `empty` did; `None`
/// where one is no part.
pub fn store(empty: Store, parts: &[Value]) -> Option<Store> {
    let mut store = empty;
    for part in parts {
        let (kind, rest) = part.split_first()?;
        match *kind {
            ITEMS => {
                let (entries, []) = rest.as_chunks::<16>() else {
                    return None;
                };
                for entry in entries {
                    let (key, item) = entry.split_at(8);
                    store.set_item(number(key)?, number(item)?);
                }
            }
            CLIENTS => {
                let (entries, []) = rest.as_chunks::<17>() else {
                    return None;
                };
                for entry in entries {
                    let (number, client) = client(entry)?;
                    store.set_client(number, client);
                }
            }
            SESSION => {
                let (entry, rest) = rest.split_first_chunk::<17>()?;
                let (last, rest) = rest.split_first_chunk::<8>()?;
                let (nonce, name) = rest.split_first_chunk::<16>()?;
                let (number, client) = client(entry)?;
                let session = Client {
                    last: u64::from_be_bytes(*last),
                    open: Open {
                        nonce: u128::from_be_bytes(*nonce),
                        name: u32::from_be_bytes(name.try_into().ok()?),
                    },
                    ..client
                };
                store.set_client(number, session);
            }
            MEMBERS => store.set_configuration(Configuration::decode(&Value::new(rest)?)?),
            _ => return None,
        }
    }
    Some(store)
}

/// A client's number and state.
fn client(entry: &[u8; 17]) -> Option<(u32, Client)> {
    let (number, rest) = entry.split_first_chunk::<4>()?;
    let (sequence, answer) = rest.split_first_chunk::<4>()?;
    let client = Client {
        sequence: u32::from_be_bytes(*sequence),
        answer: Answer::decode(&Value::new(answer)?)?,
        ..Client::NEW
    };
    Some((u32::from_be_bytes(*number), client))
}

fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// A checkpoint that arrives, part by part.
#[derive(Clone, Debug)]
pub struct Arriving {
    /// What has been done is below this instance.
    pub instance: Instance,
    count: u64,
    parts: BTreeMap<u64, Value>,
    /// All before it are there.
    next: u64,
}

impl Arriving {
    /// One of so many parts; `None` when these are none, or too many.
    pub fn new(instance: Instance, parts: u64) -> Option<Arriving> {
        (1..=PARTS).contains(&parts).then(|| Arriving {
            instance,
            count: parts,
            parts: BTreeMap::new(),
            next: 0,
        })
    }

    /// Takes a part.
    pub fn take(&mut self, number: u64, part: Value) {
        if number < self.count {
            self.parts.insert(number, part);
        }
        while self.parts.contains_key(&self.next) {
            self.next += 1;
        }
    }

    /// The first part that is missing; `None` when none is.
    pub fn next_missing(&self) -> Option<u64> {
        (self.next < self.count).then_some(self.next)
    }

    /// The store, once all parts are there; `None` also where they are no store's.
    pub fn store(&self, empty: Store) -> Option<Store> {
        if self.next < self.count {
            return None;
        }
        let parts: Vec<Value> = self.parts.values().copied().collect();
        store(empty, &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, VALUE};
    use crate::configuration::Change;
    use crate::store::{OPENS, Opened, Operation};

    fn filled(count: u64) -> Store {
        let mut store = Store::default();
        for number in 0..count {
            let put = |client| Command {
                client,
                sequence: number as u32 + 1,
                value: Operation::Put(number % 11, number + 100).encode(),
            };
            store.apply(3 * number + 1, &put(number as u32 % 5 + 1));
            let open = Open {
                nonce: u128::from(number) << 100,
                name: number as u32 % 3,
            };
            let open = Command {
                client: OPENS,
                sequence: 0,
                value: open.encode(),
            };
            let opened = store.apply(3 * number + 2, &open).unwrap();
            let session = Opened::decode(&opened).unwrap().client;
            store.apply(3 * number + 3, &put(session));
        }
        let change = Change {
            granted: true,
            add: 8,
            ..Change::default()
        };
        let change = Command {
            client: 1,
            sequence: u32::MAX,
            value: change.encode(),
        };
        if count > 3 {
            store.apply(3 * count + 1, &change);
        }
        store
    }

    #[test]
    fn a_store_comes_back_from_its_parts_in_any_order() {
        for count in [0, 1, 3, 50] {
            let before = filled(count);
            let all = parts(&before);
            assert!(all.iter().all(|part| part.len() <= VALUE));
            let mut arriving = Arriving::new(7, all.len() as u64).unwrap();
            for (number, part) in all.iter().enumerate().rev() {
                assert!(arriving.store(Store::default()).is_none());
                assert!(arriving.next_missing().is_some());
                arriving.take(number as u64, *part);
                arriving.take(number as u64, *part);
            }
            assert_eq!(arriving.next_missing(), None);
            assert_eq!(arriving.store(Store::default()), Some(before));
        }
    }

    #[test]
    fn what_is_no_part_makes_no_store() {
        for bytes in [
            &b""[..],
            &[3],
            &[ITEMS, 1],
            &[CLIENTS, 1, 2, 3],
            &[CLIENTS; 19],
            &[SESSION; 45],
            &[SESSION; 47],
            &[MEMBERS; 27],
            &[MEMBERS],
        ] {
            assert_eq!(
                store(Store::default(), &[Value::new(bytes).unwrap()]),
                None,
                "{bytes:?}"
            );
        }
        for parts in [0, PARTS + 1, u64::MAX] {
            assert!(Arriving::new(1, parts).is_none());
        }
        let mut arriving = Arriving::new(1, 1).unwrap();
        arriving.take(u64::MAX, Value::default());
        assert_eq!(arriving.next_missing(), Some(0));
    }
}
