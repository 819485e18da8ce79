//! The commands of a node: the key `run`.

use super::{Book, openvswitch};
use crate::fault::{Fault, did_you_mean};
use crate::fields::{Fields, OneOrMore, Text};
use crate::tree::{Value, What};
use live::crew::{Job, Ready};
use node::Time;
use std::ops::Range;

/// A command as the lab file has it.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
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
pub(crate) fn read(value: Option<&Value>, faults: &mut Vec<Fault>) -> Vec<Wish> {
    let Some(value) = value else {
        return Vec::new();
    };
    match &value.what {
        What::List(list) => list.iter().filter_map(|one| wish(one, faults)).collect(),
        _ => wish(value, faults).into_iter().collect(),
    }
}

fn wish(value: &Value, faults: &mut Vec<Fault>) -> Option<Wish> {
    let mut wish = Wish {
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
        What::Text(command) => wish.command.clone_from(command),
        _ => {
            let mut fields = Fields::of(value, "a command, or a table with `command`", faults);
            wish.command = fields.required("command", "\"iperf3 -s &\"", faults)?;
            at = fields.optional::<Text<Time>>("at", faults);
            ahead = fields.optional::<bool>("ahead", faults);
            let after = fields.optional::<OneOrMore<String>>("after", faults);
            wish.after = after.map(OneOrMore::into_vec).unwrap_or_default();
            wish.output = fields.optional("output", faults);
            if let Some(port) = fields.optional("listens", faults) {
                (wish.ready, wish.service) = (Ready::Listens(port), true);
            }
            if let Some(text) = fields.optional("says", faults) {
                (wish.ready, wish.service) = (Ready::Says(text), true);
            }
            fields.finish(faults);
        }
    }
    let command = wish.command.trim();
    if let Some(rest) = command.strip_suffix('&')
        && !rest.ends_with('&')
    {
        wish.service = true;
        wish.command = rest.trim_end().into();
    }
    if wish.command.trim().is_empty() || wish.command.contains('\0') {
        faults.push(Fault::new(wish.span.clone(), "there is no command here"));
        return None;
    }
    // Services are ready when everything else begins, unless they are to wait.
    let ahead = ahead.unwrap_or(wish.service && at.is_none() && wish.after.is_empty());
    wish.at = match (ahead, at) {
        (true, None) => None,
        (true, Some(_)) => {
            let fault = Fault::new(wish.span.clone(), "either `ahead` or `at`, not both");
            faults.push(fault.help("`ahead = true` is before time zero"));
            None
        }
        (false, at) => Some(at.map_or(Time::ZERO, |Text(at)| at)),
    };
    Some(wish)
}

/// Jobs from wishes, each with its node.
pub(crate) fn staff(book: &Book<'_>, wishes: Vec<(usize, Wish)>) -> Result<Vec<Job>, Fault> {
    let shown = |member: usize| {
        let own = wishes
            .iter()
            .filter(|(node, wish)| *node == member && !wish.hidden);
        own.count()
    };
    let mut numbers = vec![0; book.lab.nodes.len()];
    let full: Vec<String> = wishes
        .iter()
        .map(|(member, wish)| {
            let name = &book.lab.nodes[*member].name;
            if wish.hidden {
                return name.clone();
            }
            let number = numbers[*member];
            numbers[*member] += 1;
            format!("{name}.{number}")
        })
        .collect();
    let mut jobs = Vec::with_capacity(wishes.len());
    for (index, (member, wish)) in wishes.iter().enumerate() {
        let node = &book.lab.nodes[*member].name;
        let mut after = Vec::new();
        for name in &wish.after {
            let of_node = |other: usize| &book.lab.nodes[wishes[other].0].name == name;
            let found = (0..wishes.len()).filter(|&other| full[other] == *name || of_node(other));
            let found: Vec<usize> = found.filter(|&other| other != index).collect();
            if found.is_empty() {
                let known: Vec<&str> = full.iter().map(String::as_str).collect();
                let message = format!("there is no command `{name}` to wait for");
                let fault = Fault::new(wish.span.clone(), message);
                return Err(fault.help(did_you_mean(name, &known)));
            }
            after.extend(found);
        }
        // What the lab itself starts in a node is there before the node's own commands.
        if !wish.hidden {
            let own = |other: &usize| wishes[*other].0 == *member && wishes[*other].1.hidden;
            after.extend((0..wishes.len()).filter(own));
        }
        jobs.push(Job {
            name: if shown(*member) > 1 {
                full[index].clone()
            } else {
                node.clone()
            },
            member: *member,
            command: wish.command.clone(),
            environment: openvswitch::environment(book, *member),
            service: wish.service,
            ready: wish.ready.clone(),
            at: wish.at,
            after,
            output: wish.output.as_ref().map(|file| book.out.join(file)),
            screen: false,
            hidden: wish.hidden,
        });
    }
    if let Some(index) = in_a_circle(&jobs) {
        let span = wishes[index].1.span.clone();
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
