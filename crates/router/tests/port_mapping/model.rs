//! Random requests of several hosts against a model of RFC 6887 and RFC 6886, written from their texts alone; and all that a
//! hostile host can take.

use super::*;
use node::random::Random;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Entry {
    nonce: Option<[u8; 12]>,
    external: u16,
    until: Time,
}

/// Mappings by host, protocol and port.
type Model = BTreeMap<(u8, u8, u16), Entry>;

fn live(model: &mut Model, now: Time) {
    model.retain(|_, entry| entry.until > now);
}

#[test]
fn random_requests_have_the_results_of_a_model_for_all_kinds_of_nat() {
    let kinds = [
        Behaviour::EndpointIndependent,
        Behaviour::AddressDependent,
        Behaviour::AddressAndPortDependent,
    ];
    for seed in 0..18 {
        let mut random = Random::new(seed);
        let (per_host, total) = (1 + random.index(6), 1 + random.index(12));
        let lifetimes = [60 + random.below(60), 120 + random.below(900)];
        let mut hand = hand(|nat, server| {
            nat.mapping = kinds[seed as usize % 3];
            nat.filtering = kinds[seed as usize / 3 % 3];
            (server.per_host, server.mappings) = (per_host, total);
            server.min_lifetime = Time::from_secs(lifetimes[0]);
            server.max_lifetime = Time::from_secs(lifetimes[1]);
        });
        hand.learn(0, 4);
        let mut model = Model::new();
        for _ in 0..1_500 {
            hand.now += Time::from_secs(random.below(9));
            live(&mut model, hand.now);
            let host = 2 + random.below(3) as u8;
            let port = 4_000 + random.below(4) as u16;
            let is_pcp = random.below(3) > 0;
            let nonce = [random.below(2) as u8; 12];
            let seconds = match random.below(4) {
                0 => 0,
                _ => random.below(2_000) as u32,
            };
            let wish = [0, 40_000 + random.below(4) as u16][random.index(2)];
            let protocol = [17, 6][random.index(2)];
            let exact = is_pcp && wish != 0 && random.below(4) == 0;
            let answer = match is_pcp {
                true => {
                    let mut body = map(&nonce, port, wish);
                    body[12] = protocol;
                    let option = if exact { option(2, &[]) } else { Vec::new() };
                    let answer = ask(&mut hand, host, &pcp(host, 1, seconds, &[&body, &option]));
                    let (code, lifetime, external) = result(&answer);
                    (code, lifetime, external)
                }
                false => {
                    let mut bytes = vec![0, if protocol == 17 { 1 } else { 2 }, 0, 0];
                    bytes.extend(port.to_be_bytes());
                    bytes.extend(wish.to_be_bytes());
                    bytes.extend(seconds.to_be_bytes());
                    let answer = ask(&mut hand, host, &bytes);
                    let lifetime = u32::from_be_bytes(answer[12..16].try_into().unwrap());
                    let external = u16::from_be_bytes([answer[10], answer[11]]);
                    (answer[3], lifetime, external)
                }
            };
            let key = (host, protocol, port);
            let nonce = is_pcp.then_some(nonce);
            let is_other = model.get(&key).is_some_and(|entry| entry.nonce != nonce);
            let of_host = model.keys().filter(|key| key.0 == host).count();
            let is_full =
                !model.contains_key(&key) && (of_host >= per_host || model.len() >= total);
            let taken = |external: u16| {
                let mut all = model.iter();
                all.any(|(other, entry)| {
                    *other != key && other.1 == protocol && entry.external == external
                })
            };
            let not_suggested = exact
                && (taken(wish) || model.get(&key).is_some_and(|entry| entry.external != wish));
            if is_other {
                assert_eq!(answer.0, 2, "{key:?}");
            } else if seconds == 0 {
                assert_eq!((answer.0, answer.1), (0, 0));
                model.remove(&key);
            } else if is_full {
                assert_eq!(answer.0, if is_pcp { 10 } else { 4 });
            } else if not_suggested {
                assert_eq!(answer.0, 11);
            } else {
                let (0, lifetime, external) = answer else {
                    panic!("{answer:?}");
                };
                let expected = u64::from(seconds).clamp(lifetimes[0], lifetimes[1]);
                assert_eq!(u64::from(lifetime), expected);
                assert!(!taken(external));
                match model.get(&key) {
                    Some(entry) => assert_eq!(external, entry.external),
                    None if wish != 0 && !taken(wish) => assert_eq!(external, wish),
                    None => {}
                }
                let until = hand.now + Time::from_secs(expected);
                let entry = Entry {
                    nonce,
                    external,
                    until,
                };
                model.insert(key, entry);
            }
            // A packet from the outside finds whom the model names.
            let external = 40_000 + random.below(4) as u16;
            let found = model
                .iter()
                .find(|(key, entry)| key.1 == 17 && entry.external == external);
            let expected = found.map(|(key, _)| key.2);
            assert_eq!(reaches(&mut hand, 9, external), expected, "{model:?}");
            let sizes = hand.router.tables(hand.now);
            let nat = sizes.iter().find(|table| table.name == "nat").unwrap();
            assert_eq!(nat.entries.len(), model.len());
        }
    }
}

#[test]
fn a_host_that_forges_addresses_gets_no_more_than_all_mappings() {
    let mut hand = hand(|_, server| (server.per_host, server.mappings) = (4, 50));
    let mut random = Random::new(5);
    let mut answered = 0;
    for _ in 0..20_000 {
        let host = 2 + random.below(250) as u8;
        let nonce = [random.below(256) as u8; 12];
        let mut body = map(
            &nonce,
            1 + random.below(65_535) as u16,
            random.below(65_536) as u16,
        );
        body[12] = [6, 17][random.index(2)];
        let peer = [&body[..], &[0, 53, 0, 0], &mapped([10, 0, 2, 9])].concat();
        let (opcode, body) = [(1, body), (2, peer)][random.index(2)].clone();
        let bytes = pcp(host, opcode, u32::MAX, &[&body]);
        let sent = hand.send(0, &request(0, host, &bytes));
        answered += sent.iter().map(|(_, frame)| frame.len()).sum::<usize>();
        assert!(
            sent.iter()
                .all(|(_, frame)| frame.len() <= 42 + bytes.len())
        );
    }
    assert!(answered > 0);
    assert_eq!(hand.counter("port_mapping_granted"), 50);
    let tables = hand.router.tables(hand.now);
    let count = |name: &str| {
        let table = tables.iter().find(|table| table.name == name).unwrap();
        table.entries.len()
    };
    assert_eq!([count("nat"), count("port mappings")], [50, 50]);
}
