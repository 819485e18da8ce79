//! Several captures in place of one: by count, time, size or flow.

use anyhow::ensure;
use packet::flow::{self, FiveTuple};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The most flows of one command: each has a file open.
const MOST_FLOWS: usize = 900;

/// Where a new file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Behind so many packets.
    Packets(u64),
    /// So long behind the first packet of a file, ps, in whole such times.
    Time(u128),
    /// Before a packet that would make it larger than so many bytes.
    Bytes(u64),
    /// One for each pair of ends, both directions together.
    Flow,
}

impl FromStr for Split {
    type Err = String;

    /// Reads `1000`, `10s`, `100MB`, `64MiB`, `flow`.
    fn from_str(text: &str) -> Result<Split, String> {
        if text == "flow" {
            return Ok(Split::Flow);
        }
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let scale = match unit.trim_start() {
            "" => None,
            "B" => Some(1),
            "kB" | "KB" => Some(1_000),
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => {
                let time: Result<node::Time, _> = text.parse();
                return match time {
                    Ok(time) if time.as_ps() > 0 => Ok(Split::Time(time.as_ps().into())),
                    _ => Err(FORMS.into()),
                };
            }
        };
        let count: Option<u64> = digits.parse().ok().filter(|&count| count > 0);
        let split = count.and_then(|count| match scale {
            None => Some(Split::Packets(count)),
            Some(scale) => count.checked_mul(scale).map(Split::Bytes),
        });
        split.ok_or_else(|| FORMS.into())
    }
}

const FORMS: &str =
    "files are split by a count of packets (1000), a time (10s), a size (100MB) or `flow`";

/// Which file a packet goes to.
pub struct Splitter {
    split: Split,
    /// When the file that is written began, ps.
    began: Option<u128>,
    flows: BTreeMap<Option<[End; 2]>, usize>,
}

/// Address and port of a flow, and the protocol.
type End = (std::net::IpAddr, u16, u8);

/// Where a packet goes.
pub enum Goes {
    /// To a file that is there, by its number.
    Into(usize),
    /// To a new one, whose name has this in it; those before, if it says so, are complete.
    New { part: String, completes: bool },
}

impl Splitter {
    pub fn new(split: Split) -> Splitter {
        Splitter {
            split,
            began: None,
            flows: BTreeMap::new(),
        }
    }

    /// For a packet that comes when `files` have been begun and the last has so many packets and bytes.
    ///
    /// # Errors
    /// When there are too many flows.
    pub fn goes(
        &mut self,
        frame: &[u8],
        at_ps: u128,
        files: usize,
        packets: u64,
        bytes: u64,
    ) -> anyhow::Result<Goes> {
        if self.split == Split::Flow {
            return self.flow(frame);
        }
        let full = match self.split {
            Split::Packets(most) => packets >= most,
            // A packet's block has 32 bytes beside it, and up to 3 of padding.
            Split::Bytes(most) => packets > 0 && bytes + frame.len() as u64 + 35 > most,
            Split::Time(length) => {
                let began = *self.began.get_or_insert(at_ps);
                let passed = at_ps.saturating_sub(began) / length;
                self.began = Some(began + passed * length);
                passed > 0
            }
            Split::Flow => false,
        };
        Ok(match full || files == 0 {
            true => Goes::New {
                part: format!("{:05}", files + 1),
                completes: true,
            },
            false => Goes::Into(files - 1),
        })
    }

    fn flow(&mut self, frame: &[u8]) -> anyhow::Result<Goes> {
        let tuple = flow::five_tuple(frame);
        let ends = tuple.as_ref().map(|tuple| {
            let FiveTuple { protocol, .. } = *tuple;
            let mut ends = [
                (tuple.source, tuple.source_port, protocol),
                (tuple.destination, tuple.destination_port, protocol),
            ];
            ends.sort();
            ends
        });
        if let Some(&file) = self.flows.get(&ends) {
            return Ok(Goes::Into(file));
        }
        ensure!(
            self.flows.len() < MOST_FLOWS,
            "there are more than {MOST_FLOWS} flows; --filter chooses fewer"
        );
        self.flows.insert(ends, self.flows.len());
        let part = match tuple {
            None => "other".into(),
            Some(tuple) => {
                let name = match tuple.protocol {
                    1 => "icmp".into(),
                    6 => "tcp".into(),
                    17 => "udp".into(),
                    58 => "icmp6".into(),
                    132 => "sctp".into(),
                    other => format!("ip{other}"),
                };
                let end = |address, port| match port {
                    0 => format!("{address}"),
                    _ => format!("{address}.{port}"),
                };
                let source = end(tuple.source, tuple.source_port);
                let destination = end(tuple.destination, tuple.destination_port);
                format!("{name}-{source}-{destination}")
            }
        };
        Ok(Goes::New {
            part,
            completes: false,
        })
    }
}

/// The name of a part: `out.pcapng` becomes `out-00001.pcapng`.
pub fn name(output: &Path, part: &str) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(part);
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    output.with_file_name(name)
}
