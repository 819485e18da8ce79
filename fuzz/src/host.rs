//! Two hosts with all programs, and a wire between them that the input is: it loses, doubles, delays, changes and makes frames.
//! Checksums are made right again, so that what is changed is looked at.

use hosts::host::{Config, make};
use hosts::program::{Config as Program, bulk, dns, http, ping, sink, udp};
use node::{Frame, Node, Out, Port, Rate, Time};
use packet::checksum::{Pseudo, Sum};
use std::collections::VecDeque;

/// Frames under way; beyond them the wire loses what comes.
const WIRE: usize = 256;
/// What an input may come to.
const STEPS: usize = 2_000;

fn asking(to: &str) -> Vec<Program> {
    let to = |port: &str| format!("{to}{port}").parse().expect("an address");
    let distribution = |text: &str| text.parse().expect("a good distribution");
    vec![
        Program::Bulk(bulk::Config {
            flows: Some(3),
            bytes: Some("20000".parse().expect("a good distribution")),
            buffer: 8192,
            ..bulk::Config::new(to(""))
        }),
        Program::Http(http::Config {
            users: 2,
            think: Some(distribution("1 ms")),
            buffer: 8192,
            ..http::Config::new(to(""))
        }),
        Program::Dns(dns::Config {
            to: to(""),
            names: vec!["a.example".into()],
            ipv6: true,
            start: Time::ZERO,
            every: distribution("1 ms"),
            count: None,
            timeout: Time::from_ms(10),
        }),
        Program::Ping(ping::Config {
            to: to(""),
            count: None,
            interval: Time::from_ms(5),
            // In fragments.
            size: 3_000,
            start: Time::ZERO,
            timeout: Time::from_secs(1),
        }),
        Program::Udp(udp::Config {
            to: to(""),
            rate: Rate::TEN_GIGABIT,
            size: 100,
            start: Time::ZERO,
            duration: None,
            count: Some(50),
            stream: 0,
        }),
        Program::Sink(sink::Config::default()),
        Program::HttpServer(http::ServerConfig::default()),
        Program::DnsServer(dns::ServerConfig::default()),
    ]
}

struct World {
    hosts: [Box<dyn Node>; 2],
    out: Out,
    now: Time,
    /// Frames under way, and whom they are for.
    wire: VecDeque<(usize, Frame)>,
}

impl World {
    fn new() -> World {
        let host = |number: usize, other: &str| {
            let config = Config {
                address: vec![
                    format!("10.0.0.{number}/24").parse().expect("good"),
                    format!("fd00::{number}/64").parse().expect("good"),
                ],
                ..Config::default()
            };
            make(config, asking(other), number as u64).expect("good")
        };
        World {
            hosts: [host(1, "10.0.0.2"), host(2, "10.0.0.1")],
            out: Out::default(),
            now: Time::ZERO,
            wire: VecDeque::new(),
        }
    }

    /// Calls a host, and puts what it sends onto the wire.
    fn call(&mut self, side: usize, call: impl FnOnce(&mut dyn Node, Time, &mut Out)) {
        call(self.hosts[side].as_mut(), self.now, &mut self.out);
        for departure in self.out.sends() {
            assert_eq!(departure.port, Port(0));
            assert!(departure.frame.len() <= 1514);
            if self.wire.len() < WIRE {
                self.wire.push_back((1 - side, departure.frame));
            }
        }
    }

    fn give(&mut self, side: usize, mut frame: Frame) {
        frame.set_arrived(self.now);
        self.call(side, |host, now, out| {
            host.frames(now, Port(0), &mut vec![frame], out)
        });
    }

    fn pass(&mut self, time: Time) {
        self.now += time;
        for side in 0..2 {
            // What wants to be woken again and again has its turn so often.
            for _ in 0..8 {
                if self.hosts[side].next_wake().is_none_or(|at| at > self.now) {
                    break;
                }
                self.call(side, |host, now, out| host.wake(now, out));
            }
        }
    }

    /// Makes a frame of these bytes, or of the next on the wire with these in it.
    fn forge(&mut self, over: bool, at: usize, bytes: &[u8]) {
        let next = match over {
            true => self.wire.pop_front(),
            false => None,
        };
        let (side, mut frame) = next.unwrap_or((at & 1, Frame::new(bytes)));
        if over {
            let end = (at + bytes.len()).min(frame.len());
            let start = at.min(end);
            frame[start..end].copy_from_slice(&bytes[..end - start]);
        }
        if frame.len() >= 14 {
            mend(&mut frame[14..]);
            self.give(side, frame);
        }
    }
}

/// Makes the checksums of a packet of IPv4 right, where there are any.
fn mend(ip: &mut [u8]) -> Option<()> {
    let header = usize::from(ip.first()? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?])).min(ip.len());
    if ip[0] >> 4 != 4 || header < 20 || total < header {
        return None;
    }
    ip[10..12].fill(0);
    let sum = Sum::default().plus(&ip[..header]).checksum();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let source = <[u8; 4]>::try_from(&ip[12..16]).ok()?;
    let destination = <[u8; 4]>::try_from(&ip[16..20]).ok()?;
    let protocol = ip[9];
    let at = match protocol {
        1 => 2,
        6 => 16,
        17 => 6,
        _ => return None,
    };
    let payload = ip.get_mut(header..total)?;
    payload.get_mut(at..at + 2)?.fill(0);
    let pseudo = match protocol {
        1 => Sum::default(),
        _ => Pseudo::ipv4(source, destination, protocol).sum(payload.len()),
    };
    let sum = pseudo.plus(payload).checksum();
    payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Each step: what, and how much of it.
pub fn target(data: &[u8]) {
    let mut world = World::new();
    world.pass(Time::ZERO);
    let (mut rest, mut steps) = (data, 0);
    while let Some((&[what, much], behind)) = rest.split_first_chunk() {
        rest = behind;
        steps += 1;
        if steps > STEPS {
            break;
        }
        match what % 8 {
            // So many get through, each in its time.
            0..=2 => {
                for _ in 0..=much % 32 {
                    let Some((side, frame)) = world.wire.pop_front() else {
                        break;
                    };
                    world.give(side, frame);
                }
            }
            3 => drop(world.wire.pop_front()),
            4 => {
                if let Some((side, frame)) = world.wire.pop_front() {
                    let copy = Frame::new(&frame);
                    world.wire.push_back((side, copy));
                    world.give(side, frame);
                }
            }
            5 => {
                let unit = if what & 8 == 0 { 1 } else { 100 };
                world.pass(Time::from_ms(u64::from(much) * unit));
            }
            kind => {
                let length = behind.len().min(if kind == 6 { 4 } else { 80 });
                let (bytes, behind) = behind.split_at(length);
                rest = behind;
                world.forge(kind == 6, much.into(), bytes);
            }
        }
    }
    for host in &world.hosts {
        let open = host.statistics().get("open");
        assert!(open <= Some(16_384), "{open:?} connections");
    }
}
