//! What is profiled: each interface of a file, each port; and where its stamps come from.

use super::figures;
use anyhow::ensure;
use live::file::Item;
use live::port::{PortInfo, RxCounters};
use node::Rate;
use nodes::filter::Program;
use nodes::profile::{Config, Profile};
use packet::Tick;
use std::collections::BTreeMap;

/// The most interfaces of one command; each takes some hundred kilobytes.
const MOST: usize = 256;

/// Whose packets are looked at, and what their stamps are.
pub struct Subject {
    pub name: String,
    pub profile: Profile,
    pub stamps: Stamps,
    /// Packets that a capture had cut short.
    pub cut: u64,
    /// What a port received, lost and refused.
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
    pub filter: Option<Program>,
    /// How many packets more are wanted.
    pub left: u64,
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
            filter: None,
            left: u64::MAX,
        }
    }

    pub fn tick(&self) -> Tick {
        self.tick
    }

    pub fn list(&self) -> &[Subject] {
        &self.list
    }

    /// Whether no more packets are wanted.
    pub fn enough(&self) -> bool {
        self.left == 0
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
        if !self.wanted(item.bytes) {
            return Ok(self.left > 0);
        }
        let index = match self.last {
            Some((interface, index)) if interface == item.interface => index,
            _ => self.interface(item)?,
        };
        let subject = &mut self.list[index];
        let length = item.original_len.max(item.bytes.len() as u32);
        subject.cut += u64::from(length as usize > item.bytes.len());
        subject.profile.observe(at_ps, length, item.bytes);
        Ok(self.left > 0)
    }

    fn wanted(&mut self, frame: &[u8]) -> bool {
        if let Some(filter) = &self.filter
            && filter.run(frame) == 0
        {
            return false;
        }
        let wanted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        wanted
    }

    /// The subject of a packet whose interface is not that of the packet before.
    #[cold]
    fn interface(&mut self, item: &Item<'_>) -> anyhow::Result<usize> {
        let index = match self.interfaces.get(&item.interface) {
            Some((index, _)) => *index,
            None => {
                ensure!(
                    self.list.len() < MOST,
                    "{}: more than {MOST} interfaces; write those that matter into a file of their own",
                    self.file
                );
                let speed = item.described().map_or(0, |described| described.speed);
                let unit = item
                    .described()
                    .map(|described| described.resolution.to_ps(1, 0));
                let unit = unit.unwrap_or(self.tick.as_ps().into());
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

    /// A port is listened to.
    pub fn port(&mut self, info: &PortInfo) {
        self.list.push(Subject {
            name: info.name.clone(),
            profile: Profile::new(self.config),
            stamps: Stamps {
                unit_ps: 1_000,
                source: info.stamps.name(),
                told: String::new(),
            },
            cut: 0,
            port: None,
        });
    }

    /// Takes a frame of a port, by its index in the list.
    pub fn frame(&mut self, index: usize, at_ps: u128, frame: &[u8]) {
        if self.wanted(frame) {
            let profile = &mut self.list[index].profile;
            profile.observe(at_ps, frame.len() as u32, frame);
        }
    }

    /// What a port has received and lost.
    pub fn missed(&mut self, index: usize, counters: RxCounters) {
        self.list[index].port = Some(counters);
    }

    /// All, as text for people.
    pub fn text(&self) -> String {
        match self.list.is_empty() {
            true => "no packet\n".into(),
            false => {
                let texts: Vec<String> = self.list.iter().map(figures::text).collect();
                texts.join("\n")
            }
        }
    }

    /// Writes the text to stderr.
    pub fn tell(&self) {
        eprint!("{}", self.text());
    }
}
