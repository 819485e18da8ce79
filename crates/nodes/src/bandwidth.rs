//! Available bandwidth by trains of exact gaps: what the tight link of a path has to spare.
//!
//! Paper 002 section 4.4 (MinProbe). A train of probes at the rate R fills the queue of the tight link if R is above
//! the available bandwidth, and its one-way delays grow; or it does not, and they stay. The gaps between packets tell:
//! `q_n - q_1 = sum(h_i) - sum(g_i)`, so that the ends need no common clock.
//!
//! | module | what is in it |
//! |---|---|
//! | [`train`](crate::train) | [`Trains`](crate::train::Trains): (N, R, G, D), the one model of what is sent |
//! | [`capacity`] | the method of RFC 9097: load, feedback and a search, by the protocol of RFC 9946 |
//! | [`prober`] | who sends trains, and estimates: a node |
//! | [`reflector`] | who stamps them at the far end, and tells: a node |
//! | [`middlebox`] | who makes trains of applications' packets, and takes them out at the far end: a node |
//! | [`message`] | what they say to each other |
//! | [`estimate`] | what follows from what came: an [`Estimator`](estimate::Estimator) for each method |
//!
//! All rates are bits a second on the wire, with preamble, FCS and least gap, as everywhere in Wireline.

pub mod capacity;
pub mod estimate;
pub mod message;
pub mod middlebox;
pub mod prober;
pub mod reflector;
mod sample;

/// The UDP port of probers and reflectors, if nobody says otherwise: the first behind that of generators' frames.
pub const PORT: u16 = 49_153;
