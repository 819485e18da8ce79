//! Nodes at work against a real kernel, over a veth pair. Without the rights to make one, or without
//! `ping`, the test says that it was skipped.

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options};
use live::world;
use node::Time;
use nodes::host::{Config, Host};
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::Duration;

/// A namespace with a kernel at `k`, and one for the node at `n`.
fn pair() -> Result<[Namespace; 2], NetnsError> {
    let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(&kernel, "k"), end(&outside, "n")], 1500)?;
    kernel.add_address("k", [10, 9, 0, 1].into(), 24)?;
    // Namespaces are made with IPv6 off. No duplicate address detection: it takes a second.
    let on = "cd /proc/sys/net/ipv6/conf && echo 0 >k/accept_dad && echo 0 >k/disable_ipv6";
    let status = kernel.command("sh").args(["-c", on]).status();
    if status.is_ok_and(|status| status.success()) {
        kernel.add_address("k", "fd09::1".parse().expect("an address"), 64)?;
    } else {
        println!("skipped in part: this kernel has no IPv6");
    }
    Ok([kernel, outside])
}

#[test]
fn a_kernel_resolves_and_pings_a_host_node_and_gets_its_datagrams_back() {
    let [kernel, outside] = match pair() {
        Ok(pair) => pair,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let host = Host::new(Config {
        ipv4: Some([10, 9, 0, 2].into()),
        ipv6: Some("fd09::2".parse().unwrap()),
        ..Config::default()
    });
    let open = || port::open(&"n".parse().unwrap(), &Options::default());
    let port = outside.enter(open).unwrap().unwrap();
    let run = std::thread::spawn(move || {
        world::on_ports(
            "host",
            Box::new(host),
            vec![port],
            Some(Time::from_secs(60)),
        )
        .unwrap()
    });

    let ping = |address| {
        let mut ping = kernel.command("ping");
        ping.args(["-c", "3", "-i", "0.2", "-W", "20", "-s", "1400", address]);
        ping.stdout(Stdio::null()).status()
    };
    let pings = [ping("10.9.0.2"), ping("fd09::2")];
    let datagram = kernel.enter(|| {
        let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        socket.send_to(b"there and back", "10.9.0.2:7").unwrap();
        let mut back = [0; 64];
        let (len, from) = socket.recv_from(&mut back).unwrap();
        (back[..len].to_vec(), from.port())
    });
    // The end of the pair is the end of the run.
    kernel.remove("k").unwrap();
    let outcome = run.join().unwrap().outcome;
    assert_eq!(datagram.unwrap(), (b"there and back".to_vec(), 7));
    let counter = |name: &str| {
        let mut counters = outcome.nodes[0].counters.iter();
        counters
            .find(|(known, _)| known == name)
            .map(|(_, count)| *count)
    };
    assert!(counter("arp") >= Some(1));
    for result in pings {
        match result {
            Ok(status) if status.code() == Some(2) => return, // no IPv6
            Ok(status) => assert!(status.success(), "ping says {status}"),
            Err(error) => {
                println!("skipped in part: there is no ping: {error}");
                return;
            }
        }
    }
    assert!(counter("neighbours") >= Some(1));
    assert_eq!(counter("pings"), Some(6));
}
