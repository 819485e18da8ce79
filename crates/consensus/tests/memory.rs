//! Members killed at every message and restarted from their stored state: it always covers their answers, and no more
//! than the requests.

use consensus::nodes::acceptor::{self, AcceptorNode, Memory};
use consensus::nodes::coordinator::{self, CoordinatorNode};
use consensus::nodes::replica::{self, Replica};
use consensus::store::Operation;
use consensus::{Acceptor, BadJournal, Command, Kind, Message, Storage, StorageFailed};
use node::random::Random;
use node::{Frame, Node, Out, Port, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// A storage in memory that outlives its member.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Stored>>);

#[derive(Default)]
struct Stored {
    bytes: Option<Vec<u8>>,
    /// Number of bytes before the last append.
    before: usize,
    full: bool,
}

impl Disk {
    /// The same bytes in a storage that confirms too early: the last append is lost with the process.
    pub fn late(&self) -> Disk {
        let mut stored = self.lock();
        let before = stored.before;
        if let Some(bytes) = &mut stored.bytes {
            bytes.truncate(before);
        }
        drop(stored);
        self.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap()
    }

    fn of(bytes: &[u8]) -> Box<Disk> {
        let disk = Disk::default();
        disk.lock().bytes = Some(bytes.to_vec());
        Box::new(disk)
    }
}

impl Storage for Disk {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StorageFailed> {
        Ok(self.lock().bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        let mut stored = self.lock();
        if stored.full {
            return Err(StorageFailed);
        }
        let all = stored.bytes.as_mut().ok_or(StorageFailed)?;
        let before = all.len();
        all.extend(bytes);
        stored.before = before;
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        let mut stored = self.lock();
        stored.bytes = Some(bytes.to_vec());
        stored.before = bytes.len();
        Ok(())
    }
}

const WINDOW: usize = 8;

fn config() -> acceptor::Config {
    acceptor::Config {
        id: 1,
        window: WINDOW,
        ..Default::default()
    }
}

fn kept(disk: Box<Disk>, memory: Memory, start: u16) -> Result<AcceptorNode, BadJournal> {
    let node = AcceptorNode::new(config()).unwrap();
    node.keep_in(disk, memory, start)
}

/// The frame in which a message crosses, by a client that has another say it: any member sends all kinds alike.
fn frame(message: &Message<Command>) -> Frame {
    let mut payload = Vec::new();
    message.build(&mut payload);
    let mut bytes = Vec::new();
    let (mac, group) = (
        packet::ethernet::Mac([2, 0, 0, 0, 0, 9]),
        std::net::Ipv4Addr::new(239, 0, 0, 1),
    );
    let ethernet = packet::ethernet::Ethernet {
        destination: packet::ethernet::Mac([1, 0, 0x5E, 0, 0, 1]),
        source: mac,
        tags: &[],
        ethertype: packet::ethernet::ethertype::IPV4,
    };
    let source = std::net::Ipv4Addr::new(198, 18, 0, 9);
    let ip = packet::ipv4::Ipv4::new(source, group, packet::ipv4::protocol::UDP);
    let udp = packet::udp::Udp {
        source_port: consensus::message::PORT,
        destination_port: consensus::message::PORT,
    };
    ethernet.build(&mut bytes, |out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| out.extend(payload));
        });
    });
    Frame::new(&bytes)
}

/// Answers of a node to a batch of messages.
fn tell(node: &mut dyn Node, now: Time, messages: &[Message<Command>]) -> Vec<Message<Command>> {
    let mut out = Out::default();
    let mut frames = messages.iter().map(frame).collect();
    node.frames(now, Port(0), &mut frames, &mut out);
    said(&mut out)
}

fn said(out: &mut Out) -> Vec<Message<Command>> {
    let frames = out.sends().map(|sent| sent.frame);
    frames
        .map(|frame| Message::parse(&frame[42..]).unwrap())
        .collect()
}

fn command(random: &mut Random) -> Command {
    Command {
        client: 1 + random.below(3) as u32,
        sequence: 1 + random.below(100) as u32,
        value: Operation::Put(random.below(9), random.bits()).encode(),
    }
}

/// A message near where an acceptor is.
fn near(random: &mut Random, acceptor: &Acceptor<Command>) -> Message<Command> {
    let kinds = [
        Kind::Phase1A,
        Kind::Phase2A,
        Kind::Phase2A,
        Kind::Phase2A,
        Kind::Trim,
        Kind::Admit,
    ];
    let round = (acceptor.promised + random.below(4)).saturating_sub(1);
    let mut boots = [0; 5];
    boots[random.below(5) as usize] = random.below(3) as u16;
    Message {
        sender: 1,
        boot: acceptor.boot,
        instance: (acceptor.base + random.below(12)).saturating_sub(2),
        round,
        base: acceptor.base,
        boots,
        value: command(random),
        ..Message::new(kinds[random.below(6) as usize])
    }
}

#[test]
fn an_acceptor_that_is_killed_at_any_byte_of_any_batch_keeps_what_it_answered_for() {
    let (mut cuts, mut answers) = (0, 0);
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let disk = Disk::default();
        // In half of the runs it begins as one that was let in after a loss.
        let start = 1 + (seed % 2) as u16;
        let mut node = kept(Box::new(disk.clone()), Memory::All, start).unwrap();
        for _ in 0..60 {
            let before = node.acceptor.clone();
            let count = 1 + random.below(4);
            let batch: Vec<_> = (0..count).map(|_| near(&mut random, &before)).collect();
            let synced = disk.lock().bytes.as_ref().map_or(0, Vec::len);
            let told = tell(&mut node, Time::ZERO, &batch);
            answers += told.len();
            let bytes = disk.lock().bytes.clone().unwrap();
            // The node has answered, so all of it is stored.
            let now = kept(Disk::of(&bytes), Memory::All, 1).unwrap();
            assert_eq!(now.acceptor, node.acceptor, "{seed}");
            // It was killed while it wrote, and had answered nothing: it is as before, or as if it had been asked.
            for cut in synced..bytes.len() {
                cuts += 1;
                let torn = kept(Disk::of(&bytes[..cut]), Memory::All, 1).unwrap();
                assert_eq!(torn.acceptor, before, "{seed}: byte {cut}");
            }
            if random.below(4) == 0 {
                // It starts again, and goes on.
                node = kept(Box::new(disk.clone()), Memory::All, 1).unwrap();
            }
        }
    }
    assert!(
        cuts > 10_000 && answers > 300,
        "{cuts} cuts, {answers} answers"
    );
}

#[test]
fn an_acceptor_without_memory_says_nothing_but_that_until_it_is_admitted() {
    let disk = Disk::default();
    let start = || kept(Box::new(disk.clone()), Memory::Starts, 1).unwrap();
    let vote = Message {
        instance: 1,
        round: 5,
        ..Message::new(Kind::Phase2A)
    };
    // When the group is formed it takes part.
    assert_eq!(
        tell(&mut start(), Time::ZERO, &[vote])[0].kind,
        Kind::Phase2B
    );
    for boot in 2..5 {
        let mut node = start();
        let answer = tell(&mut node, Time::ZERO, &[vote])[0];
        assert_eq!((answer.kind, answer.boot), (Kind::Forgotten, boot));
        let admit = Message {
            sender: 1,
            boot,
            round: 5,
            base: 1,
            ..Message::new(Kind::Admit)
        };
        let answers = tell(&mut node, Time::ZERO, &[admit, vote]);
        assert_eq!(answers[0].kind, Kind::Phase2B);
    }
    // State kept with `Memory::Starts` does not count as full state after a switch to `Memory::All`.
    let node = kept(Box::new(disk.clone()), Memory::All, 1).unwrap();
    assert_eq!((node.acceptor.admitted, node.acceptor.boot), (false, 5));
    // A member with a lost storage begins as a later start.
    let node = kept(Box::default(), Memory::All, 9).unwrap();
    assert_eq!((node.acceptor.admitted, node.acceptor.boot), (false, 9));
}

#[test]
fn an_acceptor_whose_storage_fails_says_nothing_any_more() {
    let disk = Disk::default();
    let mut node = kept(Box::new(disk.clone()), Memory::All, 1).unwrap();
    let ask = |round| Message {
        instance: 1,
        round,
        ..Message::new(Kind::Phase1A)
    };
    assert_eq!(tell(&mut node, Time::ZERO, &[ask(5)]).len(), 1);
    assert_eq!(tell(&mut node, Time::ZERO, &[ask(5)]).len(), 1);
    assert_eq!(
        node.statistics().get("commits"),
        Some(2),
        "no commit without a change"
    );
    disk.lock().full = true;
    assert_eq!(tell(&mut node, Time::ZERO, &[ask(6), ask(5)]), []);
    disk.lock().full = false;
    assert_eq!(tell(&mut node, Time::ZERO, &[ask(7)]), []);
}

#[test]
fn a_coordinator_that_starts_again_uses_no_round_again() {
    let disk = Disk::default();
    let start = || {
        let config = coordinator::Config::default();
        let node = CoordinatorNode::new(config).unwrap();
        node.keep_in(Box::new(disk.clone())).unwrap()
    };
    let mut rounds = Vec::new();
    for life in 1..50u64 {
        let (mut node, mut out) = (start(), Out::default());
        node.wake(Time::from_ms(life), &mut out);
        let asked = said(&mut out);
        assert_eq!(asked[0].kind, Kind::Phase1A);
        rounds.push(asked[0].round);
        // Kept before it is said: also by one that is killed as it writes, as then nothing was said.
        let stored = disk.lock();
        let before = &stored.bytes.as_ref().unwrap()[..stored.before];
        let node = CoordinatorNode::new(coordinator::Config::default()).unwrap();
        let node = node.keep_in(Disk::of(before)).unwrap();
        assert_eq!(node.statistics().get("round"), Some(0));
    }
    assert!(rounds.is_sorted_by(|one, next| one < next), "{rounds:?}");
    disk.lock().full = true;
    let (mut node, mut out) = (start(), Out::default());
    node.wake(Time::from_ms(99), &mut out);
    assert_eq!(said(&mut out), [], "it cannot keep it");
}

#[test]
fn a_replica_that_is_killed_at_any_byte_has_what_it_reported() {
    let disk = Disk::default();
    let start = |disk: Box<Disk>| {
        let config = replica::Config {
            window: 16,
            ..Default::default()
        };
        Replica::new(config).unwrap().keep_in(disk).unwrap()
    };
    let mut node = start(Box::new(disk.clone()));
    let mut random = Random::new(7);
    let mut decisions = Vec::new();
    for ms in 1..40 {
        for _ in 0..random.below(4) {
            let decided = Message {
                instance: decisions.len() as u64 + 1,
                value: command(&mut random),
                ..Message::new(Kind::Decided)
            };
            decisions.push(decided.value);
            tell(&mut node, Time::from_ms(ms), &[decided]);
        }
        let mut out = Out::default();
        node.wake(Time::from_ms(ms + 1), &mut out);
        let reported = said(&mut out);
        let reported = reported.iter().find(|told| told.kind == Kind::Delivered);
        let reported = reported.unwrap().instance;
        let (bytes, synced) = {
            let stored = disk.lock();
            (stored.bytes.clone().unwrap(), stored.before)
        };
        for cut in synced..=bytes.len() {
            let again = start(Disk::of(&bytes[..cut]));
            let next = again.learner.next();
            assert!(cut < bytes.len() || next == reported, "{next} {reported}");
            let mut expected = consensus::store::Store::of(3, 16);
            let done = &decisions[..next as usize - 1];
            for (command, instance) in done.iter().zip(1..) {
                expected.apply(instance, command);
            }
            expected.repeated = again.store().repeated;
            assert_eq!(*again.store(), expected, "of {next}");
        }
        if random.below(5) == 0 {
            node = start(Box::new(disk.clone()));
        }
    }
    assert!(decisions.len() > 40);
}
