//! The NAT with Linux's keys and the kernel's masquerade, packet by packet.
//!
//! The kernel's runs in a network namespace of its own. TCP packets are those that both ends of a
//! connection could send: the kernel passes on others without translation, by a table of states
//! that the NAT does not have.

use super::packets::*;
use core::net::Ipv4Addr;
use node::Time;
use node::random::Random;
use router::nat::{Config, Nat, Verdict};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const INSIDE_PORTS: [u16; 6] = [500, 800, 1_030, 5_000, 5_001, 40_000];
/// Timeouts are long, so that none is over during the test. Nothing is delivered to the router
/// itself: that would take ports.
const SETUP: &str = r#"
set -e
ip link set lo up
ip link add in0 type veth peer name in1 address 02:00:00:00:00:01
ip link add out0 type veth peer name out1 address 02:00:00:00:00:01
for port in in0 in1 out0 out1; do
    sysctl -qw net.ipv6.conf.$port.disable_ipv6=1 net.ipv4.conf.$port.rp_filter=0
    ip link set $port up
done
ip addr add 10.0.0.1/24 dev in1
ip addr add 192.0.2.1/24 dev out1
ip neigh add 192.0.2.254 lladdr 02:00:00:00:00:02 dev out1
ip route add default via 192.0.2.254
for host in 2 3 4 250; do ip neigh add 10.0.0.$host lladdr 02:00:00:00:00:02 dev in1; done
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
nft -f - <<END
table ip nat {
    chain postrouting {
        type nat hook postrouting priority srcnat
        oifname "out1" masquerade
    }
}
table ip filter {
    chain input {
        type filter hook input priority filter; policy drop
    }
}
END
cd /proc/sys/net/netfilter
for file in nf_conntrack_udp_timeout nf_conntrack_udp_timeout_stream nf_conntrack_icmp_timeout \
    nf_conntrack_generic_timeout nf_conntrack_tcp_timeout_*; do
    echo 6000 > $file
done
echo 1 > nf_conntrack_tcp_be_liberal
"#;

struct Kernel {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Kernel {
    /// Starts the kernel's NAT; `None`, with a word why, where that is not possible.
    fn start(test: &str) -> Option<Kernel> {
        let id = Command::new("id").arg("-u").output();
        if id.map(|id| id.stdout).ok().as_deref() != Some(b"0\n") {
            println!("skipped: {test} needs root, for network namespaces");
            return None;
        }
        let script = format!("{SETUP}\nexec python3 -c \"$0\"");
        let mut child = Command::new("timeout")
            .args(["--signal=KILL", "120", "unshare", "--net", "bash", "-c"])
            .args([&script, include_str!("driver.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| println!("skipped: {test}: timeout, of coreutils: {error}"))
            .ok()?;
        let to = child.stdin.take().expect("a pipe");
        let mut from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        from.read_line(&mut line).expect("a pipe");
        if line.trim() == "ready" {
            return Some(Kernel { child, to, from });
        }
        let mut why = String::new();
        let mut errors = child.stderr.take().expect("a pipe");
        errors.read_to_string(&mut why).expect("text");
        child.wait().expect("it has ended");
        println!(
            "skipped: {test} needs unshare, ip, nft and python3: {}",
            why.trim()
        );
        None
    }

    /// The packets that come out on the other side of `side`.
    fn pass(&mut self, side: &str, packet: &Packet) -> Vec<Vec<u8>> {
        let hex = |byte: &u8| format!("{byte:02x}");
        let digits: String = packet.bytes().iter().map(hex).collect();
        writeln!(self.to, "{side} {digits}").expect("the driver runs");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the driver runs");
        assert!(line.ends_with('\n'), "the driver has ended");
        let bytes = |digits: &str| {
            let pairs = (0..digits.len()).step_by(2);
            pairs
                .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits"))
                .collect()
        };
        line.split_whitespace().map(bytes).collect()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The packet one hop later.
fn forwarded(packet: &Packet) -> Vec<u8> {
    let mut bytes = packet.bytes();
    bytes[8] -= 1;
    bytes[10..12].fill(0);
    let sum = ::packet::checksum::checksum(&bytes[..20]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Life of a TCP connection, as both ends see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    None,
    Opening,
    /// The inside host sends on a connection from before, and the remote one has not answered.
    PickedUp,
    Open,
    Closing,
}

type Flow = (u8, End, End);

struct Comparison {
    kernel: Kernel,
    nat: Nat,
    random: Random,
    phases: BTreeMap<Flow, Phase>,
    /// External port of ours and of the kernel for each flow.
    ports: BTreeMap<Flow, [u16; 2]>,
    /// Packets that were translated, passed on as they were, and kept back.
    counts: [usize; 3],
    /// Flows whose ports were not preserved.
    changed: usize,
}

impl Comparison {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.index(of.len())]
    }

    fn flow(&mut self) -> Flow {
        let protocol = self.pick(&[UDP, UDP, UDP, TCP, TCP, TCP, ICMP, ICMP, 50]);
        let inside = Ipv4Addr::new(10, 0, 0, self.random.below(3) as u8 + 2);
        let remote = Ipv4Addr::new(198, 51, 100, self.random.below(2) as u8 + 7);
        let [mut own, mut to] = [self.pick(&INSIDE_PORTS), self.pick(&[53, 5_000])];
        if protocol == ICMP || protocol == 50 {
            to = 0;
        }
        if protocol == 50 {
            own = 0;
        }
        (protocol, (inside, own), (remote, to))
    }

    /// A packet of a flow, from the inside or from the outside. For the one, addresses are those on
    /// the inside.
    fn packet(&mut self, flow: Flow, is_out: bool) -> Option<Packet> {
        let (protocol, inside, remote) = flow;
        let body = match protocol {
            UDP => Body::Udp(self.random.below(4) > 0),
            TCP => Body::Tcp(self.flags(flow, is_out)?),
            ICMP if is_out => Body::Query(8),
            ICMP => Body::Query(0),
            other => Body::Other(other),
        };
        let [from, to] = if is_out {
            [inside, remote]
        } else {
            [remote, inside]
        };
        let mut packet = Packet::new(from, to, body);
        packet.data = vec![9; self.random.index(30)];
        Some(packet)
    }

    /// Flags that an end of a connection may send now; `None` when it may not send.
    fn flags(&mut self, flow: Flow, is_out: bool) -> Option<u8> {
        let phase = self.phases.entry(flow).or_default();
        let (flags, next) = match (*phase, is_out, self.random.below(8)) {
            (Phase::None, true, 0) => (ACK, Phase::PickedUp),
            // The kernel forgets a connection whose only answer is a RST.
            (Phase::PickedUp, true, _) => (ACK, Phase::PickedUp),
            (Phase::PickedUp, false, _) => (ACK, Phase::Open),
            (Phase::None, true, _) => (SYN, Phase::Opening),
            (Phase::None, false, _) => (SYN, Phase::None),
            (Phase::Opening, true, _) => (SYN, Phase::Opening),
            (Phase::Opening, false, _) => (SYN | ACK, Phase::Open),
            (Phase::Open, _, 0) => (RST, Phase::Closing),
            (Phase::Open, _, 1) => (FIN | ACK, Phase::Closing),
            (Phase::Open, ..) => (ACK, Phase::Open),
            (Phase::Closing, ..) => return None,
        };
        *phase = next;
        Some(flags)
    }

    /// Gives both a packet. `at` makes it from the external port of ours and of the kernel.
    fn compare(&mut self, side: &str, flow: Flow, at: impl Fn(u16) -> (Packet, Packet)) -> bool {
        let known = self.ports.get(&flow).copied();
        let [own, theirs] = known.unwrap_or([flow.1.1; 2]);
        let (before, after) = at(own);
        let mut frame = before.frame();
        let verdict = match side {
            "in" => self.nat.outbound(Time::ZERO, &mut frame),
            _ => self.nat.inbound(Time::ZERO, &mut frame),
        };
        let (before_theirs, _) = at(theirs);
        let passed = self.kernel.pass(side, &before_theirs);
        let context = format!("{side} {before_theirs:?}: {verdict:?}, the kernel {passed:02x?}");
        match verdict {
            Verdict::Translated => {
                let [packet] = &passed[..] else {
                    panic!("{context}");
                };
                self.counts[0] += 1;
                // A new flow has a port that may differ.
                let is_new =
                    known.is_none() && side == "in" && !matches!(before.body, Body::Error(..));
                let ports = match is_new {
                    true => [port(&frame[14..]), port(packet)].map(|port| port.unwrap_or(0)),
                    false => [own, theirs],
                };
                let (_, expected) = if is_new {
                    at(ports[0])
                } else {
                    (before, after)
                };
                assert_eq!(frame[14..], expected.bytes()[..], "{context}");
                let (_, expected) = at(ports[1]);
                assert_eq!(packet[..], forwarded(&expected)[..], "{context}");
                let kept = ports.map(|port| port == flow.1.1);
                assert_eq!(kept[0], kept[1], "{context}");
                if is_new {
                    let class = |port| (port < 512, port < 1_024);
                    let is_id = flow.0 == ICMP;
                    assert!(is_id || class(ports[0]) == class(ports[1]), "{context}");
                    // Chance may give one of both a port that another inside endpoint has, too:
                    // then they part.
                    let mut others = self.ports.iter().filter(|(of, _)| of.0 == flow.0);
                    let parts = others.any(|(of, theirs)| {
                        of.1 != flow.1 && (theirs[0] == ports[0]) != (theirs[1] == ports[1])
                    });
                    self.ports.insert(flow, ports);
                    self.changed += usize::from(!kept[0]);
                    return !parts
                        && (kept[0] || !ports.iter().any(|port| INSIDE_PORTS.contains(port)));
                }
            }
            Verdict::NotForNat if side == "in" => {
                assert_eq!(passed, [forwarded(&before_theirs)], "{context}");
                self.counts[1] += 1;
            }
            _ => {
                assert!(passed.is_empty(), "{context}");
                self.counts[2] += 1;
            }
        }
        true
    }

    fn step(&mut self) -> bool {
        let mut flow = self.flow();
        let is_out = self.random.below(2) == 0;
        if !is_out && !self.ports.contains_key(&flow) {
            // Its external port may be that of another inside host's flow.
            let is_holder = |(of, ports): &(&Flow, &[u16; 2])| {
                (of.0, of.2, ports[0]) == (flow.0, flow.2, flow.1.1)
            };
            flow = self
                .ports
                .iter()
                .find(is_holder)
                .map_or(flow, |(of, _)| *of);
        }
        let (protocol, inside, remote) = flow;
        let external = |port| (EXTERNAL, port);
        if self.random.below(4) == 0 {
            // An error about a packet of the flow. The host or router on its way quotes it as it
            // sees it.
            let is_reply_lost = is_out;
            let body = match (protocol, is_reply_lost) {
                (TCP, _) => Body::Tcp(ACK),
                (UDP, _) => Body::Udp(true),
                (ICMP, true) => Body::Query(0),
                (ICMP, false) => Body::Query(8),
                (other, _) => Body::Other(other),
            };
            let kind = self.pick(&[3, 11]);
            let error = |from: End, about: Packet| {
                let to = (about.source.0, 0);
                Packet::new((from.0, 0), to, Body::Error(kind, Box::new(about), 28))
            };
            let about = |source, destination| {
                let mut about = Packet::new(source, destination, body.clone());
                about.data = vec![7; 9];
                about
            };
            return match is_out {
                true => self.compare("in", flow, |port| {
                    let before = error(inside, about(remote, inside));
                    let after = error(external(port), about(remote, external(port)));
                    (before, after)
                }),
                false => self.compare("out", flow, |port| {
                    let router = (Ipv4Addr::new(203, 0, 113, 9), 0);
                    let before = error(router, about(external(port), remote));
                    let after = error(router, about(inside, remote));
                    (before, after)
                }),
            };
        }
        let Some(packet) = self.packet(flow, is_out) else {
            return true;
        };
        match is_out {
            true => self.compare("in", flow, |port| {
                let source = external(port);
                let after = Packet {
                    source,
                    ..packet.clone()
                };
                (packet.clone(), after)
            }),
            false => self.compare("out", flow, |port| {
                let destination = external(port);
                let before = Packet {
                    destination,
                    ..packet.clone()
                };
                (before, packet.clone())
            }),
        }
    }
}

/// Source port or identifier of an IPv4 packet without options.
fn port(packet: &[u8]) -> Option<u16> {
    let at = match packet[9] {
        TCP | UDP => 20,
        ICMP => 24,
        _ => return None,
    };
    Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]))
}

#[test]
fn linux_treats_every_packet_in_the_same_way() {
    let mut totals = [0; 4];
    for seed in 0..6 {
        let Some(kernel) = Kernel::start("the comparison with the kernel's NAT") else {
            return;
        };
        let config = Config {
            external: vec![EXTERNAL.into()],
            // The kernel has a firewall.
            unsolicited_occupies: false,
            ..Config::linux()
        };
        let mut comparison = Comparison {
            kernel,
            nat: Nat::new(config, seed).unwrap(),
            random: Random::new(seed),
            phases: BTreeMap::new(),
            ports: BTreeMap::new(),
            counts: [0; 3],
            changed: 0,
        };
        for _ in 0..600 {
            if !comparison.step() {
                break;
            }
        }
        let [a, b, c] = comparison.counts;
        let counts = [a, b, c, comparison.changed];
        totals = std::array::from_fn(|index| totals[index] + counts[index]);
    }
    println!("{totals:?}: translated, as they were, kept back; flows with another port");
    assert!(totals[0] > 500 && totals[3] > 20, "{totals:?}");
}
