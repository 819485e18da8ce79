//! `wire profile --compare`: what a device did to packets, from captures on both sides of it.

use super::figures::{self, signed};
use super::object::{count, signed_count};
use super::picture::{base, time_axis};
use crate::Verdict;
use crate::complaints::Complaints;
use crate::departures::Departures;
use crate::output::{self, Buffering, Output};
use crate::packets::{Consumer, Packets};
use crate::select;
use crate::stream::name;
use ::capture::file::Item;
use ::report::text::{Table, cells, number, time};
use anyhow::{Context, bail};
use live::filter::Filter;
use measure::compare::{Comparison, Config, Delays, MAX_EXTENT, Side};
use packet::Tick;
use plot::{Axis, Figure, Panel, Series, TimeUnit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Lost packets that the text names.
const NAMED: usize = 8;

/// What is to be compared, and how.
pub struct Task<'a> {
    pub sources: &'a [OsString],
    pub config: Config,
    pub filter: Option<Filter>,
    pub tick: Tick,
    pub complaints: Complaints,
}

/// One side's file, and which of its interfaces.
struct Capture {
    name: String,
    packets: Packets,
    wanted: Wanted,
    departures: Departures,
    /// The unit of its stamps, in ps.
    unit_ps: u64,
    /// Whether a packet of the wanted interface has come.
    found: bool,
    /// The interfaces of the packets so far, and their names.
    seen: BTreeMap<u32, String>,
}

enum Wanted {
    All,
    Number(u32),
    Name(String),
}

impl Capture {
    /// Opens `FILE` or `FILE#INTERFACE`, the interface by its name or its number.
    fn open(text: &OsStr, task: &Task<'_>) -> anyhow::Result<Capture> {
        let whole = text == "-" || Path::new(text).exists();
        let bytes = text.as_bytes();
        let divided = bytes.iter().rposition(|&byte| byte == b'#');
        let (path, wanted) = match divided.filter(|_| !whole) {
            None => (text, Wanted::All),
            Some(at) => {
                let interface = String::from_utf8_lossy(&bytes[at + 1..]);
                let wanted = match interface.parse() {
                    Ok(number) => Wanted::Number(number),
                    Err(_) => Wanted::Name(interface.into()),
                };
                (OsStr::from_bytes(&bytes[..at]), wanted)
            }
        };
        Ok(Capture {
            name: name(Path::new(text)),
            packets: Packets::open(Path::new(path), &task.complaints)?.with_lengths(),
            wanted,
            departures: Departures::new(task.tick),
            unit_ps: task.tick.as_ps().into(),
            found: false,
            seen: BTreeMap::new(),
        })
    }

    /// The whole file has been read: it must have had the interface that is wanted.
    fn check(&self) -> anyhow::Result<()> {
        let wanted = match &self.wanted {
            _ if self.found => return Ok(()),
            Wanted::All => return Ok(()),
            Wanted::Number(number) => number.to_string(),
            Wanted::Name(name) => format!("`{name}`"),
        };
        let seen = self.seen.iter().map(|(number, name)| match &name[..] {
            "" => number.to_string(),
            name => format!("{number} ({name})"),
        });
        let seen: Vec<String> = seen.collect();
        let there = match &seen[..] {
            [] => "there are no packets".into(),
            [one] => format!("all are of interface {one}"),
            all => format!("there are packets of {}", all.join(", ")),
        };
        bail!("no packet is of interface {wanted}; {there}")
    }

    /// Gives the next packet that is wanted; false at the end.
    fn next(
        &mut self,
        filter: &mut Option<Filter>,
        give: &mut dyn FnMut(u128, &[u8]),
    ) -> anyhow::Result<bool> {
        let mut reader = Reader {
            wanted: &self.wanted,
            filter,
            found: &mut self.found,
            departures: &mut self.departures,
            unit_ps: &mut self.unit_ps,
            give,
            given: false,
            seen: &mut self.seen,
        };
        // A packet that is not wanted is read over.
        while !reader.given {
            if self.packets.read(1, &mut reader)?.is_some() {
                let given = reader.given;
                self.check()?;
                return Ok(given);
            }
        }
        Ok(true)
    }
}

/// Interfaces that a message names.
const LISTED: usize = 20;

struct Reader<'a> {
    wanted: &'a Wanted,
    filter: &'a mut Option<Filter>,
    found: &'a mut bool,
    departures: &'a mut Departures,
    unit_ps: &'a mut u64,
    give: &'a mut dyn FnMut(u128, &[u8]),
    given: bool,
    seen: &'a mut BTreeMap<u32, String>,
}

impl Consumer for Reader<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let wanted = match self.wanted {
            Wanted::All => true,
            Wanted::Number(number) => item.interface == *number,
            Wanted::Name(name) => item.described().is_some_and(|of| of.name == *name),
        };
        if !wanted && self.seen.len() < LISTED {
            let name = || item.described().map_or(String::new(), |of| of.name.clone());
            self.seen.entry(item.interface).or_insert_with(name);
        }
        *self.found |= wanted;
        let takes = |filter: &mut Filter| filter.takes(item).map_err(select::unjudged);
        if wanted && self.filter.as_mut().map_or(Ok(true), takes)? {
            if let Some(described) = item.described() {
                *self.unit_ps = described.resolution.to_ps(1, 0) as u64;
            }
            let at_ps = match item.at_ps {
                Some(at_ps) => at_ps,
                None => self.departures.ps(item.word.unwrap_or(0)),
            };
            (self.give)(at_ps, item.bytes);
            self.given = true;
        }
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Compares, and tells.
pub fn run(
    task: Task<'_>,
    plots: &[PathBuf],
    title: Option<&str>,
    as_json: bool,
) -> anyhow::Result<Verdict> {
    let [before, behind] = task.sources else {
        bail!("--compare takes two files: before the device, and behind it");
    };
    if before == behind {
        bail!(
            "`{}` is on both sides; of a capture with two interfaces, write FILE#0 and FILE#1",
            before.to_string_lossy()
        );
    }
    let mut sides = [Capture::open(before, &task)?, Capture::open(behind, &task)?];
    let mut filter = task.filter;
    let mut comparison = Comparison::new(task.config);
    while let Some(side) = comparison.turn() {
        let capture = &mut sides[side as usize];
        let more = capture
            .next(&mut filter, &mut |at_ps, frame| {
                comparison.give(side, at_ps, frame);
            })
            .with_context(|| capture.name.clone())?;
        if !more {
            comparison.end(side);
        }
    }
    let verdict = task.complaints.finish();
    let names = [before, behind].map(|name| name.to_string_lossy().into_owned());
    let names = names.each_ref().map(String::as_str);
    let [before, behind] = names;
    let mut stdout = Output::open(&Buffering::default())?;
    let units = sides.map(|side| side.unit_ps);
    let told = match as_json {
        true => objects(&comparison, names, units),
        false => text(&comparison, names, units),
    };
    stdout.tell(&told)?;
    stdout.finish()?;
    for path in plots {
        let plain = format!("{} to {}", base(before), base(behind));
        output::picture(&picture(&comparison, title.unwrap_or(&plain)), path)?;
    }
    let (by_probe, by_content) = comparison.found();
    Ok(verdict.max(Verdict::if_good(by_probe + by_content > 0)))
}

fn text(all: &Comparison, names: [&str; 2], units: [u64; 2]) -> String {
    let mut text = format!("{}\n\n", verdict(all));
    // Writing to a String does not fail.
    for (side, (what, index)) in [(Side::Before, ("before", 0)), (Side::Behind, ("behind", 1))] {
        let (packets, unit) = (number(all.packets(side)), time(units[index] as f64));
        let name = names[index];
        let _ = writeln!(
            text,
            "{what}: {name}, {packets} packets, stamps in units of {unit}"
        );
    }
    let (by_probe, by_content) = all.found();
    let found = by_probe + by_content;
    let _ = writeln!(
        text,
        "found on both sides: {}, {} by probe and {} by content\n",
        number(found),
        number(by_probe),
        number(by_content)
    );
    if found == 0 {
        return text;
    }
    let delays = all.delays();
    let head = ["", "mean", "sd", "min", "p50", "p99", "p99.9", "max"];
    let mut line = vec![
        "delay".to_string(),
        signed(delays.mean()),
        figures::short(delays.sd()),
    ];
    line.push(signed(delays.min() as f64));
    line.extend([500, 990, 999].map(|part| {
        let value = delays.value_at(part, 1_000);
        match value == delays.min() || value == delays.max() {
            true => signed(value as f64),
            false => figures::short_signed(value as f64),
        }
    }));
    line.push(signed(delays.max() as f64));
    let changes = delays.changes();
    let of = [
        changes.mean,
        changes.sd,
        changes.min as f64,
        changes.max as f64,
    ]
    .map(time);
    let [mean, sd, min, max] = of;
    let blank = || String::new();
    let change = vec![
        "  from packet to packet".into(),
        mean,
        sd,
        min,
        blank(),
        blank(),
        blank(),
        max,
    ];
    let _ = writeln!(text, "{}", Table::new([cells(&head), line, change]));
    let (jitter, most) = delays.jitter();
    let _ = writeln!(
        text,
        "jitter (RFC 3550): {} at the end, at most {}",
        figures::short(jitter),
        figures::short(most)
    );
    let (lost, (runs, longest)) = (all.lost(), all.loss_runs());
    let share = 100.0 * lost as f64 / (lost + found) as f64;
    let _ = write!(text, "lost: {}", number(lost));
    if lost > 0 {
        let _ = write!(
            text,
            " ({share:.3} %), in {} runs, the longest of {}; the first:",
            number(runs),
            number(longest)
        );
        for packet in all.lost_list().iter().take(NAMED) {
            let _ = write!(text, " {}", packet.number);
        }
    }
    let (late, ratio) = (all.order().late(), 100.0 * all.order().ratio());
    let _ = write!(text, "\nreordered (RFC 4737): {}", number(late));
    if late > 0 {
        let extents = all.order().extents();
        let _ = write!(
            text,
            " ({ratio:.3} %), extent p50 {}, p99 {}, max {}{}",
            number(extents.value_at(1, 2)),
            number(extents.value_at(99, 100)),
            number(extents.max()),
            if extents.max() >= MAX_EXTENT {
                " or more"
            } else {
                ""
            },
        );
    }
    let (duplicates, strange) = (number(all.duplicates()), number(all.only_behind()));
    let _ = writeln!(
        text,
        "\nduplicates behind: {duplicates}; only behind: {strange}"
    );
    for note in notes(all) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// What came of it, in a line.
fn verdict(all: &Comparison) -> String {
    let (by_probe, by_content) = all.found();
    let found = by_probe + by_content;
    if found == 0 {
        return "no packet of the one is in the other: are these the same traffic?".into();
    }
    let count = |count: u64, what: &str| match count {
        0 => format!("none {what}"),
        count => format!("{} {what}", number(count)),
    };
    let spare = match all.duplicates() {
        0 => String::new(),
        more => format!(", {} duplicates", number(more)),
    };
    format!(
        "{} of {} packets arrived, mean delay {}, {}, {}{spare}",
        number(found),
        number(found + all.lost()),
        signed(all.delays().mean()),
        count(all.lost(), "lost"),
        count(all.order().late(), "reordered"),
    )
}

fn notes(all: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let (ahead, tail) = all.outside();
    if ahead + tail > 0 {
        notes.push(format!(
            "{} packets before the first that was found and {} behind the last are not counted as lost: the capture behind may not have covered them",
            number(ahead),
            number(tail)
        ));
    }
    match all.zero_ps() {
        0 => notes.push(
            "delay is stamp behind less stamp before; it is the device's only if one clock made both".into(),
        ),
        zero => notes.push(format!(
            "one clock cannot have made both captures: the least of the first delays was {}; delays count from it, and hold the drift of the clocks",
            signed(zero as f64)
        )),
    }
    if all.delays().below_zero() > 0 && all.zero_ps() == 0 {
        notes.push(format!(
            "{} delays are below zero: the two clocks do not agree",
            number(all.delays().below_zero())
        ));
    }
    notes
}

fn objects(all: &Comparison, names: [&str; 2], units: [u64; 2]) -> String {
    let (by_probe, by_content) = all.found();
    let ((runs, longest), (ahead, tail)) = (all.loss_runs(), all.outside());
    let extents = all.order().extents();
    let side = |side: Side| {
        let index = side as usize;
        json!({ "name": names[index], "packets": all.packets(side), "unit_ps": units[index] })
    };
    let mut lines = vec![json_line!("profile", "comparison", {
        "before": side(Side::Before),
        "behind": side(Side::Behind),
        "found": { "by_probe": by_probe, "by_content": by_content },
        "lost": {
            "packets": all.lost(), "runs": runs, "longest_run": longest,
            "not_covered_ahead": ahead, "not_covered_behind": tail,
        },
        "duplicates": all.duplicates(),
        "only_behind": all.only_behind(),
        "reordered": {
            "packets": all.order().late(), "ratio": all.order().ratio(),
            "extent_p50": extents.value_at(1, 2), "extent_p99": extents.value_at(99, 100),
            "extent_max": extents.max(),
        },
        // More than a JSON number of other readers holds exactly: as text.
        "zero_ps": all.zero_ps().to_string(),
        "delay": delay(all.delays()),
        "notes": notes(all),
    })];
    lines.extend(
        all.lost_list().iter().map(
            |lost| json_line!("profile", "lost", { "number": lost.number, "at_ps": signed_count(lost.at_ps) }),
        ),
    );
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn delay(delays: &Delays) -> Value {
    if delays.count() == 0 {
        return Value::Null;
    }
    let at = |part| signed_count(delays.value_at(part, 1_000));
    let ((jitter, most), changes) = (delays.jitter(), delays.changes());
    json!({
        "count": delays.count(), "mean_ps": delays.mean(), "sd_ps": delays.sd(),
        "min_ps": signed_count(delays.min()), "p50_ps": at(500), "p90_ps": at(900), "p99_ps": at(990),
        "p999_ps": at(999), "max_ps": signed_count(delays.max()), "below_zero": delays.below_zero(),
        "change_mean_ps": changes.mean, "change_max_ps": count(changes.max),
        "jitter_ps": jitter, "jitter_max_ps": most,
    })
}

/// The delay over time, and its distribution.
fn picture(all: &Comparison, title: &str) -> Figure {
    let delays = all.delays();
    let unit = TimeUnit::of(delays.max().abs().max(delays.min().abs()) as f64);
    let last = all.samples().iter().map(|sample| sample.at_ps).max();
    let time = TimeUnit::of(last.unwrap_or(0) as f64);
    let name = match all.zero_ps() {
        0 => "delay",
        _ => "delay above the least of the first",
    };
    let wide = delays.min() > 0 && delays.max() > 100 * delays.min();
    let (low, high) = (delays.min() as f64 / unit.ps, delays.max() as f64 / unit.ps);
    let axis = || time_axis(name, unit, wide, (low, high));
    let points = all.samples().iter();
    let points = points.map(|sample| {
        (
            sample.at_ps as f64 / time.ps,
            sample.delay_ps as f64 / unit.ps,
        )
    });
    let over_time = Panel::new(
        Axis::new(format!("since the first packet before [{}]", time.name)),
        axis(),
    );
    let (total, mut seen) = (delays.count().max(1) as f64, 0);
    let shares = delays.values().map(|(value, count)| {
        seen += count;
        (value as f64 / unit.ps, seen as f64 / total)
    });
    let share = Panel::new(axis(), Axis::new("share of packets").range(0.0, 1.05));
    Figure::new(title)
        .panel(over_time.series(Series::points("", points)))
        .panel(share.series(
            Series::steps("", shares).with_quantiles_of_times(unit, |percent| {
                delays.value_at(u64::from(percent), 100) as f64
            }),
        ))
}
