//! The filter interpreter of `packet` against libpcap's own, on the same programs and packets.
//!
//! `cargo bench -p wireline-live --bench filter`

use libloading::{Library, Symbol};
use packet::bpf::{Instruction, Program};
use std::ffi::{c_int, c_uint};
use std::hint::black_box;

/// `struct bpf_program`; an `Instruction` is copied field by field.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    instructions: *const RawInstruction,
}

#[repr(C)]
struct RawInstruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

/// `struct pcap_pkthdr`.
#[repr(C)]
struct Header {
    time: [i64; 2],
    captured: u32,
    len: u32,
}

type Filter = unsafe extern "C" fn(*const RawProgram, *const Header, *const u8) -> c_int;

const EXPRESSIONS: &[&str] = &[
    "ip",
    "udp port 53",
    "udp port 53 or tcp port 80",
    "host 10.0.0.1 and not tcp port 22 and not tcp port 80 and not udp port 53",
];
const ROUNDS: usize = 20_000;

/// UDP and TCP packets to several ports.
fn packets() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for (protocol, port) in [(17, 53), (17, 9), (6, 80), (6, 443)] {
        let mut packet =
            b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x08\0\x45\0\0\x2e\0\0\x40\0\x40".to_vec();
        packet.extend([
            protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, port as u8,
        ]);
        packet[33..].copy_from_slice(&[2, 4, 0, (port >> 8) as u8, port as u8]);
        packet.resize(60, 0);
        packets.push(packet);
    }
    packets
}

/// Nanoseconds a packet, the best of several runs.
fn best(packets: usize, mut run: impl FnMut() -> usize) -> (f64, usize) {
    let mut least = f64::INFINITY;
    let mut matched = 0;
    for _ in 0..9 {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        for _ in 0..ROUNDS {
            matched = black_box(run());
        }
        least = least.min(start.elapsed().as_nanos() as f64 / (ROUNDS * packets) as f64);
    }
    (least, matched)
}

fn main() {
    // SAFETY: libpcap runs nothing of consequence when it is loaded.
    let library = ["libpcap.so.0.8", "libpcap.so.1"]
        .iter()
        .find_map(|name| unsafe { Library::new(*name).ok() });
    let Some(library) = library else {
        println!("skipped: libpcap is not installed");
        return;
    };
    // SAFETY: this is the function's type in pcap/pcap.h.
    let filter: Symbol<'_, Filter> = match unsafe { library.get(b"pcap_offline_filter") } {
        Ok(filter) => filter,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    let packets = packets();
    println!("{:<76} {:>4}  ours, libpcap's, ratio", "expression", "len");
    for expression in EXPRESSIONS {
        let instructions =
            match live::bpf::compile(expression, &live::bpf::Target::ETHERNET, 65_535) {
                Ok(instructions) => instructions,
                Err(error) => {
                    println!("skipped: {error}");
                    return;
                }
            };
        let raw: Vec<_> = instructions
            .iter()
            .map(|&Instruction { code, jt, jf, k }| RawInstruction { code, jt, jf, k })
            .collect();
        let raw_program = RawProgram {
            len: raw.len() as c_uint,
            instructions: raw.as_ptr(),
        };
        let program = Program::new(instructions).expect("libpcap's programs verify");
        let (ours, our_matches) = best(packets.len(), || {
            packets
                .iter()
                .filter(|packet| program.run(black_box(packet)) != 0)
                .count()
        });
        let (theirs, their_matches) = best(packets.len(), || {
            let matches = |packet: &&Vec<u8>| {
                let len = packet.len() as u32;
                let header = Header {
                    time: [0, 0],
                    captured: len,
                    len,
                };
                // SAFETY: the program was made by libpcap itself, and the lengths are the packet's.
                unsafe { filter(&raw_program, &header, black_box(packet).as_ptr()) != 0 }
            };
            packets.iter().filter(matches).count()
        });
        assert_eq!(our_matches, their_matches);
        let ratio = theirs / ours;
        println!(
            "{expression:<76} {:>4}  {ours:>5.1} ns {theirs:>5.1} ns {ratio:>5.2} x",
            raw.len()
        );
    }
}
