//! Packets of files and ports, on their way into profiles.

use super::Subjects;
use crate::complaints::Complaints;
use crate::departures::Departures;
use crate::packets::{Consumer, Ended, Packets};
use crate::stream;
use live::clock;
use live::file::Item;
use live::port::{Port, PortError};
use node::Time;
use std::path::Path;
use std::time::Duration;

/// How long to wait for a packet before looking whether to stop.
const WAIT: Duration = Duration::from_millis(100);
/// The same where several ports are asked in turn.
const TURN: Duration = Duration::from_millis(1);

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
    mut ports: Vec<Port>,
    duration: Option<Time>,
    subjects: &mut Subjects,
    complaints: &Complaints,
) -> anyhow::Result<()> {
    let first = subjects.list().len();
    for port in &ports {
        subjects.port(&port.info);
    }
    let wait = if ports.len() > 1 { TURN } else { WAIT };
    let start = clock::now_ns();
    let ended = |now: u64| duration.is_some_and(|time| now.saturating_sub(start) >= time.as_ns());
    let mut open = vec![true; ports.len()];
    let mut failed = None;
    while open.contains(&true)
        && !subjects.enough()
        && !live::signal::stop_requested()
        && !ended(clock::now_ns())
    {
        for (index, port) in ports.iter_mut().enumerate() {
            if !open[index] {
                continue;
            }
            let received = port.rx.receive(wait, &mut |frame| {
                let at_ps = u128::from(frame.at_ns) * 1_000;
                subjects.frame(first + index, at_ps, frame.bytes);
            });
            if let Err(error) = received {
                open[index] = false;
                if !matches!(error, PortError::Ended { .. }) {
                    failed = failed.or(Some(error));
                }
            }
        }
    }
    for (index, port) in ports.iter().enumerate() {
        let (name, counters) = (&port.info.name, port.rx.counters());
        subjects.missed(first + index, counters);
        let lost = counters.dropped + counters.refused;
        complaints.lost(lost, format_args!("{name}: {lost} packets were lost"));
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}
