//! Offsets as tables, a line, JSON and a picture.

use super::{BOUND, Offsets, Pair, Published, TICK};
use crate::plan::instrument::Section;
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use ::report::text::{Table, cells, number};
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// Maximum number of pairs that are reported one by one.
const MAX_LISTED: usize = 32;
/// Pairs that are drawn.
const DRAWN: usize = 7;

/// For people: where clocks are not synchronized any more, and why.
fn write_given_up(f: &mut String, given_up: &[(String, u64)]) -> fmt::Result {
    let all = given_up.len();
    if all == 0 {
        return Ok(());
    }
    let named = given_up.iter().take(MAX_LISTED);
    let named = named.map(|(node, peers)| match peers {
        1 => format!("{node} (1 peer)"),
        peers => format!("{node} ({} peers)", number(*peers)),
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if all > MAX_LISTED {
        named += &format!(" and {} more nodes", number((all - MAX_LISTED) as u64));
    }
    writeln!(
        f,
        "\nwarning: DTP peers given up by {named}: their beacons jumped or were out of range too often. A port does not synchronize with such a peer until its link goes down and comes up again."
    )
}

impl Offsets {
    /// The pairs that are so far apart.
    fn at(&self, hops: Option<u64>) -> impl Iterator<Item = &Pair> + Clone {
        self.pairs.iter().filter(move |pair| pair.hops == hops)
    }

    /// The greatest offset of neighbours, ticks, and the number of offsets over the bound; `None` without a look.
    pub(crate) fn greatest(&self) -> Option<(u128, u64)> {
        let seen = self.at(Some(1)).filter(|pair| pair.looks() > 0);
        let greatest = seen.map(|pair| pair.greatest()).max()?;
        Some((greatest, self.pairs.iter().map(Pair::over).sum()))
    }
}

impl Section for Offsets {
    /// For people: each two neighbours, then those further apart by their distance.
    fn write(&self, f: &mut String, _verbose: bool) -> fmt::Result {
        let looks = self.pairs.iter().map(Pair::looks).max().unwrap_or(0);
        writeln!(
            f,
            "\nclocks of {} nodes, {} looks",
            self.nodes.len(),
            number(looks)
        )?;
        let mut head = cells(&["offset [ticks of 6.4 ns]", "least", "mean", "greatest"]);
        head.extend(cells(&["bound", "in ns", "looks over it"]));
        let mut lines = vec![head];
        let neighbours = self.at(Some(1));
        if neighbours.clone().count() <= MAX_LISTED {
            for pair in neighbours {
                let [a, b] = &pair.names;
                lines.push(self.line(format!("{a} to {b}"), std::iter::once(pair)));
            }
        }
        let mut distances: Vec<_> = self.pairs.iter().map(|pair| pair.hops).collect();
        distances.dedup();
        for hops in distances {
            let what = match hops {
                Some(1) => "all neighbours".into(),
                Some(hops) => format!("all {hops} hops apart"),
                None => "all without a way".into(),
            };
            let name = format!("{what}, {}", self.at(hops).count());
            lines.push(self.line(name, self.at(hops)));
        }
        write!(f, "{}", Table::new(lines))?;
        write_given_up(f, &self.given_up)?;
        let beside = self.beside();
        if !beside.is_empty() {
            write!(f, "\n{}", Table::new(beside))?;
        }
        if let Some(daemons) = &self.daemons {
            daemons.write(f)?;
        }
        if self.nodes.len() > MAX_LISTED {
            return Ok(());
        }
        let mut lines = vec![cells(&["counter", "faster than true time [ppm]"])];
        for counter in &self.nodes {
            let rate = counter.rate;
            let rate = rate.map_or("-".into(), |rate| format!("{rate:.1}"));
            lines.push(vec![counter.name.clone(), rate]);
        }
        write!(f, "\n{}", Table::new(lines))
    }

    /// One line for each pair, and for each node.
    fn json(&self) -> Vec<Value> {
        let lines = self.pairs.iter().map(|pair| {
            let looks = pair.offsets.iter();
            let looks: Vec<_> = looks
                .map(|(offset, count)| json!([offset.to_string(), count]))
                .collect();
            let range = pair.range().map(|ends| ends.map(|end| end.to_string()));
            json!({
                "type": "offset", "a": pair.names[0], "b": pair.names[1], "hops": pair.hops,
                "tick_ps": 6_400, "bound": pair.bound(), "over": pair.over(), "range": range,
                "mean": pair.mean(), "looks": looks,
            })
        });
        let counters = self.nodes.iter();
        let counters = counters.map(
            |counter| json!({ "type": "clock_rate", "node": counter.name, "ppm": counter.rate }),
        );
        let names: Vec<&str> = self.nodes.iter().map(|it| it.name.as_str()).collect();
        let daemons = self.daemons.iter().flat_map(|it| it.json(&names));
        lines.chain(counters).chain(daemons).collect()
    }

    fn headline(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((greatest, over)) = self.greatest() {
            let over = match over {
                0 => "never over the bound".into(),
                1 => "over the bound once".into(),
                over => format!("over the bound {} times", number(over)),
            };
            parts.push(format!(
                "clocks of neighbours at most {greatest} ticks apart, {over}"
            ));
        }
        match self.peers_given_up() {
            0 => {}
            1 => parts.push("1 DTP peer given up".into()),
            peers => parts.push(format!("{} DTP peers given up", number(peers))),
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn headline_json(&self) -> Vec<(&'static str, Value)> {
        let found = self.greatest();
        vec![
            (
                "clocks_apart_ticks",
                json!(found.map(|(ticks, _)| ticks as u64)),
            ),
            ("clocks_over_bound", json!(found.map(|(_, over)| over))),
            ("clocks_given_up", json!(self.peers_given_up())),
        ]
    }

    fn figures(&self) -> Vec<(String, Figure)> {
        let own = self.file.iter().map(|file| (file.clone(), self.figure()));
        let daemons = self.daemons.iter();
        let daemons = daemons.filter_map(|daemons| {
            let file = daemons.config.file.clone()?;
            Some((file, daemons.figure(&self.lab, self.ended)))
        });
        own.chain(daemons).collect()
    }
}

impl Offsets {
    /// Peers that ports gave up.
    fn peers_given_up(&self) -> u64 {
        self.given_up.iter().map(|(_, peers)| peers).sum()
    }

    /// The figures next to those that were published.
    fn beside(&self) -> Vec<Vec<String>> {
        let Published {
            greatest,
            delay,
            over,
        } = &self.published;
        let range = |[least, most]: [u64; 2]| match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        };
        let mut lines = Vec::new();
        if let (Some(published), Some((here, _))) = (greatest, self.greatest()) {
            let what = "greatest offset of neighbours [ticks]".into();
            lines.push(vec![what, here.to_string(), published.to_string()]);
        }
        if let Some(published) = over {
            let near = || self.at(Some(1));
            let (over, all) = (near().map(Pair::over).sum(), near().map(Pair::looks).sum());
            let here = format!("{} of {}", number(over), number(all));
            let what = "offsets of neighbours over the bound".into();
            lines.push(vec![what, here, number(*published)]);
        }
        if let (Some(published), Some(here)) = (delay, self.delays) {
            let what = "delay that ports measured [ticks]".into();
            let published = range(published.map(u64::from));
            lines.push(vec![what, range(here), published]);
        }
        if !lines.is_empty() {
            lines.insert(
                0,
                cells(&["beside what was published", "here", "published"]),
            );
        }
        lines
    }

    fn line<'a>(&self, name: String, pairs: impl Iterator<Item = &'a Pair> + Clone) -> Vec<String> {
        let ranges = pairs.clone().filter_map(Pair::range);
        let least = ranges.clone().map(|[least, _]| least).min();
        let most = ranges.map(|[_, most]| most).max();
        let (mut looks, mut sum, mut over) = (0, 0.0, 0);
        let mut hops = None;
        for pair in pairs {
            looks += pair.looks();
            sum += pair.mean() * pair.looks() as f64;
            over += pair.over();
            hops = pair.hops;
        }
        let text = |value: Option<i128>| value.map_or("-".into(), |value| value.to_string());
        let bound = hops.map(|hops| BOUND * hops);
        let mut line = vec![name, text(least)];
        line.push(match looks {
            0 => "-".into(),
            _ => format!("{:.2}", sum / looks as f64),
        });
        line.push(text(most));
        line.push(bound.map_or("-".into(), |bound| bound.to_string()));
        line.push(bound.map_or("-".into(), |bound| format!("{:.1}", bound as f64 * TICK)));
        line.push(number(over));
        line
    }

    /// Offsets of neighbours over time and their distribution, and the greatest by distance.
    fn figure(&self) -> Figure {
        let unit = TimeUnit::of(self.ended.as_ps() as f64);
        let over_time = Axis::new(format!("time [{}]", unit.name));
        let ticks = |name: &str| Axis::new(format!("{name} [ticks]"));
        let (mut times, mut shares) = (
            Panel::new(over_time, ticks("offset")).title("neighbours"),
            Panel::new(ticks("offset"), Axis::new("share of looks").from_zero()),
        );
        for pair in self.at(Some(1)).take(DRAWN) {
            let name = format!("{} to {}", pair.names[0], pair.names[1]);
            let points = pair.points.iter();
            let points = points.map(|(at, offset)| (unit.of_ps(at.as_ps()), *offset as f64));
            times = times.series(Series::points(&name, points));
            let looks = pair.looks().max(1) as f64;
            let shown = pair.offsets.iter();
            let shown = shown.map(|(offset, count)| (*offset as f64, *count as f64 / looks));
            shares = shares.series(Series::line(&name, shown));
        }
        let bound = BOUND as f64;
        times = times.mark_y(bound, "bound").mark_y(-bound, "");
        shares = shares.mark_x(bound, "bound").mark_x(-bound, "");
        let mut figure = Figure::new(self.lab.clone()).panel(times).panel(shares);
        let mut distances: Vec<u64> = self.pairs.iter().filter_map(|pair| pair.hops).collect();
        distances.dedup();
        if distances.len() > 1 {
            let greatest = |hops: &u64| {
                let most = self.at(Some(*hops)).map(Pair::greatest).max();
                (*hops as f64, most.unwrap_or(0) as f64)
            };
            let bounds = distances.iter();
            let bounds = bounds.map(|hops| (*hops as f64, (BOUND * hops) as f64));
            let panel = Panel::new(Axis::new("hops"), ticks("greatest offset").from_zero())
                .series(Series::points("greatest", distances.iter().map(greatest)))
                .series(Series::line("bound", bounds));
            figure = figure.panel(panel);
        }
        figure
    }
}
