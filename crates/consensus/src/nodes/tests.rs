mod leading;

use super::*;
use crate::message::{Kind, LENGTH};
use alloc::string::ToString;
use node::{Node, Time};

fn member() -> Member {
    let (mac, address) = (Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1));
    Member::new(mac, address, Ipv4Addr::new(239, 0, 0, 1), 1, None).unwrap()
}

#[test]
fn a_message_reaches_the_group_and_no_other() {
    let (mut sender, mut out) = (member(), Out::default());
    let message = Message::new(Kind::Trim);
    sender.send(&message, &mut out);
    let frame = out.sends().next().unwrap().frame;
    assert_eq!(frame[..6], [1, 0, 0x5E, 0, 0, 1]);
    assert_eq!(
        member().receive(Frame::new(&frame), &mut out),
        Some(message)
    );
    let mut other = member();
    other.group = Ipv4Addr::new(239, 0, 0, 2);
    assert_eq!(other.receive(Frame::new(&frame), &mut out), None);
    let mut damaged = Frame::new(&frame);
    damaged[60] ^= 1;
    assert_eq!(member().receive(damaged, &mut out), None);
    assert_eq!(member().receive(Frame::new(&frame[..60]), &mut out), None);
    assert_eq!(out.drops(), [("no Paxos message", 2), ("checksum", 1)]);
}

#[test]
fn with_a_key_only_messages_of_the_group_are_taken() {
    let key = |digit: &str| Key::parse(&digit.repeat(32));
    let (mut sender, mut out) = (member(), Out::default());
    sender.key = key("a");
    let message = Message::new(Kind::Trim);
    sender.send(&message, &mut out);
    let frame = out.sends().next().unwrap().frame;
    let mut receiver = member();
    receiver.key = key("a");
    let taken = receiver.receive(Frame::new(&frame), &mut out);
    assert_eq!(taken, Some(message));
    // A member without a key accepts it too: the tag follows the message.
    assert_eq!(
        member().receive(Frame::new(&frame), &mut out),
        Some(message)
    );
    receiver.key = key("b");
    assert_eq!(receiver.receive(Frame::new(&frame), &mut out), None);
    member().send(&message, &mut out);
    let bare = out.sends().next().unwrap().frame;
    assert_eq!(receiver.receive(bare, &mut out), None);
    // Changed on its way, with checksums that are right.
    receiver.key = key("a");
    let mut forged = Message {
        instance: 9,
        ..message
    };
    forged.value.sequence = 1;
    let mut changed = frame[..42].to_vec();
    changed[40..42].fill(0);
    forged.build(&mut changed);
    changed.extend(&frame[42 + LENGTH..]);
    assert_eq!(receiver.receive(Frame::new(&changed), &mut out), None);
    assert_eq!(out.drops(), [("not authentic", 3)]);
}

/// One datagram with the highest round as promised, requested or refused used to end a group.
#[test]
fn the_highest_round_and_instance_are_refused_by_every_member() {
    let mut acceptor = acceptor::AcceptorNode::new(acceptor::Config::default()).unwrap();
    let mut coordinator = coordinator::CoordinatorNode::new(Default::default()).unwrap();
    let mut replica = replica::Replica::new(Default::default()).unwrap();
    let members: [&mut dyn Node; 3] = [&mut acceptor, &mut coordinator, &mut replica];
    let heard = Message {
        instance: 1,
        round: 1 << 16 | 1,
        ..Message::new(Kind::Lease)
    };
    for member in members {
        let mut out = Out::default();
        tell(member, Time::from_us(1), 0, &heard, &mut out);
        for kind in 1..=17 {
            let mut bytes = alloc::vec::Vec::new();
            Message::new(Kind::Trim).build(&mut bytes);
            bytes[0] = kind;
            let message: Message<Command> = Message::parse(&bytes).unwrap();
            let highest = u64::MAX;
            for forged in [
                Message {
                    round: highest,
                    ..message
                },
                Message {
                    vote_round: highest,
                    ..message
                },
                Message {
                    instance: highest,
                    ..message
                },
                Message {
                    base: highest,
                    ..message
                },
                Message {
                    high: highest,
                    ..message
                },
            ] {
                tell(member, Time::from_us(2), 0, &forged, &mut out);
            }
        }
        assert_eq!(out.drops(), [("beyond the window", 17 * 5)]);
    }
    assert_eq!((acceptor.acceptor.promised, acceptor.acceptor.base), (0, 1));
    assert_eq!((replica.learner.next(), replica.learner.high()), (1, 0));
    let mut out = Out::default();
    coordinator.wake(Time::from_secs(1), &mut out);
    assert_eq!(said(&mut out)[0].1.round, 2 << 16 | 1);
}

#[test]
fn what_is_wrong_with_a_configuration_is_told_by_its_key() {
    let key = |error: ConfigError| error.to_string().split('`').nth(1).map(str::to_string);
    let coordinator = coordinator::CoordinatorNode::new(coordinator::Config {
        acceptors: 6,
        ..Default::default()
    });
    assert_eq!(key(coordinator.unwrap_err()).as_deref(), Some("acceptors"));
    let acceptor = acceptor::AcceptorNode::new(acceptor::Config {
        restarts: [2, 1].map(Time::from_ms).into(),
        ..Default::default()
    });
    assert_eq!(key(acceptor.unwrap_err()).as_deref(), Some("restarts"));
    let replica = replica::Replica::new(replica::Config {
        group: Ipv4Addr::new(10, 0, 0, 1),
        ..Default::default()
    });
    assert_eq!(key(replica.unwrap_err()).as_deref(), Some("group"));
    let config = client::Config {
        first: u32::MAX,
        ..Default::default()
    };
    let client = client::ClientNode::new(config);
    assert_eq!(key(client.err().unwrap()).as_deref(), Some("first"));
}

#[test]
fn who_does_not_hear_of_a_leader_takes_over_and_who_does_waits() {
    let config = |identity| coordinator::Config {
        identity,
        ..Default::default()
    };
    let mut second = coordinator::CoordinatorNode::new(config(2)).unwrap();
    let mut out = Out::default();
    let lease = Message {
        round: 1 << 16 | 1,
        ..Message::new(Kind::Lease)
    };
    member().send(&lease, &mut out);
    let mut frames = out.sends().map(|sent| sent.frame).collect();
    second.frames(Time::from_ms(1), Port(0), &mut frames, &mut out);
    // A lease of 10 ms, and a quarter of it.
    assert_eq!(second.next_wake(), Some(Time::from_us(13_500)));
    second.wake(Time::from_ms(13), &mut out);
    assert_eq!(second.statistics().get("campaigns"), Some(0));
    second.wake(Time::from_us(13_500), &mut out);
    assert_eq!(second.statistics().get("campaigns"), Some(1));
    let sent = out.sends().next().unwrap().frame;
    let asked = member().receive(sent, &mut out).unwrap();
    assert_eq!((asked.kind, asked.round), (Kind::Phase1A, 2 << 16 | 2));
}

/// The messages that a node has just sent, each with its port.
fn said(out: &mut Out) -> alloc::vec::Vec<(u16, Message<Command>)> {
    let frames: alloc::vec::Vec<_> = out.sends().map(|sent| (sent.port.0, sent.frame)).collect();
    let mut listener = member();
    frames
        .into_iter()
        .filter_map(|(port, frame)| Some((port, listener.receive(frame, &mut Out::default())?)))
        .collect()
}

/// Has a node told a message.
fn tell(node: &mut dyn Node, now: Time, port: u16, message: &Message<Command>, out: &mut Out) {
    let mut wire = Out::default();
    member().send(message, &mut wire);
    let mut frames = wire.sends().map(|sent| sent.frame).collect();
    node.frames(now, Port(port), &mut frames, out);
}

fn vote(acceptor: u16, instance: u64, value: Command) -> Message<Command> {
    Message {
        sender: acceptor,
        instance,
        round: 1 << 16 | 1,
        value,
        ..Message::new(Kind::Phase2B)
    }
}

#[test]
fn a_client_asks_again_by_all_ports_and_a_replica_answers_where_the_last_vote_came() {
    let config = client::Config {
        ports: 2,
        timeout: Time::from_ms(5),
        ..Default::default()
    };
    let (mut client, mut out) = (client::ClientNode::new(config).unwrap(), Out::default());
    client.wake(Time::from_ms(1), &mut out);
    let first = said(&mut out).remove(0);
    client.wake(Time::from_ms(6), &mut out);
    let again = said(&mut out);
    assert_eq!(first.0, 0);
    assert_eq!(again, [(0, first.1), (1, first.1)], "the same request");
    let config = replica::Config {
        ports: 3,
        ..Default::default()
    };
    let mut replica = replica::Replica::new(config).unwrap();
    let now = Time::from_ms(7);
    tell(&mut replica, now, 0, &vote(0, 1, first.1.value), &mut out);
    assert_eq!(said(&mut out), []);
    tell(&mut replica, now, 2, &vote(2, 1, first.1.value), &mut out);
    let answers = said(&mut out);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].0, answers[0].1.kind), (2, Kind::Response));
    tell(&mut client, now, 1, &answers[0].1, &mut out);
    assert_eq!(client.statistics().get("answered"), Some(1));
    // When that happens twice in a row it goes on by the next port.
    client.wake(Time::from_ms(8), &mut out);
    let second = said(&mut out).remove(0);
    client.wake(Time::from_ms(14), &mut out);
    assert_eq!(said(&mut out), [], "it waits for longer now");
    client.wake(Time::from_ms(18), &mut out);
    assert_eq!(said(&mut out).len(), 2);
    let answer = Message {
        value: Command {
            sequence: 2,
            ..answers[0].1.value
        },
        ..answers[0].1
    };
    tell(&mut client, Time::from_ms(31), 1, &answer, &mut out);
    client.wake(Time::from_ms(32), &mut out);
    let third = said(&mut out).remove(0);
    assert_eq!((second.0, third.0), (0, 1));
    // What it says by itself goes everywhere.
    replica.wake(Time::from_ms(8), &mut out);
    let reports = said(&mut out);
    assert_eq!(reports.len(), 3);
    assert!(reports.iter().all(|(_, said)| said.kind == Kind::Delivered));
}

#[test]
fn answers_have_a_port_of_their_own_by_which_nothing_else_leaves() {
    let config = client::Config {
        answers: true,
        ..Default::default()
    };
    let (mut client, mut out) = (client::ClientNode::new(config).unwrap(), Out::default());
    assert_eq!(client.properties().ports, 2);
    client.wake(Time::from_ms(1), &mut out);
    let asked = said(&mut out);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].0, 0);
    let value = asked[0].1.value;
    let config = replica::Config {
        ports: 2,
        answers: true,
        ..Default::default()
    };
    let mut replica = replica::Replica::new(config).unwrap();
    assert_eq!(replica.properties().ports, 3);
    tell(&mut replica, Time::ZERO, 0, &vote(0, 1, value), &mut out);
    tell(&mut replica, Time::ZERO, 1, &vote(1, 1, value), &mut out);
    let kinds = |out: &mut Out| -> alloc::vec::Vec<_> {
        let said = said(out).into_iter();
        said.map(|(port, message)| (port, message.kind)).collect()
    };
    assert_eq!(kinds(&mut out), [(2, Kind::Response)]);
    replica.wake(Time::from_ms(1), &mut out);
    let reports = kinds(&mut out);
    assert!(!reports.is_empty() && reports.iter().all(|(port, _)| *port < 2));
}

#[test]
fn in_an_open_loop_latencies_are_from_when_an_operation_was_due() {
    let config = client::Config {
        count: 2,
        interval: Time::from_ms(2),
        timeout: Time::from_ms(50),
        ..Default::default()
    };
    let (mut client, mut out) = (client::ClientNode::new(config).unwrap(), Out::default());
    client.wake(Time::from_ms(1), &mut out);
    let answer = |command: Command| Message {
        value: Command {
            value: crate::store::Answer::Written.encode(),
            ..command
        },
        ..Message::new(Kind::Response)
    };
    let request = said(&mut out).remove(0).1;
    // The second was due at 3 ms, and is asked for at 9 ms, as the first is answered only then.
    tell(
        &mut client,
        Time::from_ms(9),
        0,
        &answer(request.value),
        &mut out,
    );
    assert_eq!(client.next_wake(), Some(Time::from_ms(3)));
    client.wake(Time::from_ms(9), &mut out);
    let request = said(&mut out).remove(0).1;
    tell(
        &mut client,
        Time::from_ms(10),
        0,
        &answer(request.value),
        &mut out,
    );
    let took = client.statistics().flows[0].round_trip;
    assert_eq!((took.min, took.max), (Time::from_ms(7), Time::from_ms(8)));
    assert_eq!(client.next_wake(), None);
    let verdict = client.statistics().verdict.unwrap();
    assert!(
        verdict.told.contains("2 of 2 operations"),
        "{}",
        verdict.told
    );
}

#[test]
fn a_proposer_gives_what_came_of_each_value_once() {
    use std::sync::mpsc::channel;
    let (sender, came) = channel();
    let values = [&b"one"[..], b"two"].map(|value| crate::Value::new(value).unwrap());
    let tell_it = alloc::boxed::Box::new(move |answered| sender.send(answered).unwrap());
    let config = proposer::Config::default();
    let mut node = proposer::Proposer::new(config, values.into(), tell_it).unwrap();
    let mut out = Out::default();
    let response = |request: Message<Command>, instance| Message {
        kind: Kind::Response,
        instance,
        ..request
    };
    node.wake(Time::ZERO, &mut out);
    let open = said(&mut out).remove(0).1;
    assert_eq!(open.value.client, crate::store::OPENS);
    let granted = |nonce| {
        let mut opened = response(open, 4);
        opened.value.value = crate::store::Opened {
            nonce,
            client: 70_000,
        }
        .encode();
        opened
    };
    tell(&mut node, Time::ZERO, 0, &granted(9), &mut out);
    assert_eq!(said(&mut out), [], "a session of another client");
    tell(&mut node, Time::ZERO, 0, &granted(0), &mut out);
    let first = said(&mut out).remove(0).1;
    assert_eq!(first.value.client, 70_000);
    assert_eq!(first.value.value, values[0]);
    // Both replicas answer; it asks for the second at once, and again when nobody answers.
    tell(
        &mut node,
        Time::from_ms(1),
        0,
        &response(first, 5),
        &mut out,
    );
    let second = said(&mut out).remove(0).1;
    assert_eq!(second.value.value, values[1]);
    tell(
        &mut node,
        Time::from_ms(1),
        0,
        &response(first, 5),
        &mut out,
    );
    assert_eq!(said(&mut out), []);
    node.wake(Time::from_ms(101), &mut out);
    assert_eq!(said(&mut out), [(0, second)]);
    tell(
        &mut node,
        Time::from_ms(102),
        0,
        &response(second, 9),
        &mut out,
    );
    let instances: alloc::vec::Vec<_> = came.try_iter().map(|one| one.instance).collect();
    assert_eq!(instances, [5, 9]);
    assert_eq!(node.next_wake(), None);
}

#[test]
fn a_learner_begins_where_replicas_are_and_asks_for_what_it_misses() {
    use std::sync::mpsc::channel;
    let (sender, decided) = channel();
    let tell_it = alloc::boxed::Box::new(move |instance, _: &Command| {
        sender.send(instance).unwrap();
    });
    let config = learner::Config {
        window: 4,
        ..Default::default()
    };
    let mut node = learner::LearnerNode::new(config, tell_it).unwrap();
    let mut out = Out::default();
    let delivered = |instance| Message {
        instance,
        ..Message::new(Kind::Delivered)
    };
    let told = |node: &mut dyn Node, message: &Message<Command>| {
        tell(node, Time::from_ms(1), 0, message, &mut Out::default());
    };
    for acceptor in 0..2 {
        told(&mut node, &vote(acceptor, 6, Command::default()));
    }
    told(&mut node, &delivered(7));
    for acceptor in 0..2 {
        told(&mut node, &vote(acceptor, 8, Command::default()));
    }
    assert_eq!(decided.try_iter().count(), 0, "7 is missing");
    node.wake(Time::from_ms(10), &mut out);
    assert_eq!(said(&mut out), []);
    node.wake(Time::from_ms(20), &mut out);
    let asked = said(&mut out).remove(0).1;
    assert_eq!((asked.kind, asked.instance), (Kind::Learn, 7));
    told(
        &mut node,
        &Message {
            instance: 7,
            ..Message::new(Kind::Decided)
        },
    );
    assert_eq!(decided.try_iter().collect::<alloc::vec::Vec<_>>(), [7, 8]);
    // Far behind, it passes over what nobody has any more.
    told(&mut node, &delivered(20));
    assert_eq!(node.statistics().get("skipped"), Some(11));
}

#[test]
fn a_coordinator_hands_over_to_its_switch_and_takes_back_what_that_does_not_do() {
    let config = coordinator::Config {
        switch: 7,
        ..Default::default()
    };
    let mut node = coordinator::CoordinatorNode::new(config).unwrap();
    let mut out = Out::default();
    let kinds = |out: &mut Out| -> alloc::vec::Vec<Kind> {
        said(out).into_iter().map(|(_, said)| said.kind).collect()
    };
    let mut now = Time::from_ms(1);
    let promises = |node: &mut coordinator::CoordinatorNode, now, out: &mut Out| {
        let round = node.coordinator.round();
        for sender in 0..2 {
            let promise = Message {
                sender,
                boot: 1,
                instance: 1,
                round,
                base: 1,
                ..Message::new(Kind::Phase1B)
            };
            tell(node, now, 0, &promise, out);
        }
    };
    node.wake(now, &mut out);
    promises(&mut node, now, &mut out);
    assert!(kinds(&mut out).contains(&Kind::Activate));
    let request = Message {
        value: Command {
            client: 1,
            sequence: 1,
            ..Command::default()
        },
        ..Message::new(Kind::Request)
    };
    // That it hears a request means that the switch has not taken it up.
    tell(&mut node, now, 0, &request, &mut out);
    assert_eq!(kinds(&mut out), []);
    let before = node.coordinator.round();
    for _ in 0..12 {
        now += Time::from_ms(1);
        node.wake(now, &mut out);
    }
    assert!(
        node.coordinator.round() > before,
        "a lease without progress"
    );
    assert_eq!(
        said(&mut out)
            .iter()
            .filter(|said| said.1 == request)
            .count(),
        1,
        "the switch may have had no room, and is asked again, once"
    );
    promises(&mut node, now, &mut out);
    assert_eq!(kinds(&mut out), [Kind::Phase2A], "it does it itself");
    tell(&mut node, now, 0, &request, &mut out);
    assert_eq!(kinds(&mut out), [], "votes are asked for already");
    assert_eq!(node.statistics().get("repeated"), Some(1));
    assert_eq!(node.statistics().get("handed_over"), Some(1));
}

/// A replica that starts again when its peer no longer has the decisions gets the store itself, also when a part is lost.
#[test]
fn a_replica_without_its_store_gets_a_checkpoint_and_goes_on() {
    const WINDOW: usize = 8;
    let of = |id, restarts| {
        let config = replica::Config {
            id,
            window: WINDOW,
            restarts,
            ..Default::default()
        };
        replica::Replica::new(config).unwrap()
    };
    let (mut old, mut new) = (
        of(0, alloc::vec::Vec::new()),
        of(1, alloc::vec![Time::from_us(500)]),
    );
    let mut out = Out::default();
    let decide = |replica: &mut replica::Replica, instance: u64| {
        let command = Command {
            client: 1 + instance as u32 % 40,
            sequence: instance as u32,
            value: crate::store::Operation::Put(instance % 60, instance).encode(),
        };
        for acceptor in 0..2 {
            let mut out = Out::default();
            let vote = vote(acceptor, instance, command);
            tell(replica, Time::from_us(100), 0, &vote, &mut out);
        }
    };
    for instance in 1..=100 {
        decide(&mut old, instance);
        decide(&mut new, instance);
    }
    new.wake(Time::from_us(500), &mut out);
    assert!(new.store().is_empty() && new.learner.next() == 1);
    let mut lost = false;
    for ms in 1..60 {
        let now = Time::from_ms(ms);
        old.wake(now, &mut out);
        let mut sent = said(&mut out);
        new.wake(now, &mut out);
        sent.extend(said(&mut out));
        while let Some((_, message)) = sent.pop() {
            if message.kind == Kind::Checkpoint && message.base == 3 && !lost {
                lost = true;
                continue;
            }
            let told: &mut replica::Replica = match message.kind {
                Kind::Learn | Kind::Fetch => &mut old,
                _ => &mut new,
            };
            tell(told, now, 0, &message, &mut out);
            sent.extend(said(&mut out));
        }
        if ms == 20 {
            decide(&mut old, 101);
        }
    }
    assert!(lost, "there are parts");
    assert_eq!(new.statistics().get("checkpoints"), Some(1));
    assert_eq!((new.learner.next(), old.learner.next()), (102, 102));
    assert_eq!(new.store(), old.store());
}

fn count(out: &mut Out, kind: Kind) -> usize {
    let all = said(out);
    all.iter().filter(|(_, said)| said.kind == kind).count()
}

/// An answer may wait in its own queue: asking with each report made that queue longer.
#[test]
fn a_replica_that_asks_in_vain_waits_longer_and_asks_on_once_it_is_answered() {
    let mut replica = replica::Replica::new(replica::Config::default()).unwrap();
    let mut out = Out::default();
    tell(
        &mut replica,
        Time::ZERO,
        0,
        &vote(0, 40, Command::default()),
        &mut out,
    );
    let mut asked = alloc::vec::Vec::new();
    for ms in 1..=200 {
        replica.wake(Time::from_ms(ms), &mut out);
        if count(&mut out, Kind::Learn) > 0 {
            asked.push(ms);
        }
    }
    assert_eq!(
        asked,
        [2, 4, 8, 16, 32, 64, 96, 128, 160, 192],
        "every 32 reports at most"
    );
    // Each lot that is there asks for the next one.
    let now = Time::from_ms(200);
    let mut next = alloc::vec::Vec::new();
    for instance in 1..=39 {
        let decided = Message {
            instance,
            ..Message::new(Kind::Decided)
        };
        tell(&mut replica, now, 0, &decided, &mut out);
        let asks = said(&mut out).into_iter();
        next.extend(
            asks.filter(|(_, said)| said.kind == Kind::Learn)
                .map(|(_, said)| said.instance),
        );
    }
    assert_eq!(next, [17, 33]);
}

#[test]
fn a_replica_answers_a_question_once_in_a_report() {
    let mut replica = replica::Replica::new(replica::Config::default()).unwrap();
    let mut out = Out::default();
    for instance in 1..=3 {
        for acceptor in 0..2 {
            let vote = vote(acceptor, instance, Command::default());
            tell(&mut replica, Time::ZERO, 0, &vote, &mut out);
        }
    }
    let mut helped = |us, instance| {
        let learn = Message {
            instance,
            ..Message::new(Kind::Learn)
        };
        tell(&mut replica, Time::from_us(us), 0, &learn, &mut out);
        count(&mut out, Kind::Decided)
    };
    assert_eq!((helped(10, 1), helped(20, 1), helped(30, 2)), (3, 0, 2));
    assert_eq!(helped(1_030, 2), 2);
}
