use super::*;
use crate::command::Value;
use crate::message::Kind;
use alloc::sync::Arc;
use std::sync::Mutex;

const OWNER: Owner = Owner {
    role: Role::Acceptor,
    group: Ipv4Addr::new(239, 0, 0, 1),
    id: 1,
    window: 16,
};

/// Storage in memory, whose last append can fail.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Option<Vec<u8>>>>, bool);

impl Storage for Disk {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StorageFailed> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        match (self.1, self.0.lock().unwrap().as_mut()) {
            (false, Some(all)) => all.extend(bytes),
            _ => return Err(StorageFailed),
        }
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        *self.0.lock().unwrap() = Some(bytes.to_vec());
        Ok(())
    }
}

fn message(number: u64) -> Message<Command> {
    Message {
        instance: number,
        value: Command {
            client: 1,
            sequence: number as u32,
            value: Value::new(b"value").unwrap(),
        },
        ..Message::new(Kind::Phase2A)
    }
}

/// A journal of a state of two messages, and three batches of one, five and two; and where each record ends.
fn example() -> (Vec<u8>, Vec<usize>) {
    let disk = Disk::default();
    let (mut journal, before) = Journal::open(Box::new(disk.clone()), OWNER).unwrap();
    assert_eq!(before, None);
    let length = || disk.0.lock().unwrap().as_ref().unwrap().len();
    assert!(journal.replace((0..2).map(message)));
    let mut ends = alloc::vec![length()];
    for batch in [2..3, 3..8, 8..10] {
        batch
            .map(message)
            .for_each(|message| journal.note(&message));
        assert!(journal.commit() && journal.commit());
        ends.push(length());
    }
    assert_eq!(journal.commits(), 4, "nothing more costs nothing");
    let bytes = disk.0.lock().unwrap().clone().unwrap();
    (bytes, ends)
}

fn count(bytes: &[u8]) -> Result<usize, BadJournal> {
    let messages = read(bytes, OWNER)?;
    let expected: Vec<_> = (0..messages.len() as u64).map(message).collect();
    assert_eq!(messages, expected);
    Ok(messages.len())
}

#[test]
fn a_tail_that_is_cut_off_anywhere_is_passed_over_and_the_rest_is_there() {
    let (bytes, ends) = example();
    for cut in 0..=bytes.len() {
        let found = count(&bytes[..cut]);
        let whole = ends.iter().zip([2, 3, 8, 10]).rev();
        let whole = whole.clone().find(|(end, _)| **end <= cut);
        match whole {
            Some((_, messages)) => assert_eq!(found, Ok(messages), "{cut}"),
            None => assert!(found.is_err(), "{cut}: the state is never torn"),
        }
    }
}

#[test]
fn a_changed_byte_is_damage_wherever_it_is() {
    let (bytes, _) = example();
    for at in 0..bytes.len() {
        for change in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let found = count(&changed);
            assert!(found.is_err(), "byte {at} of {}: {found:?}", bytes.len());
        }
    }
    let mut longer = bytes.clone();
    longer.extend([7; 100]);
    assert!(count(&longer).is_err(), "bytes that were never appended");
}

#[test]
fn sectors_that_were_never_written_are_a_torn_tail_only_at_the_end() {
    let (bytes, ends) = example();
    let blank = |from: usize, to: usize| {
        let mut blank = bytes.clone();
        blank[from..to].fill(0);
        blank
    };
    // The last record but one spans two sectors, and another record follows.
    let sector = ends[1].next_multiple_of(SECTOR);
    assert!(sector < ends[2]);
    assert!(count(&blank(ends[1], sector)).is_err());
    assert_eq!(count(&blank(ends[1], sector)[..ends[2]]), Ok(3), "its head");
    let rest = sector..ends[2].min(sector + SECTOR);
    assert_eq!(count(&blank(rest.start, rest.end)[..ends[2]]), Ok(3));
    assert_eq!(count(&blank(ends[2], bytes.len())), Ok(8), "all messages");
    // Less than a sector is no tear.
    assert!(count(&blank(bytes.len() - 70, bytes.len())).is_err());
}

#[test]
fn another_members_journal_is_refused_and_a_failed_storage_stays_failed() {
    let (bytes, _) = example();
    let other = Owner { id: 2, ..OWNER };
    let refused = read(&bytes, other).unwrap_err();
    assert_eq!(
        alloc::format!("{refused}"),
        "it belongs to acceptor 1 of group 239.0.0.1 with a window of 16, not to acceptor 2 of group 239.0.0.1 with a window of 16"
    );
    for bytes in [&b""[..], b"text that is longer than a head"] {
        assert_eq!(read(bytes, OWNER), Err(BadJournal::Unknown));
    }
    let disk = Disk(Arc::default(), true);
    let (mut journal, _) = Journal::open(Box::new(disk), OWNER).unwrap();
    assert!(journal.replace([message(0)]));
    journal.note(&message(1));
    assert!(!journal.commit());
    assert!(!journal.commit(), "nothing is pending, but data was lost");
    assert!(!journal.replace([message(0)]) && journal.has_failed());
}
