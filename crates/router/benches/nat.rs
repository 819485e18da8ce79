//! Cost of a packet of an existing session, outbound and inbound, as a ratio to a copy of its
//! frame's headers.
//!
//! `cargo bench -p wireline-router --bench nat`

use core::net::Ipv4Addr;
use node::random::Random;
use node::{Frame, Time};
use packet::ipv4::Ipv4;
use router::nat::config::Behaviour;
use router::nat::{Config, Nat, Verdict};
use std::hint::black_box;

const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Packets of a run.
const PACKETS: usize = 20_000;
const RUNS: usize = 60;

fn udp(source: Ipv4Addr, destination: Ipv4Addr, ports: [u16; 2]) -> Frame {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0]);
    Ipv4::new(source, destination, 17).build(&mut bytes, |out| {
        out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        out.extend([0, 26, 0x12, 0x34]);
        out.extend([7; 18]);
    });
    Frame::new(&bytes)
}

/// Nanoseconds a packet, the best of several runs: other work on the machine only adds.
fn nanoseconds(mut run: impl FnMut()) -> f64 {
    let runs = (0..RUNS).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        run();
        start.elapsed().as_nanos() as f64 / PACKETS as f64
    });
    runs.fold(f64::INFINITY, f64::min)
}

fn main() {
    for (name, sessions, kind) in [
        ("endpoint-independent", 1, Behaviour::EndpointIndependent),
        (
            "endpoint-independent",
            1_000,
            Behaviour::EndpointIndependent,
        ),
        (
            "endpoint-independent",
            60_000,
            Behaviour::EndpointIndependent,
        ),
        ("symmetric", 60_000, Behaviour::AddressAndPortDependent),
    ] {
        let config = Config {
            external: vec![EXTERNAL.into()],
            mapping: kind,
            filtering: kind,
            ..Config::default()
        };
        let mut nat = Nat::new(config, 1).expect("a good configuration");
        let client = |n: usize| {
            (
                Ipv4Addr::from(0x0A00_0002 + (n / 50) as u32),
                (2_000 + n % 50) as u16,
            )
        };
        let mut pairs: Vec<[Frame; 2]> = Vec::new();
        for n in 0..sessions {
            let (address, port) = client(n);
            let out = udp(address, SERVER, [port, 5_000]);
            let mut frame = out.clone();
            assert_eq!(nat.outbound(Time::ZERO, &mut frame), Verdict::Translated);
            let external = u16::from_be_bytes([frame[34], frame[35]]);
            pairs.push([out, udp(SERVER, EXTERNAL, [5_000, external])]);
        }
        let mut random = Random::new(1);
        let order: Vec<usize> = (0..PACKETS).map(|_| random.index(sessions)).collect();
        // A translated frame gets its headers back before its next use, which the cost of a copy is
        // subtracted for.
        let mut costs = [0.0; 3];
        for (cost, way) in costs.iter_mut().zip([None, Some(0), Some(1)]) {
            let mut now = Time::ZERO;
            *cost = nanoseconds(|| {
                for &n in &order {
                    let frame = &mut pairs[n][way.unwrap_or(0)];
                    let mut headers = [0; 42];
                    headers.copy_from_slice(&frame[..42]);
                    now += Time::from_ns(1);
                    match way {
                        None => {}
                        Some(0) => assert_eq!(nat.outbound(now, frame), Verdict::Translated),
                        Some(_) => assert_eq!(nat.inbound(now, frame), Verdict::Translated),
                    }
                    frame[..42].copy_from_slice(black_box(&headers));
                }
            });
        }
        let [copy, out, back] = costs;
        println!(
            "{name:20} {sessions:6} sessions: outbound {:5.1} ns, inbound {:5.1} ns a packet; {:4.1} x and {:4.1} x a copy of the headers",
            out - copy,
            back - copy,
            out / copy,
            back / copy
        );
    }
}
