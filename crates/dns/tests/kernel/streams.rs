//! DNS over TCP: the authoritative server, the forwarder and `named` as server and as client, with `dig`, `kdig` and `dnsperf`.

use super::forwarding::start_named;
use super::*;
use dns::service::forwarder;
use dns::service::stream;
use dns::service::zone::{self, ZoneConfig};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A record set longer than any datagram.
const LARGE: usize = 240;

fn text() -> String {
    let head =
        "$TTL 300\n@ SOA ns root 1 7200 900 1209600 60\n@ NS ns\nns A 10.0.0.1\n*.w A 192.0.2.81\n";
    let large = (0..LARGE).map(|number| format!("large TXT \"{number:03}{:0>200}\"\n", ""));
    [head.to_owned()].into_iter().chain(large).collect()
}

fn query(id: u16, name: &str, rtype: u16) -> Vec<u8> {
    let bytes = crate::forwarder::query(id, name, rtype, Some(false));
    [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat()
}

fn connect() -> std::io::Result<TcpStream> {
    let address = "10.0.0.1:53".parse().unwrap();
    let stream = TcpStream::connect_timeout(&address, Duration::from_millis(700))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The next message; `None` at the end of the connection.
fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix).ok()?;
    let mut message = vec![0; u16::from_be_bytes(prefix).into()];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

fn counter(outcome: &NodeOutcome, name: &str) -> u64 {
    let mut counters = outcome.counters.iter();
    let found = counters.find(|(counter, _)| counter == name);
    found.unwrap_or_else(|| panic!("no counter {name}")).1
}

fn zone_service(tcp: stream::Config) -> Vec<Box<dyn Service>> {
    let zone = ZoneConfig {
        name: "example.".into(),
        text: text(),
    };
    let config = zone::Config {
        zone: vec![zone],
        tcp,
        ..zone::Config::default()
    };
    vec![zone::make(&config, 6).unwrap()]
}

#[test]
fn clients_ask_the_authoritative_server_by_tcp() {
    if !has(&["dig", "kdig", "dnsperf"]) {
        return;
    }
    let result = with_router(
        "streams",
        |_| zone_service(stream::Config::default()),
        |net| {
            net.await_server("10.0.0.1", "example");
            // Truncated over UDP, so that dig asks once more.
            let said = net.run("dig", &["@10.0.0.1", "large.example", "TXT"]);
            assert!(said.contains(&format!("ANSWER: {LARGE},")), "{said}");
            assert!(said.contains("Truncated, retrying in TCP mode"), "{said}");
            let arguments = [
                "@10.0.0.1",
                "+tcp",
                "+keepopen",
                "large.example",
                "TXT",
                "a.w.example",
                "A",
                "nothing.example",
            ];
            let said = net.run("kdig", &arguments);
            assert_eq!(said.matches("status: NOERROR").count(), 2, "{said}");
            assert_eq!(said.matches("status: NXDOMAIN").count(), 1, "{said}");
            assert_eq!(said.matches("(TCP)").count(), 3, "{said}");
            let names: String = (0..500)
                .map(|name| format!("n{name}.w.example A\n"))
                .collect();
            let file = net.write("queries", &names);
            let arguments = [
                "-m", "tcp", "-s", "10.0.0.1", "-d", &file, "-l", "2", "-c", "8", "-q", "400",
            ];
            let said = net.run("dnsperf", &arguments);
            assert!(said.contains("Queries lost:         0"), "{said}");
            let rate = said.lines().find(|line| line.contains("per second"));
            println!("{}", rate.unwrap_or(&said).trim());
            // More queries than may wait, the first bytes one at a time, and a response longer than the buffers.
            let pipeline = || {
                let mut stream = connect().unwrap();
                let mut bytes = Vec::new();
                for id in 0..200 {
                    bytes.extend(match id % 20 {
                        0 => query(id, "large.example", 16),
                        _ => query(id, &format!("n{id}.w.example"), 1),
                    });
                }
                let (slow, rest) = bytes.split_at(70);
                for byte in slow {
                    stream.write_all(&[*byte]).unwrap();
                }
                stream.write_all(rest).unwrap();
                std::thread::sleep(Duration::from_millis(300));
                for id in 0..200_u16 {
                    let response = read(&mut stream).expect("a response");
                    assert_eq!(response[..2], id.to_be_bytes());
                    let count = if id % 20 == 0 { LARGE as u16 } else { 1 };
                    assert_eq!(response[6..8], count.to_be_bytes());
                }
            };
            net.clients.enter(pipeline).unwrap();
        },
    );
    let Some(((), outcome)) = result else { return };
    assert_eq!(counter(&outcome, "dns_zone_tcp_refused"), 0);
    assert_eq!(counter(&outcome, "dns_zone_tcp_reset"), 0);
}

#[test]
fn connections_are_limited_and_end_when_they_are_idle() {
    if !has(&["dig"]) {
        return;
    }
    let tcp = stream::Config {
        connections: 6,
        per_client: 4,
        idle: Time::from_ms(1_500),
    };
    let result = with_router(
        "connections",
        |_| zone_service(tcp),
        |net| {
            net.await_server("10.0.0.1", "example");
            let act = || {
                let mut all: Vec<TcpStream> = (0..4).map(|_| connect().unwrap()).collect();
                assert!(connect().is_err(), "a fifth connection of a client");
                // A client that does not read its responses.
                let large: Vec<u8> = (0..60)
                    .flat_map(|id| query(id, "large.example", 16))
                    .collect();
                all[0].write_all(&large).unwrap();
                // A client that closes its side still gets its response.
                all[1].write_all(&query(9, "x.w.example", 1)).unwrap();
                all[1].shutdown(std::net::Shutdown::Write).unwrap();
                assert!(read(&mut all[1]).is_some() && read(&mut all[1]).is_none());
                let begin = Instant::now();
                assert!(read(&mut all[2]).is_none());
                let end = begin.elapsed();
                // There is room again after the second connection ends and idle ones time out.
                let mut fresh = connect().unwrap();
                fresh.write_all(&query(10, "y.w.example", 1)).unwrap();
                assert!(read(&mut fresh).is_some());
                end
            };
            net.clients.enter(act).unwrap()
        },
    );
    let Some((end, outcome)) = result else { return };
    assert!(end > Duration::from_millis(700), "{end:?}");
    assert!(counter(&outcome, "dns_zone_tcp_refused") > 0);
    assert!(counter(&outcome, "dns_zone_tcp_idle") > 0);
}

#[test]
fn a_forwarder_asks_by_tcp_after_a_truncated_response_and_answers_out_of_order() {
    if !has(&["named", "dig", "delv", "dnsperf", "dnssec-signzone"]) {
        return;
    }
    let config = forwarder::Config {
        tries: 2,
        ..super::forwarding::config(&["10.1.0.2"])
    };
    let result = with_router(
        "streaming",
        |_| vec![forwarder::make(&config, 4).unwrap()],
        |net| {
            let anchor = start_named(net);
            for arguments in [
                &["@10.0.0.1", "large.example", "TXT"][..],
                &["@10.0.0.1", "+tcp", "long.example", "TXT"],
            ] {
                let said = net.run("dig", arguments);
                assert!(said.contains("status: NOERROR"), "{said}");
                assert!(!said.contains("ANSWER: 0,"), "{said}");
            }
            let arguments = [
                "@10.0.0.1",
                "-a",
                &anchor,
                "+root=.",
                "large.example",
                "TXT",
            ];
            let said = net.run("delv", &arguments);
            assert!(said.contains("; fully validated"), "{said}");
            assert_eq!(
                said.matches("TXT\t\"").count(),
                super::forwarding::LARGE,
                "{said}"
            );
            let act = || {
                let mut stream = connect().unwrap();
                // The servers of this zone do not exist.
                stream.write_all(&query(1, "slow", 1)).unwrap();
                stream.write_all(&query(2, "www.example", 1)).unwrap();
                let codes: Vec<(u8, u8)> = (0..2)
                    .map(|_| read(&mut stream).expect("a response"))
                    .map(|response| (response[1], response[3] & 15))
                    .collect();
                assert_eq!(codes, [(2, 0), (1, 2)]);
            };
            net.clients.enter(act).unwrap();
            // A server that queries ours over TCP only.
            let folder = net.folder.to_str().unwrap();
            let text = format!(
                "options {{ directory \"{folder}\"; pid-file none; recursion yes; listen-on {{ 10.0.0.2; }}; \
                 listen-on-v6 {{ none; }}; forward only; forwarders {{ 10.0.0.1; }}; dnssec-validation no; \
                 session-keyfile none; }}; controls {{ }}; server 10.0.0.1 {{ tcp-only yes; }};"
            );
            let client = net.write("client.conf", &text);
            net.start_in(true, "named", &["-f", "-g", "-c", &client]);
            net.await_server("10.0.0.2", "example");
            let names: String = (0..300)
                .map(|name| format!("n{name}.w.example A\n"))
                .collect();
            let file = net.write("queries", &names);
            // It opens a connection for each query, and another before it closes that: a client has 16.
            let arguments = ["-s", "10.0.0.2", "-d", &file, "-n", "1", "-q", "6"];
            let said = net.run("dnsperf", &arguments);
            assert!(
                said.contains("NOERROR 300 (100.00%)"),
                "{said}\n{}",
                net.logs()
            );
        },
    );
    let Some(((), outcome)) = result else { return };
    println!("{:?}", outcome.counters);
    assert!(counter(&outcome, "dns_forwarder_sent_queries_by_tcp") >= 2);
    assert!(counter(&outcome, "dns_forwarder_tcp_accepted") >= 3);
    assert_eq!(counter(&outcome, "dns_forwarder_wrong_id"), 0);
}

#[test]
fn queries_fail_over_when_a_server_has_no_tcp() {
    if !has(&["named", "dig", "dnssec-signzone"]) {
        return;
    }
    let config = super::forwarding::config(&["10.1.0.3", "10.1.0.2"]);
    let result = with_router(
        "refusing",
        |_| vec![forwarder::make(&config, 4).unwrap()],
        |net| {
            start_named(net);
            // Truncates all responses, and its port for TCP is closed.
            let script = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('10.1.0.3', 53))\nwhile True:\n    q, a = s.recvfrom(4096)\n    s.sendto(q[:2] + b'\\x83\\x80' + q[4:], a)\n";
            let script = net.write("truncate.py", script);
            net.start("python3", &[&script]);
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_secs(20)
                && !net
                    .run(
                        "dig",
                        &["@10.1.0.3", "+ignore", "+tries=1", "+time=1", "example"],
                    )
                    .contains("status:")
            {}
            let begin = Instant::now();
            let said = net.run("dig", &["@10.0.0.1", "+time=10", "www.example", "A"]);
            assert!(said.contains("192.0.2.80"), "{said}");
            begin.elapsed()
        },
    );
    let Some((time, outcome)) = result else {
        return;
    };
    println!("{time:?} {:?}", outcome.counters);
    assert_eq!(counter(&outcome, "dns_forwarder_tcp_opened"), 1);
    assert_eq!(counter(&outcome, "dns_forwarder_sent_queries_by_tcp"), 1);
}

#[test]
fn signed_zones_are_validated_over_both_transports() {
    if !has(&["dig", "delv", "dnssec-signzone"]) {
        return;
    }
    let root = "$TTL 300\n@ SOA ns.test. root.test. 1 7200 900 1209600 60\n@ NS ns.test.\nns.test. A 10.0.0.1\n\
                moved. DNAME test.\n*.wild. A 192.0.2.1\na.b. A 192.0.2.2\nunsigned. NS ns.unsigned.\n";
    for (name, options) in super::authority::SIGNED {
        let result = with_router(
            &format!("validated-{name}"),
            |net| {
                let zone = ZoneConfig {
                    name: ".".into(),
                    text: super::authority::sign_with(net, "root", root, options),
                };
                let config = zone::Config {
                    zone: vec![zone],
                    ..zone::Config::default()
                };
                vec![zone::make(&config, 6).unwrap()]
            },
            |net| {
                net.await_server("10.0.0.1", ".");
                let signed = fs::read_to_string(net.folder.join("root.signed")).unwrap();
                let anchor = anchor(net, &signed);
                for transport in ["+tcp", "+notcp"] {
                    let said = net.run(
                        "delv",
                        &[
                            "@10.0.0.1",
                            "-a",
                            &anchor,
                            "+root=.",
                            transport,
                            "nothing.moved",
                        ],
                    );
                    assert!(
                        said.contains("; fully validated") && said.contains("ncache nxdomain"),
                        "{said}"
                    );
                    for (name, rtype, is_there) in [
                        ("ns.test", "A", true),
                        ("ns.moved", "A", true),
                        ("x.y.wild", "A", true),
                        ("x.wild", "MX", false),
                        ("ns.test", "MX", false),
                        ("b", "A", false),
                        ("nothing.b", "A", false),
                        ("unsigned", "DS", false),
                    ] {
                        let arguments = [
                            "@10.0.0.1",
                            "-a",
                            &anchor,
                            "+root=.",
                            transport,
                            name,
                            rtype,
                        ];
                        let said = net.run("delv", &arguments);
                        let expected = match is_there {
                            true => "; fully validated",
                            false => "; negative response, fully validated",
                        };
                        // Opt-out leaves open what is within a range of hashes.
                        let is_open = options.contains(&"-A") && said.contains("unsigned answer");
                        assert!(
                            said.contains(expected) || is_open,
                            "{name} {rtype} {options:?}: {said}"
                        );
                    }
                }
            },
        );
        let Some(((), outcome)) = result else { return };
        assert!(counter(&outcome, "dns_zone_tcp_accepted") >= 9);
    }
}
