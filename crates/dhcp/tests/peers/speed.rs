//! Exchanges a second by perfdhcp, of our server and of dnsmasq's in the same run.

use super::harness::{has, router, with_node};
use dhcp::leases::Limits;
use dhcp::service::v4_server;
use dhcp::v4::policy::SubnetConfig;

/// Pools of both servers have 60,000 addresses, and clients are chosen at random from as many.
const CLIENTS: u32 = 50_000;

/// Exchanges a second that were completed.
fn rate(told: &str) -> f64 {
    let line = told.lines().find_map(|line| line.strip_prefix("Rate: "));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    line.split(' ').next().unwrap().parse().unwrap()
}

fn perfdhcp(rate: u32, port: &str, server: &str) -> String {
    format!("timeout 20 perfdhcp -4 -r {rate} -R {CLIENTS} -p 5 -W 1 -l {port} {server}\n")
}

#[test]
fn our_server_completes_as_many_exchanges_as_dnsmasq() {
    if !has("perfdhcp") || !has("dnsmasq") {
        return;
    }
    let config = v4_server::Config {
        subnets: vec![SubnetConfig {
            network: "10.9.0.0/16".parse().ok(),
            pool: vec!["10.9.1.0-10.9.240.255".into()],
            ..SubnetConfig::default()
        }],
        max_offers: 16_384,
        ..v4_server::Config::default()
    };
    assert!(config.max_leases >= CLIENTS as usize && Limits::default().leases >= CLIENTS as usize);
    let node = router(&["10.9.0.1/16"], vec![v4_server::make(&config).unwrap()]);
    let setup = "ip addr add 10.9.0.100/16 dev k";
    let done = with_node(node, setup, |kernel| {
        [2_000, 10_000].map(|offered| {
            let ours = kernel.run(&perfdhcp(offered, "k", "10.9.0.1"));
            let script = format!(
                "ip netns add s; ip link add v0 type veth peer name v1 netns s; ip link set v0 up; ip addr add 10.8.0.100/16 dev v0\n\
                 ip -n s link set v1 up; ip -n s addr add 10.8.0.1/16 dev v1; ip -n s link set lo up\n\
                 ip netns exec s dnsmasq -d --conf-file=/dev/null --port=0 --interface=v1 --bind-interfaces --no-ping \
                 --dhcp-range=10.8.1.0,10.8.240.255,255.255.0.0,1h --dhcp-lease-max=60000 --dhcp-authoritative \
                 --leasefile-ro --user=root --quiet-dhcp 2>/tmp/log & server=$!\nsleep 1\n{}kill $server; ip netns del s",
                perfdhcp(offered, "v0", "10.8.0.1")
            );
            let theirs = kernel.run(&script);
            (offered, rate(&ours), rate(&theirs))
        })
    });
    let Some((all, _)) = done else { return };
    for (offered, ours, theirs) in all {
        println!(
            "{offered} offered: ours {ours}, dnsmasq {theirs}, ratio {:.2}",
            ours / theirs
        );
        assert!(
            ours >= theirs * 0.9,
            "at {offered}: {ours} by ours, {theirs} by dnsmasq"
        );
    }
}
