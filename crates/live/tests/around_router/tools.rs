//! Odd packets of real tools through our router and through a kernel's: the same packets must arrive at both hosts.
//!
//! Each command runs on a host in front of the router. Captures of what arrives at that host and at the one behind the router are
//! compared as sets, without what a tool or a kernel chooses at random: ports, sequence numbers, identifications, checksums,
//! windows, payloads.
//!
//! `WIRE_TOOLS=all` runs the whole grid; else some commands of each tool run.

use super::side_by_side::{Middle, between};
use super::{Kernels, have, wait_for};
use router::router::{Config, PortConfig};
use std::collections::BTreeSet;
use std::net::UdpSocket;

const HOST: &str = "cd /proc/sys/net; echo 0 >ipv4/icmp_ratemask; echo 0 >ipv6/icmp/ratelimit; ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1; \
                    ip -6 addr add fd00:0::2/64 dev k nodad; ip -6 route add default via fd00:0::1";
/// The link to the far host is a short one.
const FAR: &str = "cd /proc/sys/net; echo 0 >ipv4/icmp_ratemask; echo 0 >ipv6/icmp/ratelimit; ip link set k mtu 1400; ip addr add 10.0.1.2/24 dev k; ip route add default via 10.0.1.1; \
                   ip -6 addr add fd00:1::2/64 dev k nodad; ip -6 route add default via fd00:1::1";
const ROUTES: [&str; 6] = [
    "prohibit 10.0.5.0/24",
    "unreachable 10.0.6.0/24",
    "blackhole 10.0.7.0/24",
    "prohibit fd05::/64",
    "unreachable fd06::/64",
    "blackhole fd07::/64",
];

/// Commands of each run of the tests.
const SOME: [&str; 22] = [
    "ping -n -c 1 -W 1 -M do -s 1372 10.0.1.2",
    "ping -n -c 1 -W 1 -M do -s 1373 10.0.1.2",
    "ping -n -c 1 -W 1 -M dont -s 1472 10.0.1.2",
    "ping -n -c 1 -W 1 -R 10.0.1.2",
    "ping -n -c 1 -W 1 -T tsandaddr 10.0.1.2",
    "ping -6 -n -c 1 -W 1 -M do -s 1400 fd00:1::2",
    "traceroute -N 1 -n -q 1 -w 1 10.0.1.2",
    "traceroute -N 1 -n -q 1 -w 1 -I --mtu 10.0.1.2",
    "traceroute -6 -N 1 -n -q 1 -w 1 fd00:1::2",
    "traceroute -N 1 -n -q 1 -w 1 -m 3 10.0.5.9",
    "mtr -n -r -c 1 -G 1 10.0.1.2",
    "mtr -6 -n -r -c 1 -G 1 -u fd00:1::2",
    "nmap -n -Pn -sS -p 22,80 --ttl 64 --max-retries 0 10.0.1.2 10.0.0.1",
    "nmap -n -Pn -sA -sU -p T:80,U:53,U:9 --ttl 64 --max-retries 0 10.0.1.2 10.0.1.1",
    "nmap -n -Pn -sF -f -p 22,80 --ttl 64 --max-retries 0 10.0.1.2 10.0.0.1",
    "nmap -n -Pn -sX --mtu 16 -p 80 --ttl 64 --max-retries 0 10.0.1.2 10.0.0.1",
    "nmap -n -sn -PE -PP -PM --ttl 64 --max-retries 0 --disable-arp-ping 10.0.1.2 10.0.0.1",
    "nmap -n -Pn -O --max-os-tries 1 -p 80,81 --ttl 64 --max-retries 0 10.0.1.2",
    "hping3 -q -n -c 1 -0 --ipproto 200 10.0.0.1",
    "hping3 -q -n -c 1 -1 -C 13 10.0.1.1",
    "hping3 -q -n -c 1 -S -p 80 -t 1 10.0.1.2",
    "hping3 -q -n -c 1 -2 -p 9 -x -g 64 -d 40 10.0.1.2",
];

/// The others.
fn all() -> Vec<String> {
    let mut all: Vec<String> = SOME.map(String::from).into();
    for target in [
        "10.0.1.2", "10.0.0.1", "10.0.1.1", "10.0.5.9", "10.0.6.9", "10.0.7.9", "10.0.9.9",
    ] {
        for size in [0, 1, 8, 556, 1372, 1373, 1444, 1472] {
            for hint in ["do", "dont", "want"] {
                all.push(format!("ping -n -c 1 -W 1 -M {hint} -s {size} {target}"));
            }
        }
        for more in [
            "-I",
            "-U",
            "-T",
            "-UL",
            "-P 200",
            "-I --mtu",
            "-F 1400",
            "-t 184",
            "-I -g 10.0.0.1",
        ] {
            all.push(format!("traceroute -N 1 -n -q 1 -w 1 -m 4 {more} {target}"));
        }
        for scan in [
            "-sS",
            "-sA",
            "-sF",
            "-sX",
            "-sN",
            "-sM",
            "-sW",
            "-sU",
            "-sO -p 1,2,6,17,47,132,200,255",
            "-sY",
            "-sZ",
        ] {
            for more in [
                "",
                "-f",
                "-f -f",
                "--data-length 60",
                "--badsum",
                "--ip-options R",
                "--ip-options T",
                "--ip-options S",
            ] {
                let ports = if scan.contains("-p") {
                    ""
                } else {
                    "-p 9,22,80,81"
                };
                all.push(format!("nmap -n -Pn {scan} {ports} {more} --ttl 64 --max-retries 0 --host-timeout 20s {target}"));
            }
        }
        for probe in [
            "-1",
            "-1 -C 13",
            "-1 -C 15",
            "-1 -C 17",
            "-1 -C 3 -K 1",
            "-1 -C 5",
            "-1 -C 42",
            "-S -p 80",
            "-SF -p 80",
            "-SR -p 80",
            "-FPU -p 81",
            "-A -p 80",
            "-R -p 80",
            "-X -p 80",
            "-2 -p 9",
            "-2 -p 53",
            "-0 --ipproto 255",
            "-0 --ipproto 47",
            "-0 --ipproto 1",
        ] {
            for more in [
                "",
                "-t 1",
                "-t 2",
                "-f -d 40",
                "-x -d 40",
                "-x -g 64 -d 40",
                "-y -d 1380",
                "-o 0xb8",
                "-b",
                "-G -d 8",
                "--lsrr 10.0.1.1",
            ] {
                all.push(format!("hping3 -q -n -c 1 {probe} {more} {target}"));
            }
        }
        for more in ["", "-u", "-T -P 80", "-s 1400", "-Q 184"] {
            all.push(format!("mtr -n -r -c 1 -G 1 -m 4 {more} {target}"));
        }
    }
    for target in [
        "fd00:1::2",
        "fd00:0::1",
        "fd00:1::1",
        "fd05::9",
        "fd06::9",
        "fd07::9",
        "fd09::9",
    ] {
        for size in [0, 1, 8, 1232, 1352, 1353, 1452] {
            for hint in ["do", "want"] {
                all.push(format!("ping -6 -n -c 1 -W 1 -M {hint} -s {size} {target}"));
            }
        }
        for more in ["-I", "-U", "-T", "-P 200", "-I --mtu", "-t 184"] {
            all.push(format!(
                "traceroute -6 -N 1 -n -q 1 -w 1 -m 4 {more} {target}"
            ));
        }
        for scan in [
            "-sS",
            "-sA",
            "-sF",
            "-sX",
            "-sU",
            "-sO -p 1,6,17,47,58,200,255",
        ] {
            for more in [
                "",
                "--data-length 60",
                "--badsum",
                "--ip-options \"\\x00\\x00\\x01\\x04\\x00\\x00\\x00\\x00\"",
            ] {
                let ports = if scan.contains("-p") {
                    ""
                } else {
                    "-p 9,22,80,81"
                };
                all.push(format!("nmap -6 -n -Pn {scan} {ports} {more} --ttl 64 --max-retries 0 --host-timeout 20s {target}"));
            }
        }
        for more in ["", "-u", "-T -P 80", "-s 1400"] {
            all.push(format!("mtr -6 -n -r -c 1 -G 1 -m 4 {more} {target}"));
        }
    }
    all
}

/// Which packets arrived at each host, by command.
type Arrived = Vec<[BTreeSet<String>; 2]>;

/// Runs the commands through a router.
fn through(middle: Middle, commands: &[String]) -> Option<Arrived> {
    let (kernels, running) = between(middle, &[HOST, FAR])?;
    let folder = std::env::temp_dir().join(format!(
        "wireline-tools-{}-{}",
        std::process::id(),
        running.name()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let files = ["host", "far"].map(|name| folder.join(name));
    let captures: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(number, file)| {
            kernels.start(
                number,
                &format!(
                    "tcpdump -i k -Q in -U --immediate-mode -Z root -w {}",
                    file.display()
                ),
            )
        })
        .collect();
    let is_open =
        |file: &std::path::PathBuf| std::fs::metadata(file).is_ok_and(|data| data.len() >= 24);
    assert!(
        wait_for(20, || files.iter().all(is_open)),
        "tcpdump does not capture"
    );
    let web = kernels.0[1]
        .enter(|| std::net::TcpListener::bind("[::]:80").unwrap())
        .unwrap();
    // Each end knows its neighbours, so that no packet waits for one and is overtaken by the marker.
    let warm = [
        "ping -n -c 1 -W 1 10.0.1.2",
        "ping -6 -n -c 1 -W 1 fd00:1::2",
    ];
    assert!(wait_for(60, || warm
        .iter()
        .all(|ping| kernels.try_output(0, ping).0)));
    mark(&kernels, 0);
    for (number, command) in (1..).zip(commands) {
        kernels.try_output(0, &format!("timeout 60 {command}"));
        mark(&kernels, number);
    }
    let last = format!("marker {}.", commands.len());
    let has_last = |file: &std::path::PathBuf| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes
            .windows(last.len())
            .any(|part| part == last.as_bytes())
    };
    assert!(
        wait_for(30, || files.iter().all(has_last)),
        "tcpdump has not written the last packet"
    );
    drop((captures, web));
    let [host, far] = files.map(|file| split(&std::fs::read(file).unwrap(), commands.len() + 1));
    let _ = std::fs::remove_dir_all(&folder);
    running.end(kernels);
    // The first part is that before all commands.
    let both = host.into_iter().zip(far).skip(1);
    Some(both.map(|(host, far)| [host, far]).collect())
}

/// Sends a packet each way after those of a command, and waits for it.
fn mark(kernels: &Kernels, number: usize) {
    for (from, to) in [(0, "10.0.1.2:9999"), (1, "10.0.0.2:9999")] {
        let receiver = kernels.0[1 - from].enter(move || {
            // A process that another thread has begun may have the socket of the marker before for a moment.
            let mut bound = None;
            wait_for(20, || {
                bound = UdpSocket::bind(to).ok();
                bound.is_some()
            });
            bound.expect("a port")
        });
        let receiver = receiver.unwrap();
        let timeout = std::time::Duration::from_millis(500);
        receiver.set_read_timeout(Some(timeout)).unwrap();
        let text = format!("marker {number}.");
        let sender = kernels.0[from].enter(|| UdpSocket::bind("0.0.0.0:0").unwrap());
        let sender = sender.unwrap();
        let came = (0..20).any(|_| {
            let _ = sender.send_to(text.as_bytes(), to);
            receiver.recv(&mut [0; 64]).is_ok()
        });
        assert!(came, "the marker after command {number} has not arrived");
    }
}

/// The packets of a capture, by command.
fn split(pcap: &[u8], count: usize) -> Vec<BTreeSet<String>> {
    let mut all = vec![BTreeSet::new(); count];
    let (mut at, mut number) = (24, 0);
    while let Some(head) = pcap.get(at..at + 16) {
        let length = u32::from_ne_bytes(head[8..12].try_into().unwrap()) as usize;
        let Some(frame) = pcap.get(at + 16..at + 16 + length) else {
            break;
        };
        at += 16 + length;
        if frame.len() > 50 && frame[12..14] == [8, 0] && frame[42..].starts_with(b"marker ") {
            let text = String::from_utf8_lossy(&frame[49..]).into_owned();
            let marked: usize = text.split('.').next().unwrap().parse().unwrap();
            number = marked + 1;
            continue;
        }
        if let (Some(text), Some(own)) = (packet(&frame[14..]), all.get_mut(number)) {
            own.insert(text);
        }
    }
    all
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |field| u16::from_be_bytes([field[0], field[1]]))
}

/// A packet without what is random; `None` of neighbour discovery and other protocols.
fn packet(ip: &[u8]) -> Option<String> {
    let (head, number, upper, is_later) = match ip.first()? >> 4 {
        4 => {
            let header = usize::from(ip[0] & 15) * 4;
            let mut options = ip.get(20..header)?.to_vec();
            if options.first() == Some(&68) {
                // Times of the hosts and of the router.
                options[4..].fill(0);
            }
            let place = u16_at(ip, 6);
            // The probe U1 of nmap's detection has a random one.
            let ttl = if u16_at(ip, 2) == 328 { 0 } else { ip[8] };
            let text = format!(
                "{:?} > {:?} tos {} length {} place {place:x} ttl {} options {options:?}",
                &ip[12..16],
                &ip[16..20],
                ip[1],
                u16_at(ip, 2),
                ttl,
            );
            (text, ip[9], ip.get(header..)?, place & 0x1FFF != 0)
        }
        // Of reports of listeners.
        6 if ip.get(6) == Some(&0) => return None,
        6 => {
            let text = format!(
                "{:?} > {:?} class {:x} length {} hops {}",
                ip.get(8..24)?,
                ip.get(24..40)?,
                u16_at(ip, 0) & 0xFF0,
                u16_at(ip, 4),
                ip[7],
            );
            (text, ip[6], &ip[40..], false)
        }
        _ => return None,
    };
    if is_later {
        return Some(format!("{head} of {number}"));
    }
    let at = |place: usize| upper.get(place).copied().unwrap_or(0);
    let rest = match number {
        6 => format!("tcp flags {:x} header {:x}", at(13), at(12)),
        17 => format!("udp length {}", u16_at(upper, 4)),
        58 if matches!(at(0), 130..=137 | 143) => return None,
        1 | 58 => {
            let is_error = match number {
                1 => matches!(at(0), 3 | 4 | 5 | 11 | 12),
                _ => at(0) < 128,
            };
            let about = upper.get(8..).filter(|_| is_error).and_then(packet);
            let value = if is_error { u16_at(upper, 6) } else { 0 };
            format!("icmp {} {} {value} {about:?}", at(0), at(1))
        }
        number => format!("of {number}"),
    };
    Some(format!("{head} {rest}"))
}

fn config() -> Config {
    let port = |number: usize, mtu| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().unwrap(),
            format!("fd00:{number}::1/64").parse().unwrap(),
        ],
        mtu,
        ..PortConfig::default()
    };
    Config {
        port: vec![port(0, 1500), port(1, 1400)],
        route: ROUTES.iter().map(|route| route.parse().unwrap()).collect(),
        icmp_limit: false,
        ..Config::default()
    }
}

fn kernel() -> String {
    let mut script = String::from(
        "cd /proc/sys/net; echo 0 >ipv4/icmp_ratemask; echo 0 >ipv6/icmp/ratelimit; ip link set r1 mtu 1400\n",
    );
    for number in 0..2 {
        script += &format!(
            "ip addr add 10.0.{number}.1/24 dev r{number}; ip -6 addr add fd00:{number}::1/64 dev r{number} nodad\n"
        );
    }
    for route in ROUTES {
        let six = if route.contains("fd") { "-6" } else { "" };
        script += &format!("ip {six} route add {route}\n");
    }
    script
}

#[test]
fn odd_packets_of_tools_are_answered_as_by_a_kernels_router() {
    if !have(&["tcpdump", "nmap", "hping3", "mtr", "traceroute", "ping"]) {
        return;
    }
    let commands = match std::env::var("WIRE_TOOLS").is_ok_and(|tools| tools == "all") {
        true => all(),
        false => SOME.map(String::from).into(),
    };
    let own = commands.clone();
    let ours = std::thread::spawn(move || through(Middle::Ours(config().into()), &own));
    let theirs = through(Middle::Kernel(kernel()), &commands);
    let (Some(ours), Some(theirs)) = (ours.join().unwrap(), theirs) else {
        return;
    };
    let (mut different, mut packets) = (0, 0);
    for (number, command) in commands.iter().enumerate() {
        for (place, name) in ["in front", "behind"].iter().enumerate() {
            let [ours, theirs] = [&ours, &theirs].map(|all| &all[number][place]);
            packets += theirs.len();
            if ours != theirs {
                different += 1;
                println!("{command}: {name}");
                theirs
                    .difference(ours)
                    .for_each(|text| println!("  kernel {text}"));
                ours.difference(theirs)
                    .for_each(|text| println!("  ours   {text}"));
            }
        }
    }
    println!("{} commands, {packets} different packets", commands.len());
    assert_eq!(different, 0);
    assert!(packets > 2 * commands.len(), "{packets}");
}
