use super::*;
use crate::message::Kind;
use alloc::string::ToString;
use node::{Node, Time};

fn member() -> Member {
    let (mac, address) = (Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1));
    Member::new(mac, address, Ipv4Addr::new(239, 0, 0, 1)).unwrap()
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
    let client = client::ClientNode::new(config, alloc::boxed::Box::new(|_| {}));
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
