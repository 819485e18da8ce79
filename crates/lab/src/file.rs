//! A lab file, read and checked.

use crate::channel::{self, Settings};
use crate::clocks;
use crate::datapaths;
use crate::expand::{MAX_NODES, copies, fill, limit, list};
use crate::fault::{Fault, Faults};
use crate::fields::{Fields, OneOrMore};
use crate::hardware::GIGABIT;
use crate::host_names;
use crate::kind::{Kind, Planned, at_key};
use crate::kinds;
use crate::plan::instrument::Reading;
use crate::plan::{Lab, LinkPlan, Location, NodePlan, Rtl};
use crate::registry::Registry;
use crate::topology::{self, Generated};
use crate::tree::{self, Entry, Value, What};
use crate::views::{OUTSIDE, end_of};
use crate::world::World;
use node::random::seed_of;
use node::{End, GraphError, Link, Rate};
use nodes::dtp;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Maximum length of a lab file, bytes.
pub const MAX_FILE_LEN: usize = 1 << 20;

/// Reads and checks a lab file for the world `sim`, without looking at the files that it names. It may have the nodes
/// that come with Wireline; [`Registry::parse`] reads one with others.
///
/// # Errors
/// Everything that was found to be wrong with it.
pub fn parse(text: &str) -> Result<Lab, Faults> {
    Registry::standard().parse(text)
}

impl Registry {
    /// Reads and checks a lab file for the world `sim`, without looking at the files that it names.
    ///
    /// # Errors
    /// Everything that was found to be wrong with it.
    pub fn parse(&self, text: &str) -> Result<Lab, Faults> {
        self.parse_for(text, None, World::Sim)
    }

    /// Reads and checks a lab file for a world; nodes may be something else in another one. With the folder in which it
    /// stands, the files that it names are looked at too.
    ///
    /// # Errors
    /// Everything that was found to be wrong with it.
    pub fn parse_for(
        &self,
        text: &str,
        folder: Option<&Path>,
        world: World,
    ) -> Result<Lab, Faults> {
        self.parse_with(text, folder, world, &[])
    }

    /// The same, with other values for some keys, each by the way to it: `link.0.rate`.
    ///
    /// # Errors
    /// Everything that was found to be wrong with it; of a key that was set, at the place of the value that it has in the text.
    pub fn parse_with(
        &self,
        text: &str,
        folder: Option<&Path>,
        world: World,
        settings: &[(&str, &str)],
    ) -> Result<Lab, Faults> {
        let mut faults = Vec::new();
        if text.len() > MAX_FILE_LEN {
            let message = format!(
                "a lab file has at most {MAX_FILE_LEN} bytes, this one {}",
                text.len()
            );
            faults.push(Fault::new(0..0, message).help("write repeated sections with `each`"));
            return Err(Faults::new("", faults));
        }
        let entries = tree::parse(text, &mut faults);
        if !faults.is_empty() {
            // What follows from a broken syntax is no help.
            return Err(Faults::new(text, faults));
        }
        let mut root = Value {
            span: text.len()..text.len(),
            what: What::Table(entries),
        };
        let set = |(key, value): &(&str, &str)| crate::settings::set(&mut root, key, value).err();
        faults.extend(settings.iter().filter_map(set));
        if !faults.is_empty() {
            return Err(Faults::new(text, faults));
        }
        let lab = Reader::new(self, world).lab(&root, folder);
        lab.map_err(|faults| Faults::new(text, faults))
    }
}

/// The worlds that a lab file names, if it can be read that far.
pub(crate) fn worlds(text: &str) -> Vec<World> {
    let mut faults = Vec::new();
    let root = Value {
        span: 0..0,
        what: What::Table(tree::parse(text, &mut faults)),
    };
    let worlds = root.get("lab").and_then(|lab| lab.get("worlds"));
    let worlds = worlds.and_then(|worlds| worlds.read::<OneOrMore<World>>().ok());
    worlds.map_or(Vec::new(), OneOrMore::into_vec)
}

/// Faults after which no more are looked for.
pub(crate) const ENOUGH: usize = 100;

/// A lab file being read.
pub(crate) struct Reader<'a> {
    registry: &'a Registry,
    pub faults: Vec<Fault>,
    /// The world that it is read for.
    world: World,
    /// Whether another world's lab is another one.
    differs: bool,
    /// Nodes by name.
    pub names: BTreeMap<String, usize>,
    /// The first link at a port, and which of its ends that is.
    pub ends: BTreeMap<End, (usize, usize)>,
    /// Views by place.
    pub places: BTreeMap<Location, usize>,
}

impl<'a> Reader<'a> {
    fn new(registry: &'a Registry, world: World) -> Reader<'a> {
        Reader {
            registry,
            faults: Vec::new(),
            world,
            differs: false,
            names: BTreeMap::new(),
            ends: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    fn lab(mut self, root: &Value, folder: Option<&Path>) -> Result<Lab, Vec<Fault>> {
        let mut sections = Fields::of(root, "a lab file", &mut self.faults);
        let mut lab = self.head(sections.value("lab"));
        let base = self.default_channel(sections.value("default"));
        let mut made = match sections.value("topology") {
            Some(section) => topology::read(section, lab.seed, folder, MAX_NODES, &mut self.faults),
            None => Generated::default(),
        };
        lab.notes = std::mem::take(&mut made.notes);
        let mut own = self.node_sections(sections.value("node"));
        own.retain(|(name, _, section)| !made.merge(name, section));
        made.connect();
        let span = made.span.clone();
        let generated = made.nodes.into_iter();
        let generated = generated.map(|(name, section)| (name, span.clone(), section));
        for (name, name_span, section) in generated.chain(own) {
            if self.faults.len() < ENOUGH {
                self.node(&mut lab, name, name_span, section);
            }
        }
        datapaths::settle(&mut lab, &mut self.faults);
        host_names::resolve(&mut lab, &self.names, &mut self.faults);
        let own = list(sections.value("link"), "[[link]]", &mut self.faults);
        for section in made.links.into_iter().chain(own) {
            if self.faults.len() < ENOUGH {
                self.link(&mut lab, &base, &section);
            }
        }
        channel::pauses::add_queues(&mut lab);
        for section in list(sections.value("capture"), "[[capture]]", &mut self.faults) {
            self.reading(&mut lab).capture(&section);
        }
        for section in list(sections.value("measure"), "[[measure]]", &mut self.faults) {
            self.reading(&mut lab).measure(&section);
        }
        for section in list(sections.value("plot"), "[[plot]]", &mut self.faults) {
            self.reading(&mut lab).plot(&section);
        }
        let shows = self.instruments(&mut lab, &mut sections);
        clocks::settle(&mut lab, &mut self.faults);
        sections.finish(&mut self.faults);
        if lab.nodes.is_empty() && self.faults.is_empty() {
            let fault = Fault::new(0..0, "the lab has no node");
            self.faults
                .push(fault.help("add one: `[node.a]` and `kind = \"generator\"`"));
        }
        if self.faults.is_empty() {
            self.check(&mut lab, folder);
        }
        if self.faults.is_empty() {
            let nowhere = std::path::Path::new("");
            let plan = crate::live_nodes::plan(&lab, nowhere, nowhere, nowhere, None);
            self.faults.extend(plan.err());
        }
        if self.faults.is_empty() {
            self.reading(&mut lab).measure_all(shows);
            lab.only = self.differs.then_some(self.world);
            Ok(lab)
        } else {
            Err(self.faults)
        }
    }

    fn head(&mut self, section: Option<&Value>) -> Lab {
        let mut lab = Lab {
            name: "lab".into(),
            about: String::new(),
            seed: 0,
            duration: None,
            worlds: Vec::new(),
            aggregate: true,
            hardware: self.registry.hardware.clone(),
            only: None,
            notes: Vec::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            captures: Vec::new(),
            bits: Vec::new(),
            plots: Vec::new(),
            views: Vec::new(),
            instruments: Vec::new(),
            measures: false,
        };
        let Some(section) = section else { return lab };
        let faults = &mut self.faults;
        let mut fields = Fields::of(section, "a table", faults);
        lab.name = fields.optional("name", faults).unwrap_or(lab.name);
        lab.about = fields.optional("about", faults).unwrap_or_default();
        lab.seed = fields.optional("seed", faults).unwrap_or_default();
        lab.duration = fields.optional("duration", faults);
        lab.aggregate = fields.optional("aggregate", faults).unwrap_or(true);
        let worlds = fields.optional::<OneOrMore<World>>("worlds", faults);
        lab.worlds = worlds.map(OneOrMore::into_vec).unwrap_or_default();
        let mut worlds = lab.worlds.iter().enumerate();
        let twice = worlds.any(|(place, world)| lab.worlds[..place].contains(world));
        if let (true, Some(value)) = (twice, fields.value("worlds")) {
            let message = "there are the worlds `sim`, `live` and `cosim`, each to be named once";
            faults.push(Fault::new(value.span.clone(), message));
        }
        fields.finish(faults);
        lab
    }

    fn default_channel(&mut self, section: Option<&Value>) -> Settings {
        let mut channel = Settings::default();
        let Some(section) = section else {
            return channel;
        };
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        if let Some(link) = fields.value("link") {
            let mut fields = Fields::of(link, "a table", &mut self.faults);
            channel = channel::read(&mut fields, &channel, &mut self.faults);
            clocks::read(&mut fields, &mut channel.channel, &mut self.faults);
            fields.finish(&mut self.faults);
        }
        fields.finish(&mut self.faults);
        channel
    }

    /// The lab as far as it is read, for sections that refer to its nodes and links.
    fn reading<'b>(&'b mut self, lab: &'b mut Lab) -> Reading<'b> {
        Reading {
            lab,
            faults: &mut self.faults,
            names: &self.names,
            ends: &self.ends,
            places: &mut self.places,
            sections: Vec::new(),
        }
    }

    /// Has each instrument read its sections; whether the file has any.
    fn instruments(&mut self, lab: &mut Lab, sections: &mut Fields<'_>) -> bool {
        let mut shows = false;
        for mut instrument in self.registry.instruments() {
            let names = instrument.sections().iter();
            let own = names.filter_map(|name| Some((*name, sections.value(name)?)));
            let own: Vec<_> = own.collect();
            shows |= !own.is_empty();
            instrument.read(&mut Reading {
                sections: own,
                ..self.reading(lab)
            });
            lab.instruments.push(instrument);
        }
        shows
    }

    fn node_sections(&mut self, value: Option<&Value>) -> Vec<(String, Range<usize>, Value)> {
        let mut sections = Vec::new();
        let Some(value) = value else { return sections };
        let What::Table(entries) = &value.what else {
            let fault = Fault::new(value.span.clone(), "a node has a name");
            self.faults.push(fault.help("write `[node.NAME]`"));
            return sections;
        };
        for Entry {
            key,
            key_span,
            value,
        } in entries
        {
            for (number, mut section) in copies(value, &mut self.faults) {
                let name = match number {
                    Some(n) => fill(key, n),
                    None => Ok(key.clone()),
                };
                section.take("each");
                match name {
                    Ok(name) => sections.push((name, key_span.clone(), section)),
                    Err(error) => {
                        let fault = Fault::new(key_span.clone(), error.to_string());
                        self.faults.push(fault);
                        break;
                    }
                }
            }
            if !limit(sections.len(), key_span, "nodes", &mut self.faults) {
                return Vec::new();
            }
        }
        sections
    }

    fn node(&mut self, lab: &mut Lab, name: String, span: Range<usize>, mut section: Value) {
        let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let fault = Fault::new(span, format!("`{name}` cannot be the name of a node"));
            self.faults.push(fault.help(
                "a name has letters, digits, `-` and `_`; `{n}` in it needs `each` in the section",
            ));
            return;
        }
        if let Some(first) = self.names.insert(name.clone(), lab.nodes.len()) {
            let error = GraphError::DuplicateName(name).to_string();
            self.faults.push(Fault::new(span, error));
            self.names.insert(lab.nodes[first].name.clone(), first);
            return;
        }
        let elsewhere = self.settle(&mut section);
        let clock = section.take("oscillator").map(|entry| {
            let seed = seed_of(lab.seed, "oscillator", &[&name]);
            let span = entry.value.span.clone();
            (clocks::of_node(&entry.value, seed, &mut self.faults), span)
        });
        let rtl = section.take("rtl").and_then(|entry| self.rtl(&entry.value));
        let dtp = section.take("dtp").and_then(|entry| self.dtp(&entry.value));
        let kind = self.kind_of(&name, &span, &mut section, elsewhere);
        if kind.records {
            let location = Location::Node(lab.nodes.len());
            let mut reading = self.reading(lab);
            let view = reading.view(name.clone(), location);
            reading.node_capture(view, &mut section);
        }
        lab.nodes.push(NodePlan {
            name,
            kind,
            config: section,
            span,
            planned: Planned::default(),
            clock,
            rtl,
            dtp,
        });
    }

    /// What a node's ports are in the world `cosim`: `true`, `false`, or a rate.
    fn rtl(&mut self, value: &Value) -> Option<Rtl> {
        if let Ok(hardware) = value.read() {
            return Some(if hardware {
                Rtl::At(GIGABIT)
            } else {
                Rtl::None
            });
        }
        let rate = value.read().ok();
        let there = rate.filter(|rate| [GIGABIT, Rate::TEN_GIGABIT].contains(rate));
        if there.is_none() {
            let message = "whether the node's ports are hardware: true, false, or their rate";
            let fault = Fault::new(value.span.clone(), message);
            self.faults
                .push(fault.help("write `rtl = true`, or `rtl = \"10 Gb/s\"`; there are ports of 1 Gb/s and of 10 Gb/s"));
        }
        there.map(Rtl::At)
    }

    /// Reads a node's table `dtp`.
    fn dtp(&mut self, value: &Value) -> Option<(dtp::Config, Range<usize>)> {
        let read = value.read::<dtp::Config>().and_then(|config| {
            let checked = config.check().map_err(|error| at_key(value, error));
            checked.map(|()| (config, value.span.clone()))
        });
        read.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// What the node is in this world: the keys of its table `sim` or `live` stand for those of the section. Gives
    /// another world for which such a table says what the node is.
    fn settle(&mut self, section: &mut Value) -> Option<World> {
        let mut elsewhere = None;
        // What a node is in simulated time it is behind hardware too.
        for world in [World::Sim, World::Live] {
            let Some(own) = section.take(world.name()) else {
                continue;
            };
            self.differs = true;
            let What::Table(own) = own.value.what else {
                let message = format!("what the node is in the world `{}`: a table", world.name());
                let fault = Fault::new(own.value.span, message);
                self.faults.push(
                    fault.help("write `live = { kind = \"openvswitch\" }`, or `[node.NAME.live]`"),
                );
                continue;
            };
            if world.is_simulated() != self.world.is_simulated() {
                let says = own.iter().any(|entry| entry.key == "kind");
                elsewhere = elsewhere.or(says.then_some(world));
                continue;
            }
            for entry in own {
                section.take(&entry.key);
                if let What::Table(entries) = &mut section.what {
                    entries.push(entry);
                }
            }
        }
        elsewhere
    }

    /// What a node is. One that does not say it properly is in the lab all the same, so that what
    /// refers to it is no fault too.
    fn kind_of(
        &mut self,
        name: &str,
        span: &Range<usize>,
        section: &mut Value,
        elsewhere: Option<World>,
    ) -> Arc<Kind> {
        let found = match (section.take("kind"), &section.what) {
            (Some(kind), _) => self.registry.find(&kind.value),
            (None, What::Table(_)) => {
                let message = format!("the node `{name}` has no `kind`");
                let fault = Fault::new(span.clone(), message);
                Err(match elsewhere {
                    Some(world) => {
                        let (own, other) = (self.world.name(), world.name());
                        fault.help(format!(
                            "it does for the world `{other}`; add `kind` for `{own}` too, or run the lab with --world {other}"
                        ))
                    }
                    None => fault.help("add `kind = \"switch\"`, or another kind"),
                })
            }
            (None, _) => {
                let fault = Fault::new(section.span.clone(), "a node is a table");
                Err(fault.help(format!("write `[node.{name}]`")))
            }
        };
        found.unwrap_or_else(|fault| {
            self.faults.push(fault);
            Arc::new(kinds::unknown())
        })
    }

    /// A link's end that is a port of the machine, `port:eth0`, becomes a node of that name.
    fn outside(&mut self, lab: &mut Lab, name: &str, span: &Range<usize>) {
        let Some(port) = name.strip_prefix(OUTSIDE) else {
            return;
        };
        if self.names.contains_key(name) {
            return;
        }
        self.names.insert(name.into(), lab.nodes.len());
        lab.nodes.push(NodePlan {
            name: name.into(),
            kind: Arc::new(kinds::port()),
            config: crate::live_nodes::port_config(port, span.clone()),
            span: span.clone(),
            planned: Planned::default(),
            clock: None,
            rtl: None,
            dtp: None,
        });
    }

    fn link(&mut self, lab: &mut Lab, base: &Settings, section: &Value) {
        let mut fields = Fields::of(section, "a table", &mut self.faults);
        let names: Option<Vec<String>> =
            fields.required("ends", "[\"a.0\", \"sw.1\"]", &mut self.faults);
        let ends_value = fields.value("ends");
        let mut both = channel::read(&mut fields, base, &mut self.faults);
        clocks::read(&mut fields, &mut both.channel, &mut self.faults);
        let turned = Settings {
            channel: clocks::turned(&both.channel),
            discipline: both.discipline.clone(),
            pause: both.pause.clone(),
        };
        let directions = [("forth", both), ("back", turned)];
        let mut settings = directions.map(|(key, both)| match fields.value(key) {
            None => both,
            Some(value) => {
                let mut fields = Fields::of(value, "a table", &mut self.faults);
                let channel = channel::read(&mut fields, &both, &mut self.faults);
                fields.finish(&mut self.faults);
                channel
            }
        });
        fields.finish(&mut self.faults);
        channel::pauses::settle(&mut settings, &section.span, &mut self.faults);
        let (Some(names), Some(value)) = (names, ends_value) else {
            return;
        };
        let Ok(names) = <[String; 2]>::try_from(names) else {
            let fault = Fault::new(value.span.clone(), "a link has two ends");
            self.faults
                .push(fault.help("write `ends = [\"a.0\", \"sw.1\"]`"));
            return;
        };
        let spans = match &value.what {
            What::List(ends) => [ends[0].span.clone(), ends[1].span.clone()],
            _ => return,
        };
        for (name, span) in names.iter().zip(&spans) {
            self.outside(lab, name, span);
        }
        let found = [0, 1].map(|end| {
            let found = end_of(&names[end], &self.names);
            found.map_err(|mut fault| {
                fault.span = spans[end].clone();
                self.faults.push(fault);
            })
        });
        if let [Ok(a), Ok(b)] = found {
            let disciplines = settings.each_ref().map(|way| way.discipline.clone());
            let pauses = settings.each_ref().map(|way| way.pause.clone());
            let link = Link {
                ends: [a, b],
                channels: settings.map(|way| way.channel),
            };
            for (end, at) in link.ends.iter().enumerate() {
                self.ends.entry(*at).or_insert((lab.links.len(), end));
            }
            lab.links.push(LinkPlan {
                names,
                link,
                disciplines,
                pauses,
                spans,
            });
        }
    }
}
