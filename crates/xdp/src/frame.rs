//! The memory that a packet's program works in: one value of a map with a copy for each processor, to which `R7` points.
//!
//! The stack of a program has 512 bytes, and what a program knows of registers and stack the kernel's verifier follows along every way through it.
//! Of what lies in a map it knows nothing, so that ways that meet are one again.

use pipeline::layout::Layout;

/// How far the parser has read, in bits.
pub(crate) const POSITION: i32 = 0;
/// How many bytes are emitted.
pub(crate) const EMITTED: i32 = 8;
/// How it ended: see [`crate::unit::Code`].
pub(crate) const RESULT: i32 = 16;
/// By which port the packet leaves.
pub(crate) const PORT: i32 = 24;
/// By which port the packet came.
pub(crate) const FROM: i32 = 32;
/// The time in nanoseconds.
pub(crate) const NANOSECONDS: i32 = 40;
/// Whether the program found a checksum wrong.
pub(crate) const CHECKSUM_ERROR: i32 = 48;
/// The packet's length in bytes.
pub(crate) const LENGTH: i32 = 56;
/// The index of the entry that an action runs for, and one more; 0 without.
pub(crate) const HIT: i32 = 64;
/// When the kernel's clock said that the packet was done with.
pub(crate) const DONE: i32 = 72;
/// The index of an array, and what a look-up has found.
pub(crate) const INDEX: i32 = 80;
/// The number of the multicast group that the packet goes to; 0 without.
pub(crate) const GROUP: i32 = 88;
/// The colour that a direct meter gave the packet.
pub(crate) const COLOUR: i32 = 96;
/// Maximum number of bytes that leave.
pub(crate) const OUTPUT_LIMIT: i32 = 104;
/// Number of bytes to which the section that runs has truncated the packet.
pub(crate) const SHORTEN: i32 = 112;
/// Number of the last request of its kind by the program, from 1 on; 0 for none.
pub(crate) const RESUBMIT: i32 = 120;
pub(crate) const RECIRCULATE: i32 = 128;
/// The kind of the packet if it has resubmitted or recirculated, and of the one that must do so;
/// 0 for one that arrives.
pub(crate) const KIND: i32 = 136;
pub(crate) const AGAIN: i32 = 144;
/// Number of packets that ended with each [`crate::unit::Code`].
pub(crate) const ENDED: i32 = 152;
/// Number of these counters, a power of two.
pub(crate) const CODES: usize = 16;
/// Number of messages that did not fit.
pub(crate) const LOST: i32 = ENDED + 8 * CODES as i32;
/// How a packet came to a NIC's main parser: to the network, how often it was recirculated, whether it came back from the other side, its class of
/// service, and by which port it is to leave then, one more; 0 for none.
pub(crate) const TO_NET: i32 = LOST + 8;
pub(crate) const PASS: i32 = LOST + 16;
pub(crate) const LOOPED: i32 = LOST + 24;
pub(crate) const CLASS: i32 = LOST + 32;
pub(crate) const BOUND: i32 = LOST + 40;
/// A table's key, bytes to hash, or a message.
pub(crate) const KEY: i32 = LOST + 48;
pub(crate) const KEY_BYTES: usize = 512;
/// The first of the cells.
pub(crate) const CELLS: i32 = KEY + KEY_BYTES as i32;
/// For values on their way.
const TEMPORARY_BYTES: usize = 4096;
/// For what is emitted.
pub(crate) const EMIT_BYTES: usize = 1024;
/// Maximum size of the value of a map with a copy for each processor, bytes.
const MAX_PERCPU_VALUE_BYTES: usize = 32 * 1024;

/// Where in the frame the parts are that depend on the program, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) cells: usize,
    pub(crate) temporaries: i32,
    /// Checksums that are added up.
    pub(crate) sums: i32,
    /// Key of the last applied table with timed entries.
    pub(crate) timed: i32,
    pub(crate) emit: i32,
    pub(crate) size: usize,
}

impl Frame {
    /// `None` when the program has more slots than there is room for. `timed` is how many cells the keys of tables have at most whose entries have
    /// a time.
    pub(crate) fn new(layout: &Layout, checksums: usize, timed: usize) -> Option<Self> {
        let cells = layout.cells();
        let sums = CELLS as usize + 8 * cells;
        let keys = sums + 8 * checksums;
        let temporaries = keys + 8 * timed;
        let emit = temporaries + TEMPORARY_BYTES;
        let size = emit + EMIT_BYTES;
        (size <= MAX_PERCPU_VALUE_BYTES).then_some(Frame {
            cells,
            temporaries: temporaries as i32,
            sums: sums as i32,
            timed: keys as i32,
            emit: emit as i32,
            size,
        })
    }
}
