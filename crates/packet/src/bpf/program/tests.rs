use super::*;
use std::string::ToString;

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    Instruction { code, jt, jf, k }
}

fn error(instructions: &[Instruction]) -> ProgramError {
    Program::new(instructions.into()).unwrap_err()
}

const RETURN: Instruction = instruction(op::RET_A, 0, 0, 0);

/// Runs arithmetic on `a` with `k`, by the constant and by the index register.
fn calculate(code: u16, a: u32, k: u32) -> [Option<u32>; 2] {
    let load = instruction(op::LD_IMM, 0, 0, a);
    let by_k = Program::new(vec![load, instruction(code, 0, 0, k), RETURN]);
    let index = instruction(op::LDX_IMM, 0, 0, k);
    let by_x = instruction(code | op::BY_X, 0, 0, 0);
    let by_x = Program::new(vec![load, index, by_x, RETURN]).unwrap();
    [
        by_k.ok().map(|program| program.run(&[])),
        Some(by_x.run(&[])),
    ]
}

#[test]
fn arithmetic_wraps_and_never_traps() {
    assert_eq!(calculate(op::ADD, u32::MAX, 2), [Some(1); 2]);
    assert_eq!(calculate(op::SUB, 1, 2), [Some(u32::MAX); 2]);
    assert_eq!(calculate(op::MUL, 1 << 31, 2), [Some(0); 2]);
    assert_eq!(calculate(op::DIV, 7, 2), [Some(3); 2]);
    assert_eq!(calculate(op::MOD, 7, 4), [Some(3); 2]);
    assert_eq!(calculate(op::XOR, 6, 3), [Some(5); 2]);
    assert_eq!(calculate(op::LSH, 1, 31), [Some(1 << 31); 2]);
    // By a constant it is refused, by the index register it is no match, or all bits are gone.
    assert_eq!(calculate(op::DIV, 7, 0), [None, Some(0)]);
    assert_eq!(calculate(op::RSH, 7, 32), [None, Some(0)]);
}

#[test]
fn a_read_beyond_the_frame_is_no_match() {
    for (code, last) in [(op::LD_ABS_W, 0), (op::LD_ABS_H, 2), (op::LD_ABS_B, 3)] {
        let reads = |k| {
            let load = instruction(code, 0, 0, k);
            let yes = instruction(op::RET_K, 0, 0, 1);
            Program::new(vec![load, yes]).unwrap().run(&[9; 4])
        };
        assert_eq!((reads(last), reads(last + 1), reads(u32::MAX)), (1, 0, 0));
    }
    let index = instruction(op::LDX_IMM, 0, 0, u32::MAX);
    let load = instruction(op::LD_IND_B, 0, 0, 2);
    let wraps = Program::new(vec![index, load, RETURN]).unwrap();
    assert_eq!(wraps.run(&[9; 4]), 0);
}

#[test]
fn memory_and_the_length_of_an_ip_header_are_kept() {
    let program = Program::new(vec![
        instruction(op::LDX_MSH, 0, 0, 1),
        instruction(op::STX, 0, 0, 15),
        instruction(op::LD_LEN, 0, 0, 0),
        instruction(op::ST, 0, 0, 0),
        instruction(op::LDX_MEM, 0, 0, 15),
        instruction(op::ADD | op::BY_X, 0, 0, 0),
        RETURN,
    ]);
    assert_eq!(program.unwrap().run(&[0, 0x45]), 20 + 2);
}

#[test]
fn what_could_run_astray_is_refused() {
    assert_eq!(error(&[]), ProgramError::Length(0));
    assert_eq!(error(&vec![RETURN; 4097]), ProgramError::Length(4097));
    assert_eq!(
        error(&[instruction(op::LD_IMM, 0, 0, 0)]),
        ProgramError::NoReturn
    );
    assert_eq!(
        error(&[instruction(0x99, 0, 0, 0), RETURN]),
        ProgramError::Unknown { at: 0, code: 0x99 }
    );
    for jump in [
        instruction(op::JEQ_K, 1, 0, 0),
        instruction(op::JSET_X, 0, 255, 0),
        instruction(op::JMP, 0, 0, 1),
        instruction(op::JMP, 0, 0, u32::MAX - 1),
        instruction(op::JMP, 0, 0, i32::MAX as u32),
        instruction(op::JMP, 0, 0, i32::MIN as u32),
    ] {
        assert_eq!(error(&[jump, RETURN]), ProgramError::Jump { at: 0 });
    }
    let memory = error(&[RETURN, instruction(op::ST, 0, 0, 16), RETURN]);
    assert_eq!(
        memory.to_string(),
        "instruction 1: its constant must be a word of memory, 0 to 15, not 16"
    );
}

#[test]
fn the_compiled_form_reads_as_tcpdump_prints_it() {
    // `ip`, by tcpdump -ddd.
    let ip: Program = "4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0\n"
        .parse()
        .unwrap();
    let mut frame = [0; 60];
    assert_eq!(ip.run(&frame), 0);
    frame[12] = 8;
    assert_eq!(ip.run(&frame), 262_144);

    let line = |text: &str| match text.parse::<Program>() {
        Err(ProgramError::Text { line, .. }) => Some(line),
        _ => None,
    };
    assert_eq!(line(""), Some(1));
    assert_eq!(line("x"), Some(1));
    assert_eq!(line("2\n6 0 0 0"), Some(1));
    assert_eq!(line("1\n6 0 0"), Some(2));
    assert_eq!(line("1\n6 0 256 0"), Some(2));
    assert_eq!(line("1\n6 0 0 0 0"), Some(2));
    assert_eq!(line("1\n\n6 0 0 0\n6 0 0 0"), Some(4));
}

/// The machine as McCanne and Jacobson describe it, one instruction after the other: what the prepared
/// steps must agree with.
fn plainly(instructions: &[Instruction], frame: &[u8]) -> Option<u32> {
    let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [0u32; 16], 0);
    let mut back = 0;
    let load = |at: u64, len: usize| {
        let bytes = frame.get(at as usize..at as usize + len)?;
        Some(
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u32::from(byte)),
        )
    };
    loop {
        let Instruction { code, jt, jf, k } = instructions[at];
        at += 1;
        let operand = if code & op::BY_X == 0 { k } else { x };
        match code & 7 {
            0 | 1 => {
                let len = [4, 2, 1][usize::from(code >> 3 & 3) % 3];
                let value = match code >> 5 {
                    0 => k,
                    1 => load(k.into(), len)?,
                    2 => load(u64::from(x) + u64::from(k), len)?,
                    3 => memory[k as usize],
                    4 => frame.len() as u32,
                    _ => (load(k.into(), 1)? & 15) * 4,
                };
                *(if code & 1 == 0 { &mut a } else { &mut x }) = value;
            }
            2 => memory[k as usize] = a,
            3 => memory[k as usize] = x,
            4 => {
                a = match code >> 4 {
                    0 => a.wrapping_add(operand),
                    1 => a.wrapping_sub(operand),
                    2 => a.wrapping_mul(operand),
                    3 => a.checked_div(operand)?,
                    4 => a | operand,
                    5 => a & operand,
                    6 => u32::try_from(u64::from(a) << operand.min(32) & 0xFFFF_FFFF).unwrap(),
                    7 => (u64::from(a) >> operand.min(32)) as u32,
                    8 => 0u32.wrapping_sub(a),
                    9 => a.checked_rem(operand)?,
                    _ => a ^ operand,
                }
            }
            5 => {
                let holds = match code >> 4 {
                    0 => {
                        let jump = k.cast_signed() as isize;
                        back += usize::from(jump < 0);
                        if back > frame.len() / 8 + 1 {
                            return None;
                        }
                        at = at.checked_add_signed(jump)?;
                        continue;
                    }
                    1 => a == operand,
                    2 => a > operand,
                    3 => a >= operand,
                    _ => a & operand != 0,
                };
                at += usize::from(if holds { jt } else { jf });
            }
            6 => return Some(if code == op::RET_K { k } else { a }),
            _ => {
                if code == op::TAX {
                    x = a
                } else {
                    a = x
                }
            }
        }
    }
}

#[test]
fn prepared_steps_agree_with_the_plain_machine_on_random_programs() {
    let codes: Vec<u16> = (0..256)
        .filter(|&code| {
            let alone = instruction(code, 0, 0, 1);
            Program::new(vec![alone, RETURN, RETURN, RETURN]).is_ok()
        })
        .collect();
    assert_eq!(codes.len(), 49, "{codes:#04x?}");
    let mut random = 1u64;
    let mut draw = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let (mut ran, mut matched, mut loops) = (0, 0, 0);
    while ran < 50_000 {
        let len = 2 + draw(12);
        let mut instructions: Vec<_> = (0..len)
            .map(|_| {
                let code = codes[draw(codes.len() as u64) as usize];
                // Few values, so that comparisons hold now and then.
                instruction(
                    code,
                    draw(4) as u8,
                    draw(4) as u8,
                    match code {
                        // Also to itself, and further back.
                        op::JMP => (draw(8) as u32).wrapping_sub(5),
                        _ => [0, 1, 2, 3, 14, 31][draw(6) as usize],
                    },
                )
            })
            .collect();
        instructions.push(instruction(op::RET_A, 0, 0, 0));
        let Ok(program) = Program::new(instructions.clone()) else {
            continue;
        };
        let frame: Vec<u8> = (0..draw(20)).map(|_| draw(4) as u8).collect();
        let expected = plainly(&instructions, &frame).unwrap_or(0);
        assert_eq!(
            program.run(&frame),
            expected,
            "{instructions:?} on {frame:?}"
        );
        ran += 1;
        matched += u32::from(expected != 0);
        loops += u32::from(program.has_loops() && expected != 0);
    }
    assert!(matched > 10_000, "{matched} matches: a test of nothing");
    assert!(loops > 100, "{loops} matches behind loops");
}

#[test]
fn a_program_asks_for_what_is_known_besides_the_bytes() {
    let reads = |k| {
        let load = instruction(op::LD_ABS_H, 0, 0, k);
        Program::new(vec![load, RETURN]).unwrap()
    };
    // `SKF_AD_OFF` with `SKF_AD_PKTTYPE`, `SKF_AD_IFINDEX`, and one that nothing here knows.
    let [direction, interface, other] = [0xFFFF_F004, 0xFFFF_F008, 0xFFFF_F010].map(reads);
    assert!(direction.reads_direction() && !direction.reads_interface());
    assert!(interface.reads_interface() && !interface.reads_direction());
    assert!(!other.reads_direction() && !other.reads_interface());
    let indexed = instruction(op::LD_IND_H, 0, 0, 0xFFFF_F004);
    let index = instruction(op::LDX_IMM, 0, 0, 8);
    let indexed = Program::new(vec![index, indexed, RETURN]).unwrap();
    assert!(indexed.reads_direction());
    let bare = Observed::whole(&[7; 20]);
    let known = Observed {
        packet_type: Some(Observed::SENT),
        interface: Some(9),
        ..bare
    };
    let on = |program: &Program| [&bare, &known].map(|packet| program.run_on(packet));
    assert_eq!(on(&direction), [0, 4]);
    assert_eq!(on(&indexed), [0, 4]);
    assert_eq!(on(&interface), [0, 9]);
    assert_eq!(on(&other), [0, 0]);
}

#[test]
fn the_length_is_that_on_the_wire() {
    for load in [op::LD_LEN, op::LDX_LEN] {
        let give = if load == op::LD_LEN { op::TAX } else { op::TXA };
        let program = Program::new(vec![
            instruction(load, 0, 0, 0),
            instruction(give, 0, 0, 0),
            RETURN,
        ]);
        let packet = Observed {
            length: 1500,
            ..Observed::whole(&[7; 20])
        };
        assert_eq!(program.unwrap().run_on(&packet), 1500);
    }
}

#[test]
fn a_chain_of_headers_is_followed_to_its_end_and_no_further() {
    // The loop of `ip6 protochain 6` as libpcap compiles it for packets that begin with their IP
    // header, of destination options.
    let program = Program::new(vec![
        instruction(op::LD_ABS_B, 0, 0, 6),
        instruction(op::LDX_IMM, 0, 0, 40),
        instruction(op::JEQ_K, 10, 0, 6),
        instruction(op::JEQ_K, 0, 10, 60),
        instruction(op::LD_IND_B, 0, 0, 0),
        instruction(op::ST, 0, 0, 0),
        instruction(op::LD_IND_B, 0, 0, 1),
        instruction(op::ADD, 0, 0, 1),
        instruction(op::MUL, 0, 0, 8),
        instruction(op::ADD | op::BY_X, 0, 0, 0),
        instruction(op::TAX, 0, 0, 0),
        instruction(op::LD_MEM, 0, 0, 0),
        instruction(op::JMP, 0, 0, (-11i32).cast_unsigned()),
        instruction(op::RET_K, 0, 0, 1),
        instruction(op::RET_K, 0, 0, 0),
    ])
    .unwrap();
    assert!(program.has_loops());
    let chain = |headers: usize, last: u8| {
        let mut packet = [
            [0x60, 0, 0, 0, 0, 0, if headers > 0 { 60 } else { last }, 64].to_vec(),
            vec![0; 32],
        ]
        .concat();
        for at in 0..headers {
            let next = if at + 1 < headers { 60 } else { last };
            packet.extend([next, 0, 0, 0, 0, 0, 0, 0]);
        }
        packet
    };
    for headers in [0, 1, 2, 100, 5_000] {
        assert_eq!(program.run(&chain(headers, 6)), 1, "{headers}");
        assert_eq!(program.run(&chain(headers, 17)), 0, "{headers}");
        // A chain that the packet does not hold.
        assert_eq!(program.run(&chain(headers, 60)), 0, "{headers}");
    }
}
