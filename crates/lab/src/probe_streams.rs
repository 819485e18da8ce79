//! Senders whose probes have the same stream number, which a meter cannot tell apart.

use crate::plan::{Lab, NodePlan};
use crate::tree::{Value, What};
use measure::statistics::Statistics;
use std::collections::BTreeMap;

impl Lab {
    /// The stream numbers that several senders have, each with the senders' names.
    pub(crate) fn shared_streams(&self) -> BTreeMap<u16, Vec<&str>> {
        let mut senders: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for plan in &self.nodes {
            for stream in streams(plan) {
                senders.entry(stream).or_default().push(&plan.name);
            }
        }
        senders.retain(|_, names| names.len() > 1);
        senders
    }

    /// A note where probes of several senders with one stream number may have come to one place, as each looks like a
    /// duplicate of another's there. Places without duplicates give no note.
    pub(crate) fn shared_streams_note(
        &self,
        mut places: impl Iterator<Item = Statistics>,
    ) -> Option<String> {
        let shared = self.shared_streams();
        let (stream, names) = shared.first_key_value()?;
        let [first, second, ..] = names[..] else {
            return None;
        };
        if !places.any(|at| at.order().duplicates > 0) {
            return None;
        }
        let senders = match first == second {
            true => format!("programs of `{first}`"),
            false => format!("`{first}` and `{second}`"),
        };
        Some(format!(
            "{senders} send probes of one stream, {stream}: where both arrive, lost and duplicate probes are wrong; give each its own `stream`"
        ))
    }
}

/// The streams of a node's probes: of a generator that makes its frames, or of the `udp` programs of a host.
fn streams(plan: &NodePlan) -> Vec<u16> {
    let number = |config: &Value| config.get("stream").and_then(|value| value.read().ok());
    let stream = |config: &Value| number(config).unwrap_or(0);
    let config = &plan.config;
    if plan.kind.sends_probes {
        let probes = config.get("probe").and_then(|value| value.read().ok());
        let has_probes = config.get("replay").is_none() && probes.unwrap_or(true);
        return has_probes.then(|| stream(config)).into_iter().collect();
    }
    let programs = match config.get("program").map(|value| &value.what) {
        Some(What::List(programs)) if plan.kind.is_host => &programs[..],
        _ => &[],
    };
    let is_udp = |program: &&Value| match program.get("run").map(|run| &run.what) {
        Some(What::Text(run)) => run == "udp",
        _ => false,
    };
    programs.iter().filter(is_udp).map(stream).collect()
}
