//! Coordinators: room, takeovers and changes of members.

use super::*;

/// Gives a coordinator the promises of a quorum.
fn led(node: &mut coordinator::CoordinatorNode, now: Time, out: &mut Out) {
    for sender in 0..2 {
        let promise = Message {
            sender,
            boot: 1,
            instance: 1,
            round: node.coordinator.round(),
            base: 1,
            ..Message::new(Kind::Phase1B)
        };
        tell(node, now, 0, &promise, out);
    }
}

#[test]
fn requests_wait_for_promises_and_for_room() {
    let config = coordinator::Config {
        window: 8,
        ..Default::default()
    };
    let mut node = coordinator::CoordinatorNode::new(config).unwrap();
    let (mut out, now) = (Out::default(), Time::from_ms(1));
    node.wake(now, &mut out);
    let request = |client| Message {
        value: Command {
            client,
            sequence: 1,
            ..Command::default()
        },
        ..Message::new(Kind::Request)
    };
    tell(&mut node, now, 0, &request(1), &mut out);
    assert_eq!(count(&mut out, Kind::Phase2A), 0);
    led(&mut node, now, &mut out);
    assert_eq!(count(&mut out, Kind::Phase2A), 1, "at once");
    (2..=73).for_each(|client| tell(&mut node, now, 0, &request(client), &mut out));
    assert_eq!(count(&mut out, Kind::Phase2A), 7, "the window is full");
    let delivered = Message {
        instance: 3,
        ..Message::new(Kind::Delivered)
    };
    tell(&mut node, now, 0, &delivered, &mut out);
    assert_eq!(count(&mut out, Kind::Phase2A), 2);
    // 64 requests wait: one more was turned away.
    assert_eq!(node.statistics().get("turned_away"), Some(1));
}

/// Two coordinators whose messages take longer than a lease would take over from each other forever.
#[test]
fn who_takes_over_in_vain_waits_longer_each_time() {
    let mut node = coordinator::CoordinatorNode::new(coordinator::Config::default()).unwrap();
    let mut out = Out::default();
    let mut now = Time::from_ms(1);
    let mut waits = alloc::vec::Vec::new();
    for count in 1..=6 {
        node.wake(now, &mut out);
        assert_eq!(node.statistics().get("campaigns"), Some(count));
        // Another one leads, and is silent from then on.
        let lease = Message {
            round: node.coordinator.round() + (1 << 16),
            ..Message::new(Kind::Lease)
        };
        tell(&mut node, now, 0, &lease, &mut out);
        waits.push((node.next_wake().unwrap() - now).as_ps() / 1_000_000_000);
        now = node.next_wake().unwrap();
    }
    assert_eq!(waits, [20, 40, 40, 40, 40, 40]);
    let delivered = Message {
        instance: 2,
        ..Message::new(Kind::Delivered)
    };
    tell(&mut node, now, 0, &delivered, &mut out);
    let lease = Message {
        round: node.coordinator.round() + (1 << 20),
        ..Message::new(Kind::Lease)
    };
    tell(&mut node, now, 0, &lease, &mut out);
    assert_eq!(
        node.next_wake(),
        Some(now + Time::from_ms(10)),
        "something was decided"
    );
}

#[test]
fn a_coordinator_grants_a_change_once_the_new_acceptor_answers() {
    let mut node = coordinator::CoordinatorNode::new(coordinator::Config::default()).unwrap();
    let (mut out, now) = (Out::default(), Time::from_ms(1));
    node.wake(now, &mut out);
    led(&mut node, now, &mut out);
    said(&mut out);
    let change = crate::Change {
        add: 0b1000,
        remove: 0b0100,
        ..Default::default()
    };
    let request = Message {
        value: Command {
            client: 1,
            sequence: 1,
            value: change.encode(),
        },
        ..Message::new(Kind::Request)
    };
    tell(&mut node, now, 0, &request, &mut out);
    let kinds: alloc::vec::Vec<_> = said(&mut out).iter().map(|(_, said)| said.kind).collect();
    assert_eq!(kinds, [Kind::Trim, Kind::Phase1A], "is it there?");
    let promise = Message {
        sender: 3,
        boot: 1,
        instance: 1,
        round: node.coordinator.round(),
        base: 1,
        ..Message::new(Kind::Phase1B)
    };
    tell(&mut node, now, 0, &promise, &mut out);
    tell(&mut node, now, 0, &request, &mut out);
    let asked = said(&mut out).remove(0).1;
    let granted = crate::Change::decode(&asked.value.value).unwrap();
    assert_eq!(
        granted,
        crate::Change {
            granted: true,
            ..change
        }
    );
    // A group with auxiliary acceptors keeps its members.
    let config = coordinator::Config {
        auxiliaries: 1,
        ..Default::default()
    };
    let mut node = coordinator::CoordinatorNode::new(config).unwrap();
    node.wake(now, &mut out);
    led(&mut node, now, &mut out);
    said(&mut out);
    tell(&mut node, now, 0, &request, &mut out);
    let asked = said(&mut out).remove(0).1;
    assert_eq!(asked.value.value, change.encode(), "not granted");
}

/// A coordinator that learns the next change repeats no votes on instances before the previous
/// one. So all replicas must have delivered these first: a replica may lose its store.
#[test]
fn a_coordinator_holds_a_change_until_replicas_have_come_to_where_the_last_one_applies() {
    let config = coordinator::Config {
        window: 8,
        ..Default::default()
    };
    let mut node = coordinator::CoordinatorNode::new(config).unwrap();
    let (mut out, now) = (Out::default(), Time::from_ms(1));
    node.wake(now, &mut out);
    led(&mut node, now, &mut out);
    let change = |add, remove| crate::Change {
        granted: true,
        add,
        remove,
        ..Default::default()
    };
    let first = crate::Configuration::of(3);
    let applies_at_11 = first.changed(change(0b1000, 0b0100), 3, 8).unwrap();
    let delivered = |below| Message {
        instance: below,
        value: Command {
            value: applies_at_11.encode(),
            ..Command::default()
        },
        ..Message::new(Kind::Delivered)
    };
    tell(&mut node, now, 0, &delivered(10), &mut out);
    for (instance, sender) in [(1, 0), (1, 1), (10, 0), (10, 1)] {
        let promise = Message {
            sender,
            boot: 1,
            instance,
            round: node.coordinator.round(),
            base: 10,
            high: 10,
            ..Message::new(Kind::Phase1B)
        };
        tell(&mut node, now, 0, &promise, &mut out);
    }
    assert!(node.coordinator.is_leading());
    assert_eq!((node.coordinator.base(), node.coordinator.next()), (10, 11));
    said(&mut out);
    let request = Message {
        value: Command {
            client: 1,
            sequence: 1,
            value: change(0, 0b1000).encode(),
        },
        ..Message::new(Kind::Request)
    };
    tell(&mut node, now, 0, &request, &mut out);
    assert_eq!(count(&mut out, Kind::Phase2A), 0, "10 is not delivered");
    tell(&mut node, now, 0, &delivered(11), &mut out);
    assert_eq!(
        count(&mut out, Kind::Phase2A),
        1,
        "it need not be asked for again"
    );
}
