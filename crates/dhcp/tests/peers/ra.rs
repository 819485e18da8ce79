//! Router advertisements: rdisc6 and the kernel hear ours.

use super::harness::{V6, counter, has, router, with_node};
use dhcp::advertisement::Preference;
use dhcp::service::router_advertisements::{Config, PrefixConfig, RouteConfig, make};
use node::Time;

fn rich() -> Config {
    Config {
        interval: Time::from_secs(4),
        mtu: true,
        other: true,
        preference: Preference::High,
        prefixes: vec![PrefixConfig {
            prefix: "2001:db8:1::/64".parse().ok(),
            ..PrefixConfig::default()
        }],
        valid: Time::from_secs(7200),
        preferred: Time::from_secs(3600),
        routes: vec![RouteConfig {
            to: "2001:db8:77::/48".parse().unwrap(),
            preference: Preference::Low,
            lifetime: None,
        }],
        dns: vec!["2001:db8:1::53".parse().unwrap()],
        search: vec!["lab.example".into()],
        translator: "64:ff9b::/96".parse().ok(),
        ..Config::default()
    }
}

#[test]
fn rdisc6_shows_our_advertisement() {
    if !has("rdisc6") {
        return;
    }
    let node = router(&["2001:db8:1::1/64"], vec![make(&rich(), 1).unwrap()]);
    let Some((told, outcome)) = with_node(node, V6, |kernel| kernel.run("sleep 1; rdisc6 -1 k"))
    else {
        return;
    };
    for part in [
        "Hop limit                 :           64",
        "Stateful other conf.      :          Yes",
        "Stateful address conf.    :           No",
        "Router preference         :         high",
        "Router lifetime           :           12",
        "Prefix                   : 2001:db8:1::/64",
        "On-link                 :          Yes",
        "Autonomous address conf.:          Yes",
        "Valid time              :         7200",
        "Pref. time              :         3600",
        "MTU                      :         1500",
        "Recursive DNS server     : 2001:db8:1::53",
        "Route                    : 2001:db8:77::/48",
        "Route preference        :          low",
        "from fe80::ff:fe00:99",
        "lab.example",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(counter(&outcome, "solicitations") >= 1, "{told}");
}

#[test]
fn a_kernel_makes_an_address_takes_routes_and_gives_them_up_when_the_router_ceases() {
    let config = Config {
        stop: Some(Time::from_secs(8)),
        ..rich()
    };
    let node = router(&["2001:db8:1::1/64"], vec![make(&config, 1).unwrap()]);
    let setup = format!(
        "{V6}; echo 2 >/proc/sys/net/ipv6/conf/k/accept_ra; ip link set k down; ip link set k up"
    );
    let done = with_node(node, &setup, |kernel| {
        kernel.run("sleep 4; ip -6 addr show dev k; ip -6 route; ping -c 1 -W 1 2001:db8:1::1; sleep 8; echo later; ip -6 route")
    });
    let Some((told, _)) = done else { return };
    let (early, later) = told.split_once("later").unwrap();
    for part in [
        "inet6 2001:db8:1:0:",
        "default via fe80::ff:fe00:99 dev k proto ra",
        "pref high",
        "1 received",
    ] {
        assert!(early.contains(part), "{part}: {told}");
    }
    assert!(!later.contains("default via"), "{told}");
}

#[test]
fn each_kernel_gets_a_prefix_of_its_own_and_a_route_to_it() {
    let config = Config {
        interval: Time::from_secs(4),
        unique: "2001:db8:8000::/48".parse().ok(),
        ..Config::default()
    };
    let node = router(&["2001:db8:1::1/64"], vec![make(&config, 1).unwrap()]);
    // The kernel solicits with its link-local address.
    let setup = format!(
        "{V6}; echo 2 >/proc/sys/net/ipv6/conf/k/accept_ra; ip link set k down; ip link set k up"
    );
    let done = with_node(node, &setup, |kernel| {
        kernel.run("sleep 4; ip -6 addr show dev k; ip -6 route; ping -c 1 -W 1 2001:db8:1::1")
    });
    let Some((told, outcome)) = done else { return };
    assert!(told.contains("inet6 2001:db8:8000:"), "{told}");
    // The prefix is not on the link; the answer to the ping takes the route.
    assert!(
        !told.lines().any(|line| line.starts_with("2001:db8:8000")),
        "{told}"
    );
    assert!(told.contains("1 received"), "{told}");
    assert_eq!(counter(&outcome, "unique_prefixes"), 1, "{told}");
    assert_eq!(counter(&outcome, "refused_changes"), 0, "{told}");
}
