//! The sections that say where to look: `[[measure]]`, `[[capture]]`, `[[plot]]`, and what recording
//! nodes keep.

use crate::bandwidth;
use crate::fault::Fault;
use crate::fields::{Fields, OneOrMore};
use crate::file::{Reader, end_of};
use crate::kind::at_key;
use crate::plan::{
    BitsPlan, CapturePlan, DaemonPlan, Lab, LinkPlan, Location, NetworkEffectPlan, OffsetsPlan,
    PlotKind, PlotPlan, Published, View,
};
use crate::tree::{Entry, Value, What};
use node::outcome::Direction;
use node::{End, Level, Time};
use nodes::dtp;
use serde::Deserialize;
use std::ops::Range;

/// The endings of capture files that can be written.
const CAPTURES: &[&str] = &["pcapng", "pcap"];
/// The endings of captures of a link.
const STREAMS: &[&str] = &["pcapng", "pcap", "phy"];

/// A lab of so many links that does not say where to measure measures at every port.
const SMALL: usize = 8;

impl Reader<'_> {
    /// The keys by which a recording node keeps what it sees.
    pub(crate) fn node_capture(&mut self, lab: &mut Lab, view: usize, section: &mut Value) {
        let resolution = section.take("resolution").map(|entry| entry.value.read());
        let resolution = match resolution.transpose() {
            Ok(resolution) => resolution,
            Err(fault) => return self.faults.push(fault),
        };
        let Some(entry) = section.take("file") else {
            return;
        };
        match entry.value.read::<String>() {
            Ok(file) => {
                self.file_name(&file, &entry.value, CAPTURES);
                lab.captures.push(CapturePlan {
                    file,
                    views: vec![view],
                    resolution,
                });
            }
            Err(fault) => self.faults.push(fault),
        }
    }

    /// Refuses a name whose ending does not tell the format.
    fn file_name(&mut self, file: &str, value: &Value, endings: &[&str]) {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !endings.contains(&ending) {
            let message = format!("the ending of \"{file}\" tells no format");
            let known = endings.join(", .");
            self.faults
                .push(Fault::new(value.span.clone(), message).help(format!("use .{known}")));
        }
    }

    /// The places that a section looks at.
    pub(crate) fn views(&mut self, lab: &mut Lab, fields: &mut Fields<'_>) -> Vec<usize> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Seen {
            #[default]
            In,
            Out,
            Both,
        }
        let at = fields.required::<OneOrMore<String>>("at", "\"a.0\"", &mut self.faults);
        let span = fields.value("at").map_or(0..0, |value| value.span.clone());
        let seen = fields
            .optional("direction", &mut self.faults)
            .unwrap_or(Seen::In);
        let mut views = Vec::new();
        for name in at.map(OneOrMore::into_vec).unwrap_or_default() {
            if let Some(&node) = self.names.get(&name) {
                if lab.nodes[node].kind.records {
                    views.push(self.view(lab, name, Location::Node(node)));
                } else {
                    let message = format!("`{name}` is a node: name one of its ports");
                    let fault = Fault::new(span.clone(), message);
                    self.faults.push(fault.help(format!("write `{name}.0`")));
                }
                continue;
            }
            let end = end_of(&name, &self.names).and_then(|end| {
                self.link_at(end).ok_or_else(|| {
                    let fault = Fault::new(0..0, format!("no link ends at `{name}`"));
                    fault.help("look at a port that a [[link]] names")
                })
            });
            match end {
                Err(mut fault) => {
                    fault.span = span.clone();
                    self.faults.push(fault);
                }
                Ok((link, arriving, leaving)) => {
                    if matches!(seen, Seen::In | Seen::Both) {
                        views.push(self.view(lab, name.clone(), Location::Link(link, arriving)));
                    }
                    if matches!(seen, Seen::Out | Seen::Both) {
                        views.push(self.view(
                            lab,
                            format!("{name} out"),
                            Location::Link(link, leaving),
                        ));
                    }
                }
            }
        }
        views
    }

    pub(crate) fn capture(&mut self, lab: &mut Lab, section: &Value) {
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let views = self.views(lab, &mut fields);
        let file: Option<String> = fields.required("file", "\"out/a.pcapng\"", &mut self.faults);
        let resolution = fields.optional("resolution", &mut self.faults);
        if let (Some(file), Some(value)) = (file, fields.value("file")) {
            if file.ends_with(".phy") {
                self.bits(lab, file, &views, value);
            } else {
                self.file_name(&file, value, STREAMS);
                lab.captures.push(CapturePlan {
                    file,
                    views,
                    resolution,
                });
            }
        }
        fields.finish(&mut self.faults);
    }

    /// A capture of the blocks themselves.
    fn bits(&mut self, lab: &mut Lab, file: String, views: &[usize], value: &Value) {
        let fault = |message| Fault::new(value.span.clone(), message);
        let [view] = views else {
            if !views.is_empty() {
                let fault = fault("a bit stream is of one port, in one direction");
                self.faults.push(fault.help("write a [[capture]] for each"));
            }
            return;
        };
        match lab.views[*view].location {
            Location::Link(link, direction)
                if lab.links[link].link.channels[direction.index()].level != Level::Frame =>
            {
                lab.bits.push(BitsPlan {
                    file,
                    link,
                    direction,
                });
            }
            _ => {
                let fault = fault("only a link at the level of blocks has a bit stream");
                let help = "give the link `level = \"block\"`, or capture frames, in a .pcapng";
                self.faults.push(fault.help(help));
            }
        }
    }

    pub(crate) fn plot(&mut self, lab: &mut Lab, section: &Value) {
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let views = self.views(lab, &mut fields);
        let file: Option<String> = fields.required("file", "\"out/a.png\"", &mut self.faults);
        let title = fields.optional("title", &mut self.faults);
        // One or several, each of which is told by its name if it is not known.
        let is_list = matches!(
            fields.value("kind").map(|value| &value.what),
            Some(What::List(_))
        );
        let kinds: Option<Vec<PlotKind>> = match is_list {
            true => fields.optional("kind", &mut self.faults),
            false => fields
                .optional("kind", &mut self.faults)
                .map(|kind| vec![kind]),
        };
        let usual = kinds.is_none();
        let kinds = kinds.unwrap_or(PlotKind::USUAL.to_vec());
        if kinds.contains(&PlotKind::Cwnd) {
            keep_windows(lab, &views);
        }
        if let (Some(file), Some(value)) = (file, fields.value("file")) {
            self.file_name(&file, value, &["png", "svg"]);
            let title = title.unwrap_or_else(|| lab.name.clone());
            lab.plots.push(PlotPlan {
                file,
                title,
                views,
                kinds,
                usual,
            });
        }
        fields.finish(&mut self.faults);
    }

    /// What a node's table `dtp` says.
    pub(crate) fn dtp(&mut self, value: &Value) -> Option<(dtp::Config, Range<usize>)> {
        let read = value.read::<dtp::Config>().and_then(|config| {
            let checked = config.check().map_err(|error| at_key(value, error));
            checked.map(|()| (config, value.span.clone()))
        });
        read.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Where frames come by one after the other.
    pub(crate) fn journeys(&mut self, lab: &mut Lab, section: &Value) {
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let views = self.views(lab, &mut fields);
        let others = views
            .iter()
            .filter(|&&view| matches!(lab.views[view].location, Location::Node(_)));
        if others.count() > 0 || views.len() < 2 {
            let message = "frames go from port to port: name two or more, in their order";
            let fault = Fault::new(section.span.clone(), message);
            self.faults.push(fault.help("at = [\"a.0\", \"b.1\"]"));
        }
        fields.finish(&mut self.faults);
        lab.journeys.push(views);
    }

    /// The section `[network_effect]`.
    pub(crate) fn network_effect(&mut self, lab: &mut Lab, section: &Value) {
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let name: Option<String> = fields.optional("reference", &mut self.faults);
        let from = fields.optional("from", &mut self.faults);
        let is_one = |node: usize| {
            let plan = &lab.nodes[node];
            plan.kind.has_peers && plan.config.get("peers").is_some()
        };
        let mut clocks = (0..lab.nodes.len()).filter(|&node| is_one(node));
        let reference = match &name {
            None => clocks.next(),
            Some(name) => self.names.get(name).copied().filter(|&node| is_one(node)),
        };
        match reference {
            Some(reference) => {
                lab.network_effect = Some(NetworkEffectPlan {
                    reference,
                    from: from.unwrap_or_default(),
                });
            }
            None => {
                let value = fields.value("reference");
                let span = value.map_or(&section.span, |value| &value.span);
                let message = match &name {
                    Some(name) => format!("`{name}` is no node of kind `huygens` with `peers`"),
                    None => "there is no node of kind `huygens` with `peers`".into(),
                };
                let fault = Fault::new(span.clone(), message);
                self.faults.push(fault.help(
                    "peers = [\"198.18.0.2\"]: against whom a clock is measured; [] if only others ask",
                ));
            }
        }
        fields.finish(&mut self.faults);
    }

    /// How clocks are compared.
    pub(crate) fn offsets(&mut self, lab: &mut Lab, section: &Value) {
        let usual = OffsetsPlan::default();
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let every: Option<Time> = fields.optional("every", &mut self.faults);
        let from = fields.optional("from", &mut self.faults);
        let file: Option<String> = fields.optional("file", &mut self.faults);
        let published: Option<Published> = fields.optional("published", &mut self.faults);
        let daemon: Option<DaemonPlan> = fields.optional("daemon", &mut self.faults);
        if let (Some(plan), Some(value)) = (&daemon, fields.value("daemon")) {
            let wrong = match plan {
                plan if plan.every == Time::ZERO => Some(("every", "more than 0")),
                plan if !(1..=64).contains(&plan.window) => Some(("window", "1 to 64 readings")),
                plan if !(0.0..=1.0).contains(&plan.spikes) => Some(("spikes", "0 to 1")),
                _ => None,
            };
            if let Some((key, reason)) = wrong {
                let span = value.get(key).map_or(&value.span, |value| &value.span);
                let message = format!("`{key}` of a daemon is {reason}");
                self.faults.push(Fault::new(span.clone(), message));
            }
            if let (Some(file), Some(value)) = (&plan.file, value.get("file")) {
                self.file_name(file, value, &["png", "svg"]);
            }
        }
        if let (Some(Time::ZERO), Some(value)) = (every, fields.value("every")) {
            let message = "from one look at the clocks to the next some time passes";
            self.faults.push(Fault::new(value.span.clone(), message));
        }
        if let (Some(file), Some(value)) = (&file, fields.value("file")) {
            self.file_name(file, value, &["png", "svg"]);
        }
        fields.finish(&mut self.faults);
        if lab.nodes.iter().all(|plan| plan.dtp.is_none()) {
            let fault = Fault::new(section.span.clone(), "no node has a clock to be compared");
            self.faults.push(fault.help("give nodes `dtp = {}`"));
        }
        lab.offsets = OffsetsPlan {
            every: every.unwrap_or(usual.every),
            from: from.unwrap_or(usual.from),
            file,
            published: published.unwrap_or_default(),
            daemon,
        };
    }

    /// The pictures of what probers estimated.
    pub(crate) fn bandwidth(&mut self, lab: &mut Lab, section: &Value) {
        match section.read::<bandwidth::Plan>() {
            Ok(plan) => lab.bandwidth = plan,
            Err(fault) => return self.faults.push(fault),
        }
        for key in ["figure", "points"] {
            if let Some(value) = section.get(key) {
                let file: String = value.read().unwrap_or_default();
                self.file_name(&file, value, &["png", "svg"]);
            }
        }
        let is_prober = |name: &String| {
            let node = self.names.get(name);
            node.is_some_and(|&node| lab.nodes[node].kind.estimates)
        };
        let unknown = lab.bandwidth.points_of.iter();
        let unknown: Vec<&String> = unknown.filter(|name| !is_prober(name)).collect();
        let faults = unknown.into_iter().map(|name| {
            let message = format!("there is no prober called `{name}`");
            Fault::new(section.span.clone(), message)
        });
        self.faults.extend(faults);
    }

    /// The index of a view, which is made if it is not there yet.
    pub(crate) fn view(&mut self, lab: &mut Lab, label: String, location: Location) -> usize {
        *self.places.entry(location).or_insert_with(|| {
            lab.views.push(View { label, location });
            lab.views.len() - 1
        })
    }

    /// The link at a port, the direction that arrives there, and the one that leaves.
    fn link_at(&self, end: End) -> Option<(usize, Direction, Direction)> {
        let &(link, end) = self.ends.get(&end)?;
        let [forth, back] = Direction::BOTH;
        Some(if end == 0 {
            (link, back, forth)
        } else {
            (link, forth, back)
        })
    }

    /// A small lab that does not say what it measures measures what arrives at each port. A large one that `shows` nothing else has a note.
    pub(crate) fn measure_all(&mut self, lab: &mut Lab, shows: bool) {
        if !lab.views.is_empty() {
            return;
        }
        if lab.links.len() > SMALL {
            if !shows && lab.generators().next().is_some() {
                lab.notes.push(format!(
                    "nothing was measured: a lab of more than {SMALL} links says where, \
                     as by [[measure]] with at = [\"{}\"]",
                    lab.links[0].names[1],
                ));
            }
            return;
        }
        // What OFLOPS sees it tells itself, and more of it.
        let measures = |end: &End| lab.nodes[end.node.0].kind.measures;
        let others = |link: &LinkPlan| !link.link.ends.iter().any(measures);
        let others: Vec<bool> = lab.links.iter().map(others).collect();
        for (link, _) in others.iter().enumerate().filter(|(_, other)| **other) {
            for direction in Direction::BOTH {
                let label = lab.links[link].names[1 - direction.index()].clone();
                self.view(lab, label, Location::Link(link, direction));
            }
        }
    }
}

/// Has the hosts at some places keep their congestion windows.
fn keep_windows(lab: &mut Lab, views: &[usize]) {
    for view in views {
        let Location::Link(link, direction) = lab.views[*view].location else {
            continue;
        };
        let end = lab.links[link].link.ends[1 - direction.index()];
        let node = &mut lab.nodes[end.node.0];
        let span = node.span.clone();
        if let (true, What::Table(entries)) = (node.kind.is_host, &mut node.config.what)
            && !entries.iter().any(|entry| entry.key == "windows")
        {
            entries.push(Entry {
                key: "windows".into(),
                key_span: span.clone(),
                value: Value {
                    span,
                    what: What::Flag(true),
                },
            });
        }
    }
}
