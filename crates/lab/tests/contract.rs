//! One body for all kinds of nodes: what a node does with a lot of frames is what it does with the same frames one by one.

use lab::Registry;
use node::random::Random;
use node::{Driver, Frame, Member, Port, Time, When};

/// Keys for each kind; `None` for programs in processes of their own, which answer when they get round to it.
const KINDS: [(&str, Option<&str>); 39] = [
    ("switch", Some("ports = 3")),
    ("mirror", Some("copies = 1")),
    ("vlan", Some("vlan = 10\nothers = \"pass\"")),
    ("sink", Some("")),
    ("echo", Some("swap = \"ip\"")),
    ("ptp", Some("clock_type = \"transparent\"\nports = 3")),
    ("ntp", Some("ports = 2")),
    ("huygens", Some("ports = 2")),
    ("paxos-acceptor", Some("")),
    ("paxos-coordinator", Some("")),
    ("paxos-replica", Some("")),
    ("paxos-client", Some("")),
    ("ping", Some("source = \"10.0.0.1\"\ntarget = \"10.0.0.2\"")),
    ("covert", Some("role = \"decode\"")),
    ("capture", Some("")),
    ("meter", Some("")),
    ("command", None),
    ("callback", None),
    ("delay", Some("spec = \"delay 1ms loss 10%\"")),
    ("filter", Some("expression = \"udp port 53\"")),
    ("flops", Some("test = \"actions\"")),
    ("generator", Some("count = 10\ngap = \"1 us\"")),
    ("host", Some("address = \"10.0.0.2/24\"")),
    ("tcp", Some("address = \"10.0.0.2/24\"\nlisten = 6653")),
    ("openflow-switch", Some("ports = 3\ncontrollers = 0")),
    ("controller", Some("")),
    (
        "p4",
        Some("program = \"../../examples/p4-firewall/firewall.p4\""),
    ),
    (
        "prober",
        Some("address = \"10.0.0.1\"\ntarget = \"10.0.0.2\"\nport = 53\nsession = 1"),
    ),
    (
        "reflector",
        Some("mac = \"02:00:00:00:00:02\"\naddress = \"10.0.0.2\"\nport = 53"),
    ),
    (
        "middlebox",
        Some("flows = [\"* * udp\"]\ntrains = \"5, 1 Gb/s, 10 us, 1 ms\""),
    ),
    (
        "router",
        Some("port = [{ address = \"10.0.0.1/24\" }, { address = \"10.0.1.1/24\" }]"),
    ),
    (
        "trace",
        Some("source = \"10.0.0.1\"\ntarget = \"10.0.0.2\""),
    ),
    ("through", Some("")),
    ("compress", Some("keepalive = \"0 s\"")),
    ("duplicate", Some("")),
    ("early-discard", Some("bound = \"20 ms\"")),
    ("split", Some("")),
    ("xor", Some("")),
    ("paths", Some("paths = 2")),
];

/// UDP, TCP, ARP, and noise, each from one of a few stations.
fn traffic() -> Vec<Vec<u8>> {
    let mut random = Random::new(7);
    let mut frames = Vec::new();
    for number in 0..512u64 {
        let (a, b) = (random.below(6) as u8, random.below(6) as u8);
        let mut frame = vec![0; 60 + random.below(400) as usize];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, a]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, b]);
        frame[12..14].copy_from_slice(&[8, if number % 9 == 0 { 6 } else { 0 }]);
        let length = (frame.len() - 14) as u16;
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[22..24].copy_from_slice(&[64, if number % 3 == 0 { 6 } else { 17 }]);
        frame[26..30].copy_from_slice(&[10, 0, 0, b]);
        frame[30..34].copy_from_slice(&[10, 0, 0, a]);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[34..38].copy_from_slice(&[0, a, 0, 53]);
        frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
        if number % 17 == 0 {
            frame.truncate(10);
        }
        frames.push(frame);
    }
    frames
}

/// All that a node shows when it is given the traffic in lots of some size.
fn shown(registry: &Registry, kind: &str, keys: &str, size: usize) -> String {
    let node = registry.node(kind, keys, 2);
    let node = node.unwrap_or_else(|faults| panic!("{kind}: {faults}"));
    let mut driver = Driver::new(Member {
        name: kind.into(),
        node,
    });
    let ports = driver.properties().ports.min(3);
    let mut all = Vec::new();
    let mut take = |driver: &mut Driver| {
        driver.hand_on(|departure| {
            let when = match departure.when {
                When::Now => "now".into(),
                When::At(at) => at.to_string(),
            };
            all.push(format!(
                "{} {when} {:?}",
                departure.port,
                &departure.frame[..]
            ));
            Ok(None)
        });
    };
    // Chunks of 64 frames arrive at one time at one port.
    for (chunk, frames) in traffic().chunks(64).enumerate() {
        let now = Time::from_us(100 * (chunk as u64 + 1));
        while let Some(at) = driver.next_wake().filter(|at| *at <= now) {
            driver.wake(at);
            take(&mut driver);
        }
        for lot in frames.chunks(size) {
            let mut lot: Vec<Frame> = lot.iter().map(|bytes| Frame::new(bytes)).collect();
            lot.iter_mut().for_each(|frame| frame.set_arrived(now));
            driver.frames(now, Port((chunk % ports) as u16), &mut lot);
            take(&mut driver);
        }
    }
    format!("{}\n{:?}", all.join("\n"), driver.outcome())
}

#[test]
fn frames_in_lots_are_dealt_with_as_one_by_one() {
    let registry = flops::add(Registry::standard());
    for (kind, keys) in KINDS {
        let Some(keys) = keys else { continue };
        let [one, many] = [1, 64].map(|size| shown(&registry, kind, keys, size));
        assert!(one == many, "{kind}:\n{one}\n\nin lots:\n{many}");
    }
}

#[test]
fn no_kind_is_left_out() {
    let registry = flops::add(Registry::standard());
    let left = registry
        .names()
        .filter(|name| KINDS.iter().all(|(kind, _)| kind != name));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}
