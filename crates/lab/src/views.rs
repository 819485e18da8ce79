//! The sections that say where to look: `[[measure]]`, `[[capture]]`, `[[plot]]`, and what recording
//! nodes keep.

use crate::fault::{Fault, nearest};
use crate::fields::{Fields, OneOrMore};
use crate::plan::instrument::Reading;
use crate::plan::{BitsPlan, CapturePlan, Lab, LinkPlan, Location, PlotKind, PlotPlan, View};
use crate::tree::{Entry, Value, What};
use node::outcome::Direction;
use node::{End, Level, NodeId, Port};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The endings of capture files that can be written.
const CAPTURES: &[&str] = &["pcapng", "pcap"];
/// The endings of captures of a link.
const STREAMS: &[&str] = &["pcapng", "pcap", "phy"];

/// The beginning of a link's end that is a port of the machine.
pub(crate) const OUTSIDE: &str = "port:";

/// A lab of so many links that does not say where to measure measures at every port.
const SMALL: usize = 8;
/// Maximum number of places of a plot without `at`.
const MAX_PLACES: usize = 16;

impl Reading<'_> {
    /// The keys by which a recording node keeps what it sees.
    pub(crate) fn node_capture(&mut self, view: usize, section: &mut Value) {
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
                self.lab.captures.push(CapturePlan {
                    file,
                    views: vec![view],
                    resolution,
                });
            }
            Err(fault) => self.faults.push(fault),
        }
    }

    /// Refuses a name whose ending does not tell the format.
    pub(crate) fn file_name(&mut self, file: &str, value: &Value, endings: &[&str]) {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !endings.contains(&ending) {
            let message = format!("the ending of \"{file}\" tells no format");
            let known = endings.join(", .");
            self.faults
                .push(Fault::new(value.span.clone(), message).help(format!("use .{known}")));
        }
    }

    /// The places that a section looks at.
    pub(crate) fn views(&mut self, fields: &mut Fields<'_>) -> Vec<usize> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Seen {
            #[default]
            In,
            Out,
            Both,
        }
        let at = fields.required::<OneOrMore<String>>("at", "\"a.0\"", self.faults);
        let span = fields.value("at").map_or(0..0, |value| value.span.clone());
        let seen = fields
            .optional("direction", self.faults)
            .unwrap_or(Seen::In);
        let mut views = Vec::new();
        for name in at.map(OneOrMore::into_vec).unwrap_or_default() {
            if let Some(&node) = self.names.get(&name) {
                if self.lab.nodes[node].kind.records {
                    views.push(self.view(name, Location::Node(node)));
                } else {
                    let message = format!("`{name}` is a node: name one of its ports");
                    let fault = Fault::new(span.clone(), message);
                    self.faults.push(fault.help(format!("write `{name}.0`")));
                }
                continue;
            }
            let end = end_of(&name, self.names).and_then(|end| {
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
                        views.push(self.view(name.clone(), Location::Link(link, arriving)));
                    }
                    if matches!(seen, Seen::Out | Seen::Both) {
                        views.push(self.view(format!("{name} out"), Location::Link(link, leaving)));
                    }
                }
            }
        }
        views
    }

    pub(crate) fn capture(&mut self, section: &Value) {
        let mut fields = Fields::of(section, "a table", self.faults);
        let views = self.views(&mut fields);
        let file: Option<String> = fields.required("file", "\"out/a.pcapng\"", self.faults);
        let resolution = fields.optional("resolution", self.faults);
        if let (Some(file), Some(value)) = (file, fields.value("file")) {
            if file.ends_with(".phy") {
                self.bits(file, &views, value);
            } else {
                self.file_name(&file, value, STREAMS);
                self.lab.captures.push(CapturePlan {
                    file,
                    views,
                    resolution,
                });
            }
        }
        fields.finish(self.faults);
    }

    /// The section `[[measure]]`.
    pub(crate) fn measure(&mut self, section: &Value) {
        let mut fields = Fields::of(section, "a table", self.faults);
        self.views(&mut fields);
        self.lab.measures = true;
        fields.finish(self.faults);
    }

    /// A capture of the blocks themselves.
    fn bits(&mut self, file: String, views: &[usize], value: &Value) {
        let fault = |message| Fault::new(value.span.clone(), message);
        let [view] = views else {
            if !views.is_empty() {
                let fault = fault("a bit stream is of one port, in one direction");
                self.faults.push(fault.help("write a [[capture]] for each"));
            }
            return;
        };
        match self.lab.views[*view].location {
            Location::Link(link, direction)
                if self.lab.links[link].link.channels[direction.index()].level != Level::Frame =>
            {
                self.lab.bits.push(BitsPlan {
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

    pub(crate) fn plot(&mut self, section: &Value) {
        let mut fields = Fields::of(section, "a table", self.faults);
        let file: Option<String> = fields.required("file", "\"out/a.png\"", self.faults);
        let title = fields.optional("title", self.faults);
        // One or several, each of which is told by its name if it is not known.
        let is_list = matches!(
            fields.value("kind").map(|value| &value.what),
            Some(What::List(_))
        );
        let kinds: Option<Vec<PlotKind>> = match is_list {
            true => fields.optional("kind", self.faults),
            false => fields.optional("kind", self.faults).map(|kind| vec![kind]),
        };
        let usual = kinds.is_none();
        let kinds = kinds.unwrap_or(PlotKind::USUAL.to_vec());
        let views = match fields.value("at") {
            Some(_) => self.views(&mut fields),
            None => self.places_of(&kinds, &section.span),
        };
        if [PlotKind::Cwnd, PlotKind::Rtt]
            .iter()
            .any(|kind| kinds.contains(kind))
        {
            keep_windows(self.lab, &views);
        }
        if let (Some(file), Some(value)) = (file, fields.value("file")) {
            self.file_name(&file, value, &["png", "svg"]);
            let title = title.unwrap_or_else(|| self.lab.name.clone());
            self.lab.plots.push(PlotPlan {
                file,
                title,
                views,
                kinds,
                usual,
            });
        }
        fields.finish(self.faults);
    }

    /// The places that a plot of these kinds shows where the section names none: of windows and round trips the ports of hosts, of queues the links
    /// with a queue discipline, if there are any, and else what arrives at each port.
    fn places_of(&mut self, kinds: &[PlotKind], span: &Range<usize>) -> Vec<usize> {
        let is_all = |of: &[PlotKind]| kinds.iter().all(|kind| of.contains(kind));
        let of_hosts = is_all(&[PlotKind::Cwnd, PlotKind::Rtt]);
        let of_queues = is_all(&[PlotKind::Queue]);
        let lab = &*self.lab;
        let has_queue =
            |link: usize, way: Direction| lab.links[link].disciplines[way.index()].is_some();
        let ways = (0..lab.links.len()).flat_map(|link| Direction::BOTH.map(|way| (link, way)));
        let with_queue = of_queues && ways.clone().any(|(link, way)| has_queue(link, way));
        let places: Vec<_> = ways
            .filter(|&(link, way)| {
                let end = lab.links[link].link.ends[1 - way.index()];
                (!of_hosts || lab.nodes[end.node.0].kind.is_host)
                    && (!with_queue || has_queue(link, way))
            })
            .map(|(link, way)| (lab.links[link].names[1 - way.index()].clone(), link, way))
            .collect();
        if places.is_empty() || places.len() > MAX_PLACES {
            let what = if of_hosts {
                "ports of hosts"
            } else {
                "directions of links"
            };
            let message = format!("a plot without `at`: there are {} {what}", places.len());
            let help = format!(
                "write a [[plot]] with `at`, or leave it out where there are 1 to {MAX_PLACES}"
            );
            self.faults
                .push(Fault::new(span.clone(), message).help(help));
            return Vec::new();
        }
        let places = places.into_iter();
        places
            .map(|(name, link, way)| self.view(name, Location::Link(link, way)))
            .collect()
    }

    /// The index of a view, which is made if it is not there yet.
    pub(crate) fn view(&mut self, label: String, location: Location) -> usize {
        *self.places.entry(location).or_insert_with(|| {
            self.lab.views.push(View { label, location });
            self.lab.views.len() - 1
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
    pub(crate) fn measure_all(&mut self, shows: bool) {
        let lab = &mut *self.lab;
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
                let label = self.lab.links[link].names[1 - direction.index()].clone();
                self.view(label, Location::Link(link, direction));
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

/// Finds `sw.1`. A fault has no place yet.
pub(crate) fn end_of(text: &str, index: &BTreeMap<String, usize>) -> Result<End, Fault> {
    let wrong = |message: String| Fault::new(0..0, message);
    if let (true, Some(&node)) = (text.starts_with(OUTSIDE), index.get(text)) {
        let (node, port) = (NodeId(node), Port(0));
        return Ok(End { node, port });
    }
    let Some((name, port)) = text.rsplit_once('.') else {
        let fault = wrong(format!("`{text}` is not a port"));
        return Err(fault.help("a port is a node's name, a dot, and a number from 0: `sw.1`"));
    };
    let Some(&node) = index.get(name) else {
        let fault = wrong(format!("there is no node called `{name}`"));
        let near = nearest(name, index.keys().map(String::as_str));
        return Err(match near {
            Some(near) => fault.help(format!("did you mean `{near}.{port}`?")),
            None => fault.help(format!("add `[node.{name}]`")),
        });
    };
    let port = port.parse().map(Port).map_err(|_| {
        let fault = wrong(format!("`{port}` is not a port number"));
        fault.help("ports are counted from 0, up to 65535")
    })?;
    Ok(End {
        node: NodeId(node),
        port,
    })
}
