//! In steady state no packet costs an allocation.

use super::packets::*;
use core::net::Ipv4Addr;
use node::{Frame, Time};
use router::nat::{Config, Nat, Verdict};

#[test]
fn packets_of_sessions_are_translated_without_allocating() {
    let external = vec![Ipv4Addr::new(192, 0, 2, 1).into()];
    let linux = Config {
        external: external.clone(),
        ..Config::linux()
    };
    let default = Config {
        external,
        ..Config::default()
    };
    for config in [default, linux] {
        let mut nat = Nat::new(config, 1).unwrap();
        let server = (Ipv4Addr::new(198, 51, 100, 7), 443);
        let client = |n: u16| (Ipv4Addr::new(10, 0, 0, (n % 250) as u8), 2_000 + n);
        let mut packets: Vec<(Packet, Packet)> = Vec::new();
        for n in 0..1_000 {
            let out = match n % 3 {
                0 => Packet::udp(client(n), server),
                1 => Packet::tcp(client(n), server, SYN),
                _ => Packet::new(client(n), (server.0, 0), Body::Query(8)),
            };
            let mut frame = out.frame();
            assert_eq!(nat.outbound(Time::ZERO, &mut frame), Verdict::Translated);
            let mut source = ends(&frame).0;
            let body = match out.body {
                Body::Tcp(_) => Body::Tcp(SYN | ACK),
                Body::Query(_) => {
                    source.1 = u16::from_be_bytes([frame[38], frame[39]]);
                    Body::Query(0)
                }
                ref body => body.clone(),
            };
            let back = Packet::new(out.destination, source, body);
            let about = Packet::new(source, out.destination, out.body.clone());
            let error = Body::Error(3, Box::new(about), 28);
            let error = Packet::new(server, (source.0, 0), error);
            packets.push((out.clone(), back));
            packets.push((out, error));
        }
        let frames: Vec<[Frame; 2]> = packets
            .iter()
            .map(|(out, back)| [out.frame(), back.frame()])
            .collect();
        let mut work: Vec<[Frame; 2]> = frames.clone();
        let before = allocations::of_this_thread();
        for [out, back] in &mut work {
            assert_eq!(nat.outbound(Time::from_secs(1), out), Verdict::Translated);
            assert_eq!(nat.inbound(Time::from_secs(1), back), Verdict::Translated);
        }
        assert_eq!(allocations::of_this_thread() - before, 0);
    }
}
