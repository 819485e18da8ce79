//! One flow over links whose queues are shorter and longer than the bandwidth-delay product.
//!
//! The whole comparison, with ns-3's TCP, is `benches/tcp.rs`; the one with Linux's is `examples/tcp`.

use crate::transfer::{bulk, channel, flow, pair_with_seed, sink};
use hosts::program::{Config as Program, Congestion, bulk};
use node::{Channel, QueueLimit, Rate, Time};

const SECONDS: u64 = 10;

/// Share of a link that one flow gets, of what users' data could have.
fn share(megabits: u64, delay: Time, queue: u32, congestion: Congestion, seed: u64) -> f64 {
    let config = bulk::Config {
        congestion,
        ..bulk(2)
    };
    let channel = Channel {
        rate: Rate::from_bits_per_second(megabits * 1_000_000),
        queue: QueueLimit::Packets(queue),
        ..channel(megabits, delay)
    };
    let programs = [vec![Program::Bulk(config)], vec![sink()]];
    let outcome = pair_with_seed(programs, channel, SECONDS, seed);
    let bytes = flow(&outcome, 1, "sink").bytes;
    bytes as f64 * 8.0 / SECONDS as f64 / (megabits as f64 * 1e6 * 1460.0 / 1538.0)
}

#[test]
fn no_queue_makes_a_flow_collapse() {
    for (megabits, ms) in [(7, 6), (10, 10), (23, 14)] {
        for queue in [20, 50, 110, 200, 230, 500, 1000] {
            for (congestion, seed) in [(Congestion::Cubic, 0), (Congestion::Reno, 3)] {
                let got = share(megabits, Time::from_ms(ms), queue, congestion, seed);
                assert!(
                    got > 0.9,
                    "{megabits} Mb/s, {ms} ms, {queue} packets, {congestion:?}: {got}"
                );
            }
        }
    }
}
