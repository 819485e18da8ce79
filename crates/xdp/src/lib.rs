//! P4 programs in the kernel: the architecture's path as a program for XDP.
//!
//! [`compile`] makes instructions of eBPF of a program's [`Path`](pipeline::engine::Path), and says which maps they need; [`Xdp`] is an
//! [`Engine`](pipeline::engine::Engine) like the interpreter, which has the kernel run each packet (BPF_PROG_TEST_RUN). So the same tests hold it.
//!
//! - All slots and values on their way are in a value of a map with a copy for each processor: the verifier follows what is on the stack and in
//!   registers along every way, and knows nothing of what is in a map, so that its work grows with the program and not with the number of ways.
//! - Exact matches are hash maps, longest prefixes the kernel's tries; matches by priority are tried one after the other, in a map that is
//!   exchanged as a whole (a map in a map), so that a packet sees a change or does not.
//! - Default actions are in a hash map, whose elements the kernel exchanges as a whole.
//! - Counters and registers are arrays that processes map. Registers are read and written without locks: programs that count in
//!   registers want one receive queue.
//! - What the kernel cannot do is an error with its place, and all of them are told at once.
//!
//! | module | |
//! |---|---|
//! | `instruction` | instructions and labels |
//! | `frame` | where slots and values are |
//! | `unit` | sections, blocks, ends |
//! | `select` | selects |
//! | `expression`, `wide`, `statement`, `packet`, `table` | what they say |
//! | `meter` | meters |
//! | `anew` | packets that begin anew, or are cut |
//! | `choice` | members of action profiles and selectors |
//! | `nic` | paths of packets through a NIC: sides, mirrors |
//! | `learning` | entries that packets add, and their times |
//! | `timed`, `rows`, `settle` | the rows of such entries, and their copies in the environment |
//! | `hash` | hashes and checksums |
//! | `copies` | multicast |
//! | `maps` | the maps, and what entries are in them |
//! | `kernel` | loading, and bringing maps up to date |
//! | `engine` | running packets one by one |
//! | `switch` | on interfaces |

#![forbid(unsafe_code)]

mod anew;
mod choice;
mod copies;
mod engine;
mod expression;
mod frame;
mod hash;
mod instruction;
mod kernel;
mod learning;
mod maps;
mod meter;
mod nic;
mod packet;
mod path;
mod requests;
mod rows;
mod select;
mod settle;
mod statement;
mod switch;
mod table;
mod timed;
mod unit;
mod wide;

pub use engine::{Tally, Xdp};
pub use instruction::Instruction;
pub use kernel::Error;
pub use maps::{Kind, Map, Object, Purpose};
pub use path::program;
pub use switch::{Counts, Interface, Switch};
pub use unit::{Entrance, compile};
