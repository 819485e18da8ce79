//! The SYN proxy and the kernel's get the same clients and servers. Each has its own cookies and clock, so that sequence numbers
//! are compared relative to the first of their side, and timestamps by their options.

use super::{Pair, compare_connections, kernel, packets, run};
use crate::kernel_and_router::{Sent, ours_at, router_with};
use node::Time;
use node::random::Random;
use packet::ipv4::{Ipv4View, protocol};
use packet::ipv6::Ipv6View;
use packet::tcp::{Tcp, TcpOption, TcpView, flag};
use router::router::{Config, Router};

const RULES: &str = "table inet proxy {
    chain first {
        type filter hook prerouting priority raw; policy accept;
        tcp dport 80 tcp flags & (fin|syn|rst|ack) == syn notrack
    }
    chain forward {
        type filter hook forward priority 0; policy drop;
        tcp dport 80 ct state invalid,untracked synproxy OPTIONS
        ct state new,established accept
    }
}
";
const CLIENT: (usize, u8) = (0, 2);
const SERVER: (usize, u8) = (1, 3);

/// A segment as a test writes or reads it.
#[derive(Clone, Debug, PartialEq)]
struct Segment {
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    window: u16,
    mss: Option<u16>,
    scale: Option<u8>,
    selective: bool,
    timestamps: Option<(u32, u32)>,
    sack: Option<(u32, u32)>,
    size: usize,
}

impl Segment {
    fn new(flags: u8, sequence: u32, acknowledgement: u32) -> Segment {
        Segment {
            sequence,
            acknowledgement,
            flags,
            window: 20_000,
            mss: None,
            scale: None,
            selective: false,
            timestamps: None,
            sack: None,
            size: 0,
        }
    }

    fn frame(&self, is_v4: bool, from: (usize, u8), to: (usize, u8), ports: [u16; 2]) -> Vec<u8> {
        let edges = self.sack.map(|(start, end)| {
            let mut block = [0; 8];
            block[..4].copy_from_slice(&start.to_be_bytes());
            block[4..].copy_from_slice(&end.to_be_bytes());
            [block]
        });
        let mut options = Vec::new();
        options.extend(self.mss.map(TcpOption::MaximumSegment));
        options.extend(self.selective.then_some(TcpOption::SackPermitted));
        options.extend(
            self.timestamps
                .map(|(own, echo)| TcpOption::Timestamps(own, echo)),
        );
        options.extend(self.scale.map(TcpOption::WindowScale));
        options.extend(edges.as_ref().map(|edges| TcpOption::Sack(edges)));
        let tcp = Tcp {
            source_port: ports[0],
            destination_port: ports[1],
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            flags: self.flags,
            window: self.window,
            urgent: 0,
            options: &options,
        };
        let data = vec![7; self.size];
        packets::frame(is_v4, [from, to], protocol::TCP, |pseudo, out| {
            tcp.build(pseudo, out, |out| out.extend(&data));
        })
    }

    /// Reads a segment whose checksum must be right; TTL and flags of the IP header are part of the text.
    fn read(frame: &[u8]) -> (Segment, String) {
        let header = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let (payload, pseudo, about) = match frame[12] {
            8 => {
                let ip = Ipv4View::new(&frame[14..]).expect("an IPv4 header");
                assert!(ip.is_checksum_valid());
                let about = header(&frame[14..16]) + &header(&frame[18..24]);
                (ip.payload(), ip.pseudo(), about)
            }
            _ => {
                let ip = Ipv6View::new(&frame[14..]).expect("an IPv6 header");
                let about = header(&frame[20..22]);
                (ip.payload(), ip.pseudo(protocol::TCP), about)
            }
        };
        let tcp = TcpView::new(payload).expect("a TCP header");
        assert!(tcp.is_checksum_valid(pseudo), "checksum");
        let mut segment = Segment::new(tcp.flags(), tcp.sequence(), tcp.acknowledgement());
        segment.window = tcp.window();
        segment.size = tcp.payload().len();
        for option in tcp.options() {
            match option {
                TcpOption::MaximumSegment(mss) => segment.mss = Some(mss),
                TcpOption::WindowScale(scale) => segment.scale = Some(scale),
                TcpOption::SackPermitted => segment.selective = true,
                TcpOption::Timestamps(own, echo) => segment.timestamps = Some((own, echo)),
                TcpOption::Sack(blocks) => {
                    let edge =
                        |at: usize| u32::from_be_bytes(blocks[0][at..at + 4].try_into().unwrap());
                    segment.sack = Some((edge(0), edge(4)));
                }
                TcpOption::Other(..) => {}
            }
        }
        (segment, about)
    }
}

/// Whether a packet is the proxy's own, and not one that was forwarded.
fn is_own(frame: &[u8]) -> bool {
    match frame[12] {
        8 => frame[22] == 64,
        _ => frame[21] == 64,
    }
}

/// A router on trial: frames to a port in, frames by all ports out.
type Exchange<'a> = dyn FnMut(usize, &[u8]) -> Sent + 'a;

/// Both ends of connections through a router, and the segments that they received.
struct Trial<'a> {
    exchange: &'a mut Exchange<'a>,
    is_v4: bool,
    ports: [u16; 2],
    /// First sequence numbers: of the client, of the server, and the cookie.
    client: u32,
    server: u32,
    cookie: u32,
    /// The proxy's first timestamp, and the server's.
    proxy_time: u32,
    server_time: u32,
    transcript: Vec<String>,
}

impl Trial<'_> {
    /// Sends a segment, and notes what arrives at the ends.
    fn send(&mut self, from_client: bool, segment: &Segment) -> Vec<(bool, Segment)> {
        let (from, to) = if from_client {
            (CLIENT, SERVER)
        } else {
            (SERVER, CLIENT)
        };
        let ports = if from_client {
            self.ports
        } else {
            [self.ports[1], self.ports[0]]
        };
        let frame = segment.frame(self.is_v4, from, to, ports);
        let sent = (self.exchange)(from.0, &frame);
        let mut all = Vec::new();
        for (port, frames) in sent.iter().enumerate() {
            for frame in frames {
                let (segment, about) = Segment::read(frame);
                let to_client = port == CLIENT.0;
                if to_client && segment.flags == flag::SYN | flag::ACK {
                    self.cookie = segment.sequence;
                    self.proxy_time = segment.timestamps.map_or(0, |(own, _)| own);
                }
                let mut seen = segment.clone();
                // Relative to the first of each side, as the receiver knows it.
                if to_client {
                    seen.sequence = seen.sequence.wrapping_sub(self.cookie);
                    seen.acknowledgement = seen.acknowledgement.wrapping_sub(self.client);
                    if let Some((own, _)) = &mut seen.timestamps {
                        *own = match segment.flags & flag::SYN {
                            0 => own.wrapping_sub(self.proxy_time),
                            _ => *own & 0x3F,
                        };
                    }
                } else {
                    seen.sequence = seen.sequence.wrapping_sub(self.client);
                    if seen.flags & flag::ACK != 0 {
                        seen.acknowledgement = seen.acknowledgement.wrapping_sub(self.server);
                    } else {
                        seen.acknowledgement = seen.acknowledgement.wrapping_sub(self.cookie);
                    }
                    if let Some((_, echo)) = &mut seen.timestamps {
                        *echo = match segment.flags & flag::SYN {
                            // Linux's own ACK to the server echoes a timestamp that it has translated by mistake.
                            0 if is_own(frame) => 0,
                            0 => echo.wrapping_sub(self.server_time),
                            _ => echo.wrapping_sub(self.proxy_time),
                        };
                    }
                    if let Some((start, end)) = &mut seen.sack {
                        *start = start.wrapping_sub(self.server);
                        *end = end.wrapping_sub(self.server);
                    }
                }
                self.transcript
                    .push(format!("client {to_client} {about} {seen:?}"));
                all.push((to_client, segment));
            }
        }
        if all.is_empty() {
            self.transcript.push(String::from("nothing"));
        }
        all
    }

    /// A connection whose course depends on the random numbers alone. With `probes` the client sends keep-alive segments before the
    /// server has answered, of which Linux takes the cookie for one of another segment size.
    fn run(&mut self, random: &mut Random, probes: bool) {
        let has_time = random.chance(0.7);
        let mut syn = Segment::new(flag::SYN, self.client, 0);
        syn.mss = random
            .chance(0.9)
            .then(|| [400, 536, 1200, 1380, 1440, 1460, 8960][random.index(7)]);
        syn.scale = random.chance(0.7).then(|| random.below(15) as u8);
        syn.selective = random.chance(0.7);
        syn.timestamps = has_time.then_some((1_000, 0));
        let answers = self.send(true, &syn);
        let Some((true, answer)) = answers.first().cloned() else {
            return;
        };
        if random.chance(0.2) {
            self.send(true, &syn);
        }
        let times = |own: u32, echo: u32| answer.timestamps.map(|_| (own, echo));
        let mut ack = Segment::new(
            flag::ACK,
            self.client.wrapping_add(1),
            self.cookie.wrapping_add(1),
        );
        ack.timestamps = times(1_010, self.proxy_time);
        if random.chance(0.1) {
            let mut forged = ack.clone();
            forged.acknowledgement = forged
                .acknowledgement
                .wrapping_add(0x0100_0000 * (3 + random.below(200) as u32));
            self.send(true, &forged);
        }
        self.send(true, &ack);
        if random.chance(0.2) && probes {
            let mut alive = ack.clone();
            alive.sequence = self.client;
            self.send(true, &alive);
        }
        if random.chance(0.15) {
            let refused = Segment::new(flag::RST | flag::ACK, 0, self.client.wrapping_add(1));
            self.send(false, &refused);
            return;
        }
        let mut accept = Segment::new(
            flag::SYN | flag::ACK,
            self.server,
            self.client.wrapping_add(1),
        );
        accept.mss = Some(1460);
        accept.scale = random.chance(0.7).then(|| random.below(10) as u8);
        accept.selective = random.chance(0.7);
        accept.timestamps = times(self.server_time, 1_010);
        self.send(false, &accept);
        let (mut up, mut down) = (1_u32, 1_u32);
        for _ in 0..random.below(8) {
            let from_client = random.chance(0.5);
            let size = random.index(500);
            let mut segment = match from_client {
                true => Segment::new(
                    flag::ACK,
                    self.client.wrapping_add(up),
                    self.cookie.wrapping_add(down),
                ),
                false => Segment::new(
                    flag::ACK,
                    self.server.wrapping_add(down),
                    self.client.wrapping_add(up),
                ),
            };
            segment.size = size;
            segment.timestamps = match from_client {
                true => times(1_100, self.proxy_time.wrapping_add(5)),
                false => times(self.server_time.wrapping_add(7), 1_100),
            };
            if from_client && random.chance(0.3) {
                let end = self.cookie.wrapping_add(down);
                segment.sack = Some((end.wrapping_sub(10), end));
            }
            *(if from_client { &mut up } else { &mut down }) += size as u32;
            self.send(from_client, &segment);
        }
        let ends = [flag::FIN | flag::ACK, flag::RST, flag::ACK];
        let flags = ends[random.index(3)];
        let last = Segment::new(
            flags,
            self.server.wrapping_add(down),
            self.client.wrapping_add(up),
        );
        self.send(false, &last);
    }
}

/// The transcript of a connection.
fn transcript<'a>(
    is_v4: bool,
    probes: bool,
    seed: u64,
    port: u16,
    exchange: &'a mut Exchange<'a>,
) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut trial = Trial {
        exchange,
        is_v4,
        ports: [port, 80],
        client: random.bits() as u32,
        server: random.bits() as u32,
        cookie: 0,
        proxy_time: 0,
        server_time: random.bits() as u32,
        transcript: Vec::new(),
    };
    trial.run(&mut random, probes);
    trial.transcript
}

#[test]
fn connections_through_the_syn_proxy_look_as_through_linux() {
    let Some(mut kernel) = kernel("SYN proxy") else {
        return;
    };
    let loose = [
        "-c",
        "echo 0 >/proc/sys/net/netfilter/nf_conntrack_tcp_loose",
    ];
    run(&kernel, "sh", &loose, "").expect("a shell");
    let options = [
        "mss 1460 wscale 7 timestamp sack-perm",
        "mss 1200 timestamp",
        "wscale 3 sack-perm",
        "mss 1400 wscale 9 timestamp",
    ];
    let mut different = 0;
    for (part, options) in options.iter().enumerate() {
        let rules = RULES.replace("OPTIONS", options);
        let mut pair = Pair::new(&kernel, &rules);
        pair.router = strict(&rules);
        for number in 0..60 {
            let (seed, port) = (1 + 100 * part as u64 + number, 2_000 + number as u16);
            let theirs = transcript(true, false, seed, port, &mut |from, frame| {
                kernel.answers(from, frame)
            });
            let Pair { router, start } = &mut pair;
            let mut ours = |from: usize, frame: &[u8]| {
                let now = Time::from_secs(1) + Time::from_ns(start.elapsed().as_nanos() as u64);
                ours_at(router, now, from, frame).0
            };
            let ours = transcript(true, false, seed, port, &mut ours);
            if theirs != ours {
                different += 1;
                println!("{options} seed {seed}\n kernel {theirs:#?}\n ours {ours:#?}");
            }
        }
        let (known, difference) = compare_connections(&kernel, &pair.router, pair.now());
        assert!(known > 20, "{known} connections");
        assert_eq!(difference, None);
    }
    assert_eq!(different, 0);
}

/// Our router without connections that it has not seen begin.
fn strict(rules: &str) -> Router {
    router_with(Config {
        firewall: Some(rules.to_owned()),
        conntrack: Some(router::conntrack::Config {
            tcp_loose: false,
            ..router::conntrack::Config::default()
        }),
        ..Config::default()
    })
}

/// Linux checks the checksums of IPv6 segments as if they were of IPv4 unless a network card has, so that it is not compared here.
#[test]
fn connections_over_ipv6_look_as_over_ipv4() {
    let rules = RULES.replace("OPTIONS", "mss 1460 wscale 7 timestamp sack-perm");
    let mut routers = [strict(&rules), strict(&rules)];
    let mut opened = 0;
    for seed in 0..200 {
        let [first, second] = &mut routers;
        let mut both = [(true, first), (false, second)].map(|(is_v4, router)| {
            let mut exchange =
                |from: usize, frame: &[u8]| ours_at(router, Time::from_secs(1), from, frame).0;
            transcript(is_v4, true, seed, 3_000 + seed as u16, &mut exchange)
        });
        for line in both.iter_mut().flatten() {
            // The IP header, and the segment size that a cookie has room for.
            let words = line
                .split(' ')
                .filter(|word| !word.starts_with("45") && !word.starts_with("06"));
            *line = words.collect::<Vec<_>>().join(" ");
            if let Some(at) = line
                .find("mss: Some(")
                .filter(|_| line.contains("client false"))
            {
                line.truncate(at);
            }
        }
        opened += usize::from(both[0].len() > 5);
        assert_eq!(both[0], both[1], "seed {seed}");
    }
    assert!(opened > 50, "{opened}");
}
