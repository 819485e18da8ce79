//! Packets for a pipeline, out of files.

use crate::complaints::Complaints;
use crate::departures::Departures;
use crate::packets::{Consumer, Packets};
use crate::select::Selector;
use ::capture::file::Item;
use anyhow::bail;
use node::Time;
use packet::Tick;
use std::path::Path;

/// Reads a file of lines, records or a capture: each packet, and when it comes, counted from the first.
///
/// # Errors
/// When it cannot be read.
pub fn each(
    path: &Path,
    mut selector: Selector,
    complaints: &Complaints,
    take: &mut dyn FnMut(Time, &[u8]),
) -> anyhow::Result<()> {
    let mut reader = Reader {
        take,
        departures: Departures::new(Tick::EIGHT_NS),
        first: None,
        number: 0,
    };
    let mut packets = Packets::open(path, complaints)?.any_length();
    packets.choose(&mut selector, Tick::EIGHT_NS, &mut reader)?;
    Ok(())
}

struct Reader<'a> {
    take: &'a mut dyn FnMut(Time, &[u8]),
    departures: Departures,
    first: Option<u128>,
    /// Packets so far.
    number: u64,
}

impl Consumer for Reader<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at = match item.at_ps {
            Some(at) => at,
            None => self.departures.ps(item.word.unwrap_or(0)),
        };
        self.number += 1;
        let since = at.saturating_sub(*self.first.get_or_insert(at));
        let Ok(since) = u64::try_from(since) else {
            bail!(
                "packet {} comes more than 213 days after the first, and the time of a run ends there; leave it out by --filter, or split the file",
                self.number
            );
        };
        (self.take)(Time::from_ps(since), item.bytes);
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
