//! DHCP for IPv6: dhclient and dhcpcd at our server, our client at dnsmasq and at ISC's dhcpd.

use super::harness::{V6, counter, has, host, router, with_node};
use dhcp::service::{v6_client, v6_server};
use dhcp::v6::policy::SubnetConfig;
use ip::service::Service;
use node::Node;

fn server() -> Box<dyn Node> {
    let subnet = SubnetConfig {
        network: "2001:db8:1::/64".parse().ok(),
        pool: vec!["2001:db8:1::100-2001:db8:1::1ff".into()],
        prefixes: vec!["2001:db8:100::/40".parse().unwrap()],
        delegated: 56,
        dns: vec!["2001:db8:1::53".parse().unwrap()],
        search: vec!["lab.example".into()],
        ..SubnetConfig::default()
    };
    let config = v6_server::Config {
        subnets: vec![subnet],
        ..v6_server::Config::default()
    };
    router(
        &["2001:db8:1::1/64"],
        vec![v6_server::make(&config).unwrap()],
    )
}

#[test]
fn dhclient_gets_an_address_and_a_prefix_and_releases_them() {
    if !has("dhclient") {
        return;
    }
    let run = |flags: &str| {
        format!("timeout 30 dhclient -6 {flags} -v -sf /bin/true -lf /tmp/leases -pf /tmp/pid k\n")
    };
    let script = format!(
        "touch /tmp/leases\n{}cat /tmp/leases\n{}",
        run("-N -P -1"),
        run("-N -P -r")
    );
    let Some((told, outcome)) = with_node(server(), V6, |kernel| kernel.run(&script)) else {
        return;
    };
    for part in [
        "iaaddr 2001:db8:1::1",
        "iaprefix 2001:db8:1",
        "/56 {",
        "preferred-life 3600;",
        "max-life 7200;",
        "dhcp6.name-servers 2001:db8:1::53",
        "dhcp6.domain-search \"lab.example.\"",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let count = |name| counter(&outcome, name);
    assert!(
        count("dhcpv6_advertise") >= 1 && count("dhcpv6_reply") >= 2,
        "{told}"
    );
    assert_eq!(count("dhcpv6_release"), 1, "{told}");
    assert_eq!(count("dhcpv6_leases"), 0, "{told}");
    assert_eq!(count("refused_changes"), 0, "{told}");
}

#[test]
fn dhcpcd_gets_an_address_and_a_prefix_by_two_messages() {
    if !has("dhcpcd") {
        return;
    }
    let script = "printf 'noipv6rs\\noption rapid_commit\\ninterface k\\nia_na 1\\nia_pd 2/::/56 lo/0\\n' >/tmp/conf\n\
                  timeout 30 dhcpcd -6 -1 -B -d -t 25 -f /tmp/conf -c /bin/true k; ip -6 addr show";
    let Some((told, outcome)) = with_node(server(), V6, |kernel| kernel.run(script)) else {
        return;
    };
    assert!(told.contains("inet6 2001:db8:1::1"), "{told}");
    assert!(told.contains("delegated prefix 2001:db8:1"), "{told}");
    assert_eq!(counter(&outcome, "dhcpv6_leases"), 2, "{told}");
}

#[test]
fn our_client_gets_an_address_of_dnsmasq_and_answers_pings() {
    if !has("dnsmasq") {
        return;
    }
    let service = v6_client::make(&v6_client::Config::default(), 3).unwrap();
    let setup = format!("{V6}; ip -6 addr add 2001:db8:1::1/64 dev k nodad");
    let done = with_node(host(vec![service]), &setup, |kernel| {
        kernel.start(
            "dnsmasq -d --conf-file=/dev/null --port=0 --interface=k --bind-interfaces \
             --dhcp-range=2001:db8:1::77,2001:db8:1::77,64,1h --dhcp-leasefile=/tmp/leases --user=root",
        );
        kernel.run("for try in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -W 1 2001:db8:1::77 && break; sleep 1; done")
    });
    let Some((told, outcome)) = done else { return };
    assert!(told.contains("1 received"), "{told}");
    assert_eq!(counter(&outcome, "dhcpv6_configured"), 1, "{told}");
}

#[test]
fn our_requesting_router_gets_a_prefix_of_dhcpd_and_numbers_its_port() {
    if !has("dhcpd") {
        return;
    }
    let config = v6_client::Config {
        prefix: Some(60),
        // The port has an address of the delegated prefix, too.
        prefix_ports: vec![0],
        ..v6_client::Config::default()
    };
    let service: Box<dyn Service> = v6_client::make(&config, 3).unwrap();
    let setup = format!(
        "{V6}; ip -6 addr add 2001:db8:1::1/64 dev k nodad; ip -6 addr add 2001:db8:50:10::2/64 dev k nodad"
    );
    let done = with_node(router(&[], vec![service]), &setup, |kernel| {
        kernel.start(
            "sh -c 'printf \"default-lease-time 600;\\nsubnet6 2001:db8:1::/64 { range6 2001:db8:1::88 2001:db8:1::88; \
             prefix6 2001:db8:50:10:: 2001:db8:50:10:: /60; }\\n\" >/tmp/conf; touch /tmp/leases; \
             exec dhcpd -6 -f -d -cf /tmp/conf -lf /tmp/leases -pf /tmp/pid k 2>&1'",
        );
        kernel.run(
            "for try in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -W 1 2001:db8:50:10::1 && break; sleep 1; done; \
             ping -c 1 -W 1 -I 2001:db8:50:10::2 2001:db8:1::88",
        )
    });
    let Some((told, outcome)) = done else { return };
    assert_eq!(told.matches("1 received").count(), 2, "{told}");
    assert_eq!(counter(&outcome, "dhcpv6_configured"), 1, "{told}");
    assert_eq!(counter(&outcome, "refused_changes"), 0, "{told}");
}
