use super::*;
use crate::acceptor::Acceptor;
use crate::message::AUXILIARIES;
use alloc::vec;

/// Has every message reach every acceptor, and every answer the coordinator, until nothing more is said.
fn talk(
    coordinator: &mut Coordinator<u8>,
    acceptors: &mut [Acceptor<u8>],
    mut sent: Vec<Message<u8>>,
) {
    while let Some(message) = sent.pop() {
        for acceptor in acceptors.iter_mut() {
            if let Some(answer) = acceptor.step(&message) {
                coordinator.step(&answer, &mut sent);
            }
        }
    }
}

fn group() -> Vec<Acceptor<u8>> {
    (0..3).map(|id| Acceptor::formed(id, 4)).collect()
}

fn campaign(coordinator: &mut Coordinator<u8>, acceptors: &mut [Acceptor<u8>]) {
    let mut sent = Vec::new();
    coordinator.campaign(&mut sent);
    talk(coordinator, acceptors, sent);
}

#[test]
fn who_takes_over_has_decided_again_what_was_voted_for_and_fills_the_gaps() {
    let mut acceptors = group();
    let mut first = Coordinator::new(1, 3, 4);
    campaign(&mut first, &mut acceptors);
    let mut sent = Vec::new();
    for value in [10, 20, 30] {
        first.propose(value, &mut sent);
    }
    // 1 reaches all, 2 nobody, 3 only the second acceptor.
    talk(&mut first, &mut acceptors, vec![sent[0]]);
    talk(&mut first, &mut acceptors[1..2], vec![sent[2]]);
    let mut second = Coordinator::new(2, 3, 4);
    second.seen = first.round();
    campaign(&mut second, &mut acceptors);
    assert!(second.is_leading() && second.is_settled());
    assert_eq!(second.next(), 4);
    for acceptor in &acceptors {
        let votes = [1, 2, 3].map(|slot: usize| acceptor.cells[slot].value);
        assert_eq!(votes, [10, 0, 30], "2 is a no-op");
    }
    // The first is told when it goes on.
    let mut sent = Vec::new();
    first.retry(&mut sent);
    first.retry(&mut sent);
    talk(&mut first, &mut acceptors, sent);
    assert!(first.is_following());
    assert_eq!(first.propose(1, &mut Vec::new()), None);
}

#[test]
fn the_window_is_full_until_it_is_trimmed() {
    let mut acceptors = group();
    let mut coordinator = Coordinator::new(1, 3, 4);
    campaign(&mut coordinator, &mut acceptors);
    let mut sent = Vec::new();
    for value in 1..=4 {
        assert_eq!(coordinator.propose(value, &mut sent), Some(value.into()));
    }
    assert_eq!(coordinator.propose(5, &mut sent), None);
    coordinator.trim(3);
    assert_eq!(coordinator.propose(5, &mut sent), Some(5));
    coordinator.trim(100);
    assert_eq!(
        coordinator.propose(6, &mut sent),
        Some(6),
        "no further than what is begun"
    );
}

#[test]
fn an_acceptor_without_its_registers_is_admitted_when_the_others_know_all() {
    let mut acceptors = group();
    let mut coordinator = Coordinator::new(1, 3, 4);
    campaign(&mut coordinator, &mut acceptors);
    let mut sent = Vec::new();
    coordinator.propose(10, &mut sent);
    talk(&mut coordinator, &mut acceptors[..2], sent.clone());
    let before = coordinator.round();
    acceptors[0] = Acceptor::restarted(0, 2, 4);
    // While one of the others cannot be reached it stays out, as the one that is left may not know what was decided.
    sent.clear();
    coordinator.propose(20, &mut sent);
    talk(&mut coordinator, &mut acceptors[..2], sent.clone());
    assert!(!acceptors[0].admitted && !coordinator.is_leading());
    sent.clear();
    coordinator.retry(&mut sent);
    assert_eq!(sent, [], "it may be slow, not lost");
    coordinator.retry(&mut sent);
    talk(&mut coordinator, &mut acceptors, sent.clone());
    assert!(coordinator.is_leading() && coordinator.round() > before);
    assert!(acceptors[0].admitted);
    assert_eq!(acceptors[0].promised, coordinator.round());
    assert_eq!(acceptors[2].cells[1].value, 10, "it had not voted before");
    assert_eq!(acceptors[2].boots[0], 2);
    // What it then says late of its loss begins nothing anew.
    sent.clear();
    coordinator.propose(30, &mut sent);
    talk(&mut coordinator, &mut acceptors, sent.clone());
    let led = coordinator.round();
    let late = Message {
        boot: 2,
        round: led,
        ..Message::new(Kind::Forgotten)
    };
    coordinator.step(&late, &mut sent);
    assert_eq!(coordinator.round(), led);
}

#[test]
fn a_promise_of_an_earlier_start_counts_for_nothing() {
    let mut coordinator = Coordinator::<u8>::new(1, 3, 4);
    let mut sent = Vec::new();
    coordinator.campaign(&mut sent);
    let promise = |sender, boot, boots| Message {
        sender,
        boot,
        boots,
        instance: 1,
        base: 1,
        round: coordinator.round(),
        ..Message::new(Kind::Phase1B)
    };
    let (old, other) = (promise(0, 1, [0; 5]), promise(1, 1, [2, 0, 0, 0, 0]));
    let third = promise(2, 1, [0; 5]);
    coordinator.step(&old, &mut sent);
    coordinator.step(&other, &mut sent);
    assert!(!coordinator.is_leading(), "acceptor 0 has started since");
    coordinator.step(&third, &mut sent);
    assert!(coordinator.is_leading());
}

/// Found by random faults, seed 7501: it had a no-op voted for where something else was decided, as a learner asked for what others had trimmed.
#[test]
fn below_its_base_a_leader_asks_for_nothing_as_it_may_not_know_the_votes() {
    let mut acceptors = group();
    let mut first = Coordinator::new(1, 3, 4);
    campaign(&mut first, &mut acceptors);
    let mut sent = Vec::new();
    first.propose(10, &mut sent);
    talk(&mut first, &mut acceptors[..2], sent);
    // The second hears that 1 is trimmed from one acceptor, and of its vote from nobody.
    acceptors[1].base = 2;
    let mut second = Coordinator::new(2, 3, 4);
    second.seen = first.round();
    let (mut sent, members) = (Vec::new(), *second.configuration());
    second.campaign(&mut sent);
    talk(&mut second, &mut acceptors[1..], sent);
    assert!(!second.is_leading(), "the members in 2 are not known");
    let mut sent = Vec::new();
    second.learn(2, &members, &mut sent);
    talk(&mut second, &mut acceptors[1..], sent);
    assert!(second.is_leading());
    let mut sent = Vec::new();
    second.ask_again(1, &mut sent);
    assert_eq!(sent, []);
}

#[test]
fn what_was_overtaken_is_asked_again_at_once_and_the_rest_only_when_nothing_is_answered() {
    let mut acceptors = group();
    let mut coordinator = Coordinator::new(1, 3, 256);
    acceptors
        .iter_mut()
        .for_each(|acceptor| *acceptor = Acceptor::formed(acceptor.id, 256));
    campaign(&mut coordinator, &mut acceptors);
    let mut sent = Vec::new();
    for value in 0..200 {
        coordinator.propose(value, &mut sent);
    }
    // The second is lost; 4 and later are slow.
    talk(&mut coordinator, &mut acceptors, vec![sent[0], sent[2]]);
    let again = |coordinator: &mut Coordinator<u8>| {
        let mut sent = Vec::new();
        coordinator.retry(&mut sent);
        let votes = sent.iter().filter(|said| said.kind == Kind::Phase2A);
        votes.map(|said| said.instance).collect::<Vec<_>>()
    };
    assert_eq!(again(&mut coordinator), [2]);
    assert!(!coordinator.stands_still());
    talk(&mut coordinator, &mut acceptors, vec![sent[1], sent[3]]);
    assert_eq!(again(&mut coordinator), [], "there was an answer");
    let few: Vec<u64> = (5..5 + AGAIN as u64).collect();
    assert_eq!(again(&mut coordinator), few);
    assert!(coordinator.stands_still());
    assert_eq!(coordinator.under_way(5), Some(&4));
    assert_eq!(coordinator.under_way(4), None);
}

/// Two main acceptors, and an auxiliary one, which is the last.
fn with_auxiliary() -> (Coordinator<u8>, Vec<Acceptor<u8>>) {
    let mut acceptors = group();
    let mut coordinator = Coordinator::new(1, 3, 4).with_auxiliaries(1);
    campaign(&mut coordinator, &mut acceptors[..2]);
    assert!(coordinator.is_leading());
    (coordinator, acceptors)
}

/// What it says at a retry: whether auxiliary acceptors are meant as well.
fn meant(coordinator: &mut Coordinator<u8>, sent: &mut Vec<Message<u8>>) -> bool {
    sent.clear();
    coordinator.retry(sent);
    sent.iter().any(|said| said.high == AUXILIARIES)
}

#[test]
fn auxiliary_acceptors_are_called_while_a_main_one_does_not_answer() {
    let (mut coordinator, mut acceptors) = with_auxiliary();
    let mut sent = Vec::new();
    coordinator.propose(10, &mut sent);
    talk(&mut coordinator, &mut acceptors[..1], sent.clone());
    assert!(!meant(&mut coordinator, &mut sent), "it may be slow");
    assert!(!meant(&mut coordinator, &mut sent), "one frame may be lost");
    assert!(meant(&mut coordinator, &mut sent));
    let told = sent.iter().map(|said| said.kind).collect::<Vec<_>>();
    assert_eq!(told, [Kind::Trim, Kind::Phase2A], "the window first");
    assert!(sent.iter().all(|said| said.high == AUXILIARIES));
    talk(
        &mut coordinator,
        &mut [acceptors[0].clone(), acceptors[2].clone()],
        sent.clone(),
    );
    assert_eq!(coordinator.under_way(1), None, "decided");
    for _ in 0..5 {
        assert!(meant(&mut coordinator, &mut sent), "1 is still away");
        talk(&mut coordinator, &mut acceptors[..1], sent.clone());
    }
    // All main ones answer.
    meant(&mut coordinator, &mut sent);
    talk(&mut coordinator, &mut acceptors, sent.clone());
    assert!(!meant(&mut coordinator, &mut sent) && !coordinator.has_called());
    sent.clear();
    coordinator.propose(20, &mut sent);
    assert_eq!(sent[0].high, 0);
}

#[test]
fn a_switch_is_told_by_another_round_to_do_without_auxiliary_acceptors() {
    let (mut coordinator, mut acceptors) = with_auxiliary();
    let mut sent = Vec::new();
    coordinator.propose(10, &mut sent);
    talk(&mut coordinator, &mut acceptors[..1], sent.clone());
    while !meant(&mut coordinator, &mut sent) {}
    talk(&mut coordinator, &mut acceptors[..1], sent.clone());
    talk(&mut coordinator, &mut acceptors[2..], sent.clone());
    let called = coordinator.hand_over(7).unwrap();
    assert_eq!(called.high, AUXILIARIES);
    meant(&mut coordinator, &mut sent);
    talk(&mut coordinator, &mut acceptors, sent.clone());
    meant(&mut coordinator, &mut sent);
    assert!(coordinator.round() > called.round && !coordinator.is_leading());
    talk(&mut coordinator, &mut acceptors[..2], sent.clone());
    assert_eq!(coordinator.hand_over(7).unwrap().high, 0);
}

/// Nobody asks it, so it says so itself, and is let in by the main ones.
#[test]
fn an_auxiliary_acceptor_that_lost_its_registers_is_admitted_while_nothing_else_is_wrong() {
    let (mut coordinator, mut acceptors) = with_auxiliary();
    acceptors[2] = Acceptor::restarted(2, 2, 4);
    let forgotten = Message {
        sender: 2,
        boot: 2,
        ..Message::new(Kind::Forgotten)
    };
    let mut sent = Vec::new();
    coordinator.step(&forgotten, &mut sent);
    talk(&mut coordinator, &mut acceptors[..2], sent.clone());
    assert!(coordinator.is_leading());
    sent.clear();
    coordinator.step(&forgotten, &mut sent);
    assert_eq!((sent[0].kind, sent[0].high), (Kind::Admit, AUXILIARIES));
    acceptors[2].step(&sent[0]);
    assert!(acceptors[2].admitted);
}

/// A full window that another had begun is taken over in lots, in both phases.
#[test]
fn who_takes_over_a_full_window_has_one_lot_under_way_at_a_time() {
    let mut acceptors: Vec<_> = (0..3).map(|id| Acceptor::formed(id, 256)).collect();
    let mut first = Coordinator::new(1, 3, 256);
    campaign(&mut first, &mut acceptors);
    let mut sent = Vec::new();
    for value in 0..200 {
        first.propose(value, &mut sent);
    }
    talk(&mut first, &mut acceptors, sent);
    let mut second = Coordinator::new(2, 3, 256);
    second.seen = first.round();
    let mut sent = Vec::new();
    second.campaign(&mut sent);
    let mut asked = Vec::new();
    while !sent.is_empty() {
        assert!(sent.len() <= AGAIN + 1, "{} questions at once", sent.len());
        asked.extend(sent.iter().map(|said| (said.kind, said.instance)));
        let mut more = Vec::new();
        for message in sent.drain(..) {
            for acceptor in &mut acceptors {
                let answer = acceptor.step(&message).unwrap();
                second.step(&answer, &mut more);
            }
        }
        sent = more;
    }
    assert!(second.is_leading() && second.is_settled());
    assert_eq!(second.next(), 201);
    for kind in [Kind::Phase1A, Kind::Phase2A] {
        let of = asked.iter().filter(|(said, _)| *said == kind);
        let instances: Vec<_> = of.map(|(_, instance)| *instance).collect();
        assert_eq!(
            instances,
            (1..=200).collect::<Vec<_>>(),
            "{kind:?}, once each"
        );
    }
}

#[test]
fn a_change_needs_promises_of_the_members_before_and_after_it_and_is_filled_up_to() {
    let mut acceptors: Vec<_> = (0..5).map(|id| Acceptor::formed(id, 4)).collect();
    let mut coordinator = Coordinator::new(1, 3, 4);
    campaign(&mut coordinator, &mut acceptors[..3]);
    let mut sent = Vec::new();
    coordinator.propose(7, &mut sent);
    talk(&mut coordinator, &mut acceptors[..3], sent);
    let change = crate::Change {
        granted: true,
        add: 0b11000,
        remove: 0b00110,
        ..Default::default()
    };
    let changed = Configuration::of(3).changed(change, 1, 4).unwrap();
    let mut sent = Vec::new();
    coordinator.learn(2, &changed, &mut sent);
    talk(&mut coordinator, &mut acceptors[..3], sent.clone());
    assert!(
        !coordinator.is_leading(),
        "one of the three after it is no quorum"
    );
    talk(&mut coordinator, &mut acceptors[3..], sent);
    assert!(coordinator.is_leading());
    // The window ends where the change applies.
    assert_eq!(coordinator.next(), 5, "2 to 4 are no-ops");
    let mut sent = Vec::new();
    coordinator.trim(3);
    assert_eq!(coordinator.propose(9, &mut sent), Some(5));
    coordinator.tell_trim(&mut sent);
    talk(&mut coordinator, &mut acceptors[1..3], sent.clone());
    assert_eq!(coordinator.under_way(5), Some(&9), "they vote no more");
    talk(&mut coordinator, &mut acceptors[3..], sent);
    assert_eq!(coordinator.under_way(5), None);
}
