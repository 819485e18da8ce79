//! curl and tftp through the firewall, whose helpers let the connections pass that FTP and TFTP announce.

use super::{Kernels, have, kernels, run, wait_for};
use router::router::{Config, PortConfig};
use router::{nat, nat64};

const CLIENT: &str = "ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1; \
                      ip -6 addr add fd00:0::2/64 dev k nodad; ip -6 route add default via fd00:0::1";
const SERVER: &str = "ip addr add 10.0.1.2/24 dev k; ip route add default via 10.0.1.1; \
                      ip -6 addr add fd00:1::2/64 dev k nodad; ip -6 route add default via fd00:1::1";
const RULES: &str = "table inet home {
    ct helper transfer { type \"ftp\" protocol tcp; l3proto inet; }
    ct helper boot { type \"tftp\" protocol udp; l3proto inet; }
    chain first {
        type filter hook prerouting priority filter; policy accept;
        HELPERS
    }
    chain forward {
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        iif 0 tcp dport 21 accept
        iif 0 udp dport 69 accept
    }
}
";
const HELPERS: &str = "tcp dport 21 ct helper set \"transfer\"
        udp dport 69 ct helper set \"boot\"";
const SIZE: usize = 200_000;

fn config(helpers: &str, nat: Option<nat::Config>) -> Config {
    let port = |number: usize| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().unwrap(),
            format!("fd00:{number}::1/64").parse().unwrap(),
        ],
        ..PortConfig::default()
    };
    Config {
        port: vec![
            port(0),
            PortConfig {
                outside: nat.is_some(),
                ..port(1)
            },
        ],
        nat,
        firewall: Some(RULES.replace("HELPERS", helpers)),
        ..Config::default()
    }
}

/// Length of a file that a command writes to its output within some seconds.
fn length(kernels: &Kernels, command: &str) -> usize {
    let (_, text) = kernels.try_output(0, &format!("{command} 2>/dev/null | wc -c"));
    text.trim().parse().expect("a number")
}

#[test]
fn curl_gets_files_by_all_forms_of_ftp_and_tftp_its_file() {
    if !has_programs() {
        return;
    }
    through(HELPERS, None, get_files);
    // Helpers are assigned by rules, never by ports alone.
    through("accept", None, |kernels, _| {
        assert_eq!(length(kernels, "curl -s -m 3 'ftp://10.0.1.2/file'"), 0);
    });
}

#[test]
fn curl_and_tftp_get_files_from_behind_a_nat_of_each_kind() {
    if !has_programs() {
        return;
    }
    use nat::config::Behaviour::{AddressAndPortDependent, AddressDependent, EndpointIndependent};
    let of = |mapping, filtering| nat::Config {
        mapping,
        filtering,
        ..nat::Config::default()
    };
    for nat in [
        nat::Config::linux(),
        of(EndpointIndependent, EndpointIndependent),
        of(EndpointIndependent, AddressDependent),
        of(AddressDependent, AddressDependent),
        of(AddressAndPortDependent, AddressAndPortDependent),
    ] {
        through(HELPERS, Some(nat), get_files);
    }
    // Without a helper the server cannot connect to the client.
    through("accept", Some(nat::Config::linux()), |kernels, _| {
        let curl = "curl -s -m 3 --ftp-port - 'ftp://10.0.1.2/file'";
        assert_eq!(length(kernels, curl), 0);
    });
}

/// Lengths of files that a client gets by all forms of announcement.
fn lengths(kernels: &Kernels, server: &str) -> Vec<usize> {
    let ways = [
        "",
        "--disable-epsv",
        "--ftp-port -",
        "--ftp-port - --disable-eprt",
    ];
    let get = |way| format!("curl -s -m 4 {way} 'ftp://{server}/file'");
    ways.map(|way| length(kernels, &get(way))).into()
}

#[test]
fn a_server_behind_the_nat_is_reached_from_outside_and_not_from_inside_by_its_external_address() {
    if !has_programs() {
        return;
    }
    let forward = |external: &str| nat::Config {
        forward: vec![nat::Forward {
            protocol: nat::Transport::Tcp,
            external: format!("{external}:21").parse().unwrap(),
            inside: "10.0.1.2:21".parse().unwrap(),
        }],
        ..nat::Config::default()
    };
    // The client's port is outside.
    let mut outside = config(HELPERS, None);
    (outside.port[0].outside, outside.nat) = (true, Some(forward("10.0.0.1")));
    with(outside, &[CLIENT, SERVER], "outside", |kernels, _| {
        assert_eq!(lengths(kernels, "10.0.0.1"), [SIZE; 4]);
    });
    // Both are inside: the server announces its endpoint inside, and helpers do not follow hairpins.
    let mut inside = config(HELPERS, None);
    inside.port.push(PortConfig {
        address: vec!["198.51.100.1/24".parse().unwrap()],
        outside: true,
        ..PortConfig::default()
    });
    inside.nat = Some(forward("198.51.100.1"));
    with(inside, &[CLIENT, SERVER, ""], "inside", |kernels, _| {
        assert_eq!(lengths(kernels, "198.51.100.1"), [0; 4]);
        let (_, text) = kernels.try_output(0, "curl -v -s -m 4 'ftp://198.51.100.1/file'");
        assert!(text.contains("230 Login successful"), "{text}");
    });
}

#[test]
fn through_nat64_files_come_by_passive_mode_if_the_rules_let_connections_out() {
    if !has_programs() {
        return;
    }
    let mut config = config(HELPERS, None);
    config.port[1].outside = true;
    config.nat64 = Some(nat64::Config {
        prefix: "2001:db8:64::/96".parse().unwrap(),
        ..nat64::Config::default()
    });
    // With the policy `drop` answers pass by their state alone.
    config.firewall = config
        .firewall
        .map(|rules| rules.replace("iif 0 tcp dport 21", "iif 0"));
    with(config, &[CLIENT, SERVER], "nat64", |kernels, _| {
        let server = "[2001:db8:64::10.0.1.2]";
        assert_eq!(lengths(kernels, server), [SIZE, SIZE, 0, 0]);
        assert_eq!(
            length(kernels, &format!("curl -s -m 9 'tftp://{server}/file'")),
            SIZE
        );
        kernels.output(0, "ping -n -c 2 -i 0.2 -w 5 2001:db8:64::10.0.1.2");
        // A closed port, reported from the other version.
        let (_, text) = kernels.try_output(0, &format!("curl -s -S -m 4 'http://{server}:9/'"));
        assert!(text.contains("curl: (7)"), "{text}");
    });
}

fn has_programs() -> bool {
    // Debian's Python has Debian's package.
    let has_server = std::process::Command::new("/usr/bin/python3")
        .args(["-c", "import pyftpdlib"])
        .status();
    if !has_server.is_ok_and(|status| status.success()) {
        println!("skipped: python3-pyftpdlib is not installed");
        return false;
    }
    have(&["curl", "tftp", "in.tftpd"])
}

/// Transfers a file by FTP with each form of announcement, and by TFTP.
fn get_files(kernels: &Kernels, folder: &str) {
    let curl = "curl -s -m 20 --connect-timeout 10";
    for (way, server) in [
        ("", "10.0.1.2"),
        ("--disable-epsv", "10.0.1.2"),
        ("--ftp-port -", "10.0.1.2"),
        ("--ftp-port - --disable-eprt", "10.0.1.2"),
        ("", "[fd00:1::2]"),
        ("--ftp-port -", "[fd00:1::2]"),
    ] {
        let got = length(kernels, &format!("{curl} {way} 'ftp://{server}/file'"));
        assert_eq!(got, SIZE, "{way} {server}");
    }
    let tftp = "timeout 20 tftp -m binary 10.0.1.2 -c get file got && cat got";
    assert_eq!(length(kernels, &format!("cd {folder} && {tftp}")), SIZE);
}

/// Runs clients with a router and servers.
fn through(helpers: &str, nat: Option<nat::Config>, clients: impl FnOnce(&Kernels, &str)) {
    let name = format!("{}-{}", helpers.len(), nat.is_some());
    with(config(helpers, nat), &[CLIENT, SERVER], &name, clients);
}

/// Runs clients with a router of this configuration, on links to hosts of these scripts; the second one has the servers.
fn with(config: Config, hosts: &[&str], name: &str, clients: impl FnOnce(&Kernels, &str)) {
    let Some((kernels, ports)) = kernels(hosts) else {
        return;
    };
    let router = run(config, ports);
    let name = format!("wireline-ftp-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("file"), vec![b'x'; SIZE]).unwrap();
    let place = folder.display().to_string();
    let servers = ["10.0.1.2", "fd00:1::2"].map(|own| {
        let ftp = format!("/usr/bin/python3 -m pyftpdlib -i {own} -p 21 -d {place}");
        kernels.start(1, &ftp)
    });
    let tftp = kernels.start(1, &format!("in.tftpd -L -4 -a 10.0.1.2:69 -s {place}"));
    let hears = || {
        let all = kernels.output(1, "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp");
        all.matches(":0015 ").count() >= 2 && all.contains(":0045 ")
    };
    assert!(wait_for(30, hears), "the servers do not listen");
    clients(&kernels, &place);
    drop((servers, tftp));
    kernels.end();
    router.join().unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}
