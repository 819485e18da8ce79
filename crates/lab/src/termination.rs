//! The reasons for which a run of a lab would go on without end.

use crate::kind::Real;
use crate::live_nodes::process::Process;
use crate::plan::{Lab, LinkPlan};

impl Lab {
    /// Why nothing bounds a run: the nodes that say that they go on without end, and a loop of nodes
    /// in which frames do. Empty where the lab has a duration, where a test of OFLOPS or a prober's
    /// last estimate ends it, or where every node comes to an end by itself.
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
        reasons.chain(self.frame_loop()).collect()
    }

    /// A loop of nodes that pass every frame on, in which a frame from outside stays forever.
    fn frame_loop(&self) -> Option<String> {
        let forwards = |node: usize| self.nodes[node].planned.properties.forwards;
        let ends = |link: &LinkPlan| link.link.ends.map(|end| end.node.0);
        // Nodes that are connected so far, by the number of one of them.
        let mut groups: Vec<usize> = (0..self.nodes.len()).collect();
        let (inner, outer): (Vec<_>, Vec<_>) = self
            .links
            .iter()
            .map(ends)
            .partition(|ends| ends.iter().all(|end| forwards(*end)));
        let mut closing = Vec::new();
        for [a, b] in inner {
            let [from, to] = [a, b].map(|end| groups[end]);
            if from == to {
                closing.push([a, b]);
            }
            for group in &mut groups {
                *group = if *group == from { to } else { *group };
            }
        }
        let entered = |group: usize| outer.iter().flatten().any(|end| groups[*end] == group);
        let [a, b] = closing.into_iter().find(|[a, _]| entered(groups[*a]))?;
        let [a, b] = [a, b].map(|node| &self.nodes[node].name);
        Some(format!(
            "frames stay in a loop of nodes without spanning tree, over the link of `{a}` and `{b}`"
        ))
    }

    /// How many results its nodes give, such as tests of OFLOPS and estimates of probers.
    pub(crate) fn tests(&self) -> usize {
        self.nodes.iter().map(|plan| plan.planned.tests).sum()
    }

    /// How many results the nodes of a kind [give](crate::Kind::with_results).
    #[must_use]
    pub fn results(&self, kind: &str) -> usize {
        let nodes = self.nodes.iter().filter(|plan| plan.kind.name == kind);
        nodes.map(|plan| plan.planned.tests).sum()
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_loop_of_switches_that_frames_can_enter_goes_on() {
        for (links, stays) in [
            ("g.0=s0.0 s0.1=s1.0 s1.1=d.0 d.1=x.0", false),
            ("g.0=s0.0 s0.1=s1.0 s0.2=s1.1 s1.2=d.0 d.1=x.0", true),
            ("g.0=s0.0 s0.1=s1.0 s0.2=d.0 d.1=s1.1", true),
            ("g.0=s0.0 s0.1=s1.0 s1.1=s2.0 s2.1=s0.2", true),
            ("g.0=s0.0 s0.1=s1.0 s1.1=s2.0 s2.1=x.0", false),
            // A loop without links to other nodes.
            ("g.0=x.0 s0.0=s1.0 s0.1=s1.1", false),
        ] {
            let mut text = String::new();
            for (name, keys) in [
                ("g", "kind = 'generator'\ncount = 1"),
                ("x", "kind = 'sink'"),
                ("d", "kind = 'delay'\ndelay = '1 us'"),
                ("s0", "kind = 'switch'"),
                ("s1", "kind = 'switch'"),
                ("s2", "kind = 'switch'"),
            ] {
                let ports = links.matches(&format!("{name}.")).count();
                if ports > 0 {
                    text += &format!("[node.{name}]\n{keys}\n");
                }
                if keys.contains("switch") && ports > 0 {
                    text += &format!("ports = {ports}\n");
                }
            }
            for link in links.split(' ') {
                let ends = link.replace('=', "', '");
                text += &format!("[[link]]\nends = ['{ends}']\n");
            }
            let lab = crate::parse(&text).unwrap_or_else(|faults| panic!("{text}{faults}"));
            let reasons = lab.endless();
            let found = reasons.iter().any(|reason| reason.contains("loop"));
            assert_eq!(found, stays, "{links}: {reasons:?}");
        }
    }
}
