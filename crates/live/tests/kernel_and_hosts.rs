//! Hosts with programs against a real kernel's TCP/IP, in both directions, over a veth pair. Without the rights to make one
//! the test says that it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

use hosts::host::{Config, make};
use hosts::program::{Config as Program, bulk, dns, http, sink};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options};
use live::world;
use measure::distribution::Distribution;
use node::Time;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::Duration;

/// Bytes that go each way.
const BYTES: u64 = 8_000_000;

/// A namespace with a kernel at `k`, 10.9.0.1, and one for the node at `n`.
pub fn pair() -> Option<[Namespace; 2]> {
    let made = (|| {
        let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&kernel, "k"), end(&outside, "n")], 1500)?;
        kernel.add_address("k", [10, 9, 0, 1].into(), 24)?;
        Ok([kernel, outside])
    })();
    match made {
        Ok(pair) => Some(pair),
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a host with these programs while `act` does something in the kernel's namespace.
fn with_host<T>(
    programs: Vec<Program>,
    act: impl FnOnce(&Namespace) -> T,
) -> Option<(T, node::Outcome)> {
    let [kernel, outside] = pair()?;
    let config = Config {
        address: vec!["10.9.0.2/24".parse().unwrap()],
        ..Config::default()
    };
    let host = make(config, programs, 7).unwrap();
    let open = || port::open(&"n".parse().unwrap(), &Options::default());
    let port = outside.enter(open).unwrap().unwrap();
    let run = std::thread::spawn(move || {
        let end = Some(Time::from_secs(60));
        world::on_ports("host", host, vec![port], end).unwrap()
    });
    let done = act(&kernel);
    // The end of the pair is the end of the run.
    kernel.remove("k").unwrap();
    Some((done, run.join().unwrap().outcome))
}

pub fn patient(stream: &TcpStream) {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
}

#[test]
fn a_kernel_sends_a_host_as_much_as_it_likes() {
    let sink = Program::Sink(sink::Config::default());
    let sent = with_host(vec![sink], |kernel| {
        kernel.enter(|| {
            let mut stream = TcpStream::connect("10.9.0.2:5001").unwrap();
            patient(&stream);
            let piece = [7; 100_000];
            for _ in 0..BYTES / piece.len() as u64 {
                stream.write_all(&piece).unwrap();
            }
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            // The host closes when it has all.
            assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
        })
    });
    let Some((_, outcome)) = sent else { return };
    let flow = &outcome.nodes[0].flows[0];
    assert!(flow.done && flow.bytes == BYTES, "{flow:?}");
}

#[test]
fn a_host_sends_a_kernel_as_much_as_it_likes() {
    let bulk = Program::Bulk(bulk::Config {
        start: Time::from_ms(500),
        flows: Some(2),
        bytes: Some(Distribution::Constant(BYTES / 2)),
        count: Some(2),
        buffer: 1 << 20,
        ..bulk::Config::new("10.9.0.1:5002".parse().unwrap())
    });
    // Somebody has to listen before the host begins.
    let Some([kernel, outside]) = pair() else {
        return;
    };
    let listener = kernel
        .enter(|| TcpListener::bind("10.9.0.1:5002").unwrap())
        .unwrap();
    let config = Config {
        address: vec!["10.9.0.2/24".parse().unwrap()],
        ..Config::default()
    };
    let host = make(config, vec![bulk], 7).unwrap();
    let open = || port::open(&"n".parse().unwrap(), &Options::default());
    let port = outside.enter(open).unwrap().unwrap();
    let run = std::thread::spawn(move || {
        let end = Some(Time::from_secs(60));
        world::on_ports("host", host, vec![port], end).unwrap()
    });
    let takers: Vec<_> = (0..2)
        .map(|_| {
            let (mut stream, _) = listener.accept().unwrap();
            std::thread::spawn(move || {
                patient(&stream);
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                all.len() as u64
            })
        })
        .collect();
    let came: u64 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
    // The kernel's ends are gone once the host has answered that they were closed; 0A listens.
    let closed = || {
        let list = kernel.enter(|| std::fs::read_to_string("/proc/thread-self/net/tcp"));
        let list = list.unwrap().unwrap();
        list.lines().skip(1).all(|line| line.contains(" 0A "))
    };
    while !closed() {
        std::thread::sleep(Duration::from_millis(10));
    }
    kernel.remove("k").unwrap();
    let outcome = run.join().unwrap().outcome;
    assert_eq!(came, BYTES);
    let flows = &outcome.nodes[0].flows;
    assert!(
        flows.len() == 2 && flows.iter().all(|flow| flow.done),
        "{flows:?}"
    );
}

#[test]
fn curl_and_dig_get_what_they_ask_for() {
    let page = http::ServerConfig::default();
    let names = dns::ServerConfig {
        names: [(
            "www.example".to_string(),
            dns::Records(vec!["192.0.2.7".parse().unwrap()]),
        )]
        .into(),
        ..dns::ServerConfig::default()
    };
    let programs = vec![Program::HttpServer(page), Program::DnsServer(names)];
    let ran = with_host(programs, |kernel| {
        let mut curl = kernel.command("curl");
        curl.args([
            "-sS",
            "--max-time",
            "20",
            "http://10.9.0.2/123456",
            "http://10.9.0.2/",
        ]);
        let curl = curl.output();
        let mut dig = kernel.command("dig");
        dig.args(["+short", "+time=20", "@10.9.0.2", "www.EXAMPLE"]);
        let dig = dig.stderr(Stdio::null()).output();
        let refused = kernel.enter(|| {
            let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
            socket
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            socket.connect("10.9.0.2:9").unwrap();
            socket.send(b"is anybody there?").unwrap();
            socket.recv(&mut [0; 8]).unwrap_err().kind()
        });
        (
            curl,
            dig,
            refused.unwrap(),
            kernel
                .enter(|| TcpStream::connect("10.9.0.2:9").unwrap_err().kind())
                .unwrap(),
        )
    });
    let Some(((curl, dig, refused, reset), _)) = ran else {
        return;
    };
    // Nobody is at port 9, and the kernel hears so, by ICMP and by a reset.
    assert_eq!(refused, std::io::ErrorKind::ConnectionRefused);
    assert_eq!(reset, std::io::ErrorKind::ConnectionRefused);
    match curl {
        Ok(curl) => assert_eq!(
            curl.stdout.len(),
            133_456,
            "{}",
            String::from_utf8_lossy(&curl.stderr)
        ),
        Err(error) => println!("skipped in part: there is no curl: {error}"),
    }
    match dig {
        Ok(dig) => assert_eq!(String::from_utf8_lossy(&dig.stdout).trim(), "192.0.2.7"),
        Err(error) => println!("skipped in part: there is no dig: {error}"),
    }
}
