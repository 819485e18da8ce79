//! Nothing that comes makes a host panic: frames that were changed on the way, with checksums that are right all the same.

use hosts::control::{self, Tcp};
use hosts::host::{self, make};
use hosts::program::{Config as Program, Congestion, Ecn, bulk, dns, http, ping, sink, ssh, udp};
use measure::distribution::Distribution;
use node::random::Random;
use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Rate, Time};
use packet::checksum::{Pseudo, Sum};

const SETTINGS: [Ecn; 5] = [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate, Ecn::L4s];

/// Passes frames on and changes some.
struct Mangler(Random);

impl Mangler {
    fn mangle(&mut self, frame: &mut Frame) {
        let random = &mut self.0;
        let length = frame.len() as u64;
        match random.below(4) {
            0 => {
                let cut = random.below(length + 1) as usize;
                frame.resize(cut.max(14));
            }
            1 if length > 48 => {
                // The bits of ECN in the headers of IPv4 and TCP.
                frame[15] ^= random.below(4) as u8;
                frame[46] ^= random.below(2) as u8;
                frame[47] ^= 0x40 * random.below(4) as u8;
            }
            _ => {
                // Mostly in the headers, where it matters.
                for _ in 0..=random.below(3) {
                    let at = random.below(length.min(80)) as usize;
                    frame[at] = random.bits() as u8;
                }
            }
        }
        mend(frame);
    }
}

/// Makes checksums of IPv4, TCP, UDP and ICMP right.
fn mend(frame: &mut Frame) -> Option<()> {
    let ip = frame.get_mut(14..)?;
    let header = usize::from(ip.first()? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?])).min(ip.len());
    if header < 20 || total < header {
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

impl Node for Mangler {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for mut frame in frames.drain(..) {
            if self.0.chance(0.1) {
                let mut copy = out.copy(&frame);
                self.mangle(&mut copy);
                out.send(Port(1 - port.0), copy);
            }
            if self.0.chance(0.05) {
                self.mangle(&mut frame);
            }
            out.send(Port(1 - port.0), frame);
        }
    }
}

#[test]
fn changed_frames_do_no_harm() {
    for seed in 0..40 {
        let to = |port: &str| format!("10.0.0.2{port}").parse().unwrap();
        let all = vec![
            Program::Bulk(bulk::Config {
                flows: Some(3),
                bytes: Some("exponential(100000)".parse().unwrap()),
                buffer: 1 << 16,
                congestion: [
                    Congestion::Cubic,
                    Congestion::Reno,
                    Congestion::Dctcp,
                    Congestion::None,
                ][seed as usize % 4],
                ecn: SETTINGS[seed as usize % 5],
                pacing: seed % 3 == 0,
                ..bulk::Config::new(to(""))
            }),
            Program::Http(http::Config {
                users: 2,
                think: Some(Distribution::Constant(Time::from_ms(1))),
                keep_alive: seed % 2 == 0,
                buffer: 1 << 16,
                ..http::Config::new(to(""))
            }),
            Program::Dns(dns::Config {
                to: to(""),
                names: vec!["a.example".into()],
                ipv6: false,
                start: Time::ZERO,
                every: Distribution::Constant(Time::from_ms(1)),
                count: None,
                timeout: Time::from_ms(10),
            }),
            Program::Ssh(ssh::Config {
                interval: Distribution::Constant(Time::from_ms(1)),
                think: Distribution::Constant(Time::from_ms(2)),
                output: "uniform(0, 60000)".parse().unwrap(),
                users: 2,
                ..ssh::Config::new(to(""))
            }),
            Program::Ping(ping::Config {
                to: to(""),
                count: None,
                interval: Time::from_ms(1),
                size: 30,
                start: Time::ZERO,
                timeout: Time::from_secs(1),
            }),
            Program::Udp(udp::Config {
                to: to(""),
                rate: Rate::from_bits_per_second(1_000_000).unwrap(),
                size: 100,
                start: Time::ZERO,
                duration: None,
                count: None,
                stream: 0,
            }),
        ];
        let server = vec![
            Program::Sink(sink::Config {
                congestion: [Congestion::Cubic, Congestion::Dctcp][seed as usize / 4 % 2],
                ecn: SETTINGS[seed as usize / 5 % 5],
                ..sink::Config::default()
            }),
            Program::HttpServer(http::ServerConfig::default()),
            Program::DnsServer(dns::ServerConfig::default()),
            Program::SshServer(ssh::ServerConfig::default()),
        ];
        let mut graph = Graph::default();
        let ends = [(1, all), (2, server)].map(|(number, programs)| {
            let config = host::Config {
                address: vec![format!("10.0.0.{number}/24").parse().unwrap()],
                ..host::Config::default()
            };
            graph.add(format!("h{number}"), make(config, programs, seed).unwrap())
        });
        let mangler = graph.add("m", Box::new(Mangler(Random::new(seed))));
        let channel = || Channel {
            rate: Rate::from_bits_per_second(100_000_000),
            delay: Time::from_us(100),
            ..Channel::default()
        };
        graph.connect((ends[0], 0), (mangler, 0), channel());
        graph.connect((mangler, 1), (ends[1], 0), channel());
        let options = sim::Options {
            seed,
            until: Some(Time::from_secs(2)),
            ..sim::Options::default()
        };
        let outcome = sim::run(graph, options).unwrap();
        assert!(outcome.frames > 1000, "{}", outcome.frames);
    }
}

#[test]
fn random_segments_of_a_channel_do_no_harm() {
    let config = control::Config {
        address: vec!["10.0.0.1/24".parse().unwrap()],
        to: Some("10.0.0.2".parse().unwrap()),
        listen: Some(6653),
        ..control::Config::default()
    };
    let mut tcp = Tcp::new(config, 1).unwrap();
    let mut random = Random::new(5);
    let mut out = Out::default();
    for step in 0..200_000u64 {
        let mut bytes = vec![0; 26 + random.below(40) as usize];
        bytes[12..14].copy_from_slice(&[0x88, 0xB5]);
        bytes[14] = random.below(5) as u8;
        bytes[19] = random.below(8) as u8;
        bytes[16] = if random.chance(0.5) { 0x80 } else { 0 };
        bytes[23] = random.below(3) as u8;
        bytes[25] = random.below(60) as u8;
        let port = Port(u16::from(random.chance(0.01)));
        tcp.frames(
            Time::from_us(step),
            port,
            &mut vec![Frame::new(&bytes)],
            &mut out,
        );
        tcp.wake(Time::from_us(step), &mut out);
        out.sends().count();
    }
}
