//! What clocks of the kind `huygens` have found pair by pair, made to agree around loops, and how far both are off in truth.
//!
//! Each window is one instant: its end, by the reference's clock. In simulated time it is known what all clocks showed then.

use crate::fault::Fault;
use crate::fields::Fields;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use ::report::text::{four_digits, number};
use ::report::{Column, Table, Unit};
use measure::clock::{ClockReport, Mesh};
use node::outcome::{NodeOutcome, Spread};
use node::{Histogram, Time};
use nodes::huygens::mesh::{Pair, agree};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The instrument: the section `[network_effect]`, if the file has one.
#[derive(Debug, Default)]
pub(super) struct MeshCorrection(Option<Plan>);

/// How pairs of clocks are compared around loops.
#[derive(Clone, Debug)]
struct Plan {
    /// The node with whose clock the others are compared.
    reference: usize,
    /// Windows that end before are not counted.
    from: Time,
}

impl Instrument for MeshCorrection {
    fn sections(&self) -> &'static [&'static str] {
        &["network_effect"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        let Some(section) = reading.value("network_effect") else {
            return;
        };
        let (lab, faults) = (&*reading.lab, &mut *reading.faults);
        let mut fields = Fields::of(section, "a table", faults);
        let name: Option<String> = fields.optional("reference", faults);
        let from = fields.optional("from", faults);
        let is_one = |node: usize| {
            let plan = &lab.nodes[node];
            plan.kind.name == "huygens" && plan.config.get("peers").is_some()
        };
        let mut clocks = (0..lab.nodes.len()).filter(|&node| is_one(node));
        let reference = match &name {
            None => clocks.next(),
            Some(name) => reading
                .names
                .get(name)
                .copied()
                .filter(|&node| is_one(node)),
        };
        self.0 = reference.map(|reference| Plan {
            reference,
            from: from.unwrap_or_default(),
        });
        if reference.is_none() {
            let value = fields.value("reference");
            let span = value.map_or(&section.span, |value| &value.span);
            let message = match &name {
                Some(name) => format!("`{name}` is no node of kind `huygens` with `peers`"),
                None => "there is no node of kind `huygens` with `peers`".into(),
            };
            let fault = Fault::new(span.clone(), message);
            faults.push(fault.help(
                "peers = [\"198.18.0.2\"]: against whom a clock is measured; [] if only others ask",
            ));
        }
        fields.finish(faults);
    }

    fn attach(&self, _: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let plan = self.0.clone()?;
        Some(Box::new(plan))
    }
}

impl Measurement for Plan {
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let reference = &run.lab.nodes[self.reference].name;
        Some(Arc::new(NetworkEffect::of(
            self,
            reference,
            &run.outcome.nodes,
        )))
    }
}

/// What has come of it.
#[derive(Clone, Debug, Default)]
pub struct NetworkEffect {
    /// The node whose clock the others were held against.
    pub reference: String,
    /// Windows that count.
    pub windows: u64,
    /// Clocks that had no way to the reference, summed over them.
    pub unknown: u64,
    /// Pairs of later windows, for which clocks had no room.
    pub left_out: u64,
    /// By how much what pairs have found was changed so that no loop has a surplus: root mean square, picoseconds. Nobody needs
    /// the truth for that.
    pub changed_rms_ps: f64,
    /// How far offsets were off from the truth.
    pub off: [FromTruth; 4],
}

/// How far some offsets were off from the truth.
#[derive(Clone, Debug, Default)]
pub struct FromTruth {
    /// How many.
    pub count: u64,
    /// Their root mean square, picoseconds.
    pub rms_ps: f64,
    /// Their size.
    pub spread: Spread,
}

/// What each [`FromTruth`] is of, for people, and for programs.
const WHAT: [(&str, &str); 4] = [
    ("each pair, as it was found", "pairs"),
    ("each pair, by all", "pairs-agreed"),
    ("each clock, by the fewest pairs", "clocks"),
    ("each clock, by all", "clocks-agreed"),
];

/// Sizes of errors.
struct Sizes(Histogram, f64);

impl Sizes {
    fn add(&mut self, ps: i128) {
        let size = u64::try_from(ps.unsigned_abs()).unwrap_or(u64::MAX);
        self.0.record(size);
        self.1 += size as f64 * size as f64;
    }

    fn told(&self) -> FromTruth {
        FromTruth {
            count: self.0.total(),
            rms_ps: (self.1 / self.0.total().max(1) as f64).sqrt(),
            spread: self.0.spread(Time::from_ps(1)),
        }
    }
}

impl NetworkEffect {
    /// By the reports of clocks.
    fn of(plan: &Plan, reference_name: &str, nodes: &[NodeOutcome]) -> NetworkEffect {
        let mesh = |node: &NodeOutcome| node.extensions.get::<ClockReport>()?.mesh.clone();
        let meshes: Vec<Option<Box<Mesh>>> = nodes.iter().map(mesh).collect();
        let places = meshes.iter().enumerate();
        let places = places.filter_map(|(node, mesh)| Some((mesh.as_ref()?.address, node)));
        let places: BTreeMap<_, _> = places.collect();
        let mut found: BTreeMap<Time, Vec<Pair>> = BTreeMap::new();
        let mut shown: BTreeMap<Time, Vec<Option<i128>>> = BTreeMap::new();
        for (node, mesh) in meshes.iter().enumerate() {
            let Some(mesh) = mesh else { continue };
            for &(closed, its) in &mesh.shown {
                let all = shown
                    .entry(closed)
                    .or_insert_with(|| vec![None; nodes.len()]);
                all[node] = Some(its);
            }
            for pair in &mesh.pairs {
                let Some(&other) = places.get(&pair.with) else {
                    continue;
                };
                found.entry(pair.closed).or_default().push(Pair {
                    ends: [node, other],
                    at: pair.at_ps,
                    ahead: pair.ahead_ps,
                    faster: pair.faster_ppt as f64 * 1e-12,
                });
            }
        }
        let reference = plan.reference;
        let mut sizes = [(); 4].map(|()| Sizes(Histogram::with_precision(8), 0.0));
        let mut changes = (0u64, 0.0);
        let (mut windows, mut unknown) = (0, 0);
        for (closed, shown) in shown.range(plan.from..) {
            // Who has other windows is told to be unknown.
            let Some(zero) = shown[reference] else {
                continue;
            };
            windows += 1;
            let none = Vec::new();
            let pairs = found.get(closed).unwrap_or(&none);
            let agreed = agree(nodes.len(), reference, zero, pairs);
            let truth = |node: usize| Some(shown[node]? - zero);
            for (pair, found) in pairs.iter().zip(&agreed.found) {
                let [one, other] = pair.ends;
                let (Some(truth), Some(its), Some(found)) = (truth(one), truth(other), *found)
                else {
                    continue;
                };
                let truth = truth - its;
                let all = |node: usize| agreed.by_all[node].unwrap_or(0);
                let by_all = all(one) - all(other);
                sizes[0].add(found - truth);
                sizes[1].add(by_all - truth);
                changes.0 += 1;
                changes.1 += ((found - by_all) as f64).powi(2);
            }
            for &node in places.values().filter(|&&node| node != reference) {
                let of = |by: &[Option<i128>]| Some(by[node]? - truth(node)?);
                match (of(&agreed.by_fewest), of(&agreed.by_all)) {
                    (Some(fewest), Some(all)) => {
                        sizes[2].add(fewest);
                        sizes[3].add(all);
                    }
                    _ => unknown += 1,
                }
            }
        }
        NetworkEffect {
            reference: reference_name.into(),
            windows,
            unknown,
            left_out: meshes.iter().flatten().map(|mesh| mesh.left_out).sum(),
            changed_rms_ps: (changes.1 / changes.0.max(1) as f64).sqrt(),
            off: sizes.each_ref().map(Sizes::told),
        }
    }
}

impl Section for NetworkEffect {
    fn tables(&self) -> Vec<Table> {
        const GROUP: &str = "off from the truth by";
        let off = |key, title| Column::new(key, title).of(Unit::Time).under(GROUP);
        let mut table = Table::new(
            "network_effect",
            [
                Column::for_people("around loops"),
                Column::for_programs("of"),
                Column::new("offsets", "offsets"),
                off("off_rms", "rms"),
                off("off_p50", "median"),
                off("off_p99", "99 %"),
                off("off_max", "max"),
                Column::for_programs("reference"),
                Column::for_programs("windows"),
                Column::for_programs("unknown"),
                Column::for_programs("left_out"),
                Column::for_programs("changed_rms").of(Unit::Time),
            ],
        );
        for ((people, programs), off) in WHAT.into_iter().zip(&self.off) {
            let Spread { p50, p99, max, .. } = off.spread;
            let found = |ps: f64| (off.count > 0).then_some(ps);
            let at = |time: Time| (off.count > 0).then_some(time).into();
            table.push([
                people.into(),
                programs.into(),
                off.count.into(),
                found(off.rms_ps).into(),
                at(p50),
                at(p99),
                at(max),
                (&self.reference).into(),
                self.windows.into(),
                self.unknown.into(),
                self.left_out.into(),
                self.changed_rms_ps.into(),
            ]);
        }
        vec![table]
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} windows, clocks by that of {}; so that no loop has a surplus, pairs were changed by {} rms",
            number(self.windows),
            self.reference,
            four_digits(self.changed_rms_ps),
        )];
        if self.unknown > 0 {
            let count = number(self.unknown);
            notes.push(format!(
                "{count} times a clock had no way to it by pairs of that window"
            ));
        }
        if self.left_out > 0 {
            let count = number(self.left_out);
            notes.push(format!(
                "{count} pairs of later windows are left out: there was no room for them"
            ));
        }
        notes
    }
}
