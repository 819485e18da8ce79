//! A forwarder on a network that loses, delays and reorders, with an attacker. The model of the cache: the data of a record is the
//! time at which a server made it, so that each response shows its own age.

use dns::cache;
use dns::exchange::Via;
use dns::forwarder::{Config, Forwarder};
use dns::front::{self, Output};
use dns::message::{HEADER, Question, Transport, addresses, records};
use dns::policy::{Decision, PermitAll, Policy};
use dns::recursive::Recursive;
use dns::reply::Client;
use domain::base::iana::{Class, Rtype};
use node::Time;
use node::random::Random;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

const SECOND: u64 = 1_000_000_000_000;

pub fn client(number: u8, port: u16) -> Client {
    Client {
        address: SocketAddr::new([10, 0, 0, number].into(), port),
        own: [10, 0, 0, 1].into(),
        link: 0,
        mac: [2, 0, 0, 0, 0, number],
        transport: Transport::Udp,
    }
}

/// A query with RD for a name of text labels.
pub fn query(id: u16, name: &str, rtype: u16, dnssec_ok: Option<bool>) -> Vec<u8> {
    let mut query = id.to_be_bytes().to_vec();
    query.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(dnssec_ok.is_some())]);
    for label in name.split('.').filter(|label| !label.is_empty()) {
        query.push(label.len() as u8);
        query.extend(label.as_bytes());
    }
    query.push(0);
    query.extend(rtype.to_be_bytes());
    query.extend([0, 1]);
    if let Some(dnssec_ok) = dnssec_ok {
        query.extend([
            0,
            0,
            41,
            4,
            0xD0,
            0,
            0,
            if dnssec_ok { 0x80 } else { 0 },
            0,
            0,
            0,
        ]);
    }
    query
}

/// A server's response: names that begin with `x` do not exist, with `f` fail, with `t` are truncated over UDP.
fn respond(query: &[u8], via: Via, now: Time, ttl: u32) -> Vec<u8> {
    let question = Question::read(query).unwrap();
    let end = HEADER + question.wire_len();
    let mut response = query[..end].to_vec();
    response[2] |= 0x80;
    response[3] = 0x80;
    response[6..12].fill(0);
    let record = |response: &mut Vec<u8>, rtype: u16, ttl: u32, data: &[u8]| {
        response.extend([0xC0, 12]);
        response.extend(rtype.to_be_bytes());
        response.extend([0, 1]);
        response.extend(ttl.to_be_bytes());
        response.extend((data.len() as u16).to_be_bytes());
        response.extend(data);
    };
    match query[13].to_ascii_lowercase() {
        b'x' => {
            response[3] |= 3;
            response[9] = 1;
            let minimum = ttl / 2;
            let soa = [&[0, 0][..], &[0; 16], &minimum.to_be_bytes()].concat();
            record(&mut response, 6, ttl, &soa);
        }
        b'f' => response[3] |= 2,
        b't' if via != Via::Tcp => response[2] |= 2,
        _ => {
            response[7] = 1;
            let made = (now.as_ps() / 1_000_000_000) as u32;
            record(&mut response, 1, ttl, &made.to_be_bytes());
        }
    }
    response
}

struct Packet {
    at: Time,
    from: SocketAddr,
    via: Via,
    bytes: Vec<u8>,
}

/// A run with parameters from the seed.
fn run(seed: u64) -> (front::Counters, cache::Counters, u64) {
    let mut random = Random::new(seed);
    let loss = random.below(51) as f64 / 100.0;
    let delay = 1 + random.below(1_500);
    let forged = random.below(3);
    let ttl = 1 + random.below(20) as u32;
    let server_count = 1 + random.index(4);
    let servers: Vec<SocketAddr> = (0..server_count as u8)
        .map(|server| SocketAddr::new([192, 0, 2, server + 1].into(), 53))
        .collect();
    let stale = if random.chance(0.5) {
        Time::from_secs(40)
    } else {
        Time::ZERO
    };
    let limits = front::Limits {
        questions: 1 + random.index(40),
        queries: 1 + random.index(60),
        per_client: 1 + random.index(20),
        per_question: 1 + random.index(8),
    };
    let bytes = 400 + random.index(20_000);
    let config = Config {
        servers: servers.clone(),
        timeout: Time::from_ms(50 + random.below(1_000)),
        tries: 1 + random.below(6) as u32,
        mix_case: random.chance(0.5),
        tcp: true,
        cache: cache::Limits {
            bytes,
            stale,
            ..cache::Limits::default()
        },
        limits,
        dns64: None,
    };
    let mix_case = config.mix_case;
    let mut forwarder = Forwarder::new(config, PermitAll, seed);
    let mut now = Time::ZERO;
    let mut flying: Vec<Packet> = Vec::new();
    let (mut asked, mut responses) = (BTreeMap::new(), VecDeque::new());
    let (mut refused, mut expected_refused) = (0, 0);
    let mut next_query = Time::ZERO;
    let end = Time::from_secs(60);
    loop {
        let mut outputs: Vec<(SocketAddr, Via, Vec<u8>)> = Vec::new();
        let arrives = flying.iter().map(|packet| packet.at).min();
        let due = [
            arrives,
            forwarder.next_wake(),
            (next_query < end).then_some(next_query),
        ];
        let Some(next) = due.into_iter().flatten().min() else {
            break;
        };
        now = now.max(next);
        let mut send = |output: Output<'_>| match output {
            Output::Response { client, message } => responses.push_back((client, message.to_vec())),
            Output::Query {
                server,
                via,
                message,
            } => outputs.push((server, via, message.to_vec())),
        };
        if arrives == Some(next) {
            let at = flying.iter().position(|packet| packet.at == next).unwrap();
            let packet = flying.swap_remove(at);
            let accepted =
                forwarder.handle_response(now, packet.from, packet.via, &packet.bytes, &mut send);
            refused += u64::from(!accepted);
        } else if forwarder.next_wake() == Some(next) {
            forwarder.wake(now, &mut send);
        } else {
            let (host, port) = (
                2 + random.below(4) as u8,
                1_024 + random.below(60_000) as u16,
            );
            let letter = ["a", "A", "b", "x", "f", "t"][random.index(6)];
            let name = format!("{letter}{}.Example", random.below(8));
            let id = random.bits() as u16;
            let edns = [None, Some(false), Some(true)][random.index(3)];
            let bytes = query(id, &name, 1, edns);
            asked.insert((client(host, port).address, id), (now, bytes.clone()));
            forwarder.handle_query(now, client(host, port), &bytes, &mut send);
            next_query = now + Time::from_us(random.below(200_000));
        }
        for (server, via, message) in outputs {
            assert!(servers.contains(&server));
            // The attacker sees nothing: it guesses, and is wrong in one thing at least.
            for _ in 0..forged {
                let Via::Udp(port) = via else { break };
                let mut bytes = respond(&message, via, Time::from_secs(4_000_000), 86_400);
                let (mut from, mut to) = (server, port);
                match random.below(4) {
                    0 => bytes[0] ^= 1 << random.below(8),
                    1 => to = to.wrapping_add(1 + random.below(9) as u16),
                    2 => from.set_port(54),
                    _ if mix_case => bytes[13] ^= 0x20,
                    _ => bytes[14] ^= 1,
                }
                expected_refused += 1;
                let at = now + Time::from_us(random.below(delay));
                flying.push(Packet {
                    at,
                    from,
                    via: Via::Udp(to),
                    bytes,
                });
            }
            if random.chance(loss) {
                continue;
            }
            let forth = now + Time::from_us(random.below(delay * 1_000));
            let back = forth + Time::from_us(random.below(delay * 1_000));
            if random.chance(loss) {
                continue;
            }
            flying.push(Packet {
                at: back,
                from: server,
                via,
                bytes: respond(&message, via, forth, ttl),
            });
        }
        assert!(forwarder.waiting() <= limits.questions);
        assert!(forwarder.cache_bytes() <= bytes);
        for (client, message) in responses.drain(..) {
            let id = u16::from_be_bytes([message[0], message[1]]);
            let (_, query) = &asked[&(client.address, id)];
            // The question is the client's, letter by letter.
            let end = HEADER + Question::read(query).unwrap().wire_len();
            assert_eq!(message[HEADER..end], query[HEADER..end]);
            assert!(message.len() <= if query[11] == 1 { 1_232 } else { 512 });
            let code = message[3] & 15;
            let letter = query[13].to_ascii_lowercase();
            if code == 2 {
                continue;
            }
            match letter {
                b'x' => {
                    let soa = records(&message).next().unwrap().unwrap();
                    assert!(code == 3 && soa.rtype == Rtype::SOA && soa.ttl <= ttl.max(30));
                }
                b'f' => panic!("a server that fails has no response of code {code}"),
                _ => {
                    let (_, address, left) = addresses(&message).next().expect("an address");
                    let IpAddr::V4(address) = address else {
                        panic!()
                    };
                    let made = Time::from_ms(address.to_bits().into());
                    let age = now.as_ps().checked_sub(made.as_ps()).expect("forged data");
                    let is_fresh = age + u64::from(left) * SECOND
                        <= u64::from(ttl) * SECOND + delay * 1_000_000_000 + SECOND / 1_000;
                    let is_stale = stale > Time::ZERO
                        && left == 30
                        && age
                            <= u64::from(ttl) * SECOND
                                + stale.as_ps()
                                + delay * 1_000_000_000
                                + SECOND / 1_000;
                    assert!(is_fresh || is_stale, "age {age} TTL {left} of {ttl}");
                }
            }
        }
    }
    assert_eq!(forwarder.waiting(), 0);
    let (queries, cache, exchange) = forwarder.counters();
    let counted =
        exchange.wrong_id + exchange.wrong_port + exchange.wrong_server + exchange.wrong_question;
    assert_eq!(counted, refused);
    assert!(refused >= expected_refused);
    assert_eq!(
        queries.queries,
        queries.responses + queries.overload + duplicates(&queries, asked.len())
    );
    (queries, cache, refused)
}

/// Queries that replaced others with the same client and identifier would be merged without a response; random ones are not.
fn duplicates(queries: &front::Counters, asked: usize) -> u64 {
    queries.queries - asked as u64
}

#[test]
fn no_response_is_forged_or_older_than_its_ttl() {
    let (mut hits, mut stale, mut merged, mut overload, mut refused) = (0, 0, 0, 0, 0);
    for seed in 0..200 {
        let (queries, cache, count) = run(seed);
        hits += cache.hits;
        stale += cache.stale;
        merged += queries.merged;
        overload += queries.overload;
        refused += count;
    }
    println!("{hits} hits, {stale} stale, {merged} merged, {overload} overload, {refused} refused");
    assert!(hits > 1_000 && stale > 100 && merged > 100 && overload > 100 && refused > 1_000);
}

/// Denies names by their first letter, and remembers the addresses of permitted ones.
#[derive(Debug, Default)]
struct Guard(Vec<(String, IpAddr)>);

impl Policy for Guard {
    fn decide(&mut self, _: Time, client: &Client, question: &Question<'_>) -> Decision {
        assert_eq!(client.mac[5], 7);
        match question.name.first().as_slice().first() {
            Some(b'n') => Decision::NoSuchName,
            Some(b'r') => Decision::Refuse,
            Some(b'i') => Decision::Ignore,
            Some(b'p') => Decision::Address([192, 0, 2, 99].into()),
            _ => Decision::Permit,
        }
    }

    fn answered(&mut self, _: Time, _: &Client, question: &Question<'_>, response: &[u8]) {
        assert_eq!(question.class, Class::IN);
        let all = addresses(response).map(|(_, address, _)| (question.name.to_string(), address));
        self.0.extend(all);
    }
}

#[test]
fn a_policy_decides_on_each_question_and_sees_each_answer() {
    let config = Config {
        servers: vec!["192.0.2.1:53".parse().unwrap()],
        ..Config::default()
    };
    let mut forwarder = Forwarder::new(config, Guard::default(), 1);
    let mut ask = |name: &str, rtype: u16| {
        let (mut server, mut response) = (None, None);
        let bytes = query(9, name, rtype, None);
        let mut send = |output: Output<'_>| match output {
            Output::Response { message, .. } => response = Some(message.to_vec()),
            Output::Query { via, message, .. } => server = Some((via, message.to_vec())),
        };
        forwarder.handle_query(Time::ZERO, client(7, 5_000), &bytes, &mut send);
        if let Some((via, message)) = server {
            let mut send = |output: Output<'_>| {
                let Output::Response { message, .. } = output else {
                    panic!()
                };
                response = Some(message.to_vec());
            };
            let back = respond(&message, via, Time::from_ms(0x0A01_0203), 60);
            assert!(forwarder.handle_response(
                Time::ZERO,
                "192.0.2.1:53".parse().unwrap(),
                via,
                &back,
                &mut send
            ));
        }
        response.map(|response| {
            (
                response[3] & 15,
                addresses(&response).map(|(_, address, _)| address).next(),
            )
        })
    };
    assert_eq!(ask("no.example", 1), Some((3, None)));
    assert_eq!(ask("refused.example", 1), Some((5, None)));
    assert_eq!(ask("ignored.example", 1), None);
    assert_eq!(
        ask("page.example", 1),
        Some((0, Some([192, 0, 2, 99].into())))
    );
    assert_eq!(ask("page.example", 28), Some((0, None)));
    let address = IpAddr::from([10, 1, 2, 3]);
    assert_eq!(ask("a.example", 1), Some((0, Some(address))));
    // From the cache.
    assert_eq!(ask("a.example", 1), Some((0, Some(address))));
    let seen = ("a.example".to_owned(), address);
    assert_eq!(forwarder.policy().0, [seen.clone(), seen]);
}
