//! A response from a zone, and one from a cache, allocate nothing.

use crate::forwarder::{client, query};
use dns::forwarder::{Config, Forwarder};
use dns::front::Output;
use dns::message::Transport;
use dns::policy::PermitAll;
use dns::recursive::Recursive;
use dns::server::{Limits, Server};
use dns::zone::Zone;
use node::Time;
use std::hint::black_box;

const ZONE: &str = "$TTL 60\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww CNAME web\nweb A 192.0.2.2\n*.w A 192.0.2.3\nsub NS ns.sub\nns.sub A 192.0.2.4\n";

#[test]
fn steady_responses_do_not_allocate() {
    let zone = Zone::parse("example", ZONE).unwrap();
    let limits = Limits {
        rate: 1_000_000,
        ..Limits::default()
    };
    let mut server = Server::new(vec![zone], limits);
    // A forwarder does not keep the last one's referral.
    let names = [
        "www.example",
        "nothing.example",
        "a.w.example",
        "a.sub.example",
    ];
    let queries = names.map(|name| query(7, name, 1, Some(true)));
    let mut response = Vec::new();
    let server_address = "192.0.2.1:53".parse().unwrap();
    let config = Config {
        servers: vec![server_address],
        ..Config::default()
    };
    let mut forwarder = Forwarder::new(config, PermitAll, 1);
    let who = client(2, 1_000);
    // Once for buffers and the cache.
    for query in &queries[..3] {
        let mut sent = None;
        forwarder.handle_query(Time::ZERO, who, query, &mut |output| {
            if let Output::Query { via, message, .. } = output {
                sent = Some((via, message.to_vec()));
            }
        });
        let (via, message) = sent.expect("a query");
        assert!(server.handle_query(
            Time::ZERO,
            [10, 0, 0, 1].into(),
            Transport::Udp,
            &message,
            &mut response
        ));
        forwarder.handle_response(Time::ZERO, server_address, via, &response, &mut |_| {});
    }
    let mut responses = 0;
    let mut round = || {
        for (number, query) in queries.iter().enumerate() {
            server.handle_query(
                Time::ZERO,
                [10, 0, 0, 1].into(),
                Transport::Udp,
                query,
                &mut response,
            );
            black_box(&response);
            if number < 3 {
                forwarder.handle_query(Time::ZERO, who, query, &mut |output| {
                    responses += u32::from(matches!(output, Output::Response { .. }));
                });
            }
        }
    };
    round();
    let before = allocations::of_this_thread();
    (0..100).for_each(|_| round());
    assert_eq!(allocations::of_this_thread() - before, 0);
    assert_eq!(responses, 303);
}
