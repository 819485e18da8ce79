//! Packets of several files, in the order of their times.

use crate::packets::{Consumer, Ended, Packets};
use live::file::Item;
use packet::capture::Options;

/// A packet that waits for its turn.
#[derive(Default)]
struct Head {
    word: Option<u64>,
    at_ps: Option<u128>,
    hash: Option<u32>,
    original_len: u32,
    interface: u32,
    bytes: Vec<u8>,
    options: Vec<u8>,
    order: Options<'static>,
    /// Whether there is one.
    waits: bool,
}

impl Consumer for Head {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        self.word = item.word;
        self.at_ps = item.at_ps;
        self.hash = item.hash;
        self.original_len = item.original_len;
        self.interface = item.interface;
        self.bytes.clear();
        self.bytes.extend_from_slice(item.bytes);
        self.options.clear();
        self.options.extend_from_slice(item.options.bytes());
        self.order = item.options.over(&[]);
        self.waits = true;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A file among those that are merged.
struct Lane {
    packets: Packets,
    head: Head,
    at_ps: u128,
    /// Packets that came before the one ahead of them.
    behind: u64,
}

/// Takes packets, each with its file's number.
pub trait Taker: Consumer {
    /// When a packet came, ps since 1970.
    fn date(&mut self, file: usize, item: &Item<'_>) -> u128;

    /// Takes one; `Ok(false)` to be given no more.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn take(&mut self, file: usize, item: &Item<'_>, at_ps: u128) -> anyhow::Result<bool>;

    /// All of a file has been given, of whose packets so many came before the one ahead of them.
    fn over(&mut self, file: usize, packets: &Packets, behind: u64);
}

/// Gives the packets of all files by their times, and of one time in the order of the files. Each file is taken in its own order;
/// how many of its packets are not in that of time is told in the end.
///
/// # Errors
/// Those of reading, and those of `taker`.
pub fn merge(files: Vec<Packets>, taker: &mut impl Taker) -> anyhow::Result<()> {
    let mut lanes: Vec<Lane> = files
        .into_iter()
        .map(|packets| Lane {
            packets,
            head: Head::default(),
            at_ps: 0,
            behind: 0,
        })
        .collect();
    let mut stopped = false;
    for (file, lane) in lanes.iter_mut().enumerate() {
        stopped = stopped || lane.next(file, taker)? == Some(Ended::Stopped);
    }
    while let Some((file, lane)) = lanes
        .iter_mut()
        .enumerate()
        .filter(|(_, lane)| lane.head.waits)
        .min_by_key(|(_, lane)| lane.at_ps)
    {
        if !lane.give(file, taker)? {
            break;
        }
        // Behind a stop the packets that wait are written, and no others are read.
        lane.head.waits = false;
        stopped = stopped || lane.next(file, taker)? == Some(Ended::Stopped);
    }
    for (file, lane) in lanes.iter().enumerate() {
        taker.over(file, &lane.packets, lane.behind);
    }
    Ok(())
}

impl Lane {
    fn item(&self) -> Item<'_> {
        let head = &self.head;
        Item {
            word: head.word,
            at_ps: head.at_ps,
            hash: head.hash,
            original_len: head.original_len,
            interface: head.interface,
            captured: self.packets.captured(),
            options: head.order.over(&head.options),
            bytes: &head.bytes,
        }
    }

    fn give(&self, file: usize, taker: &mut impl Taker) -> anyhow::Result<bool> {
        taker.take(file, &self.item(), self.at_ps)
    }

    fn next(&mut self, file: usize, taker: &mut impl Taker) -> anyhow::Result<Option<Ended>> {
        self.head.waits = false;
        let mut ended = None;
        // A pause gives none, and the file goes on.
        while !self.head.waits && ended.is_none() {
            ended = self.packets.read(1, &mut self.head)?;
            if !self.head.waits {
                taker.idle()?;
            }
        }
        if self.head.waits {
            let at_ps = taker.date(file, &self.item());
            self.behind += u64::from(at_ps < self.at_ps);
            self.at_ps = at_ps;
        }
        Ok(ended.filter(|_| !self.head.waits))
    }
}
