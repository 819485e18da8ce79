//! Fragments compared with the kernel: each reassembles those of the other, and both treat malformed
//! ones alike. Needs root; skipped tests print the reason.

use lab::{Options, Registry, Report, World};
use node::ConfigError;
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Time};
use nodes::host::{Config, Host};
use packet::checksum::checksum;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmp::Icmp;
use packet::icmpv6::Icmpv6;
use packet::ip::IpView;
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Runs a lab live; `None` where this user may not.
fn live(registry: &Registry, text: &str) -> Option<Report> {
    let lab = registry.parse_with(text, None, World::Live, &[]);
    let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
    crate::live_runs::report(&lab, &Options::default())
}

#[test]
fn long_pings_go_to_and_fro_between_the_kernel_and_our_hosts() {
    // A host with programs, which pings too, and one without, each with a kernel behind another MTU.
    for (host, kernel, programs) in [
        (1_500, 1_500, true),
        (1_400, 1_500, false),
        (1_500, 1_280, true),
        (1_500, 1_300, false),
    ] {
        let sizes = [1_252, 1_253, 1_472, 1_473, 4_000, 30_001, 65_507];
        let mut text = format!(
            "[lab]\nduration = '60 s'\n[node.x]\nkind = 'process'\naddress = '10.0.0.2/24 fd00::2/64'\nrun = \"\"\"\n\
             for i in /sys/class/net/*; do n=${{i##*/}}; [ $n = lo ] || ip link set dev $n mtu {kernel}; done\n\
             for s in {}; do for a in 10.0.0.1 fd00::1; do ping -n -c 1 -W 20 -s $s $a; done; done; sleep 4\"\"\"\n\
             [node.h]\nkind = 'host'\naddress = ['10.0.0.1/24', 'fd00::1/64']\nmtu = {host}\n\
             [[link]]\nends = ['h.0', 'x.0']\n",
            sizes.map(|size| size.to_string()).join(" ")
        );
        if programs {
            for to in ["10.0.0.2", "fd00::2"] {
                text += &format!(
                    "[[node.h.program]]\nrun = 'ping'\nto = '{to}'\nsize = 4000\ncount = 20\ninterval = '20 ms'\nstart = '1 s'\ntimeout = '20 s'\n"
                );
            }
        }
        // Arriving packets must also fit into the kernel's interface.
        let text = text.replace(
            &format!("mtu = {host}"),
            &format!("mtu = {}", host.min(kernel)),
        );
        let Some(report) = live(&Registry::standard(), &text) else {
            return;
        };
        let job = &report.jobs[0];
        let answered = job.output.matches("1 received").count();
        assert_eq!(answered, 2 * sizes.len(), "{report}");
        let h = report.outcome.nodes.iter().find(|node| node.name == "h");
        for ping in h
            .unwrap()
            .flows
            .iter()
            .filter(|flow| flow.program == "ping")
        {
            // Before the kernel has its address nothing answers.
            assert!(ping.packets == 20 && ping.lost < 20, "{ping:?}\n{report}");
        }
    }
}

/// The echo request with a number, as it is before it is cut.
fn request(v4: bool, number: u16, size: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: Mac::BROADCAST,
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags: &[],
        ethertype: if v4 { ethertype::IPV4 } else { ethertype::IPV6 },
    };
    let (identification, sequence) = (0x5757, number);
    ethernet.build(&mut frame, |out| {
        let payload = |out: &mut Vec<u8>| out.extend((0..size).map(|byte| byte as u8));
        match v4 {
            true => {
                let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::ICMP);
                let message = Icmp::EchoRequest {
                    identification,
                    sequence,
                };
                ip.build(out, |out| message.build(out, payload));
            }
            false => {
                let [a, b] = ["fd00::1", "fd00::2"].map(|text| text.parse().unwrap());
                let ip = Ipv6::new(a, b, protocol::ICMPV6);
                let message = Icmpv6::EchoRequest {
                    identification,
                    sequence,
                };
                ip.build(out, |out| message.build(ip.pseudo(), out, payload));
            }
        }
    });
    frame
}

/// Some bytes of a request's payload as a fragment.
fn fragment(whole: &[u8], v4: bool, number: u16, range: std::ops::Range<usize>) -> Vec<u8> {
    let header = if v4 { 34 } else { 54 };
    let payload = &whole[header..];
    let (start, end) = (8 * range.start, (8 * range.end).min(payload.len()));
    let more = u16::from(end < payload.len());
    let mut frame = whole[..header].to_vec();
    if v4 {
        frame[16..18].copy_from_slice(&(20 + (end - start) as u16).to_be_bytes());
        frame[18..20].copy_from_slice(&number.to_be_bytes());
        frame[20..22].copy_from_slice(&(range.start as u16 | more << 13).to_be_bytes());
        frame[24..26].fill(0);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    } else {
        frame[18..20].copy_from_slice(&(8 + (end - start) as u16).to_be_bytes());
        let next = std::mem::replace(&mut frame[20], protocol::FRAGMENT);
        let place = ((range.start as u16) << 3 | more).to_be_bytes();
        frame.extend([next, 0, place[0], place[1], 0, 0]);
        frame.extend(number.to_be_bytes());
    }
    frame.extend(&payload[start..end]);
    frame
}

/// Requests in fragments that come in any order, once, twice, not at all, or over others.
fn odd_requests() -> Vec<Vec<Vec<u8>>> {
    let mut random = Random::new(17);
    let mut all = Vec::new();
    for number in 1..=400 {
        let v4 = number % 2 == 0;
        let units = 3 + random.below(20) as usize;
        let whole = request(v4, number, 8 * units - 8 - random.below(8) as usize);
        let mut ranges = Vec::new();
        let mut from = 0;
        while from < units {
            let to = (from + 1 + random.below(5) as usize).min(units);
            ranges.push(from..to);
            from = to;
        }
        if random.chance(0.15) && ranges.len() > 1 {
            ranges.remove(random.below(ranges.len() as u64) as usize);
        }
        for _ in 0..random.below(3) {
            let from = random.below(units as u64) as usize;
            let to = from + 1 + random.below((units - from) as u64) as usize;
            ranges.push(match random.chance(0.5) {
                true => from..to,
                false => ranges[random.below(ranges.len() as u64) as usize].clone(),
            });
        }
        // Half of them in order, without the inserted ones.
        if random.chance(0.5) {
            for index in (1..ranges.len()).rev() {
                ranges.swap(index, random.below(index as u64 + 1) as usize);
            }
        }
        let pieces = ranges.into_iter();
        all.push(
            pieces
                .map(|range| fragment(&whole, v4, number, range))
                .collect(),
        );
    }
    all
}

/// The number of an answer.
fn answered(frame: &[u8]) -> Option<u16> {
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    let ip = IpView::new(kind, &frame[14..]).ok()?;
    let message = ip.payload().first_chunk::<8>()?;
    let reply = matches!((ip.protocol(), message[0]), (1, 0) | (58, 129));
    let ours = message[4..6] == [0x57, 0x57];
    (reply && ours).then(|| u16::from_be_bytes([message[6], message[7]]))
}

/// Sends whole requests until one of each version is answered, then the odd ones, and takes down what is answered.
struct Judge {
    host: Host,
    cases: std::vec::IntoIter<Vec<Vec<u8>>>,
    ready: [bool; 2],
    next: Time,
    /// The kernel's MAC address, once anything came from there.
    peer: [u8; 6],
    answers: Arc<Mutex<BTreeSet<u16>>>,
}

impl Node for Judge {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            if let Some(source) = frame.get(6..12) {
                self.peer.copy_from_slice(source);
            }
            match answered(&frame) {
                Some(number @ (0 | 1_000)) => self.ready[usize::from(number == 0)] = true,
                Some(number) => drop(self.answers.lock().unwrap().insert(number)),
                None => {
                    self.host.frames(now, port, &mut vec![frame], out);
                    continue;
                }
            }
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if now < self.next {
            return;
        }
        let frames = match self.ready == [true; 2] {
            true => self.cases.next().unwrap_or_default(),
            false => vec![request(true, 0, 8), request(false, 1_000, 8)],
        };
        for bytes in frames {
            let mut frame = out.frame();
            frame.extend(&self.peer);
            frame.extend(&bytes[6..]);
            out.send(Port(0), frame);
        }
        self.next = now + Time::from_ms(if self.ready == [true; 2] { 1 } else { 20 });
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }
}

#[derive(serde::Deserialize)]
struct Nothing {}

#[test]
fn of_odd_fragments_our_host_makes_what_the_kernel_makes() {
    let own = |number: u8| Config {
        mac: Mac([2, 0, 0, 0, 0, number]),
        ipv4: Some([10, 0, 0, number].into()),
        ipv6: Some(format!("fd00::{number}").parse().unwrap()),
        ..Config::default()
    };
    let answers = Arc::new(Mutex::new(BTreeSet::new()));
    let of_kernel = answers.clone();
    let registry = Registry::standard().with("judge", move |_: Nothing, _| {
        Ok::<_, ConfigError>(Judge {
            host: Host::new(own(1)),
            cases: odd_requests().into_iter(),
            ready: [false; 2],
            next: Time::ZERO,
            peer: Mac::BROADCAST.0,
            answers: of_kernel.clone(),
        })
    });
    let text = "[lab]\nduration = '5 s'\n[node.j]\nkind = 'judge'\n[node.x]\nkind = 'process'\n\
        address = '10.0.0.2/24 fd00::2/64'\nrun = 'sleep 4'\n[[link]]\nends = ['j.0', 'x.0']\n";
    let Some(report) = live(&registry, text) else {
        return;
    };
    let mut host = Host::new(own(2));
    let (mut out, mut ours) = (Out::default(), BTreeSet::new());
    for pieces in odd_requests() {
        for mut bytes in pieces {
            bytes[..6].copy_from_slice(&own(2).mac.0);
            host.frames(Time::ZERO, Port(0), &mut vec![Frame::new(&bytes)], &mut out);
            let sent: Vec<_> = out.sends().collect();
            ours.extend(sent.iter().filter_map(|one| answered(&one.frame)));
        }
    }
    let kernels = answers.lock().unwrap().clone();
    assert!((100..350).contains(&ours.len()), "{}", ours.len());
    let only = |a: &BTreeSet<u16>, b: &BTreeSet<u16>| a.difference(b).copied().collect::<Vec<_>>();
    assert_eq!(
        (only(&kernels, &ours), only(&ours, &kernels)),
        (vec![], vec![]),
        "{report}"
    );
}
