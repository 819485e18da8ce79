//! A Paxos group whose members are killed, and hosts on its network that belong to none.

use crate::paxos::{group, members, members_with};
use crate::shell::Place;
use consensus::store::{OPENS, Operation};
use consensus::{Command, Kind, Message};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};

fn on(group: &str) -> String {
    format!("--on multicast:{group}:57021@127.0.0.1")
}

/// Two acceptors decide a write; one of them is killed and started again by the same command. Later a majority consists of this
/// acceptor and one that never received the write: with an empty memory the write would be lost.
#[test]
fn an_acceptor_that_starts_again_still_has_its_vote() {
    let place = Place::new("paxos-amnesia");
    let group = group(11);
    let script = members(&group, &on(&group))
        .replace("--set 'lease", "--set replicas=2 --set 'lease")
        + "for name in a0 a1 a2 r0 r1 c1; do start $name; done
         kv put 7 1
         end a2; end r1
         kv put 7 42
         end c1; start a2
         end a0; start a0
         end a1; end r0
         start r1; start c2
         kv get 7
         kill $(jobs -p) 2> /dev/null; wait";
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    assert_eq!(lines, ["written", "written", "42"], "{}", ended.err);
}

/// Each start of `wire paxos kv` requests a session with the client number that all clients without a
/// session share. The number of a session is unique.
#[test]
fn no_two_clients_have_one_number() {
    const CALLS: usize = 20;
    let place = Place::new("paxos-numbers");
    let group = group(12);
    let on = on(&group);
    let script = members(&group, &on)
        + &format!(
            "for name in a0 a1 a2 c1 r0; do start $name; done
             wire paxos learn --json {on} > learned 2> /dev/null & learner=$!
             until [ -s learned ]; do kv put 1 1 > /dev/null; done
             for call in $(seq {CALLS}); do kv put 7 $call; done
             kv get 7
             until grep -c '\"type\":\"decided\"' learned > count && [ $(cat count) -ge {} ]; do sleep 0.05; done
             kill -2 $learner; wait $learner
             kill $(jobs -p) 2> /dev/null; wait",
            // Each call has a session request and an operation.
            2 * (CALLS + 1)
        );
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    assert_eq!(lines[..CALLS], ["written"; CALLS], "{}", ended.err);
    assert_eq!(lines[CALLS], CALLS.to_string());
    let learned = String::from_utf8(place.read("learned")).unwrap();
    let mut values: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for object in learned
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        if let (Some(client), Some(value)) = (object["client"].as_u64(), object["value"].as_str()) {
            let all = values.entry(client).or_default();
            // A request that is sent again may be decided again.
            if !all.iter().any(|known| known == value) {
                all.push(value.to_owned());
            }
        }
    }
    // No-ops.
    values.remove(&0);
    let requests = values.remove(&u64::from(OPENS)).unwrap();
    assert!(requests.len() >= CALLS, "{requests:?}");
    assert!(values.len() >= CALLS, "{values:?}");
    assert!(values.values().all(|all| all.len() == 1), "{values:?}");
}

/// Messages of all kinds, each with the highest number in one field.
fn highest() -> Vec<Message<Command>> {
    let mut bytes = Vec::new();
    Message::<Command>::new(Kind::Trim).build(&mut bytes);
    let mut of_kind = |kind: u8| {
        bytes[0] = kind;
        Message::parse(&bytes).unwrap()
    };
    let kinds: Vec<Message<Command>> = (1..=17).map(&mut of_kind).collect();
    let fields = kinds.into_iter().flat_map(|message| {
        let mut all = [message; 5];
        all[0].round = u64::MAX;
        all[1].vote_round = u64::MAX;
        all[2].instance = u64::MAX;
        all[3].base = u64::MAX;
        all[4].high = u64::MAX;
        all
    });
    fields.collect()
}

/// Forged decisions of the next instances.
fn decisions() -> impl Iterator<Item = Message<Command>> {
    (1..40).map(|instance| Message {
        instance,
        value: Command {
            client: 5,
            sequence: 1,
            value: Operation::Put(7, 777).encode(),
        },
        ..Message::new(Kind::Decided)
    })
}

#[test]
fn forged_datagrams_neither_end_a_group_nor_change_what_it_answers() {
    for (test, key) in [(13, ""), (14, "group.key")] {
        let place = Place::new(&format!("paxos-forged-{test}"));
        let group = group(test);
        let on = on(&group);
        let (of_members, of_clients) = match key {
            "" => (String::new(), String::new()),
            key => (format!("--set key={key}"), format!("--key {key}")),
        };
        let script = format!(
            "echo 000102030405060708090a0b0c0d0e0f > group.key; chmod 600 group.key
             {}
             for name in a0 a1 a2 c1 r0; do start $name; done
             kv {of_clients} put 7 42; touch ready
             until [ -e forged ]; do sleep 0.05; done
             kv {of_clients} get 7; kv {of_clients} put 8 1; kv {of_clients} get 7
             kill $(jobs -p) 2> /dev/null; wait",
            members_with(&group, &on, &of_members)
        );
        let mut forged = highest();
        if !key.is_empty() {
            // A member without a key accepts every message within its window.
            forged.extend(decisions());
        }
        let ready = place.path.join("ready");
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| place.run(&script));
            assert!(super::eventually(|| ready.exists()));
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let group: Ipv4Addr = group.parse().unwrap();
            for message in &forged {
                let mut bytes = Vec::new();
                message.build(&mut bytes);
                socket.send_to(&bytes, (group, 57021)).unwrap();
            }
            place.write("forged", "");
            run.join().unwrap()
        });
        let lines: Vec<_> = ended.out.lines().collect();
        let expected = ["written", "42", "written", "42"];
        assert_eq!(lines, expected, "key {key:?}: {}", ended.err);
    }
}
