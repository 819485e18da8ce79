//! Messages to DNS servers, forwarders, resolvers and relays, and the text of zones.

use dns::exchange::Via;
use dns::forwarder::{Config, Forwarder};
use dns::front::Output;
use dns::message::{HEADER, Query, Transport, records};
use dns::policy::PermitAll;
use dns::recursive::Recursive;
use dns::reply::Client;
use dns::resolver::{self, Resolver};
use dns::server::{Limits, Server};
use dns::zone::Zone;
use dns::{mdns, ssdp};
use node::Time;
use std::net::SocketAddr;

const ZONE: &str = "$TTL 60\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww CNAME web\nweb A 192.0.2.2\n\
                    *.w A 192.0.2.3\nsub NS ns.sub\nns.sub A 192.0.2.4\nsub DS 1 13 2 00\n@ NSEC www NS SOA NSEC\n";
/// A server's address, a client's and an own one.
const SERVER: &str = "192.0.2.53:53";

fn client() -> Client {
    Client {
        address: "10.0.0.2:4000".parse().expect("an address"),
        own: [10, 0, 0, 1].into(),
        link: 0,
        mac: [2, 0, 0, 0, 0, 2],
        transport: Transport::Udp,
    }
}

fn server() -> SocketAddr {
    SERVER.parse().expect("an address")
}

/// Invariants of each response.
fn check(query: &[u8], response: &[u8]) {
    assert!(response[..2] == query[..2] && response[2] & 0x80 != 0);
    assert!(records(response).all(|record| record.is_ok()));
    if let Ok(query) = Query::read(query) {
        let size = query.response_size(u16::MAX);
        assert!(response.len() <= size, "{} of {size}", response.len());
        let end = HEADER + query.question.wire_len();
        assert_eq!(response[HEADER..end], query.question_octets());
    }
}

trait Octets {
    fn question_octets(&self) -> Vec<u8>;
}

impl Octets for Query<'_> {
    fn question_octets(&self) -> Vec<u8> {
        let question = self.question;
        let numbers = [question.rtype.to_int(), question.class.to_int()];
        let numbers = numbers.into_iter().flat_map(u16::to_be_bytes);
        question
            .name
            .as_slice()
            .iter()
            .copied()
            .chain(numbers)
            .collect()
    }
}

/// A query to an authoritative server.
pub fn query(data: &[u8]) {
    let zone = Zone::parse("example", ZONE).expect("a zone");
    let mut server = Server::new(vec![zone], Limits::default());
    let mut response = Vec::new();
    if server.handle_query(
        Time::ZERO,
        [10, 0, 0, 2].into(),
        Transport::Udp,
        data,
        &mut response,
    ) {
        check(data, &response);
    }
}

/// A query to a forwarder, and a server's response to it: its bytes after the question.
pub fn forwarder(data: &[u8]) {
    let config = Config {
        servers: vec![server()],
        ..Config::default()
    };
    let mut core = Forwarder::new(config, PermitAll, 1);
    play(data, &mut |now, event, send| match event {
        Event::Query(query) => core.handle_query(now, client(), query, send),
        Event::Response(via, response) => {
            core.handle_response(now, server(), via, response, send);
        }
        Event::Wake => core.wake(now, send),
    });
}

/// As of a forwarder, of a resolver.
pub fn resolver(data: &[u8]) {
    let config = resolver::Config {
        roots: vec![server()],
        minimise: data.first().is_some_and(|first| first & 1 == 1),
        ..resolver::Config::default()
    };
    let mut core = Resolver::new(config, PermitAll, 1);
    play(data, &mut |now, event, send| match event {
        Event::Query(query) => core.handle_query(now, client(), query, send),
        Event::Response(via, response) => {
            core.handle_response(now, server(), via, response, send);
        }
        Event::Wake => core.wake(now, send),
    });
}

enum Event<'a> {
    Query(&'a [u8]),
    Response(Via, &'a [u8]),
    Wake,
}

/// The first byte is the length of the query; each query to a server gets the rest as its response, with the right question.
fn play(data: &[u8], act: &mut dyn FnMut(Time, Event<'_>, &mut dns::front::Send<'_>)) {
    let Some((&length, rest)) = data.split_first() else {
        return;
    };
    let (query, tail) = rest.split_at(usize::from(length).min(rest.len()));
    let (mut queries, mut responses) = (Vec::new(), Vec::new());
    let mut sent = 0;
    for step in 0..400 {
        let asked: Option<(Via, Vec<u8>)> = queries.pop();
        let mut send = |output: Output<'_>| match output {
            Output::Query { via, message, .. } => queries.push((via, message.to_vec())),
            Output::Response { message, .. } => responses.push(message.to_vec()),
        };
        let now = Time::from_secs(step);
        match asked {
            None if step == 0 => act(now, Event::Query(query), &mut send),
            None => act(now, Event::Wake, &mut send),
            Some((via, asked)) => {
                sent += 1;
                let read = Query::read(&asked).expect("a query of ours");
                let end = HEADER + read.question.wire_len();
                let mut response = asked[..end].to_vec();
                response[2] |= 0x80;
                let flags = tail.len().min(10);
                response[2] |= tail.first().map_or(0, |flags| flags & 0x07);
                response[3] = tail.get(1).copied().unwrap_or(0);
                for (at, byte) in response.iter_mut().enumerate().take(12).skip(6) {
                    *byte = match at % 2 {
                        0 => 0,
                        _ => tail.get(at).map_or(0, |count| count & 7),
                    };
                }
                response.extend(&tail[flags..]);
                act(now, Event::Response(via, &response), &mut send);
            }
        }
    }
    assert!(responses.len() <= 1 && sent <= 60);
    responses.iter().for_each(|response| check(query, response));
}

/// A message to the relay of multicast DNS.
pub fn multicast(data: &[u8]) {
    let services = match data.first() {
        Some(first) if first & 1 == 1 => vec!["_ipp._tcp".to_owned()],
        _ => Vec::new(),
    };
    let mut relay = mdns::Relay::new(&services, 100).expect("a relay");
    let mut out = Vec::new();
    let source = "10.0.0.2:5353".parse().expect("an address");
    if relay.handle(Time::ZERO, 1, source, data, &mut out).is_ok() {
        // All that was relayed passes again.
        let mut again = Vec::new();
        relay
            .handle(Time::from_secs(2), 1, source, &out, &mut again)
            .expect("relayed again");
        assert_eq!(out, again);
    }
}

/// A message to the relay of SSDP.
pub fn discovery(data: &[u8]) {
    let mut relay = ssdp::Relay::new(&["urn:".into()], 100, 1).expect("a relay");
    let source = "10.0.0.2:5000".parse().expect("an address");
    if let Ok(port) = relay.handle_group(Time::ZERO, 1, source, data) {
        assert_eq!(relay.has_port(port), port != ssdp::PORT);
    }
    let search = b"M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 2\r\nST: ssdp:all\r\n\r\n";
    let port = relay
        .handle_group(Time::ZERO, 1, source, search)
        .expect("a search");
    if let Ok(searcher) = relay.handle_response(Time::ZERO, port, data) {
        assert_eq!(searcher, source);
    }
}

/// The text of a zone.
pub fn zone(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    if let Ok(zone) = Zone::parse("example", text) {
        let mut server = Server::new(vec![zone], Limits::default());
        let query = b"\0\x01\0\0\0\x01\0\0\0\0\0\x01\x01a\x07example\0\0\x01\0\x01\0\0\x29\x04\xD0\0\0\x80\0\0\0";
        let mut response = Vec::new();
        assert!(server.handle_query(
            Time::ZERO,
            [10, 0, 0, 2].into(),
            Transport::Udp,
            query,
            &mut response
        ));
        check(query, &response);
    }
}
