//! Networks by a generator: `[topology]` stands for nodes and links.
//!
//! What it makes are sections as one would write them: switches `s1`, `s2` ..., hosts `h1`, `h2` ..., the names that users of
//! Mininet know, and links between their ports. A `[node.h1]` in the file adds to the host that was made, and replaces what
//! it says itself.

mod controller;
mod graphml;
mod shapes;

use crate::expand::substitute;
use crate::fault::{Fault, did_you_mean};
use crate::fields::Fields;
use crate::tree::{Entry, Value, What};
use node::random::Random;
use shapes::{Shape, Tier};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::path::Path;

const KINDS: [&str; 6] = ["single", "linear", "tree", "fat-tree", "random", "graphml"];
const EXAMPLE: &str = "\"fat-tree\"";

/// What a topology stands for.
#[derive(Default)]
pub(crate) struct Generated {
    pub nodes: Vec<(String, Value)>,
    pub links: Vec<Value>,
    /// For the report.
    pub notes: Vec<String>,
    pub span: Range<usize>,
    /// What the switches' links to their controller are like, if the network has one.
    control: Option<controller::Control>,
}

/// Reads the section; faults are noted, and then nothing is generated.
pub(crate) fn read(
    section: &Value,
    seed: u64,
    folder: Option<&Path>,
    most: usize,
    faults: &mut Vec<Fault>,
) -> Generated {
    let before = faults.len();
    let mut fields = Fields::of(section, "a table", faults);
    let kind: Option<String> = fields.required("kind", EXAMPLE, faults);
    let kind_span = fields
        .value("kind")
        .map_or(0..0, |value| value.span.clone());
    let number = |fields: &mut Fields<'_>, key, usual: u64, least: u64, faults: &mut Vec<Fault>| {
        let value: Option<u64> = fields.optional(key, faults);
        let count = value.unwrap_or(usual);
        if !(least..=most as u64).contains(&count)
            && let Some(value) = fields.value(key)
        {
            let fault = Fault::new(
                value.span.clone(),
                format!("`{key}` is from {least} to {most}"),
            );
            faults.push(fault.help("write a number in between"));
        }
        count.clamp(least, most as u64) as usize
    };
    let shape = match kind.as_deref() {
        Some("single") => Some(shapes::single(number(&mut fields, "hosts", 2, 1, faults))),
        Some("linear") => {
            let switches = number(&mut fields, "switches", 2, 1, faults);
            let hosts = number(&mut fields, "hosts", 1, 0, faults);
            shapes::linear(switches, hosts, most)
        }
        Some("tree") => {
            let depth = number(&mut fields, "depth", 2, 1, faults);
            let fanout = number(&mut fields, "fanout", 2, 1, faults);
            shapes::tree(depth, fanout, most)
        }
        Some("fat-tree") => {
            let k = number(&mut fields, "k", 4, 2, faults);
            if k % 2 == 1
                && let Some(value) = fields.value("k")
            {
                let fault = Fault::new(value.span.clone(), "a fat tree's k is even");
                faults.push(fault.help(format!("write {} or {}", k - 1, k + 1)));
            }
            shapes::fat_tree(k / 2 * 2, most)
        }
        Some("random") => {
            let switches = number(&mut fields, "switches", 10, 1, faults);
            let hosts = number(&mut fields, "hosts", 1, 0, faults);
            let degree: Option<f64> = fields.optional("degree", faults);
            let own: Option<u64> = fields.optional("seed", faults);
            let degree = degree.unwrap_or(3.0);
            let mut random = Random::new(own.unwrap_or(seed));
            shapes::random(switches, hosts, degree, &mut random, most)
        }
        Some("graphml") => {
            let hosts = number(&mut fields, "hosts", 1, 0, faults);
            let file: Option<String> = fields.required("file", "\"Abilene.graphml\"", faults);
            let span = fields
                .value("file")
                .map_or(0..0, |value| value.span.clone());
            let shape = file.map(|file| match folder {
                // What serves for any file.
                None => Ok(shapes::single(2)),
                Some(folder) => {
                    let path = folder.join(file);
                    let read = graphml::read(&path, hosts, most);
                    read.map_err(|error| format!("{}: {error}", path.display()))
                }
            });
            match shape {
                Some(Err(message)) => {
                    faults.push(Fault::new(span, message));
                    Some(Shape::default())
                }
                Some(Ok(shape)) => Some(shape),
                None => Some(Shape::default()),
            }
        }
        Some(other) => {
            let message = format!("there is no topology called `{other}`");
            faults.push(Fault::new(kind_span, message).help(did_you_mean(other, &KINDS)));
            return Generated::default();
        }
        None => Some(Shape::default()),
    };
    let templates = Templates::read(&mut fields, faults);
    let controller = controller::read(&mut fields, faults);
    fields.finish(faults);
    let Some(shape) = shape else {
        let fault = Fault::new(
            section.span.clone(),
            format!("more than {most} nodes or links"),
        );
        faults.push(fault.help("make it smaller"));
        return Generated::default();
    };
    if faults.len() > before {
        return Generated::default();
    }
    let mut generated = Generated {
        span: section.span.clone(),
        ..Generated::default()
    };
    let switches = shape.switches;
    templates.fill(shape, &mut generated, faults);
    if let Some((node, control)) = controller {
        generated.nodes.push((controller::NAME.into(), node));
        generated.control = Some(control);
        generated.name_datapaths(switches);
    }
    generated
}

/// What stands for each node and link.
struct Templates {
    span: Range<usize>,
    host: Value,
    switch: Value,
    /// For all links, and by tier.
    link: Vec<Entry>,
    tiers: [Vec<Entry>; 3],
    network: (u32, u8),
    cut: bool,
}

impl Templates {
    fn read(fields: &mut Fields<'_>, faults: &mut Vec<Fault>) -> Templates {
        let mut table = |key, faults: &mut Vec<Fault>| {
            table(fields, key, faults).unwrap_or_else(|| Value {
                span: 0..0,
                what: What::Table(Vec::new()),
            })
        };
        let host = table("host", faults);
        let switch = table("switch", faults);
        let link = entries(table("link", faults));
        let tiers = ["access", "aggregation", "core"].map(|tier| entries(table(tier, faults)));
        let network: Option<String> = fields.optional("address", faults);
        let network = network.as_deref().unwrap_or("10.0.0.0/8");
        let read = network.split_once('/').and_then(|(address, prefix)| {
            let address: Ipv4Addr = address.parse().ok()?;
            let prefix: u8 = prefix
                .parse()
                .ok()
                .filter(|prefix| (1..=30).contains(prefix))?;
            Some((address.to_bits(), prefix))
        });
        if read.is_none()
            && let Some(value) = fields.value("address")
        {
            let fault = Fault::new(value.span.clone(), "not a network of IPv4");
            faults.push(fault.help("write one with room for all hosts, such as \"10.0.0.0/8\""));
        }
        let loops: Option<String> = fields.optional("loops", faults);
        let cut = match loops.as_deref() {
            None | Some("cut") => true,
            Some("keep") => false,
            Some(_) => {
                let span = fields
                    .value("loops")
                    .map_or(0..0, |value| value.span.clone());
                let fault = Fault::new(span, "loops are kept, or cut");
                faults.push(fault.help("write `loops = \"cut\"` or `loops = \"keep\"`"));
                true
            }
        };
        Templates {
            span: 0..0,
            host,
            switch,
            link,
            tiers,
            network: read.unwrap_or((0x0A00_0000, 8)),
            cut,
        }
    }

    fn fill(mut self, mut shape: Shape, generated: &mut Generated, faults: &mut Vec<Fault>) {
        self.span = generated.span.clone();
        let all = shape.trunks.len();
        if self.cut {
            cut_loops(&mut shape);
            let gone = all - shape.trunks.len();
            if gone > 0 {
                generated.notes.push(format!(
                    "topology: {gone} of {all} links between switches are left out, so that there is no loop; \
                     `loops = \"keep\"` keeps them"
                ));
            }
        }
        let mut ports = vec![0u64; shape.switches];
        let mut port = |switch: usize| {
            ports[switch] += 1;
            format!("s{}.{}", switch + 1, ports[switch] - 1)
        };
        let mut links = Vec::new();
        for (host, &switch) in shape.hosts.iter().enumerate() {
            let ends = [format!("h{}.0", host + 1), port(switch)];
            links.push(self.link(ends, Tier::Access, &[]));
        }
        for trunk in &shape.trunks {
            let ends = [port(trunk.ends[0]), port(trunk.ends[1])];
            let mut own = Vec::new();
            own.extend(trunk.rate.as_ref().map(|rate| ("rate", rate.clone())));
            own.extend(trunk.delay.as_ref().map(|delay| ("delay", delay.clone())));
            links.push(self.link(ends, trunk.tier, &own));
        }
        generated.links = links;
        let (base, prefix) = self.network;
        let room = (1u64 << (32 - prefix)) - 2;
        if shape.hosts.len() as u64 > room {
            let message = format!(
                "{} hosts do not fit into a network /{prefix}",
                shape.hosts.len()
            );
            faults.push(Fault::new(self.span.clone(), message).help("make `address` wider"));
            return;
        }
        let mask = u32::MAX << (32 - prefix);
        for host in 1..=shape.hosts.len() {
            let address = Ipv4Addr::from_bits((base & mask) + host as u32);
            let usual = [
                ("kind", What::Text("host".into())),
                ("address", What::Text(format!("{address}/{prefix}"))),
            ];
            match self.node(&self.host, host, usual) {
                Ok(node) => generated.nodes.push((format!("h{host}"), node)),
                Err(fault) => return faults.push(fault),
            }
        }
        for (switch, &ports) in ports.iter().enumerate() {
            let usual = [
                ("kind", What::Text("switch".into())),
                ("ports", What::Integer(ports.max(1) as i64)),
            ];
            match self.node(&self.switch, switch + 1, usual) {
                Ok(node) => generated.nodes.push((format!("s{}", switch + 1), node)),
                Err(fault) => return faults.push(fault),
            }
        }
    }

    /// A node from its template, and what that leaves out.
    fn node(
        &self,
        template: &Value,
        number: usize,
        usual: [(&str, What); 2],
    ) -> Result<Value, Fault> {
        let mut node = substitute(template, number as u64)?;
        node.span = self.span.clone();
        let [kind, other] = usual;
        // An address is for those that take one; another kind says itself what it needs.
        let own = node.get("kind").and_then(|kind| kind.read::<String>().ok());
        let same =
            other.0 == "ports" || own.is_none_or(|own| ["host", "process"].contains(&own.as_str()));
        let missing = [Some(kind), same.then_some(other)];
        for (key, what) in missing.into_iter().flatten() {
            if node.get(key).is_none() {
                node.put(entry(key, what, &self.span));
            }
        }
        Ok(node)
    }

    fn link(&self, ends: [String; 2], tier: Tier, own: &[(&str, String)]) -> Value {
        let text = |text: String| Value {
            span: self.span.clone(),
            what: What::Text(text),
        };
        let ends = What::List(ends.map(text).into());
        let mut link = Value {
            span: self.span.clone(),
            what: What::Table(vec![entry("ends", ends, &self.span)]),
        };
        for (key, value) in own {
            link.put(entry(key, What::Text(value.clone()), &self.span));
        }
        for entry in self.link.iter().chain(&self.tiers[tier as usize]) {
            link.put(entry.clone());
        }
        link
    }
}

/// The table of a key, if it is there.
fn table(fields: &mut Fields<'_>, key: &'static str, faults: &mut Vec<Fault>) -> Option<Value> {
    let value = fields.value(key)?;
    if let What::Table(_) = value.what {
        return Some(value.clone());
    }
    let fault = Fault::new(value.span.clone(), format!("`{key}` is a table"));
    faults.push(fault.help(format!("write [topology.{key}]")));
    None
}

fn entries(table: Value) -> Vec<Entry> {
    match table.what {
        What::Table(entries) => entries,
        _ => Vec::new(),
    }
}

fn entry(key: &str, what: What, span: &Range<usize>) -> Entry {
    Entry {
        key: key.into(),
        key_span: span.clone(),
        value: Value {
            span: span.clone(),
            what,
        },
    }
}

/// Keeps of the links between switches those of a tree of shortest ways from the first.
fn cut_loops(shape: &mut Shape) {
    let mut links = vec![Vec::new(); shape.switches];
    for (index, trunk) in shape.trunks.iter().enumerate() {
        let [a, b] = trunk.ends;
        links[a].push((index, b));
        links[b].push((index, a));
    }
    let mut seen = vec![false; shape.switches];
    let mut keep = vec![false; shape.trunks.len()];
    for root in 0..shape.switches {
        let mut queue = VecDeque::from([root]);
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some(at) = queue.pop_front() {
            for &(link, to) in &links[at] {
                if !std::mem::replace(&mut seen[to], true) {
                    keep[link] = true;
                    queue.push_back(to);
                }
            }
        }
    }
    let mut kept = keep.into_iter();
    shape.trunks.retain(|_| kept.next() == Some(true));
}

impl Generated {
    /// Puts what the file itself says of generated nodes into them; tells whether this was such a node.
    pub fn merge(&mut self, name: &str, section: &Value) -> bool {
        let Some((_, node)) = self.nodes.iter_mut().find(|(made, _)| made == name) else {
            return false;
        };
        if let What::Table(entries) = &section.what {
            for entry in entries {
                node.put(entry.clone());
            }
        }
        true
    }
}

impl Value {
    /// Puts a key into a table, in place of the one of this name.
    pub fn put(&mut self, entry: Entry) {
        let What::Table(entries) = &mut self.what else {
            return;
        };
        match entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
    }
}
