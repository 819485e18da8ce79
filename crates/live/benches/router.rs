//! `cargo bench -p wireline-live --bench router`: our router over two veth pairs, compared in one run with a node that only moves frames to
//! the other port, which is the limit of AF_PACKET here, and with Linux's router.
//!
//! `rate` is the rate at the far end, by the kernel's counter, while another thread floods the router with datagrams of 60 bytes without
//! FCS; `us of processor` is the time of the node's process for each packet. `BENCH_SECONDS` (default 2) is the time of each row. Needs root;
//! makes namespaces of its own.

#[path = "bed/mod.rs"]
mod bed;

use bed::{Bed, pause, processor};
use ip::header::{self, UDP};
use live::port::{self, Options};
use node::{Frame, Node, Out, Port, Properties, Time};
use router::router::{Config, PortConfig, Router};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The word that makes this program a node on the ports `b` and `out`.
const NODE: &str = "--node";
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xB];
/// Frames that a call sends.
const BATCH: usize = 64;
const RULES: &str =
    "table inet filter { chain forward { type filter hook forward priority 0; policy drop;
    ct state established,related accept; iif 0 accept } }";

/// Moves frames to the other port as they are.
struct Mover;

impl Node for Mover {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(Port(1 - port.0), frame);
        }
    }
}

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, kind] = &arguments[..]
        && word == NODE
    {
        return run(kind);
    }
    let Some(bed) = Bed::new("router", 2.0) else {
        return;
    };
    let script = "PATH=$PATH:/usr/sbin:/sbin; ip address add 10.0.1.2/24 dev c";
    let status = bed.c.command("sh").args(["-c", script]).status();
    assert!(status.is_ok_and(|status| status.success()), "an address");
    println!(
        "{:<28} {:>10} {:>14} {:>10}",
        "", "rate, k/s", "us processor", "of moving"
    );
    let mut limit = None;
    for kind in ["mover", "router", "router with firewall", "Linux"] {
        let (rate, us) = bed.measure(kind);
        let limit = *limit.get_or_insert(rate);
        let share = rate / limit;
        println!("{kind:<28} {:>10.1} {us:>14.2} {share:>10.2}", rate / 1e3);
    }
}

/// A node of this kind on the ports of the namespace.
fn run(kind: &str) {
    let port = |address: &str, mac: [u8; 6]| PortConfig {
        address: vec![address.parse().expect("an address")],
        mac: Some(packet::ethernet::Mac(mac)),
        ..PortConfig::default()
    };
    let config = Config {
        port: vec![
            port("10.0.0.1/24", MAC),
            port("10.0.1.1/24", [2, 0, 0, 0, 0, 0xC]),
        ],
        firewall: kind.ends_with("firewall").then(|| RULES.into()),
        ..Config::default()
    };
    let node: Box<dyn Node> = match kind {
        "mover" => Box::new(Mover),
        _ => Box::new(Router::new(config).expect("a router")),
    };
    let open = |name: &str| {
        let spec = name.parse().expect("a port's name");
        port::open(&spec, &Options::of_nodes(2)).expect("a port")
    };
    ::capture::signal::install();
    live::world::on_ports("router", node, vec![open("b"), open("out")], None).expect("a run");
}

/// A datagram to the far end.
fn datagram(flow: u16) -> Vec<u8> {
    let mut frame = Frame::new(&[0; 60]);
    let [from, to]: [IpAddr; 2] = [[10, 0, 0, 2].into(), [10, 0, 1, 2].into()];
    header::write(&mut frame, from, to, UDP);
    header::write_udp(&mut frame, (from, 1024 + flow), (to, 9));
    frame[..6].copy_from_slice(&MAC);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0xA]);
    frame.to_vec()
}

impl Bed {
    /// Packets a second at the far end, and the processor's time for each, us.
    fn measure(&self, kind: &str) -> (f64, f64) {
        let mut child = None;
        if kind == "Linux" {
            let script = "PATH=$PATH:/usr/sbin:/sbin
                ip link set dev b address 02:00:00:00:00:0b
                ip address add 10.0.0.1/24 dev b; ip address add 10.0.1.1/24 dev out
                echo 1 > /proc/sys/net/ipv4/ip_forward";
            let status = self.b.command("sh").args(["-c", script]).status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "a router of Linux"
            );
        } else {
            let program = std::env::current_exe().expect("this program");
            let mut command = self.b.command(&program.display().to_string());
            child = Some(command.args([NODE, kind]).spawn().expect("a process"));
        }
        pause(Duration::from_millis(500));
        let spent = || child.as_ref().map_or(0, |child| processor(child.id()));
        let frames: Vec<Vec<u8>> = (0..64).map(datagram).collect();
        let stop = AtomicBool::new(false);
        let mut tx = bed::open(&self.a, "a", &Options::default())
            .expect("a port")
            .tx;
        let (mut rate, mut us) = (0.0, 0.0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for batch in frames.chunks(BATCH).cycle() {
                    let slices: Vec<&[u8]> = batch.iter().map(|frame| &frame[..]).collect();
                    let _ = tx.send(&slices);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            // The router finds the far end's MAC address.
            pause(Duration::from_millis(300));
            let before = spent();
            let (packets, each_second) = bed::rate(&self.c, "c", self.time);
            rate = each_second;
            us = (spent() - before) as f64 / 1e3 / packets.max(1) as f64;
            stop.store(true, Ordering::Relaxed);
        });
        if let Some(mut child) = child {
            // SAFETY: a signal to a child that has not been waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            let _ = child.wait();
        }
        pause(Duration::from_millis(200));
        (rate, us)
    }
}
