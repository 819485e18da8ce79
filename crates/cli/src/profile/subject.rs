//! What is profiled: each interface of a file, each port; and where its stamps come from.

use crate::select::Selector;
use ::capture::file::Item;
use anyhow::ensure;
use live::port::{PortInfo, RxCounters};
use measure::profile::{Config, Profile};
use node::Rate;
use packet::Tick;
use packet::capture::Direction;
use std::collections::BTreeMap;

/// Maximum number of interfaces of one command; each takes some hundred kilobytes.
const MAX_INTERFACES: usize = 256;

/// An interface whose packets are profiled, and the form of its timestamps.
pub struct Subject {
    pub name: String,
    pub profile: Profile,
    pub stamps: Stamps,
    /// Packets that a capture had cut short.
    pub cut: u64,
    /// Frames that the port received, lost and refused.
    pub port: Option<RxCounters>,
}

/// Where stamps come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// The finest that they can express, in ps; zero where a file's unit is finer.
    pub unit_ps: u64,
    /// `file`, `words`, or what a port has.
    pub source: &'static str,
    /// What the file says about the interface, or nothing.
    pub told: String,
}

/// All that one command looks at.
pub struct Subjects {
    config: Config,
    tick: Tick,
    list: Vec<Subject>,
    /// The file that is being read, and its interfaces so far: their index in the list, and names.
    file: String,
    interfaces: BTreeMap<u32, (usize, String)>,
    last: Option<(u32, usize)>,
    /// What is listened to, by the numbers of interfaces and the directions: their index in the list.
    heard: BTreeMap<(u32, Option<Direction>), usize>,
    /// Which packets are wanted.
    pub selector: Selector,
    /// The zero of the times of ports, ps since 1970.
    epoch_ps: u128,
}

impl Subjects {
    pub fn new(config: Config, tick: Tick) -> Subjects {
        Subjects {
            config,
            tick,
            list: Vec::new(),
            file: String::new(),
            interfaces: BTreeMap::new(),
            last: None,
            heard: BTreeMap::new(),
            selector: Selector::default(),
            epoch_ps: u128::from(::capture::clock::epoch_ns()) * 1_000,
        }
    }

    pub fn tick(&self) -> Tick {
        self.tick
    }

    pub fn list(&self) -> &[Subject] {
        &self.list
    }

    /// Whether what ports receive from now on comes too late.
    pub fn is_over(&mut self) -> bool {
        let now = u128::from(::capture::clock::now_ns()) * 1_000;
        self.selector.is_over(self.epoch_ps + now)
    }

    /// Whether no more packets are wanted.
    pub fn enough(&self) -> bool {
        !self.selector.wants_more()
    }

    /// A file follows.
    pub fn begin(&mut self, file: &str) {
        self.file = file.into();
        self.interfaces.clear();
        self.last = None;
    }

    /// Takes a packet of the file; false if no more are wanted.
    #[inline]
    pub fn packet(&mut self, item: &Item<'_>, at_ps: u128) -> anyhow::Result<bool> {
        let epoch_ps = if item.at_ps.is_some() {
            0
        } else {
            self.epoch_ps
        };
        if !self.selector.takes(item, || epoch_ps + at_ps)? {
            return Ok(!self.enough());
        }
        let index = match self.last {
            Some((interface, index)) if interface == item.interface => index,
            _ => self.interface(item)?,
        };
        let subject = &mut self.list[index];
        let length = item.original_len.max(item.bytes.len() as u32);
        subject.cut += u64::from(length as usize > item.bytes.len());
        subject.profile.observe(at_ps, length, item.bytes);
        Ok(!self.enough())
    }

    /// The subject of a packet whose interface is not that of the packet before.
    #[cold]
    fn interface(&mut self, item: &Item<'_>) -> anyhow::Result<usize> {
        let index = match self.interfaces.get(&item.interface) {
            Some((index, _)) => *index,
            None => {
                ensure!(
                    self.list.len() < MAX_INTERFACES,
                    "{}: more than {MAX_INTERFACES} interfaces; write those that matter into a file of their own",
                    self.file
                );
                let speed = item.described().map_or(0, |described| described.speed);
                let unit = item
                    .described()
                    .map(|described| described.resolution.to_ps(1, 0));
                // A date is to the picosecond.
                let unit = unit.unwrap_or(match item.at_ps {
                    Some(_) => 1,
                    None => self.tick.as_ps().into(),
                });
                let config = Config {
                    rate: self.config.rate.or(Rate::from_bits_per_second(speed)),
                    ..self.config
                };
                self.list.push(Subject {
                    name: self.file.clone(),
                    profile: Profile::new(config),
                    stamps: Stamps {
                        unit_ps: u64::try_from(unit).unwrap_or(u64::MAX),
                        source: if item.at_ps.is_some() {
                            "file"
                        } else {
                            "words"
                        },
                        told: item.description().into(),
                    },
                    cut: 0,
                    port: None,
                });
                let name = item
                    .described()
                    .map_or("", |described| described.name.as_str());
                self.interfaces
                    .insert(item.interface, (self.list.len() - 1, name.into()));
                self.list.len() - 1
            }
        };
        self.last = Some((item.interface, index));
        Ok(index)
    }

    /// The file has been read: if it has several interfaces, each has a name.
    pub fn end(&mut self) {
        for (number, (index, name)) in self.interfaces.iter().filter(|_| self.interfaces.len() > 1)
        {
            self.list[*index].name = match name.as_str() {
                "" => format!("{} interface {number}", self.file),
                name => format!("{} {name}", self.file),
            };
        }
    }

    /// A port is listened to, which has this number.
    pub fn port(&mut self, number: u32, info: &PortInfo) {
        self.heard.insert((number, None), self.list.len());
        self.list.push(self.of_port(info.name.clone(), info.stamps));
    }

    fn of_port(&self, name: String, stamps: live::port::Stamps) -> Subject {
        Subject {
            name,
            profile: Profile::new(self.config),
            stamps: Stamps {
                unit_ps: 1_000,
                source: stamps.name(),
                told: String::new(),
            },
            cut: 0,
            port: None,
        }
    }

    /// Takes a packet of a port; false if no more are wanted. Of all interfaces together each is by itself, and each direction.
    pub fn heard(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at_ps = item.at_ps.unwrap_or(0);
        if self.selector.takes(item, || at_ps)? {
            let way = (item.interface, item.options.direction());
            let index = match self.heard.get(&way) {
                Some(index) => *index,
                None => self.met(item, way)?,
            };
            let profile = &mut self.list[index].profile;
            profile.observe(at_ps, item.bytes.len() as u32, item.bytes);
        }
        Ok(!self.enough())
    }

    #[cold]
    fn met(&mut self, item: &Item<'_>, way: (u32, Option<Direction>)) -> anyhow::Result<usize> {
        ensure!(
            self.list.len() < MAX_INTERFACES,
            "more than {MAX_INTERFACES} interfaces and directions; name the ports that matter"
        );
        let name = item.described().map_or("", |described| &described.name);
        let direction = way.1.map_or("", Direction::name);
        let name = format!("{name} {direction}").trim().to_owned();
        self.heard.insert(way, self.list.len());
        self.list
            .push(self.of_port(name, live::port::Stamps::Kernel));
        Ok(self.list.len() - 1)
    }

    /// What a port has received and lost.
    pub fn missed(&mut self, number: u32, counters: RxCounters) {
        if let Some(&index) = self.heard.get(&(number, None)) {
            self.list[index].port = Some(counters);
        }
    }
}
