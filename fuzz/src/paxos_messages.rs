//! Paxos: what is read of a message writes back the same, and every participant stands any messages in a row; what comes as parts of a checkpoint makes a
//! store or none.

use consensus::checkpoint::{self, Arriving};
use consensus::message::LENGTH;
use consensus::store::Store;
use consensus::{
    Acceptor, Change, Command, Configuration, Coordinator, Learner, Message, Sequencer,
};

pub fn target(data: &[u8]) {
    let mut acceptors = [Acceptor::formed(0, 4), Acceptor::restarted(1, 2, 4)];
    let mut coordinator = Coordinator::new(1, 3, 4);
    let mut learner = Learner::new(3, 4);
    let mut sequencer = Sequencer::new(7, 4);
    let mut arriving = None;
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
        said.extend(coordinator.hand_over(7));
        coordinator.trim(message.instance);
        if let Some(asked) = sequencer.step(&message) {
            assert_eq!(asked.round, sequencer.round);
        }
        let value = &message.value.value;
        if let Some(change) = Change::decode(value) {
            assert_eq!(change.encode(), *value);
        }
        if let Some(members) = Configuration::decode(value) {
            coordinator.learn(message.instance, &members, &mut said);
            learner.configure(members);
        }
        learner.step(&message);
        learner.deliver();
        if arriving.is_none() {
            arriving = Arriving::new(message.instance, message.high);
        }
        if let Some(arriving) = &mut arriving {
            arriving.take(message.base, message.value.value);
            if let Some(store) = arriving.store(Store::default()) {
                let again = checkpoint::store(Store::default(), &checkpoint::parts(&store));
                assert_eq!(again, Some(store));
            }
        }
        // No message makes a participant say more than its window, a few times over.
        assert!(said.len() < 64);
        said.clear();
    }
}
