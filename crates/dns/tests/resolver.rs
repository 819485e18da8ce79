//! A resolver on an Internet of authoritative servers of ours, with packet loss, and with servers that lie.

use crate::forwarder::{client, query};
use dns::front::Output;
use dns::message::{Question, Transport, addresses};
use dns::policy::PermitAll;
use dns::recursive::Recursive;
use dns::resolver::{Config, Resolver};
use dns::server::{Limits, Server};
use dns::zone::Zone;
use domain::base::iana::Class;
use domain::base::{MessageBuilder, Name, StaticCompressor};
use domain::rdata::{A, Ns};
use node::Time;
use node::random::Random;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

const FORGED: Ipv4Addr = Ipv4Addr::new(6, 6, 6, 6);
/// The server of the zone `evil.`.
const EVIL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 66);

type Respond<'a> = dyn FnMut(IpAddr, &[u8]) -> Option<Vec<u8>> + 'a;

/// Asks a resolver, which exchanges packets with servers at once or loses them; gives the code and the first address.
fn ask(
    resolver: &mut Resolver<PermitAll>,
    now: &mut Time,
    name: &str,
    loss: (f64, &mut Random),
    respond: &mut Respond<'_>,
) -> (u8, Option<IpAddr>, u64) {
    let (mut answer, mut sent) = (None, Vec::new());
    let (loss, random) = loss;
    let bytes = query(1, name, 1, Some(false));
    let mut queries = 0;
    let mut first = true;
    while answer.is_none() {
        let next = sent.pop();
        let mut send = |output: Output<'_>| match output {
            Output::Response { message, .. } => answer = Some(message.to_vec()),
            Output::Query {
                server,
                via,
                message,
            } => sent.push((server, via, message.to_vec())),
        };
        if core::mem::take(&mut first) {
            resolver.handle_query(*now, client(2, 1_000), &bytes, &mut send);
            continue;
        }
        let Some((server, via, message)) = next else {
            let due = resolver.next_wake();
            *now = due.expect("a question that waits has a timeout").max(*now);
            resolver.wake(*now, &mut send);
            continue;
        };
        queries += 1;
        let response = respond(server.ip(), &message).filter(|_| !random.chance(loss));
        if let Some(response) = response {
            assert!(resolver.handle_response(*now, server, via, &response, &mut send));
        }
    }
    assert_eq!((resolver.waiting(), resolver.searches()), (0, 0));
    let answer = answer.expect("the loop ends with it");
    let address = addresses(&answer).map(|(_, address, _)| address).next();
    (answer[3] & 15, address, queries)
}

struct Internet {
    servers: BTreeMap<IpAddr, Server>,
    /// Addresses of names; `None`: there are other records.
    names: BTreeMap<String, Option<Ipv4Addr>>,
}

impl Internet {
    /// Zones of two levels, with servers in the zone or in another one.
    fn new(random: &mut Random) -> Internet {
        let mut internet = Internet {
            servers: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        let soa = "$TTL 300\n@ SOA ns root 1 2 3 4 60\n";
        let mut root =
            format!("{soa}@ NS a.root.\na.root. A 192.0.2.1\nevil NS ns.evil\nns.evil A {EVIL}\n");
        let zones = 2 + random.index(5);
        let mut texts = Vec::new();
        for top in 0..3_u8 {
            let address = Ipv4Addr::new(192, 0, 2, 10 + top);
            root += &format!("t{top} NS ns.t{top}\nns.t{top} A {address}\n");
            let mut text = format!("{soa}@ NS ns\nns A {address}\n");
            for zone in 0..zones as u8 {
                let own = Ipv4Addr::new(198, 51, 100 + top, 1 + zone);
                let mut records = format!("{soa}@ NS ns\nns A {own}\n");
                // A second server, in another zone and without glue.
                if random.chance(0.5) {
                    let (other_top, other) = (random.below(3), random.below(zones as u64));
                    let server = format!("ns.z{other}.t{other_top}.");
                    text += &format!("z{zone} NS {server}\n");
                    if random.chance(0.5) {
                        records += &format!("@ NS {server}\n");
                    }
                }
                text += &format!("z{zone} NS ns.z{zone}\nns.z{zone} A {own}\n");
                for host in 0..4_u8 {
                    let name = format!("h{host}.z{zone}.t{top}");
                    let address = Ipv4Addr::new(203, top, zone, host);
                    match random.below(4) {
                        0 => {
                            records += &format!("h{host} TXT none\n");
                            internet.names.insert(name, None);
                        }
                        1 => {
                            let target = format!(
                                "h{}.z{}.t{}",
                                random.below(4),
                                random.below(zones as u64),
                                random.below(3)
                            );
                            records += &format!("h{host} CNAME {target}.\n");
                            // Resolved below.
                            internet.names.insert(name, Some(Ipv4Addr::UNSPECIFIED));
                            texts.push((format!("alias h{host}.z{zone}.t{top}"), target));
                        }
                        _ => {
                            records += &format!("h{host} A {address}\n");
                            internet.names.insert(name, Some(address));
                        }
                    }
                }
                internet.serve(own.into(), &format!("z{zone}.t{top}."), &records);
            }
            internet.serve(address.into(), &format!("t{top}."), &text);
        }
        internet.serve([192, 0, 2, 1].into(), ".", &root);
        let aliases: BTreeMap<String, String> = texts
            .into_iter()
            .map(|(name, target)| (name.trim_start_matches("alias ").to_owned(), target))
            .collect();
        for name in aliases.keys() {
            let mut end = name;
            for _ in 0..100 {
                end = aliases.get(end).unwrap_or(end);
            }
            // A loop has no address.
            let address = aliases
                .get(end)
                .map_or(internet.names.get(end).copied(), |_| Some(None));
            internet
                .names
                .insert(name.clone(), address.expect("each host exists"));
        }
        internet
    }

    fn serve(&mut self, address: IpAddr, name: &str, text: &str) {
        let zone = Zone::parse(name, text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let limits = Limits {
            rate: 0,
            ..Limits::default()
        };
        self.servers
            .insert(address, Server::new(vec![zone], limits));
    }

    fn respond(&mut self, server: IpAddr, query: &[u8]) -> Option<Vec<u8>> {
        let mut response = Vec::new();
        let server = self.servers.get_mut(&server)?;
        server.handle_query(
            Time::ZERO,
            [10, 0, 0, 1].into(),
            Transport::Udp,
            query,
            &mut response,
        );
        Some(response)
    }
}

/// A response with records for other zones in each section.
fn lie(query: &[u8], random: &mut Random) -> Vec<u8> {
    let question = Question::read(query).expect("a question");
    let target = StaticCompressor::new(Vec::new());
    let mut builder = MessageBuilder::from_target(target)
        .expect("a vector")
        .question();
    builder
        .header_mut()
        .set_id(u16::from_be_bytes([query[0], query[1]]));
    builder.header_mut().set_qr(true);
    builder.header_mut().set_aa(random.chance(0.5));
    builder
        .push((question.name, question.rtype, question.class))
        .expect("room");
    let name = |text: &str| Name::vec_from_str(text).expect("a name");
    let victims = [
        "h0.z0.t0", "h1.z0.t0", "ns.t0", "ns.z0.t0", "t0", "z0.t0", "a.root",
    ]
    .map(name);
    let victim = |random: &mut Random| victims[random.index(victims.len())].clone();
    let mut builder = builder.answer();
    if random.chance(0.5) {
        let _ = builder.push((victim(random), Class::IN, 86_400, A::new(FORGED)));
    }
    let mut builder = builder.authority();
    if random.chance(0.7) {
        let _ = builder.push((victim(random), Class::IN, 86_400, Ns::new(name("ns.evil"))));
    }
    if random.chance(0.7) {
        let _ = builder.push((question.name, Class::IN, 86_400, Ns::new(victim(random))));
    }
    let mut builder = builder.additional();
    for _ in 0..3 {
        let _ = builder.push((victim(random), Class::IN, 86_400, A::new(FORGED)));
    }
    let _ = builder.push((name("ns.evil"), Class::IN, 86_400, A::new(EVIL)));
    builder.finish().into_target()
}

#[test]
fn answers_are_those_of_the_zones_whatever_other_servers_say() {
    let (mut right, mut failed, mut forged) = (0, 0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut internet = Internet::new(&mut random);
        let names: Vec<(String, Option<Ipv4Addr>)> = internet.names.clone().into_iter().collect();
        let loss = if random.chance(0.5) {
            0.0
        } else {
            random.below(40) as f64 / 100.0
        };
        let config = Config {
            roots: vec!["192.0.2.1:53".parse().unwrap()],
            minimise: random.chance(0.5),
            mix_case: random.chance(0.5),
            timeout: Time::from_ms(100),
            ..Config::default()
        };
        let max_queries = u64::from(config.max_queries);
        let mut resolver = Resolver::new(config, PermitAll, seed);
        let mut now = Time::ZERO;
        let mut liar = Random::new(seed ^ 7);
        for round in 0..120 {
            let (mut lies, mut servers) = (0, Vec::new());
            let mut respond = |server: IpAddr, query: &[u8]| {
                servers.push(server);
                match server == IpAddr::V4(EVIL) || server == IpAddr::V4(FORGED) {
                    true => {
                        lies += 1;
                        Some(lie(query, &mut liar))
                    }
                    false => internet.respond(server, query),
                }
            };
            let (name, wanted) = match random.below(6) {
                0 => (format!("x{round}.evil"), None),
                1 => (format!("nothing{round}.z0.t1"), None),
                _ => names[random.index(names.len())].clone(),
            };
            let (code, address, queries) = ask(
                &mut resolver,
                &mut now,
                &name,
                (loss, &mut random),
                &mut respond,
            );
            assert!(queries <= max_queries, "{queries} queries for {name}");
            assert!(
                !servers.contains(&FORGED.into()),
                "a server of the forger's choice was asked"
            );
            forged += lies;
            now += Time::from_secs(random.below(100));
            if name.ends_with("evil") {
                continue;
            }
            assert_ne!(address, Some(FORGED.into()), "{name}");
            match code {
                // Loss, or an alias of itself.
                2 => failed += 1,
                _ => {
                    assert_eq!(address, wanted.map(IpAddr::V4), "{name}: code {code}");
                    assert_eq!(code == 3, name.starts_with("nothing"), "{name}");
                    right += 1;
                }
            }
            assert!(code != 2 || loss > 0.0, "{name} failed without loss");
        }
    }
    println!("{right} right, {failed} failed by loss, {forged} forged responses");
    assert!(right > 10 * failed && forged > 1_000);
}

#[test]
fn a_referral_to_many_servers_costs_their_zone_few_queries() {
    // NXNSAttack: each question has a referral to servers of a victim, whose names do not exist.
    let config = Config {
        roots: vec!["192.0.2.1:53".parse().unwrap()],
        minimise: false,
        ..Config::default()
    };
    let max_searches = config.max_searches;
    let mut resolver = Resolver::new(config, PermitAll, 1);
    let mut now = Time::ZERO;
    let mut random = Random::new(1);
    let mut worst = 0;
    for round in 0..50 {
        let mut victim = 0;
        let mut respond = |_: IpAddr, query: &[u8]| {
            let question = Question::read(query).expect("a question");
            let target = StaticCompressor::new(Vec::new());
            let mut builder = MessageBuilder::from_target(target)
                .expect("a vector")
                .question();
            builder
                .header_mut()
                .set_id(u16::from_be_bytes([query[0], query[1]]));
            builder.header_mut().set_qr(true);
            builder
                .push((question.name, question.rtype, question.class))
                .expect("room");
            let name = question.name.to_string();
            let mut builder = builder.answer().authority();
            if name.ends_with("victim") {
                victim += 1;
                builder
                    .header_mut()
                    .set_rcode(domain::base::iana::Rcode::NXDOMAIN);
                builder.header_mut().set_aa(true);
            } else {
                for server in 0..60 {
                    let server = format!("n{server}.x{round}.victim");
                    let server = Ns::new(Name::vec_from_str(&server).expect("a name"));
                    builder
                        .push((question.name, Class::IN, 60, server))
                        .expect("room");
                }
            }
            Some(builder.additional().finish().into_target())
        };
        let (code, _, _) = ask(
            &mut resolver,
            &mut now,
            &format!("q{round}.attacker"),
            (0.0, &mut random),
            &mut respond,
        );
        assert_eq!(code, 2);
        worst = worst.max(victim);
    }
    println!("{worst} queries to the victim for a question");
    assert!(worst <= max_searches as u64);
}
