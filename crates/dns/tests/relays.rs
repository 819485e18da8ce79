//! Relays by hand: which messages pass, loops, rates, memory.

use dns::{mdns, ssdp};
use domain::base::iana::{Class, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::{A, Aaaa, Ptr, Srv};
use node::Time;
use node::random::Random;
use std::net::SocketAddr;

type OwnedName = Name<Vec<u8>>;

fn name(text: &str) -> OwnedName {
    Name::vec_from_str(text).expect("a name")
}

fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::new([10, 0, 0, host].into(), port)
}

/// A response as of a printer: two services, and addresses of each scope.
fn response() -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec().answer();
    builder.header_mut().set_qr(true);
    builder.header_mut().set_aa(true);
    let host = name("printer.local");
    for service in ["_ipp._tcp", "_ssh._tcp"] {
        let kind = name(&format!("{service}.local"));
        let instance = name(&format!("Office.{service}.local"));
        let all = name("_services._dns-sd._udp.local");
        builder
            .push((&kind, Class::IN, 4_500, Ptr::new(&instance)))
            .unwrap();
        builder
            .push((&all, Class::IN, 4_500, Ptr::new(&kind)))
            .unwrap();
        let flush = Class::from(0x8001);
        builder
            .push((&instance, flush, 120, Srv::new(0, 0, 631, &host)))
            .unwrap();
    }
    let mut builder = builder.additional();
    for address in [[10, 0, 0, 7], [169, 254, 1, 2]] {
        builder
            .push((&host, Class::IN, 120, A::new(address.into())))
            .unwrap();
    }
    for address in ["fe80::7", "fd00::7"] {
        builder
            .push((&host, Class::IN, 120, Aaaa::new(address.parse().unwrap())))
            .unwrap();
    }
    builder
        .push((
            name("other.local"),
            Class::IN,
            120,
            A::new([10, 0, 0, 9].into()),
        ))
        .unwrap();
    builder
        .push((
            name("www.example"),
            Class::IN,
            120,
            A::new([10, 0, 0, 8].into()),
        ))
        .unwrap();
    builder.finish()
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let message = Message::from_slice(bytes).unwrap();
    let all = message.iter().map(|record| record.unwrap().0);
    all.map(|record| {
        let record = record
            .to_any_record::<domain::rdata::AllRecordData<_, _>>()
            .unwrap();
        format!(
            "{} {} {}",
            record.owner(),
            record.class().to_int(),
            record.data()
        )
    })
    .collect()
}

#[test]
fn only_services_that_pass_and_addresses_that_mean_something_are_relayed() {
    let mut relay = mdns::Relay::new(&["_ipp._tcp".into()], 10).unwrap();
    let mut out = Vec::new();
    let own = address(7, 5353);
    relay
        .handle(Time::ZERO, 1, own, &response(), &mut out)
        .unwrap();
    assert_eq!(
        texts(&out),
        [
            "_ipp._tcp.local 1 Office._ipp._tcp.local.",
            "_services._dns-sd._udp.local 1 _ipp._tcp.local.",
            "Office._ipp._tcp.local 32769 0 0 631 printer.local",
            "printer.local 1 10.0.0.7",
            "printer.local 1 fd00::7",
        ]
    );
    // Without a list all names of the domain pass.
    let mut relay = mdns::Relay::new(&[], 10).unwrap();
    relay
        .handle(Time::ZERO, 1, own, &response(), &mut out)
        .unwrap();
    assert_eq!(texts(&out).len(), 9);
    assert!(mdns::Relay::new(&["printers".into()], 10).is_err());
}

#[test]
fn a_query_keeps_its_known_answers_and_wants_no_unicast() {
    let mut relay = mdns::Relay::new(&["_ipp._tcp".into()], 10).unwrap();
    let kind = name("_ipp._tcp.local");
    let mut builder = MessageBuilder::new_vec().question();
    builder
        .push((&kind, Rtype::PTR, Class::from(0x8001)))
        .unwrap();
    builder
        .push((name("_ssh._tcp.local"), Rtype::PTR, Class::IN))
        .unwrap();
    let mut builder = builder.answer();
    builder
        .push((&kind, Class::IN, 4_000, Ptr::new(name("A._ipp._tcp.local"))))
        .unwrap();
    let query = builder.finish();
    let mut out = Vec::new();
    relay
        .handle(Time::ZERO, 1, address(2, 5353), &query, &mut out)
        .unwrap();
    let message = Message::from_slice(&out).unwrap();
    let question = message.sole_question().unwrap();
    assert!(*question.qname() == kind && question.qclass() == Class::IN);
    assert_eq!(texts(&out), ["_ipp._tcp.local 1 A._ipp._tcp.local."]);
    let refused = relay.handle(Time::ZERO, 1, address(2, 40_000), &query, &mut out);
    assert_eq!(refused, Err(mdns::reason::LEGACY));
    let refused = relay.handle(Time::ZERO, 1, address(2, 5353), &query[..20], &mut out);
    assert_eq!(refused, Err(mdns::reason::MALFORMED));
}

#[test]
fn two_relays_in_parallel_end_each_message() {
    // Links 1 and 2; each relay receives the messages of the other.
    let mut relays = [(); 2].map(|()| mdns::Relay::new(&[], 1_000).unwrap());
    let mut out = Vec::new();
    let mut sent = 0;
    let mut queue = vec![(1_u16, 9, response())];
    while let Some((link, sender, message)) = queue.pop() {
        for (number, relay) in relays
            .iter_mut()
            .enumerate()
            .filter(|(number, _)| *number != sender)
        {
            let source = address(50 + sender as u8, 5353);
            if relay
                .handle(Time::ZERO, link, source, &message, &mut out)
                .is_ok()
            {
                sent += 1;
                queue.push((3 - link, number, out.clone()));
            }
        }
        assert!(sent <= 2, "the message goes round");
    }
    assert_eq!(sent, 2);
    // Again after a second, as hosts repeat theirs.
    let again = relays[0].handle(
        Time::from_ms(1_001),
        1,
        address(7, 5353),
        &response(),
        &mut out,
    );
    assert_eq!(again, Ok(()));
}

#[test]
fn a_flood_costs_the_rate_of_its_link() {
    let mut relay = mdns::Relay::new(&[], 20).unwrap();
    let mut random = Random::new(9);
    let mut out = Vec::new();
    let mut relayed = 0;
    for ms in 0..10_000 {
        let host = name(&format!("h{}.local", random.bits()));
        let mut builder = MessageBuilder::new_vec().question();
        builder.push((&host, Rtype::A, Class::IN)).unwrap();
        let result = relay.handle(
            Time::from_ms(ms),
            1,
            address(7, 5353),
            &builder.finish(),
            &mut out,
        );
        relayed += u64::from(result.is_ok());
    }
    assert!((199..=221).contains(&relayed), "{relayed}");
    // Another link is not affected.
    let other = relay.handle(
        Time::from_secs(10),
        2,
        address(7, 5353),
        &response(),
        &mut out,
    );
    assert_eq!(other, Ok(()));
}

fn search(target: &str, wait: u64) -> Vec<u8> {
    format!("M-SEARCH * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: {wait}\r\nST: {target}\r\n\r\n").into_bytes()
}

fn found(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nLOCATION: {location}\r\nST: urn:media:1\r\nUSN: uuid:1\r\n\r\n")
        .into_bytes()
}

#[test]
fn responses_go_to_their_searcher_while_it_waits() {
    let mut relay = ssdp::Relay::new(&["urn:media:".into()], 100, 1).unwrap();
    let (first, second) = (address(2, 5_000), address(3, 6_000));
    let one = relay
        .handle_group(Time::ZERO, 1, first, &search("urn:media:1", 2))
        .unwrap();
    let two = relay
        .handle_group(Time::ZERO, 1, second, &search("ssdp:all", 100))
        .unwrap();
    let good = found("http://10.1.0.2/d.xml");
    let at = Time::from_secs;
    assert_eq!(relay.handle_response(at(2), one, &good), Ok(first));
    assert_eq!(relay.handle_response(at(5), two, &good), Ok(second));
    for late in [(at(3), one), (at(6), two)] {
        assert_eq!(
            relay.handle_response(late.0, late.1, &good),
            Err(ssdp::reason::OVERLOAD)
        );
    }
    let other = relay.handle_group(at(7), 1, first, &search("urn:printer:1", 2));
    assert_eq!(other, Err(ssdp::reason::FILTERED));
    let port = relay
        .handle_group(at(7), 1, first, &search("urn:media:1", 2))
        .unwrap();
    for location in [
        "http://169.254.3.4:80/",
        "http://[fe80::1%25eth0]/d.xml",
        "http://127.0.0.1/",
    ] {
        let refused = relay.handle_response(at(7), port, &found(location));
        assert_eq!(refused, Err(ssdp::reason::LINK_LOCAL), "{location}");
    }
    assert_eq!(
        relay.handle_response(at(7), port, b"GET / HTTP/1.1\r\n\r\n"),
        Err(ssdp::reason::MALFORMED)
    );
}

#[test]
fn searches_take_bounded_memory() {
    let mut relay = ssdp::Relay::new(&[], 1_000_000, 1).unwrap();
    let mut results = [0; 2];
    for number in 0..2_000_u32 {
        let source = address((number % 100) as u8, 1_024);
        let result =
            relay.handle_group(Time::ZERO, 1, source, &search(&format!("urn:{number}"), 5));
        results[usize::from(result.is_ok())] += 1;
        assert!(relay.searches() <= 256);
    }
    assert_eq!(results[1], 256);
    // Of one searcher.
    let mut relay = ssdp::Relay::new(&[], 1_000_000, 1).unwrap();
    let each = (0..100).map(|number| {
        relay
            .handle_group(
                Time::ZERO,
                1,
                address(2, 9),
                &search(&format!("urn:{number}"), 5),
            )
            .is_ok()
    });
    assert_eq!(each.filter(|is_relayed| *is_relayed).count(), 16);
    // They end.
    assert!(
        relay
            .handle_group(Time::from_secs(7), 1, address(2, 9), &search("urn:x", 5))
            .is_ok()
    );
    assert_eq!(relay.searches(), 1);
}
