//! Classic BPF: whatever instructions verify, run to their end on whatever frame.

use packet::bpf::{Instruction, Observed, Program};
use std::fmt::Write;

pub fn target(data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else {
        return;
    };
    let (code, frame) = rest.split_at(rest.len().min(8 * usize::from(count)));
    // Sixteen bits of code hit a known one too rarely: the high byte is nearly always zero.
    let instructions: Vec<_> = code
        .chunks_exact(8)
        .map(|bytes| Instruction {
            code: u16::from(bytes[0]) | u16::from(bytes[1] == 0xFF) << 8,
            jt: bytes[2],
            jf: bytes[3],
            k: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        })
        .collect();
    if let Ok(program) = Program::new(instructions.clone()) {
        let result = program.run(frame);
        assert_eq!(program.run(frame), result);
        // Metadata changes nothing for a program that does not ask for it.
        let known = Observed {
            packet_type: Some(Observed::SENT),
            interface: Some(1),
            ..Observed::whole(frame)
        };
        let asks = program.reads_direction() || program.reads_interface();
        assert!(asks || program.run_on(&known) == result);

        let mut text = format!("{}\n", instructions.len());
        for Instruction { code, jt, jf, k } in instructions {
            writeln!(text, "{code} {jt} {jf} {k}").expect("a string has room");
        }
        assert_eq!(text.parse(), Ok(program));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = text.parse::<Program>();
    }
}
