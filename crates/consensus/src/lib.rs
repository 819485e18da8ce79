//! Consensus by Paxos, cut so that switches can do their part of it (paper 002, section 3.5).
//!
//! The protocol is state machines: a message in, messages out. They do no I/O and read no clock, and they are what is model-checked
//! (`tests/model.rs`), what the P4 programs are held against, and what the nodes run.
//!
//! | module | what is in it |
//! |---|---|
//! | [`message`] | the one header that all messages have, and its bytes |
//! | [`command`] | what is decided on |
//! | [`configuration`] | members of a group, and changes of them |
//! | [`acceptor`] | votes: in a switch, or here |
//! | [`coordinator`] | orders requests and asks for votes; takes over from another; lets acceptors in again |
//! | [`sequencer`] | the part of a coordinator that a switch can do |
//! | [`learner`] | counts votes, delivers in order, knows what is missing |
//! | [`store`] | a replicated store of keys and values |
//! | [`checkpoint`] | a store in parts, for a replica that was away |
//! | [`journal`] | the memory of a member that outlives its process |
//! | [`key`] | the key by which members know each other's messages |
//! | [`history`] | whether what clients saw of it was linearizable |
//! | [`nodes`] | all of that as nodes, over UDP multicast |
//!
//! ```
//! use consensus::{Acceptor, Coordinator, Learner};
//!
//! let mut acceptors: Vec<_> = (0..3).map(|id| Acceptor::formed(id, 16)).collect();
//! let mut coordinator = Coordinator::new(1, 3, 16);
//! let mut learner = Learner::new(3, 16);
//! let mut sent = Vec::new();
//! coordinator.campaign(&mut sent);
//! let mut asked = false;
//! while let Some(message) = sent.pop() {
//!     for acceptor in &mut acceptors {
//!         if let Some(answer) = acceptor.step(&message) {
//!             learner.step(&answer);
//!             coordinator.step(&answer, &mut sent);
//!         }
//!     }
//!     if coordinator.is_leading() && !asked {
//!         asked = true;
//!         coordinator.propose('x', &mut sent);
//!     }
//! }
//! assert_eq!(learner.deliver(), Some((1, 'x')));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod acceptor;
pub mod checkpoint;
pub mod command;
pub mod configuration;
pub mod coordinator;
pub mod history;
pub mod journal;
pub mod key;
pub mod learner;
pub mod message;
pub mod nodes;
pub mod sequencer;
pub mod store;

pub use acceptor::{Acceptor, majority};
pub use command::{Command, Value};
pub use configuration::{Change, Configuration};
pub use coordinator::Coordinator;
pub use journal::{BadJournal, Storage, StorageFailed};
pub use key::Key;
pub use learner::Learner;
pub use message::{Instance, Kind, Message, Round};
pub use sequencer::Sequencer;
