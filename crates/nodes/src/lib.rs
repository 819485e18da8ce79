//! Packet functions: each a [`node::Node`], the same code in every world.
//!
//! No I/O, no clock, no operating system. A node is made from its module's `Config`, a plain struct
//! with defaults; what cannot work is refused there with a [`node::ConfigError`], and nothing fails later.
//!
//! | module | what it is | ports |
//! |---|---|---|
//! | [`bandwidth`] | available bandwidth by trains of exact gaps | 1 |
//! | [`train`] | probe trains as values, which the generator sends too | none |
//! | [`switch`] | learning switch | n |
//! | [`covert`] | bits in the gaps between frames: put in, taken out, detected | 2, or 1 |
//! | [`delay`] | delay box | 2 |
//! | [`clock`](mod@clock) | what the clocks of [`ptp`], [`ntp`] and [`huygens`] are like | none |
//! | [`dtp`] | clocks that agree: below any of the others, on links of blocks | theirs |
//! | [`generator`] | frames at exact times, made or replayed | 1 |
//! | [`capture`] | hands frames to a recorder | 1, or 2 in line |
//! | [`meter`] | loss, gaps and delays | 1, or 2 in line |
//! | [`mirror`] | passes frames on and copies them to others | 2 + n |
//! | [`composite`] | several nodes as one | theirs |
//! | [`filter`] | lets matching frames pass | 2 |
//! | [`vlan`] | tags, untags, translates | 2 |
//! | [`sink`] | counts frames and takes them in | n |
//! | [`echo`] | sends frames back with their addresses swapped | n |
//! | [`host`] | answers ARP, neighbour discovery, ping and UDP echo: one [`ip::Interface`] | 1 |
//! | [`ptp`] | an ordinary, boundary or transparent clock of the Precision Time Protocol | 1, or n |
//! | [`ntp`] | a client or server of the Network Time Protocol | 1, or 2 in line |
//! | [`huygens`] | a client or server of coded probes | 1, or 2 in line |
//! | [`ping`] | asks a host and measures the round trip | 1 |
//!
//! With the feature `serde` every `Config` reads from a file: times, rates and addresses are texts
//! (`"1 s"`, `"10 Gb/s"`, `"02:00:00:00:00:01"`), what is left out has its default, and an unknown
//! key is an error.
//!
//! ```
//! use node::{Frame, Node, Out, Port, Time};
//!
//! let mut delay = nodes::delay::Delay::new(nodes::delay::Config::default())?;
//! let mut out = Out::default();
//! delay.frames(Time::from_us(1), Port(0), &mut vec![Frame::new(&[0; 60])], &mut out);
//! let departure = out.sends().next().unwrap();
//! assert_eq!((departure.port, departure.when), (Port(1), node::When::At(Time::from_secs(1))));
//! # Ok::<(), node::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bandwidth;
pub mod capture;
pub mod clock;
pub mod composite;
pub mod covert;
pub mod delay;
pub mod dtp;
pub mod echo;
mod endpoint;
pub mod filter;
pub mod generator;
#[cfg(any(feature = "serde", test))]
mod hex;
pub mod huygens;
pub mod meter;
pub mod mirror;
pub mod ntp;
pub mod ping;
pub mod ptp;
pub mod sink;
pub mod train;
pub mod vlan;
mod wire;

pub use bridge::switch;
pub use ip::host;
