//! Paxos: what is read of a message writes back the same, and every participant stands any messages in a row.

use consensus::message::LENGTH;
use consensus::{Acceptor, Command, Coordinator, Learner, Message};

pub fn target(data: &[u8]) {
    let mut acceptors = [Acceptor::formed(0, 4), Acceptor::restarted(1, 2, 4)];
    let mut coordinator = Coordinator::new(1, 3, 4);
    let mut learner = Learner::new(3, 4);
    let mut said = Vec::new();
    coordinator.campaign(&mut said);
    for bytes in data.chunks(LENGTH) {
        let Ok(message) = Message::parse(bytes) else {
            continue;
        };
        let mut written = Vec::new();
        message.build(&mut written);
        assert_eq!(Message::parse(&written), Ok(message));
        for acceptor in &mut acceptors {
            if let Some(answer) = acceptor.step(&message) {
                learner.step(&answer);
                coordinator.step(&answer, &mut said);
            }
        }
        coordinator.step(&message, &mut said);
        coordinator.propose(Command::default(), &mut said);
        coordinator.retry(&mut said);
        learner.step(&message);
        learner.deliver();
        // No message makes a participant say more than its window, a few times over.
        assert!(said.len() < 64);
        said.clear();
    }
}
