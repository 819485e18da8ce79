//! What in a lab would go on for ever.

use crate::kind::Real;
use crate::live_nodes::process::Process;
use crate::plan::Lab;

impl Lab {
    /// Why nothing bounds a run, node by node: what goes on for ever, and the key that would bound it. Empty where the lab has a
    /// duration, where a test of OFLOPS or a prober's last estimate ends it, or where every node comes to an end by itself.
    #[must_use]
    pub fn endless(&self) -> Vec<String> {
        if self.duration.is_some() || self.tests() > 0 {
            return Vec::new();
        }
        let nodes = self.nodes.iter();
        let reasons = nodes.flat_map(|plan| {
            let reasons = plan.planned.endless.iter().map(String::as_str);
            let clock = plan.dtp.as_ref().map(|_| "keeps its clock");
            reasons
                .chain(clock)
                .map(|reason| format!("`{}` {reason}", plan.name))
        });
        reasons.collect()
    }

    /// How many tests of OFLOPS its nodes run, and estimates its probers make.
    pub(crate) fn tests(&self) -> usize {
        self.nodes.iter().map(|plan| plan.planned.tests).sum()
    }
}

impl Lab {
    /// The nodes in which programs can run, if the lab, once it is up, waits for such programs of others and for nothing else: those of
    /// its own are services, or over before time zero.
    #[must_use]
    pub fn awaits(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for plan in &self.nodes {
            if plan.kind.real != Some(Real::Process) {
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
            let address = plan.planned.p4runtime?;
            Some((plan.name.as_str(), address.to_string()))
        });
        nodes.collect()
    }
}
