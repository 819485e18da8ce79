//! curl and iperf3 through the firewall's SYN proxy, and through the kernel's: the same options on both sides, and figures of both.

use super::side_by_side::{Middle, Running, between};
use super::{Kernels, have, wait_for};
use router::conntrack;
use router::router::{Config, PortConfig};
use std::io::{Read, Write};
use std::net::TcpListener;

const CLIENT: &str = "ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1";
const SERVER: &str = "ip addr add 10.0.1.2/24 dev k; ip route add default via 10.0.1.1";
const PAGE: usize = 3_000_000;

/// The rules of nftables' manual, for two ports.
const RULES: &str = "table inet proxy {
    chain first {
        type filter hook prerouting priority raw; policy accept;
        tcp dport { 80, 5201 } tcp flags & (fin|syn|rst|ack) == syn notrack
    }
    chain forward {
        type filter hook forward priority 0; policy drop;
        tcp dport { 80, 5201 } ct state invalid,untracked synproxy OPTIONS
        ct state new,established accept
    }
}
";

fn middle(is_ours: bool, rules: &str) -> Middle {
    if !is_ours {
        return Middle::Kernel(format!(
            "ip addr add 10.0.0.1/24 dev r0; ip addr add 10.0.1.1/24 dev r1; \
             echo 0 >netfilter/nf_conntrack_tcp_loose; nft '{rules}'"
        ));
    }
    let port = |address: &str| PortConfig {
        address: vec![address.parse().unwrap()],
        ..PortConfig::default()
    };
    let config = Config {
        port: vec![port("10.0.0.1/24"), port("10.0.1.1/24")],
        firewall: Some(String::from(rules)),
        conntrack: Some(conntrack::Config {
            tcp_loose: false,
            ..conntrack::Config::default()
        }),
        ..Config::default()
    };
    Middle::Ours(config.into())
}

fn serve(kernels: &Kernels) {
    let listener = kernels.0[1].enter(|| TcpListener::bind("10.0.1.2:80").unwrap());
    let listener = listener.unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4_096]);
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {PAGE}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b'x'; PAGE]);
        }
    });
}

/// Options of SYNs to port 80 and of SYN-ACKs from it, in tcpdump's words without the values of timestamps.
fn options(text: &str) -> Vec<String> {
    let wanted = text.lines().filter(|line| line.contains("Flags [S"));
    let option = |line: &str| {
        let flags = line.split("Flags ").nth(1)?.split(',').next()?;
        let list = line.split("options [").nth(1)?.split(']').next()?;
        let words = list.split(',').map(|word| match word.starts_with("TS") {
            true => "TS",
            false => word,
        });
        Some(format!("{flags} {}", words.collect::<Vec<_>>().join(",")))
    };
    let mut all: Vec<String> = wanted.filter_map(option).collect();
    // A segment may be sent again on a busy machine.
    all.dedup();
    all
}

/// Options that client and server see, and bits per second up and down.
struct Seen {
    options: [Vec<String>; 2],
    rates: [f64; 2],
    proxied: Option<u64>,
}

fn through(is_ours: bool, proxy: &str) -> Option<Seen> {
    let rules = RULES.replace("OPTIONS", proxy);
    let (kernels, running) = between(middle(is_ours, &rules), &[CLIENT, SERVER])?;
    serve(&kernels);
    let folder = std::env::temp_dir().join(format!(
        "wireline-proxy-{}-{}",
        std::process::id(),
        running.name()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |number: usize| folder.join(number.to_string()).display().to_string();
    let captures: Vec<_> = (0..2)
        .map(|number| {
            let file = file(number);
            let filter = "tcp port 80 and tcp[tcpflags] & tcp-syn != 0";
            let tcpdump = format!("tcpdump -n -l --immediate-mode -i k '{filter}'");
            kernels.start(number, &format!("{tcpdump} >{file} 2>{file}.about"))
        })
        .collect();
    let read = |name: String| std::fs::read_to_string(name).unwrap_or_default();
    let listens = |number| read(file(number) + ".about").contains("listening");
    assert!(
        wait_for(20, || listens(0) && listens(1)),
        "tcpdump does not listen"
    );
    let page = kernels.output(0, "curl -s -m 60 http://10.0.1.2/ | wc -c");
    assert_eq!(page.trim(), PAGE.to_string());
    let _iperf = kernels.start(1, "iperf3 -s -B 10.0.1.2");
    let hears = || {
        kernels
            .output(1, "cat /proc/net/tcp")
            .contains("0201000A:1451")
    };
    assert!(wait_for(20, hears), "iperf3 does not listen");
    let rates = ["", "-R"].map(|way| {
        let text = kernels.output(0, &format!("iperf3 -c 10.0.1.2 -t 1 -J {way}"));
        let at = text.rfind("\"sum_received\"").expect("a sum");
        let rate = text[at..]
            .split("\"bits_per_second\":")
            .nth(1)
            .expect("a rate");
        rate.split(',')
            .next()
            .unwrap()
            .trim()
            .parse()
            .expect("a number")
    });
    let seen = || [0, 1].map(|number| options(&read(file(number))));
    assert!(
        wait_for(20, || seen().iter().all(|options| options.len() >= 2)),
        "{:?}",
        seen()
    );
    let options = seen();
    drop(captures);
    let _ = std::fs::remove_dir_all(&folder);
    let is_ours = matches!(running, Running::Ours(_));
    let outcome = running.end(kernels);
    let proxied = outcome.map(|outcome| super::counter(&outcome, "synproxy_valid"));
    assert_eq!(is_ours, proxied.is_some());
    Some(Seen {
        options,
        rates,
        proxied,
    })
}

#[test]
fn curl_and_iperf3_pass_the_syn_proxy_with_the_options_of_linuxs() {
    if !have(&["curl", "iperf3", "tcpdump", "nft"]) {
        return;
    }
    for proxy in [
        "mss 1460 wscale 7 timestamp sack-perm",
        "mss 1200 sack-perm",
        "mss 1400 wscale 9 timestamp",
    ] {
        let (Some(ours), Some(theirs)) = (through(true, proxy), through(false, proxy)) else {
            return;
        };
        println!(
            "{proxy}\n at the client {:?}\n at the server {:?}\n to the server {:.0} Mb/s, kernel {:.0}; back {:.0} Mb/s, kernel {:.0}",
            ours.options[0],
            ours.options[1],
            ours.rates[0] / 1e6,
            theirs.rates[0] / 1e6,
            ours.rates[1] / 1e6,
            theirs.rates[1] / 1e6,
        );
        assert_eq!(ours.options, theirs.options, "{proxy}");
        // curl, and of each iperf3 the connection for control and the one for data.
        assert!(
            ours.proxied.is_some_and(|count| count >= 5),
            "{:?}",
            ours.proxied
        );
    }
}
