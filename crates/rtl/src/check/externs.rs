//! Externs of the user in Verilog against the same in Rust (paper 002, section 3.2.4): with a fixed latency, and asynchronous ones whose responses come
//! out of order.

use cosim::p4::{Outcome, Passage, Rtl};
use node::Time;
use node::random::Random;
use p4::compile::compile;
use p4::ir::Ty;
use p4::library::WithFiles;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Context;
use pipeline::engine::Engine;
use pipeline::environment::{Environment, Options};
use pipeline::externs::registry::{Hardware, Method, Registry, Signature, Timing};
use pipeline::interpreter::Interpreter;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const POPCOUNT: &str = include_str!("../../../../rtl/p4_externs/rtl/popcount.v");
const SCATTER: &str = include_str!("../../../../rtl/p4_externs/rtl/scatter.v");
/// Factor of `scatter`.
const FACTOR: u64 = 0x9E37_79B1;
/// Bits of its identifiers.
const ID_BITS: u32 = 4;
/// Packets of a run.
const PACKETS: usize = 300;

/// Calls of each extern in some packets, of the second one with the first one's result, and a table behind both.
const PROGRAM: &str = "#include <core.p4>
#include <v1model.p4>
extern bit<8> popcount(in bit<32> x);
extern bit<32> scatter(in bit<32> x);
header h_t { bit<8> op; bit<32> x; bit<8> ones; bit<32> y; bit<8> hit; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action mark(bit<8> hit) { h.h.hit = hit; }
    table found {
        key = { h.h.y: ternary; }
        actions = { mark; NoAction; }
        const entries = { 0 &&& 0x80000000: mark(1); 0 &&& 0: mark(2); }
    }
    apply {
        s.egress_spec = 1;
        if (h.h.op & 1 == 1) { h.h.ones = popcount(h.h.x); }
        if (h.h.op & 2 == 2) { h.h.y = scatter(h.h.x + (bit<32>) h.h.ones); }
        found.apply();
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// A function of 32 bits.
pub fn function(output: u32, run: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Method {
    let signature = Signature::default().input(Ty::Bits(32));
    Method::new(signature.returns(Ty::Bits(output)), move |call| {
        let value = run(call.number(0));
        call.give(0, value);
    })
}

/// `popcount` with a declared latency; its own is 3 cycles.
pub fn popcount(cycles: u32) -> Method {
    function(8, |x| u64::from(x.count_ones())).with_hardware(Hardware {
        module: "popcount",
        text: POPCOUNT,
        parameters: Vec::new(),
        timing: Timing::Fixed { cycles },
    })
}

/// `scatter` with responses after a random number of cycles below 2 to the power of `spread`.
pub fn scatter(spread: u64) -> Method {
    function(32, |x| x.wrapping_mul(FACTOR) & 0xFFFF_FFFF).with_hardware(Hardware {
        module: "scatter",
        text: SCATTER,
        parameters: vec![("ID_W", ID_BITS.into()), ("SPREAD", spread)],
        timing: Timing::Asynchronous { id_bits: ID_BITS },
    })
}

/// The program with these externs.
///
/// # Errors
/// When they do not fit its calls.
pub fn environment(popcount: Method, scatter: Method) -> Result<Arc<Environment>, String> {
    let compiled = compile(
        "externs.p4",
        PROGRAM,
        &mut WithFiles(|_: &str| None),
        &p4::compile::Options::default(),
    );
    let program = compiled.program.ok_or("the program does not compile")?;
    let registry = Registry::default().function("popcount", popcount);
    let options = Options {
        externs: registry.function("scatter", scatter),
        ..Options::default()
    };
    let environment = Environment::new(Arc::new(program), options);
    Ok(Arc::new(environment.map_err(|error| error.to_string())?))
}

/// Random packets, which call the externs that the bits of `calls` name: 1 popcount, 2 scatter.
pub fn packets(random: &mut Random, calls: u8, count: usize) -> Vec<Vec<u8>> {
    let packet = |_| {
        let length = 11 + random.below(120);
        let mut packet: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        packet[0] &= calls;
        packet
    };
    (0..count).map(packet).collect()
}

/// Packets back to back through the hardware, and the packet that the interpreter sends for each.
///
/// # Errors
/// When the program is not hardware, or the hardware stands still.
pub fn both(
    environment: &Arc<Environment>,
    packets: &[Vec<u8>],
) -> Result<(Vec<Passage>, Vec<Vec<u8>>), String> {
    let interpreter = Interpreter::new(environment).map_err(|error| error.to_string())?;
    let mut software = Pipeline::new(environment, Box::new(interpreter), &Config::default())
        .map_err(|error| error.to_string())?;
    let mut rtl = Rtl::new(environment);
    rtl.prepare(software.path())
        .map_err(|error| error.to_string())?;
    let context = Context::new(Arc::clone(environment), 0);
    let many: Vec<(u16, &[u8])> = packets.iter().map(|packet| (0, &packet[..])).collect();
    let passages = rtl
        .stream(&many, &context)
        .map_err(|error| error.to_string())?;
    let sent = packets.iter().map(|packet| {
        let mut out = Collected::default();
        software.process(Time::ZERO, 0, packet, &mut out);
        out.packets
            .pop()
            .map(|(_, bytes)| bytes)
            .unwrap_or_default()
    });
    Ok((passages, sent.collect()))
}

/// # Errors
/// The first packet that differs.
pub fn same(passages: &[Passage], sent: &[Vec<u8>]) -> Result<(), String> {
    if passages.len() != sent.len() {
        return Err(format!("{} packets of {}", passages.len(), sent.len()));
    }
    for (number, (passage, sent)) in passages.iter().zip(sent).enumerate() {
        if passage.outcome != Outcome::Sent(1, sent.clone()) {
            return Err(format!(
                "packet {number}: {:02x?}, not {sent:02x?}",
                passage.outcome
            ));
        }
    }
    Ok(())
}

/// Runs `runs` times random packets. Returns how many there were, and in how many cycles.
///
/// # Errors
/// The first packet that differs.
pub fn check(seed: u64, runs: u64) -> Result<BTreeMap<String, u64>, String> {
    let environment = environment(popcount(3), scatter(6))?;
    let mut random = Random::new(seed);
    let mut seen = BTreeMap::new();
    for run in 0..runs {
        let packets = packets(&mut random, 3, PACKETS);
        let (passages, sent) = both(&environment, &packets)?;
        same(&passages, &sent).map_err(|fault| format!("seed {seed}, run {run}: {fault}"))?;
        let calls = |bit: u8| packets.iter().filter(|packet| packet[0] & bit != 0).count();
        let cycles = passages
            .last()
            .map_or(0, |last| last.last_out - passages[0].first_in);
        for (name, count) in [
            ("packets", PACKETS as u64),
            ("calls of popcount, 3 cycles", calls(1) as u64),
            ("calls of scatter, 1 to 64 cycles", calls(2) as u64),
            ("cycles", cycles),
        ] {
            *seen.entry(name.into()).or_default() += count;
        }
    }
    Ok(seen)
}
