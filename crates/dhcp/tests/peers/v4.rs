//! DHCP for IPv4: udhcpc, dhclient and dhcpcd at our server, our client at dnsmasq.

use super::harness::{Kernel, counter, has, host, router, with_node};
use dhcp::service::{v4_client, v4_server};
use dhcp::v4::options::Named;
use dhcp::v4::policy::SubnetConfig;
use node::{Node, Outcome, Time};

fn server() -> Box<dyn Node> {
    let subnet = SubnetConfig {
        network: "10.9.0.0/24".parse().ok(),
        pool: vec!["10.9.0.50-10.9.0.59".into()],
        named: Named {
            router: vec![[10, 9, 0, 1].into()],
            dns: vec![[10, 9, 0, 2].into(), [10, 9, 0, 3].into()],
            domain: Some("lab.example".into()),
            search: vec!["a.example".into(), "b.example".into()],
            mtu: Some(1400),
            routes: vec!["10.77.0.0/16 via 10.9.0.9".into()],
            ..Named::default()
        },
        ..SubnetConfig::default()
    };
    let config = v4_server::Config {
        subnets: vec![subnet],
        ..v4_server::Config::default()
    };
    router(&["10.9.0.1/24"], vec![v4_server::make(&config).unwrap()])
}

fn with_server(act: impl FnOnce(&mut Kernel) -> String) -> Option<(String, Outcome)> {
    with_node(server(), "", act)
}

/// udhcpc sends a renewal by a connected socket, which it closes at once. A reply that arrives before the close goes to that
/// socket and is lost. Our server replies within 0.1 ms. After a lost reply, the next signal restarts the client, and the one
/// after that requests a renewal again. The test sends signals until a renewal succeeds.
#[test]
fn udhcpc_gets_a_lease_renews_it_and_releases_it() {
    if !has("udhcpc") {
        return;
    }
    let done = with_server(|kernel| {
        kernel.run(
            "cat >/tmp/script <<'E'\n#!/bin/sh\n\
             echo \"$1 ip=$ip mask=$mask router=$router dns=$dns mtu=$mtu domain=$domain search=$search routes=$staticroutes lease=$lease\"\n\
             echo $1 >>/tmp/states\n\
             case $1 in bound) ip addr add $ip/$mask dev k;; esac\nE\n\
             chmod +x /tmp/script; touch /tmp/states\n\
             udhcpc -f -R -i k -s /tmp/script -O search -O mtu -O staticroutes -x hostname:peer &\n\
             until_state() { for try in $(seq $2); do grep -q $1 /tmp/states && return; sleep 0.1; done; false; }\n\
             until_state bound 200\n\
             for turn in $(seq 40); do kill -USR1 $!; until_state renew 10 && break; done\n\
             kill -TERM $!; wait",
        )
    });
    let Some((told, outcome)) = done else { return };
    let line = told
        .lines()
        .find(|line| line.starts_with("bound"))
        .unwrap_or_else(|| panic!("{told}"));
    for part in [
        "ip=10.9.0.5",
        "mask=24",
        "router=10.9.0.1",
        "dns=10.9.0.2 10.9.0.3",
        "mtu=1400",
        "domain=lab.example",
        "search=a.example b.example",
        "10.77.0.0/16 10.9.0.9",
        "lease=3600",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(told.contains("renew ip="), "{told}");
    let requests =
        told.matches("broadcasting select").count() + told.matches("sending renew").count();
    let requests = requests as u64;
    assert_eq!(counter(&outcome, "dhcp_request"), requests, "{told}");
    assert_eq!(counter(&outcome, "dhcp_ack"), requests, "{told}");
    assert_eq!(counter(&outcome, "dhcp_release"), 1, "{told}");
    assert_eq!(counter(&outcome, "dhcp_leases"), 0);
}

#[test]
fn dhclient_gets_a_lease_and_keeps_it_over_a_restart() {
    if !has("dhclient") {
        return;
    }
    let done = with_server(|kernel| {
        let run = "timeout 30 dhclient -4 -1 -v -sf /bin/true -lf /tmp/leases -pf /tmp/pid k; \
                   kill $(cat /tmp/pid); sleep 1\n";
        kernel.run(&format!("touch /tmp/leases\n{run}{run}cat /tmp/leases"))
    });
    let Some((told, outcome)) = done else { return };
    for part in [
        "DHCPDISCOVER",
        "DHCPOFFER of 10.9.0.",
        "DHCPACK of 10.9.0.",
        "option routers 10.9.0.1;",
        "option domain-name-servers 10.9.0.2,10.9.0.3;",
        "option domain-name \"lab.example\";",
        "option dhcp-server-identifier 10.9.0.1;",
        "option dhcp-lease-time 3600;",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // The second run asks for its old address at once.
    assert_eq!(counter(&outcome, "dhcp_discover"), 1, "{told}");
    assert_eq!(counter(&outcome, "dhcp_ack"), 2, "{told}");
}

#[test]
fn dhcpcd_gets_a_lease() {
    if !has("dhcpcd") {
        return;
    }
    let done = with_server(|kernel| {
        kernel.run("timeout 30 dhcpcd -4 -1 -B -d -t 25 --noarp -c /bin/true k; ip addr show dev k; ip route")
    });
    let Some((told, outcome)) = done else { return };
    assert!(told.contains("inet 10.9.0.5"), "{told}");
    assert!(told.contains("default via 10.9.0.1"), "{told}");
    assert!(told.contains("10.77.0.0/16 via 10.9.0.9"), "{told}");
    assert!(counter(&outcome, "dhcp_ack") >= 1, "{told}");
}

#[test]
fn our_client_gets_a_lease_of_dnsmasq_and_answers_pings() {
    if !has("dnsmasq") {
        return;
    }
    let config = v4_client::Config {
        host_name: Some("ours".into()),
        probe: Time::from_secs(1),
        ..v4_client::Config::default()
    };
    let service = v4_client::make(&config, 5).unwrap();
    let done = with_node(
        host(vec![service]),
        "ip addr add 10.9.0.1/24 dev k",
        |kernel| {
            kernel.start(
            "dnsmasq -d --conf-file=/dev/null --port=0 --interface=k --bind-interfaces \
             --dhcp-range=10.9.0.70,10.9.0.70,1h --dhcp-rapid-commit --dhcp-leasefile=/tmp/leases --user=root",
        );
            kernel.run("for try in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -W 1 10.9.0.70 && break; sleep 1; done; ip neigh")
        },
    );
    let Some((told, outcome)) = done else { return };
    assert!(told.contains("1 received"), "{told}");
    assert_eq!(counter(&outcome, "dhcp_configured"), 1);
    assert_eq!(counter(&outcome, "dhcp_lost"), 0);
}

#[test]
fn our_client_declines_an_address_that_a_kernel_has() {
    if !has("dnsmasq") {
        return;
    }
    let service = v4_client::make(&v4_client::Config::default(), 5).unwrap();
    let setup = "ip addr add 10.9.0.1/24 dev k; ip addr add 10.9.0.70/32 dev lo";
    let done = with_node(host(vec![service]), setup, |kernel| {
        // The kernel answers for the addresses of all its interfaces; dnsmasq knows those of `k`.
        kernel.start(
            "dnsmasq -d --conf-file=/dev/null --port=0 --interface=k --bind-interfaces --no-ping \
             --dhcp-range=10.9.0.70,10.9.0.71,1h --dhcp-leasefile=/tmp/leases --user=root \
             --dhcp-host=02:00:00:00:00:99,10.9.0.70",
        );
        kernel.run("sleep 8")
    });
    let Some((told, outcome)) = done else { return };
    assert_eq!(counter(&outcome, "dhcp_conflicts"), 1, "{told}");
}
