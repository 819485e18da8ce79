//! `cargo bench -p wireline-xdp`: how long the kernel takes for a packet of l2l3 with 1,000 routes, beside the fast engine in the same run.
//!
//! The kernel measures itself (BPF_PROG_TEST_RUN): without the driver, and without what sends the packet.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../../jit/benches/p4/programs.rs"]
#[expect(dead_code, reason = "one program of many is used here")]
mod programs;

use jit::Jit;
use node::Time;
use pipeline::architecture::{Config, Drop, Output, Pipeline};
use pipeline::control::Control;
use pipeline::environment::{Environment, Options};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use xdp::Xdp;

/// A packet is routed so often before its time to live is over: the kernel goes on with what it has made of it.
const ROUTED: u32 = 200;
const ROUNDS: usize = 500;

struct Nothing;

impl Output for Nothing {
    fn send(&mut self, port: u32, bytes: &[u8]) {
        black_box((port, bytes));
    }
    fn drop(&mut self, reason: Drop) {
        panic!("the packet is dropped: {reason:?}");
    }
}

/// UDP to the router, for 10.0.2.2 and of a time to live of 255, in so many bytes.
fn packet(length: usize) -> Vec<u8> {
    let mut bytes = b"\x02\0\0\0\0\xfe\x02\0\0\0\0\x01\x08\0".to_vec();
    let mut header = *b"\x45\0\0\x20\0\x01\0\0\xff\x11\0\0\x0a\0\x01\x01\x0a\0\x02\x02";
    header[2..4].copy_from_slice(&((length - 14) as u16).to_be_bytes());
    let sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(header);
    bytes.resize(length, 0);
    bytes
}

fn best_and_median(mut rounds: Vec<f64>) -> (f64, f64) {
    rounds.sort_by(f64::total_cmp);
    (rounds[0], rounds[rounds.len() / 2])
}

fn main() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/p4-l2l3/l2l3.p4");
    let text = std::fs::read_to_string(program).expect("it is here");
    let program = programs::compiled(&text);
    let environment = Environment::new(Arc::clone(&program), Options::default());
    let environment = Arc::new(environment.expect("its objects are small"));
    let control = Control::new(Arc::clone(&environment));
    let say = |words: &str| drop(control.say(words).expect(words));
    say("table add dmac 02:00:00:00:00:fe do to_router");
    say("table add next_hop 1 do via 1 02:00:00:00:00:fe");
    say("table add smac 1 do rewrite 02:00:00:00:00:01");
    for route in 0..1000 {
        say(&format!(
            "table add route 10.{}.{}.0/24 do set_nhop 1",
            route / 256,
            route % 256
        ));
    }
    let mut xdp = match Xdp::loaded(&environment) {
        Ok(xdp) => xdp,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let engine = Box::new(Jit::new(&environment).expect("this machine can run code"));
    let mut fast =
        Pipeline::new(&environment, engine, &Config::default()).expect("v1model is known");
    println!(
        "bytes  kernel, best and median ns  fast engine, best and median ns  ratio of the medians"
    );
    for length in [64, 256, 1024, 1514] {
        let packet = packet(length);
        let kernel =
            (0..ROUNDS).map(|_| f64::from(xdp.time(0, &packet, ROUTED).expect("it is sent")));
        let kernel = best_and_median(kernel.collect());
        let fast = (0..ROUNDS).map(|_| {
            let begun = Instant::now();
            for _ in 0..ROUTED {
                fast.process(Time::ZERO, 0, &packet, &mut Nothing);
            }
            begun.elapsed().as_nanos() as f64 / f64::from(ROUTED)
        });
        let fast = best_and_median(fast.collect());
        println!(
            "{length:5}  {:7.0} {:7.0}  {:7.1} {:7.1}  {:5.1}",
            kernel.0,
            kernel.1,
            fast.0,
            fast.1,
            kernel.1 / fast.1
        );
    }
}
