//! `wire relay train`: a dictionary for zstd, from captures.

use crate::Verdict;
use crate::complaints::Strictness;
use crate::packets::{Consumer, Ended, Packets};
use crate::select::Selection;
use ::capture::file::Item;
use confine::Permissions;
use node::Size;
use packet::Tick;
use relay::codec::{Algorithm, Codec};
use relay::dictionary::Samples;
use serde_json::json;
use std::path::PathBuf;

/// Make a dictionary for compressing packets, from captures
///
/// Every IP packet in them that would be compressed is a sample, but every fifth, by which is measured what the dictionary is worth. Both
/// compressing nodes need the file: `dictionary = "DICT"`.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire relay train monday.pcapng tuesday.pcapng -o web.dict")]
pub struct Train {
    /// Captures, lines or records; `-` for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "DICT")]
    output: PathBuf,
    /// The most bytes that the dictionary may have, 256 to 1 MiB
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    size: Size,
    /// The level of zstd by which it is measured, -7 to 19
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    level: i32,
    #[command(flatten)]
    selection: Selection,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

/// Packets to learn from, and some to try it on.
#[derive(Default)]
struct Sorted {
    learned: Samples,
    tried: Samples,
    packets: u64,
}

impl Consumer for Sorted {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        self.packets += 1;
        let samples = match self.packets % 5 {
            0 => &mut self.tried,
            _ => &mut self.learned,
        };
        samples.add(item.bytes);
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl Train {
    /// Makes it.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let size = usize::try_from(self.size.bytes())?;
        anyhow::ensure!(
            (256..=1 << 20).contains(&size),
            "--size is from 256 bytes to 1 MiB"
        );
        let inputs = self.files.iter().map(|path| path.as_path());
        ::capture::output::apart(&self.output, inputs)?;
        let mut selector = self.selection.selector()?;
        confine::reader(Permissions {
            writes: true,
            ..Permissions::default()
        })?;
        let complaints = self.strictness.complaints();
        let mut sorted = Sorted::default();
        for path in &self.files {
            let mut packets = Packets::open(path, &complaints)?;
            let ended = packets.choose(&mut selector, Tick::EIGHT_NS, &mut sorted)?;
            if ended != Ended::End {
                break;
            }
        }
        let verdict = complaints.finish();
        let trained = sorted.learned.train(size);
        let dictionary = match trained {
            Ok(dictionary) => dictionary,
            Err(reason) if verdict == Verdict::Stopped => {
                eprintln!("wire: stopped, and no dictionary: {reason}");
                return Ok(verdict);
            }
            Err(reason) => anyhow::bail!("no dictionary: {reason}"),
        };
        let mut codec = Codec::new(self.level, &dictionary)?;
        ::capture::output::replace(&self.output, &dictionary)?;
        let before = sorted.tried.bytes();
        let mut after = |algorithm| -> usize {
            let compressed = sorted.tried.iter().map(|bytes| {
                let shorter = codec.compress(algorithm, bytes, bytes.len());
                shorter.map_or(bytes.len(), |()| codec.compressed().len())
            });
            compressed.sum()
        };
        let sizes = Algorithm::ALL.map(|algorithm| (algorithm, after(algorithm)));
        let ratio = |size: usize| size as f64 / before.max(1) as f64;
        if self.json {
            let ratios = sizes.map(|(algorithm, size)| (algorithm.name(), json!(ratio(size))));
            let line = json_line!("relay", "train", {
                "file": self.output.display().to_string(),
                "bytes": dictionary.len(),
                "number": codec.dictionary(),
                "packets": sorted.packets,
                "samples": sorted.learned.len(),
                "tried": sorted.tried.len(),
                "ratio": ratios.into_iter().map(|(name, ratio)| (name.to_owned(), ratio)).collect::<serde_json::Map<_, _>>(),
            });
            println!("{line}");
            return Ok(verdict);
        }
        println!(
            "{}: {} bytes, from {} of {} packets",
            self.output.display(),
            dictionary.len(),
            sorted.learned.len(),
            sorted.packets
        );
        println!(
            "of {} other packets, without headers, it leaves",
            sorted.tried.len()
        );
        for (algorithm, size) in sizes {
            println!("  {:<16} {:>6.1} %", algorithm.name(), 100.0 * ratio(size));
        }
        Ok(verdict)
    }
}
