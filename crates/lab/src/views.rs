//! The sections that say where to look: `[[measure]]`, `[[capture]]`, `[[plot]]`, and what recording
//! nodes keep.

use crate::fault::Fault;
use crate::fields::{Fields, OneOrMore};
use crate::file::{Reader, end_of};
use crate::plan::{BitsPlan, CapturePlan, Lab, LinkPlan, Place, PlotPlan, View};
use crate::tree::Value;
use node::outcome::Direction;
use node::{End, Level};
use serde::Deserialize;

/// The endings of capture files that can be written.
const CAPTURES: &[&str] = &["pcapng", "pcap"];
/// The endings of captures of a link.
const STREAMS: &[&str] = &["pcapng", "pcap", "phy"];

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
        enum Ways {
            #[default]
            In,
            Out,
            Both,
        }
        let at = fields.required::<OneOrMore<String>>("at", "\"a.0\"", &mut self.faults);
        let span = fields.value("at").map_or(0..0, |value| value.span.clone());
        let ways = fields
            .optional("direction", &mut self.faults)
            .unwrap_or(Ways::In);
        let mut views = Vec::new();
        for name in at.map(OneOrMore::into_vec).unwrap_or_default() {
            if let Some(&node) = self.names.get(&name) {
                if lab.nodes[node].kind.records {
                    views.push(self.view(lab, name, Place::Node(node)));
                } else {
                    let message = format!("`{name}` is a node, and has to be looked at by a port");
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
                    if matches!(ways, Ways::In | Ways::Both) {
                        views.push(self.view(lab, name.clone(), Place::Link(link, arriving)));
                    }
                    if matches!(ways, Ways::Out | Ways::Both) {
                        views.push(self.view(
                            lab,
                            format!("{name} out"),
                            Place::Link(link, leaving),
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
                let fault = fault("a bit stream is that of one place, in one direction");
                self.faults.push(fault.help("write a [[capture]] for each"));
            }
            return;
        };
        match lab.views[*view].place {
            Place::Link(link, direction)
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
        let kind = fields
            .optional("kind", &mut self.faults)
            .unwrap_or_default();
        if let (Some(file), Some(value)) = (file, fields.value("file")) {
            self.file_name(&file, value, &["png", "svg"]);
            let title = title.unwrap_or_else(|| lab.name.clone());
            lab.plots.push(PlotPlan {
                file,
                title,
                views,
                kind,
            });
        }
        fields.finish(&mut self.faults);
    }

    /// The index of a view, which is made if it is not there yet.
    pub(crate) fn view(&mut self, lab: &mut Lab, label: String, place: Place) -> usize {
        *self.places.entry(place).or_insert_with(|| {
            lab.views.push(View { label, place });
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

    /// A small lab that does not say what it measures measures what arrives at each port.
    pub(crate) fn measure_all(&mut self, lab: &mut Lab) {
        if !lab.views.is_empty() || lab.links.len() > 8 {
            return;
        }
        // What OFLOPS sees it tells itself, and more of it.
        let measures = |end: &End| lab.nodes[end.node.0].kind.measures;
        let others = |link: &LinkPlan| !link.link.ends.iter().any(measures);
        let others: Vec<bool> = lab.links.iter().map(others).collect();
        for (link, _) in others.iter().enumerate().filter(|(_, other)| **other) {
            for direction in Direction::BOTH {
                let label = lab.links[link].names[1 - direction.index()].clone();
                self.view(lab, label, Place::Link(link, direction));
            }
        }
    }
}
