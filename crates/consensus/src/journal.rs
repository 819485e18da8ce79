//! The memory of a member that outlives its process, as a log of messages.
//!
//! A member is a state machine, so the messages that changed it are its memory. A [`Journal`] gives them to a [`Storage`], which
//! the world provides: nothing here does I/O. A member notes each message that changed it, and answers none before
//! [`commit`](Journal::commit) reports that all of them would survive a power failure. All messages of a batch share one commit.
//!
//! **Format.** Records, each of a head and a body: the length of the body, a CRC-32C of that length, a CRC-32C of the body (4 bytes
//! each, big-endian). The first body says whose the journal is, the second one is the whole state, each other one a batch
//! of messages of [`LENGTH`] bytes. [`replace`](Journal::replace) writes the first two in one step, so that these are never torn.
//!
//! **Damage.** A batch is one write, and the next one starts only after it is durable. So a power
//! failure can truncate the last record, or leave unwritten sectors of zeros in it. The member has
//! not answered such a record yet, so [`Journal::open`] skips it. Anything else is damage: a member
//! that took part without it might break a promise.

use crate::command::Command;
use crate::message::{LENGTH, Message};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use packet::crc32c::Crc32c;

/// Bytes in front of a body.
const HEAD: usize = 12;
/// The first bytes of a journal's first body: the format and its version.
const MAGIC: &[u8; 8] = b"paxos\0\0\x01";
/// A disk writes no less at once.
const SECTOR: usize = 512;
/// Bytes of batches from which on the state is written as a whole, if it is shorter than half of them.
const LIMIT: usize = 8 << 20;

/// Where a journal is stored.
pub trait Storage: Send {
    /// The stored bytes; `None` if nothing was ever stored.
    ///
    /// # Errors
    /// When it cannot be read.
    fn load(&mut self) -> Result<Option<Vec<u8>>, StorageFailed>;

    /// Appends bytes in one write, and returns once they would survive a loss of power.
    ///
    /// # Errors
    /// When the storage cannot confirm it.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageFailed>;

    /// Replaces the stored bytes in one step: after a failure the storage has the old or the new ones.
    ///
    /// # Errors
    /// When the storage cannot confirm it.
    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageFailed>;
}

/// A storage failed. The reason is for the world to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the storage failed")]
pub struct StorageFailed;

/// Role of a member in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An acceptor.
    Acceptor = 1,
    /// A coordinator.
    Coordinator = 2,
    /// A replica.
    Replica = 3,
}

/// Owner of a journal. A journal of another owner is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its part.
    pub role: Role,
    /// Its group.
    pub group: Ipv4Addr,
    /// Its number: an acceptor's or replica's `id`, a coordinator's `identity`.
    pub id: u16,
    /// The instances that acceptors remember.
    pub window: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Acceptor => "acceptor",
            Role::Coordinator => "coordinator",
            Role::Replica => "replica",
        };
        let Owner {
            group, id, window, ..
        } = self;
        write!(f, "{role} {id} of group {group} with a window of {window}")
    }
}

/// Reasons for which a member cannot resume from its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJournal {
    /// Bytes are not as they were written.
    #[error("it is damaged at byte {at}")]
    Damaged {
        /// Where the record begins that is not as it was written.
        at: usize,
    },
    /// It is no journal, or one of another version.
    #[error("it is no state of a Paxos member that this version can read")]
    Unknown,
    /// It belongs to another member.
    #[error("it belongs to {found}, not to {wanted}")]
    Other {
        /// The member that wrote it.
        found: Owner,
        /// The member that reads it.
        wanted: Owner,
    },
    /// An acceptor has started 65,535 times without its memory.
    #[error("no number is left for another start without memory")]
    NoStartLeft,
    /// See [`StorageFailed`].
    #[error(transparent)]
    Storage(#[from] StorageFailed),
}

/// Contents of a journal: a snapshot of the state, and the messages that changed it since.
pub type Messages = Vec<Message<Command>>;

/// A journal at work.
pub struct Journal {
    storage: Box<dyn Storage>,
    owner: Owner,
    /// A record whose head is not yet written: messages that are not yet stored.
    pending: Vec<u8>,
    /// Bytes of the last whole state, and of batches since.
    whole: usize,
    batches: usize,
    commits: u64,
    failed: bool,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens a journal, and reads the messages in it; `None` when nothing was ever stored. Nothing may be noted before the
    /// state was [replaced](Journal::replace) once, which also removes a torn tail.
    ///
    /// # Errors
    /// When it is damaged, or another member's.
    pub fn open(
        mut storage: Box<dyn Storage>,
        owner: Owner,
    ) -> Result<(Journal, Option<Messages>), BadJournal> {
        let messages = match storage.load()? {
            Some(bytes) => Some(read(&bytes, owner)?),
            None => None,
        };
        let journal = Journal {
            storage,
            owner,
            pending: alloc::vec![0; HEAD],
            whole: 0,
            batches: 0,
            commits: 0,
            failed: false,
        };
        Ok((journal, messages))
    }

    /// Notes a message that changed the member: part of the next commit.
    pub fn note(&mut self, message: &Message<Command>) {
        message.build(&mut self.pending);
    }

    /// Whether it is time to replace batches by the state as a whole.
    pub fn is_long(&self) -> bool {
        self.batches + self.pending.len() > LIMIT.max(2 * self.whole)
    }

    /// Stores all noted messages. Returns whether everything noted so far is durable; after one failure
    /// always `false`, since the storage may have lost data.
    pub fn commit(&mut self) -> bool {
        if self.pending.len() > HEAD && !self.failed {
            finish(&mut self.pending);
            self.failed = self.storage.append(&self.pending).is_err();
            self.batches += self.pending.len();
            self.commits += 1;
            self.pending.truncate(HEAD);
        }
        !self.failed
    }

    /// Stores the whole state, as messages, in place of all before; whether it is stored.
    pub fn replace(&mut self, state: impl IntoIterator<Item = Message<Command>>) -> bool {
        if self.failed {
            return false;
        }
        let mut bytes = alloc::vec![0; HEAD];
        bytes.extend(MAGIC);
        bytes.push(self.owner.role as u8);
        bytes.extend(self.owner.group.octets());
        bytes.extend(self.owner.id.to_be_bytes());
        bytes.extend(self.owner.window.to_be_bytes());
        finish(&mut bytes);
        let mut whole = alloc::vec![0; HEAD];
        state
            .into_iter()
            .for_each(|message| message.build(&mut whole));
        finish(&mut whole);
        bytes.extend(whole);
        self.failed = self.storage.replace(&bytes).is_err();
        self.whole = bytes.len();
        self.batches = 0;
        self.commits += 1;
        self.pending.truncate(HEAD);
        !self.failed
    }

    /// Whether the storage failed, so that the member may say nothing any more.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Number of waits for the storage.
    pub fn commits(&self) -> u64 {
        self.commits
    }
}

/// Fills the head of a record.
fn finish(record: &mut [u8]) {
    let (head, body) = record.split_at_mut(HEAD);
    let length = (body.len() as u32).to_be_bytes();
    head[..4].copy_from_slice(&length);
    head[4..8].copy_from_slice(&crc32c(&length).to_be_bytes());
    head[8..].copy_from_slice(&crc32c(body).to_be_bytes());
}

fn crc32c(bytes: &[u8]) -> u32 {
    Crc32c::default().plus(bytes).value()
}

/// The messages of a journal, without a torn tail.
fn read(bytes: &[u8], wanted: Owner) -> Result<Messages, BadJournal> {
    let mut messages = Vec::new();
    let mut at = 0;
    for number in 0.. {
        if at == bytes.len() && number >= 2 {
            break;
        }
        let Some(body) = record(&bytes[at..]) else {
            if number >= 2 && is_torn(bytes, at) {
                break;
            }
            return Err(match number {
                0 => BadJournal::Unknown,
                _ => BadJournal::Damaged { at },
            });
        };
        match number {
            0 => {
                let found = owner(body).ok_or(BadJournal::Unknown)?;
                if found != wanted {
                    return Err(BadJournal::Other { found, wanted });
                }
            }
            _ => {
                let (some, []) = body.as_chunks::<LENGTH>() else {
                    return Err(BadJournal::Damaged { at });
                };
                for message in some {
                    let message = Message::parse(message);
                    messages.push(message.map_err(|_| BadJournal::Damaged { at })?);
                }
            }
        }
        at += HEAD + body.len();
    }
    Ok(messages)
}

/// The body of the first record, if it is as it was written.
fn record(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let body = rest.get(..length(head)?)?;
    (head[8..] == crc32c(body).to_be_bytes()).then_some(body)
}

/// The length that a head gives, if it is as it was written.
fn length(head: &[u8; HEAD]) -> Option<usize> {
    let (length, rest) = head.split_first_chunk::<4>()?;
    let intact = rest[..4] == crc32c(length).to_be_bytes();
    intact.then_some(u32::from_be_bytes(*length) as usize)
}

/// Whether a bad record was being written at a power failure: it is the last one, and is truncated or
/// has an unwritten sector.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    let is_last = match rest.first_chunk::<HEAD>() {
        None => return true,
        Some(head) => match length(head) {
            Some(length) if length > rest.len() - HEAD => return true,
            Some(length) => HEAD + length == rest.len(),
            // Where its length was never written, it is the last if no record follows.
            None => (1..rest.len()).all(|next| record(&rest[next..]).is_none()),
        },
    };
    let first = (SECTOR - at % SECTOR).min(rest.len());
    let (begun, whole) = rest.split_at(first);
    let is_blank = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    is_last
        && core::iter::once(begun)
            .chain(whole.chunks(SECTOR))
            .any(is_blank)
}

/// The owner in a journal's first body.
fn owner(body: &[u8]) -> Option<Owner> {
    let rest = body.strip_prefix(MAGIC)?;
    let rest: &[u8; 11] = rest.try_into().ok()?;
    let [role, a, b, c, d, id @ .., w, x, y, z] = *rest;
    let role = [Role::Acceptor, Role::Coordinator, Role::Replica]
        .into_iter()
        .find(|known| *known as u8 == role)?;
    Some(Owner {
        role,
        group: Ipv4Addr::new(a, b, c, d),
        id: u16::from_be_bytes(id),
        window: u32::from_be_bytes([w, x, y, z]),
    })
}

#[cfg(test)]
mod tests;
