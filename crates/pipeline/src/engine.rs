//! What runs a section.

use crate::context::Context;
use crate::table::Table;
use p4::ir::SectionId;

/// A packet on its way through the sections.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// The bytes that came in.
    pub bytes: alloc::vec::Vec<u8>,
    /// How far the parser has read, in bits.
    pub position: u64,
    /// What the deparser has emitted; bits of the last byte that do not count are zero.
    pub emitted: alloc::vec::Vec<u8>,
    /// How many bits are emitted.
    pub emitted_bits: u64,
}

impl Packet {
    /// Makes it a packet that has just come in.
    pub fn begin(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.restart();
    }

    /// Makes it a packet that has just come in with the bytes that it has.
    pub fn restart(&mut self) {
        self.position = 0;
        self.emitted.clear();
        self.emitted_bits = 0;
    }

    /// Appends what the parser has not read, the payload, to what is emitted.
    pub fn emit_payload(&mut self) {
        let Packet {
            bytes,
            position,
            emitted,
            emitted_bits,
        } = self;
        crate::bits::append_bytes(emitted, emitted_bits, bytes, *position);
    }
}

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end; a parser accepted.
    Return,
    /// A parser rejected; the section's error slot has the reason.
    Reject,
    /// Halfway, and the packet is to be dropped: [`Context::stop`] has the reason.
    Stop,
}

/// Runs the sections of the program of one [`Environment`](crate::environment::Environment).
///
/// All engines keep the same [`Layout`](crate::layout::Layout) of cells, write to the same objects of the environment and leave the same
/// [`Effects`](crate::context::Effects), so that one can take over from another between sections.
pub trait Engine: Send {
    /// Runs a section on a packet's cells. A parser reads `packet.bytes` from `packet.position` on, a deparser appends to
    /// `packet.emitted`. The tables are those of the environment at one moment ([`View::tables`](crate::table::View::tables)).
    fn run(
        &mut self,
        section: SectionId,
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Ended;
}
