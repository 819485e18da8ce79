//! Hosts with IPv6 alone reach an IPv4 server through a NAT64, and hosts with IPv4 alone through a CLAT and a NAT64 (464XLAT).

use super::{Kernels, counter, have, kernels, run};
use live::netns::{Namespace, VethEnd, veth};
use live::port::{self, Options, Port};
use router::router::{Config, PortConfig};
use router::{nat64, siit};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};

const CLIENT_V6: &str =
    "ip -6 addr add 2001:db8:1::2/64 dev k nodad; ip -6 route add default via 2001:db8:1::1";
const CLIENT_V4: &str = "ip addr add 192.168.1.2/24 dev k; ip route add default via 192.168.1.1";
/// The server has a shorter link.
const SERVER: &str = "ip addr add 198.51.100.7/24 dev k; ip link set k mtu 1400";

fn link(address: &[&str], mtu: usize, outside: bool) -> PortConfig {
    PortConfig {
        address: address.iter().map(|text| text.parse().unwrap()).collect(),
        mtu,
        outside,
        ..PortConfig::default()
    }
}

fn plat(inside: &[&str]) -> Config {
    Config {
        port: vec![
            link(inside, 1500, false),
            link(&["198.51.100.1/24"], 1400, true),
        ],
        nat64: Some(nat64::Config::default()),
        ..Config::default()
    }
}

/// A server for HTTP and for datagrams; the page has 300,000 bytes.
fn serve(kernels: &Kernels, number: usize) {
    let [listener, socket] = [true, false].map(|is_tcp| {
        kernels.0[number].enter(move || match is_tcp {
            true => Ok(TcpListener::bind("198.51.100.7:8080").unwrap()),
            false => Err(UdpSocket::bind("198.51.100.7:53").unwrap()),
        })
    });
    let (Ok(Ok(listener)), Ok(Err(socket))) = (listener, socket) else {
        panic!("no sockets");
    };
    std::thread::spawn(move || {
        while let Ok((mut stream, from)) = listener.accept() {
            let _ = stream.read(&mut [0; 4_096]);
            let page = vec![b'x'; 300_000];
            let head = format!(
                "HTTP/1.0 200 OK\r\nX-From: {}\r\nContent-Length: {}\r\n\r\n",
                from.ip(),
                page.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&page);
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
}

/// Datagrams of each size come back, those of several fragments, too.
fn echoes(kernels: &Kernels, number: usize, own: &'static str, to: &'static str) {
    let done = kernels.0[number].enter(move || {
        let socket = UdpSocket::bind(own).unwrap();
        let timeout = std::time::Duration::from_secs(2);
        socket.set_read_timeout(Some(timeout)).unwrap();
        for length in [1, 500, 1_300, 3_000] {
            let mut buffer = [0; 4_096];
            // The first one may be too long for the path, of which the sender then hears.
            let came = (0..5).find_map(|_| {
                socket.send_to(&vec![7; length], to).unwrap();
                socket.recv(&mut buffer).ok()
            });
            assert_eq!(came, Some(length));
        }
    });
    done.unwrap();
}

#[test]
fn a_host_with_ipv6_alone_pings_downloads_and_sends_datagrams_through_nat64() {
    if !have(&["curl", "ping"]) {
        return;
    }
    let Some((kernels, ports)) = kernels(&[CLIENT_V6, SERVER]) else {
        return;
    };
    let router = run(plat(&["2001:db8:1::1/64"]), ports);
    serve(&kernels, 1);
    let server = "64:ff9b::198.51.100.7";
    kernels.output(0, &format!("ping -6 -n -c 3 -i 0.2 -w 10 {server}"));
    kernels.output(0, &format!("ping -6 -n -c 2 -i 0.2 -s 3000 -w 10 {server}"));
    let (_, text) = kernels.try_output(0, &format!("ping -6 -n -c 1 -t 1 -w 2 {server}"));
    let text = text.to_lowercase();
    assert!(
        text.contains("2001:db8:1::1") && text.contains("time exceeded"),
        "{text}"
    );
    let url = format!("http://[{server}]:8080/");
    let page = kernels.output(
        0,
        &format!("curl -6 -s -i -m 20 --connect-timeout 10 {url}"),
    );
    assert!(
        page.len() > 300_000 && page.contains("X-From: 198.51.100.1\r"),
        "{}",
        page.len()
    );
    echoes(
        &kernels,
        0,
        "[2001:db8:1::2]:0",
        "[64:ff9b::198.51.100.7]:53",
    );
    // A port without a server is refused at once.
    let (ok, text) = kernels.try_output(0, &format!("curl -6 -s -S -m 2 http://[{server}]:81/"));
    assert!(!ok && text.contains("(7)"), "{text}");
    kernels.end();
    let outcome = router.join().unwrap();
    assert!(counter(&outcome, "to_v4") > 20 && counter(&outcome, "to_v6") > 200);
    assert!(counter(&outcome, "nat64_sessions_made") >= 4);
}

#[test]
fn a_host_with_ipv4_alone_reaches_an_ipv4_server_over_ipv6() {
    if !have(&["curl", "ping"]) {
        return;
    }
    let Some((kernels, mut ports)) = kernels(&[CLIENT_V4, SERVER]) else {
        return;
    };
    let [client, server] = [ports.remove(0), ports.remove(0)];
    let Some((between, [first, second])) = joined() else {
        return;
    };
    let clat = Config {
        port: vec![
            link(&["192.168.1.1/24", "2001:db8:1::1/64"], 1500, false),
            link(&["2001:db8:2::2/64"], 1280, false),
        ],
        route: vec!["default via 2001:db8:2::1".parse().unwrap()],
        siit: Some(siit::Config {
            pairs: vec!["192.168.1.0/24 2001:db8:46::/120".parse().unwrap()],
            router: Some([192, 0, 0, 8].into()),
            ..siit::Config::default()
        }),
        ..Config::default()
    };
    let mut plat = plat(&["2001:db8:2::1/64"]);
    plat.port[0].mtu = 1280;
    plat.route = vec!["2001:db8:46::/64 via 2001:db8:2::2".parse().unwrap()];
    let clat = run(clat, vec![client, first]);
    let plat = run(plat, vec![second, server]);
    serve(&kernels, 1);
    kernels.output(0, "ping -4 -n -c 3 -i 0.2 -w 10 198.51.100.7");
    kernels.output(0, "ping -4 -n -c 2 -i 0.2 -s 1200 -M do -w 10 198.51.100.7");
    let url = "http://198.51.100.7:8080/";
    let page = kernels.output(
        0,
        &format!("curl -4 -s -i -m 20 --connect-timeout 10 {url}"),
    );
    assert!(page.len() > 300_000 && page.contains("X-From: 198.51.100.1\r"));
    echoes(&kernels, 0, "192.168.1.2:0", "198.51.100.7:53");
    // The router's own address, then that of the next one, whose IPv6 address has no IPv4 address.
    for (hops, from) in [(1, "192.168.1.1"), (2, "192.0.0.8")] {
        let ping = format!("ping -4 -n -c 1 -t {hops} -w 2 198.51.100.7");
        let (_, text) = kernels.try_output(0, &ping);
        assert!(
            text.contains(from) && text.contains("exceeded"),
            "{hops}: {text}"
        );
    }
    kernels.end();
    between.remove("a").unwrap();
    let [clat, plat] = [clat, plat].map(|run| run.join().unwrap());
    assert!(counter(&clat, "to_v6") > 20 && counter(&clat, "to_v4") > 200);
    assert!(counter(&plat, "to_v4") > 20 && counter(&plat, "to_v6") > 200);
}

/// Both ends of one link, as ports.
fn joined() -> Option<(Namespace, [Port; 2])> {
    let namespace = Namespace::new().ok()?;
    let end = |name| VethEnd {
        namespace: &namespace,
        name,
        mac: None,
    };
    veth([end("a"), end("b")], 1500).ok()?;
    let open = |name: &str| {
        let name = name.parse().unwrap();
        let open = || port::open(&name, &Options::default());
        namespace.enter(open).unwrap().unwrap()
    };
    let ports = [open("a"), open("b")];
    Some((namespace, ports))
}
