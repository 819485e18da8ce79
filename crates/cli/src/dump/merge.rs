//! Packets of several files, in the order of their times.

use crate::packets::{Consumer, Ended, Packets};
use ::capture::file::{Item, Raw};
use packet::capture::Options;

/// A packet that waits for its turn.
#[derive(Default)]
struct Pending {
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

impl Consumer for Pending {
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
struct Input {
    packets: Packets,
    pending: Pending,
    at_ps: u128,
    /// Packets that came before the one ahead of them.
    behind: u64,
}

/// Takes packets, each with its file's number.
pub trait MergeConsumer: Consumer {
    /// When a packet came, ps since 1970.
    fn date(&mut self, file: usize, item: &Item<'_>) -> u128;

    /// Takes one; `Ok(false)` to be given no more.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn take(&mut self, file: usize, item: &Item<'_>, at_ps: u128) -> anyhow::Result<bool>;

    /// All of a file has been given, of whose packets so many came before the one ahead of them.
    ///
    /// # Errors
    /// Those of writing.
    fn over(&mut self, file: usize, packets: &Packets, behind: u64) -> anyhow::Result<()>;
}

/// Gives the packets of all files by their times, and of one time in the order of the files. Each file is taken in its own order;
/// how many of its packets are not in that of time is told in the end.
///
/// # Errors
/// Those of reading, and those of `consumer`.
pub fn merge(files: Vec<Packets>, consumer: &mut impl MergeConsumer) -> anyhow::Result<()> {
    let mut inputs: Vec<Input> = files
        .into_iter()
        .map(|packets| Input {
            packets,
            pending: Pending::default(),
            at_ps: 0,
            behind: 0,
        })
        .collect();
    let mut stopped = false;
    for (file, input) in inputs.iter_mut().enumerate() {
        stopped = stopped || input.next(file, consumer)? == Some(Ended::Stopped);
    }
    while let Some((file, input)) = inputs
        .iter_mut()
        .enumerate()
        .filter(|(_, input)| input.pending.waits)
        .min_by_key(|(_, input)| input.at_ps)
    {
        if !input.give(file, consumer)? {
            break;
        }
        // Behind a stop the packets that wait are written, and no others are read.
        input.pending.waits = false;
        stopped = stopped || input.next(file, consumer)? == Some(Ended::Stopped);
    }
    for (file, input) in inputs.iter().enumerate() {
        consumer.over(file, &input.packets, input.behind)?;
    }
    Ok(())
}

impl Input {
    fn item(&self) -> Item<'_> {
        let pending = &self.pending;
        Item {
            word: pending.word,
            at_ps: pending.at_ps,
            hash: pending.hash,
            original_len: pending.original_len,
            interface: pending.interface,
            captured: self.packets.captured(),
            options: pending.order.over(&pending.options),
            bytes: &pending.bytes,
            // The packets are read verbatim.
            raw: Raw {
                bytes: &pending.bytes,
                original_len: pending.original_len,
            },
        }
    }

    fn give(&self, file: usize, consumer: &mut impl MergeConsumer) -> anyhow::Result<bool> {
        consumer.take(file, &self.item(), self.at_ps)
    }

    fn next(
        &mut self,
        file: usize,
        consumer: &mut impl MergeConsumer,
    ) -> anyhow::Result<Option<Ended>> {
        self.pending.waits = false;
        let mut ended = None;
        // A pause gives none, and the file goes on.
        while !self.pending.waits && ended.is_none() {
            ended = self.packets.read(1, &mut self.pending)?;
            if !self.pending.waits {
                consumer.idle()?;
            }
        }
        if self.pending.waits {
            let at_ps = consumer.date(file, &self.item());
            self.behind += u64::from(at_ps < self.at_ps);
            self.at_ps = at_ps;
        }
        Ok(ended.filter(|_| !self.pending.waits))
    }
}
