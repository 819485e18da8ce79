//! The commands of a node: the key `run`.

use super::Planner;
use crate::fault::{Fault, did_you_mean};
use crate::fields::{Fields, OneOrMore};
use crate::tree::{Value, What};
use live::world::process::{Job, Ready};
use node::Time;
use std::ops::Range;

/// A command as the lab file has it.
#[derive(Clone, Debug)]
pub(crate) struct CommandPlan {
    pub command: String,
    pub service: bool,
    pub ready: Ready,
    pub at: Option<Time>,
    /// Names of nodes or commands.
    pub after: Vec<String>,
    pub output: Option<String>,
    pub hidden: bool,
    pub span: Range<usize>,
}

/// Reads the value of `run`: a text, a table, or a list of these.
pub(crate) fn read(value: Option<&Value>, faults: &mut Vec<Fault>) -> Vec<CommandPlan> {
    let Some(value) = value else {
        return Vec::new();
    };
    match &value.what {
        What::List(list) => list.iter().filter_map(|one| plan(one, faults)).collect(),
        _ => plan(value, faults).into_iter().collect(),
    }
}

fn plan(value: &Value, faults: &mut Vec<Fault>) -> Option<CommandPlan> {
    let mut plan = CommandPlan {
        command: String::new(),
        service: false,
        ready: Ready::Started,
        at: None,
        after: Vec::new(),
        output: None,
        hidden: false,
        span: value.span.clone(),
    };
    let (mut at, mut ahead) = (None, None);
    match &value.what {
        What::Text(command) => plan.command.clone_from(command),
        _ => {
            let mut fields = Fields::of(value, "a command, or a table with `command`", faults);
            plan.command = fields.required("command", "\"iperf3 -s &\"", faults)?;
            at = fields.optional::<Time>("at", faults);
            ahead = fields.optional::<bool>("ahead", faults);
            let after = fields.optional::<OneOrMore<String>>("after", faults);
            plan.after = after.map(OneOrMore::into_vec).unwrap_or_default();
            plan.output = fields.optional("output", faults);
            if let Some(port) = fields.optional("listens", faults) {
                (plan.ready, plan.service) = (Ready::Listens(port), true);
            }
            if let Some(text) = fields.optional("says", faults) {
                (plan.ready, plan.service) = (Ready::Says(text), true);
            }
            fields.finish(faults);
        }
    }
    let command = plan.command.trim();
    if let Some(rest) = command.strip_suffix('&')
        && !rest.ends_with('&')
    {
        plan.service = true;
        plan.command = rest.trim_end().into();
    }
    if plan.command.trim().is_empty() || plan.command.contains('\0') {
        faults.push(Fault::new(plan.span.clone(), "the command is empty"));
        return None;
    }
    // Services are ready when everything else begins, unless they are to wait.
    let ahead = ahead.unwrap_or(plan.service && at.is_none() && plan.after.is_empty());
    plan.at = match (ahead, at) {
        (true, None) => None,
        (true, Some(_)) => {
            let fault = Fault::new(plan.span.clone(), "either `ahead` or `at`, not both");
            faults.push(fault.help("`ahead = true` is before time zero"));
            None
        }
        (false, at) => Some(at.unwrap_or(Time::ZERO)),
    };
    Some(plan)
}

/// The jobs of plans, each with its node.
pub(crate) fn jobs(
    planner: &Planner<'_>,
    plans: Vec<(usize, CommandPlan)>,
) -> Result<Vec<Job>, Fault> {
    let shown = |member: usize| {
        let own = plans
            .iter()
            .filter(|(node, plan)| *node == member && !plan.hidden);
        own.count()
    };
    let mut numbers = vec![0; planner.lab.nodes.len()];
    let full: Vec<String> = plans
        .iter()
        .map(|(member, plan)| {
            let name = &planner.lab.nodes[*member].name;
            if plan.hidden {
                return name.clone();
            }
            let number = numbers[*member];
            numbers[*member] += 1;
            format!("{name}.{number}")
        })
        .collect();
    let mut jobs = Vec::with_capacity(plans.len());
    for (index, (member, plan)) in plans.iter().enumerate() {
        let node = &planner.lab.nodes[*member].name;
        let mut after = Vec::new();
        for name in &plan.after {
            let of_node = |other: usize| &planner.lab.nodes[plans[other].0].name == name;
            let found = (0..plans.len()).filter(|&other| full[other] == *name || of_node(other));
            let found: Vec<usize> = found.filter(|&other| other != index).collect();
            if found.is_empty() {
                let known: Vec<&str> = full.iter().map(String::as_str).collect();
                let message = format!("there is no command `{name}` to wait for");
                let fault = Fault::new(plan.span.clone(), message);
                return Err(fault.help(did_you_mean(name, &known)));
            }
            after.extend(found);
        }
        // What the lab itself starts in a node is there before the node's own commands.
        if !plan.hidden {
            let own = |other: &usize| plans[*other].0 == *member && plans[*other].1.hidden;
            after.extend((0..plans.len()).filter(own));
        }
        jobs.push(Job {
            name: if shown(*member) > 1 {
                full[index].clone()
            } else {
                node.clone()
            },
            member: *member,
            command: plan.command.clone(),
            environment: planner.environment(*member),
            service: plan.service,
            ready: plan.ready.clone(),
            at: plan.at,
            after,
            output: plan.output.as_ref().map(|file| planner.out.join(file)),
            screen: false,
            hidden: plan.hidden,
        });
    }
    if let Some(index) = in_a_circle(&jobs) {
        let span = plans[index].1.span.clone();
        return Err(Fault::new(span, "commands wait for each other in a circle"));
    }
    Ok(jobs)
}

/// A job that waits for itself.
fn in_a_circle(jobs: &[Job]) -> Option<usize> {
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    loop {
        let before = left.len();
        let waits = left.clone();
        left.retain(|&job| jobs[job].after.iter().any(|other| waits.contains(other)));
        if left.is_empty() || left.len() == before {
            return left.first().copied();
        }
    }
}
