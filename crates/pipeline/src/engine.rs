//! What runs a section.

/// A packet on its way through the sections.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// The bytes that came in.
    pub bytes: alloc::vec::Vec<u8>,
    /// How far the parser has read, in bits.
    pub position: u64,
    /// What the deparser has emitted, and how many of the last byte's bits count when they are not whole bytes.
    pub emitted: alloc::vec::Vec<u8>,
    /// How many bits are emitted.
    pub emitted_bits: u64,
}

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end; a parser accepted.
    Return,
    /// A parser rejected.
    Reject,
}
