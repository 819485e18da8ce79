//! Random programs and packets, and both engines run on them side by side.
#![allow(
    dead_code,
    unused_imports,
    reason = "the fuzz target uses a part of it"
)]

mod choices;
mod maker;
mod path;
mod side;
mod source;
mod whole;

pub use choices::Choices;
pub use maker::program;
pub use path::path;
pub use side::{Outcome, Side};
pub use source::source;
pub use whole::{Library, compare_whole};

use pipeline::engine::Packet;
use std::sync::Arc;

/// What an engine is given for its packets on a path.
pub type Buffers = (Vec<u64>, Packet);

/// Runs a random program on random packets along a path: section by section in the interpreter, at once in the fast engine.
pub fn compare_paths(c: &mut Choices<'_>, packets: usize) {
    let program = Arc::new(program(c));
    let path = path(c, &program);
    let mut one = Side::interpreter(&program);
    let mut two = Side::jit(&program);
    assert_eq!(two.engine.prepare(Some(&path)), Ok(true));
    let mut buffers = (two.environment.layout.fresh(), Packet::default());
    for number in 0..packets {
        let bytes = packet(c);
        let port = c.next() as u32;
        let expected = one.follow(&path, port, &bytes);
        let got = two.pass(&mut buffers, port, &bytes);
        assert!(
            expected == got,
            "packet {number} {bytes:02x?}\n{expected:?}\n{got:?}\n{path:?}\n{}",
            p4::ir::text::print(&program)
        );
    }
}

/// Packets of different lengths.
pub fn packet(c: &mut Choices<'_>) -> Vec<u8> {
    let length = match c.below(4) {
        0 => c.below(20),
        1 => c.below(400),
        _ => 40 + c.below(100),
    };
    (0..length)
        .map(|_| match c.below(3) {
            0 => 0,
            _ => c.next() as u8,
        })
        .collect()
}

/// Runs a random program on random packets in both engines.
pub fn compare(c: &mut Choices<'_>, packets: usize) {
    let program = Arc::new(program(c));
    let mut one = Side::interpreter(&program);
    let mut two = Side::jit(&program);
    for number in 0..packets {
        let bytes = packet(c);
        let (expected, got) = (one.run(&bytes), two.run(&bytes));
        assert!(
            expected == got,
            "packet {number} {bytes:02x?}\n{}\n{}",
            difference(&expected, &got),
            p4::ir::text::print(&program)
        );
    }
}

fn difference(expected: &Outcome, got: &Outcome) -> String {
    let slots = expected
        .slots
        .iter()
        .zip(&got.slots)
        .filter(|(one, two)| one != two);
    let slots: Vec<_> = slots.collect();
    let rest = |outcome: &Outcome| {
        format!(
            "{:?} at {} emitted {} bits {:02x?} steps {} {:?} {:?}",
            outcome.ended,
            outcome.position,
            outcome.emitted_bits,
            outcome.emitted,
            outcome.steps,
            outcome.counts,
            outcome.registers
        )
    };
    format!(
        "slots {slots:?}\nexpected {}\ngot      {}",
        rest(expected),
        rest(got)
    )
}
