//! Several captures in place of one: by count, time, size or flow.

use anyhow::{Context, ensure};
use node::{Size, Time};
use packet::flow::{self, FiveTuple};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Maximum number of flows of one command; each has an open file.
const MAX_FLOWS: usize = 900;

/// Where a new file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// After this number of packets.
    Packets(u64),
    /// After this time from the first packet of a file, ps, in whole multiples.
    Time(u128),
    /// Before a packet that would make the file larger than this, bytes.
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
        let split = if let Ok(count) = text.parse() {
            Split::Packets(count)
        } else if let Ok(size) = text.parse::<Size>() {
            Split::Bytes(size.bytes())
        } else {
            let time: Time = text.parse().map_err(|_| FORMS)?;
            Split::Time(time.as_ps().into())
        };
        match split {
            Split::Packets(0) | Split::Bytes(0) | Split::Time(0) => Err(FORMS.into()),
            split => Ok(split),
        }
    }
}

const FORMS: &str =
    "files are split by a count of packets (1000), a time (10s), a size (100MB) or `flow`";

/// Reads a size whose bare number is millions of bytes, as that of `tcpdump -C`.
pub fn millions(text: &str) -> Result<Size, String> {
    let size = match text.parse::<u64>() {
        Ok(millions) => millions.checked_mul(1_000_000).map(Size::from_bytes),
        Err(_) => Some(
            text.parse()
                .map_err(|error: node::QuantityError| error.to_string())?,
        ),
    };
    size.filter(|size| size.bytes() > 0)
        .ok_or_else(|| "a file has a size, such as 100 for 100 MB, or 64MiB".into())
}

/// Reads a time whose bare number is seconds, as that of `tcpdump -G`.
pub fn seconds(text: &str) -> Result<Time, String> {
    match node::time::seconds(text) {
        Ok(Time::ZERO) => Err("a file lasts for some time, such as 60 or 1h".into()),
        read => read.map_err(|error| error.to_string()),
    }
}

/// Which file a packet goes to.
pub struct Splitter {
    splits: Vec<Split>,
    output: PathBuf,
    /// The name with its conversions, if they are to be filled in: as in strftime(3).
    pattern: Option<String>,
    /// When the file that is written began, ps.
    began: Option<u128>,
    /// Files so far, but for those of flows.
    made: u64,
    /// The last name by a date.
    last: PathBuf,
    flows: BTreeMap<Option<[End; 2]>, usize>,
}

/// Address and port of a flow, and the protocol.
type End = (std::net::IpAddr, u16, u8);

/// Where a packet goes.
pub enum Destination {
    /// To a file that is there, by its number.
    Into(usize),
    /// To a new one of this name; those before, if it says so, are complete.
    New { name: PathBuf, completes: bool },
}

impl Splitter {
    /// For files that begin where the first of `splits` says so, named after `output`.
    ///
    /// # Errors
    /// When `output` has conversions that strftime(3) does not have.
    pub fn new(splits: Vec<Split>, output: &Path) -> anyhow::Result<Splitter> {
        let flows = splits.contains(&Split::Flow);
        let pattern = output
            .to_str()
            .filter(|name| name.contains('%') && !flows)
            .map(str::to_owned);
        let splitter = Splitter {
            splits,
            output: output.into(),
            pattern,
            began: None,
            made: 0,
            last: PathBuf::new(),
            flows: BTreeMap::new(),
        };
        // A mistake is told before there are packets.
        splitter.dated(0)?;
        Ok(splitter)
    }

    /// For a packet of which `length` bytes are kept, when the last file has so many packets and bytes.
    ///
    /// # Errors
    /// When there are too many flows, or its date has no name.
    pub fn goes(
        &mut self,
        frame: &[u8],
        length: usize,
        at_ps: u128,
        (packets, bytes): (u64, u64),
    ) -> anyhow::Result<Destination> {
        if self.splits.contains(&Split::Flow) {
            return self.flow(frame);
        }
        let began = *self.began.get_or_insert(at_ps);
        let mut full = self.made == 0;
        for split in &self.splits {
            full |= match *split {
                Split::Packets(most) => packets >= most,
                // A packet's block has 32 bytes beside it, and up to 3 of padding.
                Split::Bytes(most) => packets > 0 && bytes + length as u64 + 35 > most,
                Split::Time(length) => {
                    let passed = at_ps.saturating_sub(began) / length;
                    self.began = Some(began + passed * length);
                    passed > 0
                }
                Split::Flow => false,
            };
        }
        if !full {
            // There is one at a time.
            return Ok(Destination::Into(0));
        }
        self.made += 1;
        let number = format!("{:05}", self.made);
        let name = match self.dated(at_ps)? {
            None => name(&self.output, &number),
            // Two in a row of one name: the first is not to be lost.
            Some(dated) if dated == self.last => name(&dated, &number),
            Some(dated) => {
                self.last.clone_from(&dated);
                dated
            }
        };
        Ok(Destination::New {
            name,
            completes: true,
        })
    }

    /// The name with its conversions filled in by a date here, if it has any.
    fn dated(&self, at_ps: u128) -> anyhow::Result<Option<PathBuf>> {
        let Some(pattern) = &self.pattern else {
            return Ok(None);
        };
        let seconds = i64::try_from(at_ps / 1_000_000_000_000).unwrap_or(i64::MAX);
        let at = jiff::Timestamp::from_second(seconds)
            .context("a packet's date is behind the year 9999, and names no file")?
            .to_zoned(jiff::tz::TimeZone::system());
        let name = jiff::fmt::strtime::format(pattern, &at).with_context(|| {
            format!("`{pattern}` is not a name by dates, as in %Y%m%d-%H%M%S.pcapng; %% is a percent sign")
        })?;
        Ok(Some(name.into()))
    }

    fn flow(&mut self, frame: &[u8]) -> anyhow::Result<Destination> {
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
            return Ok(Destination::Into(file));
        }
        ensure!(
            self.flows.len() < MAX_FLOWS,
            "there are more than {MAX_FLOWS} flows; --filter chooses fewer"
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
        Ok(Destination::New {
            name: name(&self.output, &part),
            completes: false,
        })
    }
}

/// The name of a part: `out.pcapng` becomes `out-00001.pcapng`.
fn name(output: &Path, part: &str) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(part);
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    output.with_file_name(name)
}
