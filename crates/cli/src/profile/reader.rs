//! Packets of files and ports, on their way into profiles.

use super::Subjects;
use crate::complaints::Complaints;
use crate::departures::Departures;
use crate::listen::Listener;
use crate::packets::{Consumer, Ended, Packets};
use crate::stream;
use ::capture::file::Item;
use std::path::Path;

struct Reader<'a> {
    subjects: &'a mut Subjects,
    departures: Departures,
}

impl Consumer for Reader<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at_ps = match item.at_ps {
            Some(at_ps) => at_ps,
            None => self.departures.ps(item.word.unwrap_or(0)),
        };
        self.subjects.packet(item, at_ps)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What ports receive.
struct Heard<'a>(&'a mut Subjects);

impl Consumer for Heard<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        self.0.heard(item)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn is_over(&mut self, now_ps: u128) -> bool {
        self.0.selector.is_over(now_ps)
    }
}

/// Reads one file.
pub fn file(
    path: &Path,
    subjects: &mut Subjects,
    complaints: &Complaints,
) -> anyhow::Result<Ended> {
    let mut packets = Packets::open(path, complaints)?.with_lengths();
    subjects.begin(&stream::name(path));
    let departures = Departures::new(subjects.tick());
    let mut reader = Reader {
        subjects,
        departures,
    };
    let read = packets.copy(&mut reader);
    subjects.end();
    read
}

/// Listens to ports, until Ctrl-C, or until each has ended or enough has come. What they lost stands among the
/// figures.
pub fn ports(
    mut listener: Listener,
    subjects: &mut Subjects,
    complaints: &Complaints,
) -> anyhow::Result<()> {
    for (number, info, _) in listener.ports() {
        subjects.port(number, info);
    }
    let copied = listener.copy(&mut Heard(subjects), complaints);
    for (number, _, counters) in listener.ports() {
        subjects.missed(number, counters);
    }
    copied
}
