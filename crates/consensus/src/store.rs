//! A replicated store of keys and values: what is decided is done, in order, once.
//!
//! **Sessions.** A command is done once because the store remembers the last one of each client. For how long is decided by the log alone, so that
//! all replicas forget at the same instance, and a replica's memory is bounded:
//!
//! - A client [opens](Open) a session, and is granted the number of the instance in which that was decided as its client number: no two have the
//!   same. It is known by 128 random bits until then.
//! - There are at most [`MAX_SESSIONS`]. Where one more is opened, the one closes whose last command is the oldest.
//! - A session may have a name. One that is opened by the same name closes the one before.
//! - A command of a session that is closed is not done: [`Answer::Closed`].
//! - Numbers below [`FIRST_SESSION`] are given to clients by configuration, need no session, and never close.
//!
//! A client may also [change](Change) the members of the group, which are part of the store.

use crate::command::{Command, Value};
use crate::configuration::{Change, Configuration, Members};
use crate::message::Instance;
use alloc::collections::BTreeMap;

/// The most sessions that are open at one time.
pub const MAX_SESSIONS: usize = 16_384;
/// Client numbers from here on are granted.
pub const FIRST_SESSION: u32 = 1 << 16;
/// The client number of a request for a session.
pub const OPENS: u32 = u32::MAX;

/// The client number of a session that is opened in an instance. Another one has it after 2^32 - 2^16 - 1 instances, and would close the first.
fn granted(instance: Instance) -> u32 {
    let numbers = u64::from(OPENS - FIRST_SESSION);
    // Less than 2^32.
    FIRST_SESSION + (instance % numbers) as u32
}

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

/// A request for a session: the value of a command of client [`OPENS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Open {
    /// Random bits by which the client knows the answer.
    pub nonce: u128,
    /// The session's name; 0 for none.
    pub name: u32,
}

impl Open {
    /// As a command's value.
    pub fn encode(self) -> Value {
        tagged(OPEN, self.nonce, self.name)
    }

    /// From a command's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Open> {
        let (nonce, name) = untagged(OPEN, value)?;
        Some(Open { nonce, name })
    }
}

/// The answer to [`Open`]: with the client number that is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opened {
    /// Nonce of the request.
    pub nonce: u128,
    /// The client's number from now on.
    pub client: u32,
}

impl Opened {
    /// As a response's value.
    pub fn encode(self) -> Value {
        tagged(OPEN, self.nonce, self.client)
    }

    /// From a response's value; `None` when that is none.
    pub fn decode(value: &Value) -> Option<Opened> {
        let (nonce, client) = untagged(OPEN, value)?;
        Some(Opened { nonce, client })
    }
}

/// The code of both.
const OPEN: u8 = 4;

fn tagged(code: u8, nonce: u128, number: u32) -> Value {
    let mut bytes = [code; 21];
    bytes[1..17].copy_from_slice(&nonce.to_be_bytes());
    bytes[17..].copy_from_slice(&number.to_be_bytes());
    // 21 bytes fit.
    Value::new(&bytes).unwrap_or_default()
}

fn untagged(code: u8, value: &Value) -> Option<(u128, u32)> {
    let bytes: &[u8; 21] = value[..].try_into().ok()?;
    let (nonce, number) = bytes.strip_prefix(&[code])?.split_at(16);
    let nonce = u128::from_be_bytes(nonce.try_into().ok()?);
    Some((nonce, u32::from_be_bytes(number.try_into().ok()?)))
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
    /// It is not done now, as its session is closed; an earlier request for it may have been done.
    Closed,
    /// The members of the group, after a change or without one.
    Members(Members),
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
            Answer::Closed => numbers(5, &[0]),
            Answer::Members(members) => numbers(6, &[members.pack()]),
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
            5 => Some(Answer::Closed),
            6 => Members::unpack(item).map(Answer::Members),
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

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// The number of its last command; 0 before the first one.
    pub sequence: u32,
    /// The answer to that.
    pub answer: Answer,
    /// The instance of that, or in which the session was opened. Of clients without a session, 0.
    pub last: Instance,
    /// Request that opened the session; `None` for clients without a session.
    pub open: Open,
}

impl Client {
    /// State of a client without requests.
    pub const NEW: Client = Client {
        sequence: 0,
        answer: Answer::Unknown,
        last: 0,
        open: Open { nonce: 0, name: 0 },
    };
}

/// The store, with the last answer to each client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    configuration: Configuration,
    /// Instances from a change to where it applies.
    alpha: u64,
    items: BTreeMap<Key, Item>,
    clients: BTreeMap<u32, Client>,
    /// Sessions by the instance of their last command, which is unique.
    oldest: BTreeMap<Instance, u32>,
    /// Sessions by name.
    names: BTreeMap<u32, u32>,
    /// Commands that were decided again, and not done again.
    pub repeated: u64,
}

impl Default for Store {
    /// The store of a group of three acceptors with a window of 1024 instances.
    fn default() -> Store {
        Store::of(3, 1024)
    }
}

impl Store {
    /// The empty store of a group with this number of acceptors, which remember `window` instances.
    pub fn of(acceptors: usize, window: usize) -> Store {
        Store {
            configuration: Configuration::of(acceptors),
            alpha: window as u64,
            items: BTreeMap::new(),
            clients: BTreeMap::new(),
            oldest: BTreeMap::new(),
            names: BTreeMap::new(),
            repeated: 0,
        }
    }

    /// The members of the group, as of the last command.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Does the command of an instance, unless it was done before, and gives the value of its answer; `None` for a no-op, and for a command that the
    /// client has long gone past.
    pub fn apply(&mut self, instance: Instance, command: &Command) -> Option<Value> {
        if command.is_no_op() {
            return None;
        }
        if command.client == OPENS {
            let open = Open::decode(&command.value)?;
            return Some(self.open(instance, open).encode());
        }
        let is_session = command.client >= FIRST_SESSION;
        let known = self.clients.get(&command.client).copied();
        let known = match known {
            None if is_session => return Some(Answer::Closed.encode()),
            known => known.unwrap_or(Client::NEW),
        };
        if known.sequence >= command.sequence && known != Client::NEW {
            self.repeated += 1;
            let again = known.sequence == command.sequence && known.sequence > 0;
            return again.then(|| known.answer.encode());
        }
        let answer = match (
            Operation::decode(&command.value),
            Change::decode(&command.value),
        ) {
            (Some(operation), _) => operation.apply(self.items.entry(operation.key()).or_default()),
            (None, Some(change)) => self.change(instance, change),
            (None, None) => Answer::Unknown,
        };
        let client = Client {
            sequence: command.sequence,
            answer,
            last: if is_session { instance } else { 0 },
            ..known
        };
        self.oldest.remove(&known.last);
        self.set_client(command.client, client);
        Some(answer.encode())
    }

    /// Changes the members of the group.
    fn change(&mut self, instance: Instance, change: Change) -> Answer {
        let changed = self.configuration.changed(change, instance, self.alpha);
        let refused = changed.err();
        self.configuration = changed.unwrap_or(self.configuration);
        Answer::Members(self.configuration.members(instance, refused))
    }

    /// Opens a session, in place of one of the same name, or of the oldest one.
    fn open(&mut self, instance: Instance, open: Open) -> Opened {
        let nonce = open.nonce;
        if let Some(client) = self.names.get(&open.name).copied() {
            if self
                .clients
                .get(&client)
                .is_some_and(|known| known.open == open)
            {
                // The request was decided twice.
                self.repeated += 1;
                return Opened { nonce, client };
            }
            self.close(client);
        }
        let client = granted(instance);
        self.close(client);
        if self.oldest.len() >= MAX_SESSIONS
            && let Some(oldest) = self.oldest.values().next().copied()
        {
            self.close(oldest);
        }
        let new = Client {
            last: instance,
            open,
            ..Client::NEW
        };
        self.set_client(client, new);
        Opened { nonce, client }
    }

    fn close(&mut self, client: u32) {
        if let Some(known) = self.clients.remove(&client) {
            self.oldest.remove(&known.last);
            if self.names.get(&known.open.name) == Some(&client) {
                self.names.remove(&known.open.name);
            }
        }
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.oldest.len()
    }

    /// Its keys and what is there.
    pub(crate) fn items(&self) -> impl Iterator<Item = (Key, Item)> {
        self.items.iter().map(|(key, item)| (*key, *item))
    }

    /// Its clients.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (u32, Client)> {
        self.clients
            .iter()
            .map(|(number, client)| (*number, *client))
    }

    pub(crate) fn set_configuration(&mut self, configuration: Configuration) {
        self.configuration = configuration;
    }

    pub(crate) fn set_item(&mut self, key: Key, item: Item) {
        self.items.insert(key, item);
    }

    pub(crate) fn set_client(&mut self, number: u32, client: Client) {
        if client.last != 0 {
            self.oldest.insert(client.last, number);
        }
        if client.open.name != 0 {
            self.names.insert(client.open.name, number);
        }
        self.clients.insert(number, client);
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
            Answer::Closed,
        ] {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        }
        for bytes in [&b""[..], &[9; 25], &[1; 24], &[1; 26], &[2; 9]] {
            assert_eq!(Operation::decode(&Value::new(bytes).unwrap()), None);
        }
        assert_eq!(Answer::decode(&Value::new(&[7; 9]).unwrap()), None);
        let (nonce, name, client) = (1 << 100 | 5, 6, 7);
        let open = Open { nonce, name };
        assert_eq!(Open::decode(&open.encode()), Some(open));
        assert_eq!(Operation::decode(&open.encode()), None);
        let opened = Opened { nonce, client };
        assert_eq!(Opened::decode(&opened.encode()), Some(opened));
        assert_eq!(Opened::decode(&Answer::Closed.encode()), None);
    }

    fn command(client: u32, sequence: u32, operation: Operation) -> Command {
        Command {
            client,
            sequence,
            value: operation.encode(),
        }
    }

    fn opens(nonce: u128, name: u32) -> Command {
        Command {
            client: OPENS,
            sequence: 0,
            value: Open { nonce, name }.encode(),
        }
    }

    /// The answer to a command, if there is one.
    fn done(store: &mut Store, instance: Instance, command: &Command) -> Option<Answer> {
        let value = store.apply(instance, command)?;
        Some(Answer::decode(&value).unwrap())
    }

    fn opened(store: &mut Store, instance: Instance, open: &Command) -> u32 {
        let value = store.apply(instance, open).unwrap();
        Opened::decode(&value).unwrap().client
    }

    #[test]
    fn what_is_decided_twice_is_done_once() {
        let mut store = Store::default();
        let swap = command(1, 1, Operation::Swap(7, 0, 5));
        assert_eq!(done(&mut store, 1, &swap), Some(Answer::Written));
        let again = done(&mut store, 2, &swap);
        assert_eq!(again, Some(Answer::Written), "the answer again");
        let other = command(1, 2, Operation::Swap(7, 0, 6));
        assert_eq!(done(&mut store, 3, &other), Some(Answer::Differs(5)));
        assert_eq!(done(&mut store, 4, &swap), None, "gone past");
        let get = command(1, 3, Operation::Get(7));
        assert_eq!(done(&mut store, 5, &get), Some(Answer::Found(5)));
        assert_eq!(store.apply(6, &Command::default()), None, "no-op");
        let nonsense = Command {
            client: 2,
            sequence: 1,
            value: Value::default(),
        };
        assert_eq!(done(&mut store, 7, &nonsense), Some(Answer::Unknown));
        let nonsense = Command {
            client: OPENS,
            ..nonsense
        };
        assert_eq!(store.apply(8, &nonsense), None);
        assert_eq!(
            (store.repeated, store.len(), store.is_empty()),
            (2, 1, false)
        );
    }

    #[test]
    fn a_session_has_a_number_that_no_other_has_and_a_closed_one_does_nothing() {
        let mut store = Store::default();
        let mut numbers = alloc::collections::BTreeSet::new();
        for instance in 1..=100 {
            numbers.insert(opened(&mut store, instance, &opens(7, 0)));
        }
        assert_eq!((numbers.len(), store.sessions()), (100, 100));
        let number = *numbers.first().unwrap();
        let put = command(number, 1, Operation::Put(1, 2));
        assert_eq!(done(&mut store, 101, &put), Some(Answer::Written));
        assert_eq!(done(&mut store, 102, &put), Some(Answer::Written));
        assert_eq!(store.repeated, 1);
        let never = command(FIRST_SESSION + 5000, 1, Operation::Put(1, 3));
        assert_eq!(done(&mut store, 103, &never), Some(Answer::Closed));
        let get = command(number, 2, Operation::Get(1));
        assert_eq!(done(&mut store, 104, &get), Some(Answer::Found(2)));
        for instance in [u64::from(OPENS) - 2, u64::from(OPENS), u64::MAX] {
            assert!((FIRST_SESSION..OPENS).contains(&granted(instance)));
        }
    }

    #[test]
    fn a_name_is_one_session_at_a_time() {
        let mut store = Store::default();
        let first = opened(&mut store, 1, &opens(1, 5000));
        assert_eq!(
            opened(&mut store, 2, &opens(1, 5000)),
            first,
            "decided twice"
        );
        let put = |client, item| command(client, 1, Operation::Put(7, item));
        assert_eq!(done(&mut store, 3, &put(first, 1)), Some(Answer::Written));
        let second = opened(&mut store, 4, &opens(2, 5000));
        assert_eq!(done(&mut store, 5, &put(second, 2)), Some(Answer::Written));
        let late = command(first, 2, Operation::Put(7, 3));
        assert_eq!(done(&mut store, 6, &late), Some(Answer::Closed));
        let get = command(second, 2, Operation::Get(7));
        assert_eq!(done(&mut store, 7, &get), Some(Answer::Found(2)));
        assert_eq!(store.sessions(), 1);
    }

    #[test]
    fn the_session_that_was_silent_longest_makes_room() {
        let mut store = Store::default();
        let all = MAX_SESSIONS as u64;
        for instance in 1..=all {
            opened(&mut store, instance, &opens(instance.into(), 0));
        }
        let of = |instance| granted(instance);
        let get = |client| command(client, 1, Operation::Get(1));
        assert_eq!(
            done(&mut store, all + 1, &get(of(1))),
            Some(Answer::Found(0))
        );
        for instance in all + 2..all + 12 {
            opened(&mut store, instance, &opens(instance.into(), 0));
        }
        assert_eq!(store.sessions(), MAX_SESSIONS);
        assert_eq!((store.clients.len(), store.names.len()), (MAX_SESSIONS, 0));
        let answer = |store: &mut Store, instance| {
            done(
                store,
                1 << 40 | instance,
                &command(of(instance), 2, Operation::Get(1)),
            )
        };
        assert_eq!(answer(&mut store, 1), Some(Answer::Found(0)), "it spoke");
        assert_eq!(answer(&mut store, 2), Some(Answer::Closed));
        assert_eq!(answer(&mut store, 11), Some(Answer::Closed));
        assert_eq!(answer(&mut store, 12), Some(Answer::Found(0)));
    }
}
