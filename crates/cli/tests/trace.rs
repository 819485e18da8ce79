//! `wire trace` through routers of real kernels.

use crate::shell::{Place, has, is_root};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Kernels between a source and a target: a load balancer, three routers side by side, and one router after them.
///
/// The links are 10.82.LINK.0/24 and fd82:LINK::/64; the end nearer to the source has the number 1.
struct Kernels {
    source: Namespace,
    _others: Vec<Namespace>,
}

const BRANCHES: usize = 3;
const LAST: usize = 1 + BRANCHES;
const TARGET: usize = LAST + 1;

impl Kernels {
    fn new() -> Result<Kernels, NetnsError> {
        let mut namespaces = Vec::new();
        for _ in 0..=TARGET {
            namespaces.push(Namespace::new()?);
        }
        let source = Namespace::new()?;
        // Namespaces by number: 0 is the load balancer; usize::MAX stands for the source.
        let mut links = vec![(usize::MAX, 0)];
        links.extend((1..=BRANCHES).map(|branch| (0, branch)));
        links.extend((1..=BRANCHES).map(|branch| (branch, LAST)));
        links.push((LAST, TARGET));
        let of = |number: usize| namespaces.get(number).unwrap_or(&source);
        for (link, (from, to)) in links.iter().enumerate() {
            let names = [format!("d{link}"), format!("u{link}")];
            let end = |index: usize, number: usize| VethEnd {
                namespace: of(number),
                name: &names[index],
                mac: Some([2, 0, 0, 82, index as u8, link as u8]),
            };
            veth([end(0, *from), end(1, *to)], 1500)?;
            for (index, number) in [(0, *from), (1, *to)] {
                let last = index + 1;
                let script = format!(
                    "echo 0 >/proc/sys/net/ipv6/conf/{0}/accept_dad; \
                     echo 0 >/proc/sys/net/ipv6/conf/{0}/disable_ipv6; ip addr add 10.82.{link}.{last}/24 dev {0}; \
                     ip -6 addr add fd82:{link}::{last}/64 nodad dev {0}",
                    names[index]
                );
                run(of(number), &script);
            }
        }
        let settings = "cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 1 >ipv6/conf/all/forwarding; \
            echo 1 >ipv4/fib_multipath_hash_policy; echo 1 >ipv6/fib_multipath_hash_policy; \
            echo 0 >ipv4/icmp_ratemask; echo 0 >ipv6/icmp/ratelimit; \
            for file in ipv4/conf/*/rp_filter; do echo 0 >$file; done";
        namespaces.iter().for_each(|one| run(one, settings));
        let to = 2 * BRANCHES + 1;
        let mut hops = [String::new(), String::new()];
        for (branch, router) in namespaces.iter().enumerate().skip(1).take(BRANCHES) {
            let (up, down) = (branch, BRANCHES + branch);
            hops[0] += &format!(" nexthop via 10.82.{up}.2");
            hops[1] += &format!(" nexthop via fd82:{up}::2");
            run(
                router,
                &format!(
                    "ip route add 10.82.{to}.0/24 via 10.82.{down}.2; ip route add 10.82.0.0/24 via 10.82.{up}.1; \
                     ip -6 route add fd82:{to}::/64 via fd82:{down}::2; ip -6 route add fd82:0::/64 via fd82:{up}::1"
                ),
            );
        }
        let first = BRANCHES + 1;
        for (number, script) in [
            (
                0,
                format!(
                    "ip route add 10.82.{to}.0/24{}; ip -6 route add fd82:{to}::/64{}",
                    hops[0], hops[1]
                ),
            ),
            (
                LAST,
                format!(
                    "ip route add 10.82.0.0/24 via 10.82.{first}.1; ip -6 route add fd82:0::/64 via fd82:{first}::1"
                ),
            ),
            (
                TARGET,
                format!(
                    "ip route add default via 10.82.{to}.1; ip -6 route add default via fd82:{to}::1"
                ),
            ),
        ] {
            run(&namespaces[number], &script);
        }
        run(
            &source,
            "ip route add default via 10.82.0.2; ip -6 route add default via fd82:0::2",
        );
        Ok(Kernels {
            source,
            _others: namespaces,
        })
    }

    fn made(test: &str) -> Option<Kernels> {
        if !is_root(test) || !has("ip", test) {
            return None;
        }
        match Kernels::new() {
            Ok(kernels) => Some(kernels),
            Err(error) => {
                println!("skipped: {test}: {error}");
                None
            }
        }
    }
}

fn run(namespace: &Namespace, script: &str) {
    let mut command = namespace.command("timeout");
    let script = format!("set -e; {script}");
    let ended = command.args(["20", "bash", "-c", &script]).output();
    let ended = ended.expect("bash");
    assert!(ended.status.success(), "{script}: {ended:?}");
}

/// Addresses by hop.
fn hops(out: &str) -> Vec<BTreeSet<IpAddr>> {
    let mut hops = Vec::new();
    for line in out.lines() {
        let line: Value = serde_json::from_str(line).expect(line);
        if line["type"] != "interface" {
            continue;
        }
        let ttl = line["ttl"].as_u64().expect("a TTL") as usize;
        hops.resize(hops.len().max(ttl), BTreeSet::new());
        let address = line["address"].as_str().expect("an answer");
        hops[ttl - 1].insert(address.parse().expect("an address"));
    }
    hops
}

fn addresses(texts: &[&str]) -> BTreeSet<IpAddr> {
    texts
        .iter()
        .map(|text| text.parse().expect("an address"))
        .collect()
}

#[test]
fn the_diamond_of_kernel_routers_is_found() {
    let Some(kernels) = Kernels::made("wire trace through kernels") else {
        return;
    };
    let place = Place::new("trace");
    for (target, options, four) in [
        ("10.82.7.2", "", true),
        ("10.82.7.2", "--protocol tcp --algorithm mda", true),
        ("fd82:7::2", "--algorithm mda", false),
    ] {
        // Of the three branches each is missed with a probability far below that of a broken machine.
        let script = format!("wire trace d0 {target} {options} --rate 500 --alpha 1e-6 --json");
        let out = place
            .run_by(kernels.source.command("timeout"), &script)
            .good();
        let hops = hops(&out);
        assert_eq!(hops.len(), 4, "{out}");
        let report: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        assert_eq!(report["counters"]["reached"], 1, "{report}");
        assert_eq!(report["counters"]["per_packet"], 0, "{report}");
        assert_eq!(report["arrival_stamps"], "kernel", "{report}");
        assert_eq!(hops[3], addresses(&[target]), "{out}");
        if four {
            assert_eq!(hops[0], addresses(&["10.82.0.2"]), "{out}");
            assert_eq!(
                hops[1],
                addresses(&["10.82.1.2", "10.82.2.2", "10.82.3.2"]),
                "{out}"
            );
            assert_eq!(hops[2], addresses(&["10.82.4.2"]), "{out}");
        } else {
            assert_eq!(hops[1].len(), BRANCHES, "{out}");
        }
    }
}

#[test]
fn the_table_shows_all_interfaces_and_their_links() {
    let Some(kernels) = Kernels::made("wire trace as a table") else {
        return;
    };
    let place = Place::new("trace-table");
    let script = "wire trace d0 10.82.7.2 --rate 500 --alpha 1e-6";
    let out = place
        .run_by(kernels.source.command("timeout"), script)
        .good();
    println!("{out}");
    let (table, tree) = out.split_once("links:").expect("links");
    for branch in 1..=BRANCHES {
        assert!(table.contains(&format!("  10.82.{branch}.2 ")), "{out}");
        assert!(
            tree.contains(&format!("\n    10.82.{branch}.2\n      10.82.4.2")),
            "{out}"
        );
    }
    assert_eq!(tree.matches("10.82.4.2 ...").count(), BRANCHES - 1, "{out}");
}

#[test]
fn one_flow_takes_one_path_and_the_table_shows_it() {
    let Some(kernels) = Kernels::made("wire trace of one flow") else {
        return;
    };
    let place = Place::new("trace-paris");
    for protocol in ["udp", "icmp", "tcp"] {
        let script = format!(
            "wire trace d0 10.82.7.2 --algorithm paris --protocol {protocol} --rate 500 --rounds 5 --dot route.dot"
        );
        let out = place
            .run_by(kernels.source.command("timeout"), &script)
            .good();
        assert!(
            !out.contains("links:") && !out.contains("packet by packet"),
            "{out}"
        );
        let target = out
            .lines()
            .find(|line| line.starts_with("  4  10.82.7.2"))
            .expect(&out);
        assert!(target.contains(" 15   0.0%"), "{out}");
        let dot = String::from_utf8(place.read("route.dot")).unwrap();
        assert_eq!(dot.matches("->").count(), 3, "{dot}");
    }
}

#[test]
fn a_target_without_a_router_is_reported() {
    let Some(kernels) = Kernels::made("wire trace without a router") else {
        return;
    };
    let place = Place::new("trace-none");
    let script = "wire trace d0 10.82.7.2 --via 10.82.0.77";
    let ended = place.run_by(kernels.source.command("timeout"), script);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("no probe was sent"), "{ended:?}");
}

/// Hops of the traces in scamper's text.
fn scamper_hops(text: &str) -> Vec<(u8, IpAddr)> {
    let hops = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    hops.collect()
}

#[test]
fn scamper_takes_the_path_of_the_same_flow_and_reads_our_graph() {
    const TEST: &str = "wire trace next to scamper";
    let Some(kernels) = Kernels::made(TEST).filter(|_| has("scamper", TEST)) else {
        return;
    };
    let place = Place::new("trace-scamper");
    let run = |script: &str| {
        place
            .run_by(kernels.source.command("timeout"), script)
            .good()
    };
    for (target, protocol, theirs) in [
        ("10.82.7.2", "udp", "udp-paris"),
        ("10.82.7.2", "icmp", "icmp-paris"),
        ("10.82.7.2", "tcp", "tcp"),
    ] {
        // IPv6 is left out: the kernel's path hash covers the flow label, which differs between the programs.
        run(&format!(
            "wire trace d0 {target} --algorithm paris --protocol {protocol} --rate 500 --warts ours.warts"
        ));
        let ours = run("sc_warts2text ours.warts");
        let ours = ours.split("ping from").next().expect("a trace");
        let flow = run("sc_wartsdump ours.warts");
        let port = |name: &str| -> String {
            let rest = flow.split_once(name).expect("a port").1;
            rest.chars().take_while(char::is_ascii_digit).collect()
        };
        let flow = match protocol {
            "icmp" => String::new(),
            _ => format!("-s {} -d {}", port("sport: "), port("dport: ")),
        };
        run(&format!(
            "scamper -O warts -o theirs.warts -I 'trace -P {theirs} {flow} -w 1 -q 2 {target}'"
        ));
        let theirs = run("sc_warts2text theirs.warts");
        let hops = scamper_hops(ours);
        assert_eq!(hops.len(), 4, "{ours}");
        assert_eq!(hops, scamper_hops(&theirs), "{protocol} {ours} {theirs}");
    }
    run("wire trace d0 10.82.7.2 --protocol udp --rate 500 --alpha 1e-6 --warts ours.warts");
    let ours = run("sc_warts2text ours.warts");
    let links = ours.lines().filter(|line| line.contains(" -> "));
    assert_eq!(links.count(), 2 * BRANCHES + 1, "{ours}");
}
