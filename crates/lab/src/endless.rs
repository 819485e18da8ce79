//! What in a lab would go on for ever.

use crate::plan::{Lab, NodePlan};
use crate::real::process::Process;
use crate::tree::{Value, What};

impl Lab {
    /// Why nothing bounds a run, node by node: what goes on for ever, and the key that would bound it. Empty where the lab has a
    /// duration, where a test of OFLOPS ends it, or where every node comes to an end by itself.
    #[must_use]
    pub fn endless(&self) -> Vec<String> {
        let tests: usize = self.nodes.iter().map(crate::flops::tests_of).sum();
        match self.duration {
            None if tests == 0 => self.nodes.iter().flat_map(reasons).collect(),
            _ => Vec::new(),
        }
    }
}

impl Lab {
    /// The nodes in which programs can run, if the lab, once it is up, waits for such programs of others and for nothing else: those of
    /// its own are services, or over before time zero.
    #[must_use]
    pub fn awaits(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for plan in &self.nodes {
            if plan.kind.real != Some(crate::kinds::Real::Process) {
                continue;
            }
            let jobs = Process::read(&plan.config).map_or(Vec::new(), |process| process.jobs);
            if jobs.iter().any(|job| !job.service && job.at.is_some()) {
                return Vec::new();
            }
            names.push(plan.name.as_str());
        }
        match self.duration {
            None => names,
            Some(_) => Vec::new(),
        }
    }

    /// Where controllers reach which node by P4Runtime.
    #[must_use]
    pub fn p4runtime(&self) -> Vec<(&str, String)> {
        let nodes = self.nodes.iter().filter_map(|plan| {
            let address = plan.config.get("p4runtime")?.read().ok()?;
            Some((plan.name.as_str(), address))
        });
        nodes.collect()
    }
}

/// What of a node goes on for ever.
fn reasons(plan: &NodePlan) -> Vec<String> {
    let (name, config) = (&plan.name, &plan.config);
    let has = |key| config.get(key).is_some();
    let loops = config.get("loops").map(|loops| &loops.what);
    let one = match plan.kind.name {
        "generator" if has("count") || has("duration") => None,
        "generator" if has("replay") && !matches!(loops, Some(What::Integer(0))) => None,
        "generator" => Some("generates without `count` or `duration`".to_string()),
        "ping" if !has("count") => Some("asks without `count`".into()),
        "tap" => Some("waits for what comes from this machine".into()),
        // Switches and controllers ask each other for echoes.
        "controller" => Some("keeps its channels up".into()),
        "host" => {
            let programs = config.get("program").map(|programs| &programs.what);
            let list = match programs {
                Some(What::List(list)) => &list[..],
                _ => &[],
            };
            return list
                .iter()
                .filter_map(program)
                .map(|reason| format!("`{name}` {reason}"))
                .collect();
        }
        _ => None,
    };
    one.map(|reason| format!("`{name}` {reason}"))
        .into_iter()
        .collect()
}

/// What of a host's program goes on for ever.
fn program(config: &Value) -> Option<String> {
    let Some(What::Text(run)) = config.get("run").map(|run| &run.what) else {
        return None;
    };
    let has = |key| config.get(key).is_some();
    let missing = match run.as_str() {
        "bulk" if has("duration") || has("count") && has("bytes") => return None,
        "bulk" if has("count") => "`bytes`",
        "bulk" if has("bytes") => "`count` or `duration`",
        "bulk" => "`duration`, or `bytes` and `count`",
        "udp" | "http" if !has("count") && !has("duration") => "`count` or `duration`",
        "ping" | "dns" if !has("count") => "`count`",
        _ => return None,
    };
    Some(format!("runs {run} without {missing}"))
}
