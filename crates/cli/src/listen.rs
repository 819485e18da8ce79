//! Packets of live ports, given as those of files are: each with its date, its interface, and its direction where that is known.

use crate::complaints::Complaints;
use crate::packets::Consumer;
use crate::report::{self, put_link};
use crate::select::Selection;
use ::capture::clock;
use ::capture::file::{Captured, IPV4_ADDRESS, Item, Raw};
use live::port::raw::any::{Any, Metadata};
use live::port::{self, Options, Port, PortError, PortInfo, PortSpec, Received, RxCounters};
use packet::Tick;
use packet::capture::{self, Interface};
use std::net::IpAddr;
use std::time::Duration;

/// Timeout of a wait for a packet, after which the loop checks whether to stop.
const WAIT: Duration = Duration::from_millis(100);
/// The same where several ports are asked in turn; the kernel keeps what comes to the others.
const TURN: Duration = Duration::from_millis(1);
/// Interval between two checks of the link of a quiet port, ns.
const LINK_CHECK_INTERVAL_NS: u64 = 100_000_000;
/// The longest that a packet stays in the buffer while others keep coming, ns.
const DELAY: u64 = 10_000_000;

/// Open ports.
pub struct Listener {
    sources: Vec<Source>,
    /// Whether packets are for a capture, which has link types besides Ethernet.
    verbatim: bool,
    captured: Captured,
    /// The zero of the ports' stamps, ps since 1970.
    epoch_ps: u128,
    /// Index of the port that is polled next.
    turn: usize,
    flushed: u64,
    looked: u64,
    failed: Option<PortError>,
}

struct Source {
    kind: Kind,
    open: bool,
    up: bool,
}

/// Which packets of an interface are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Direction {
    /// What it receives.
    In,
    /// What it sends.
    Out,
    /// Both.
    Inout,
}

/// The choice of it on the command line.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Directions {
    /// Of an interface: what it receives (in), sends (out), or inout
    #[arg(long, short = 'Q', value_name = "DIR", hide_possible_values = true)]
    direction: Option<Direction>,
    #[arg(skip)]
    both: bool,
}

impl Directions {
    /// Both directions, if nobody says otherwise.
    #[must_use]
    pub fn or_both(self) -> Directions {
        Directions { both: true, ..self }
    }
}

enum Kind {
    /// A port, and its number among the interfaces.
    Port(Port, u32),
    /// One interface or all, and the number of each; `cooked` is for a packet with its header.
    Any {
        any: Any,
        name: String,
        direction: Direction,
        numbers: Vec<Option<u32>>,
        cooked: Vec<u8>,
    },
}

impl Listener {
    /// Opens the ports, whose words count `tick`. Of an interface is heard what it receives, of all together what they send too,
    /// unless `directions` says otherwise.
    ///
    /// # Errors
    /// When one of them cannot be opened, or has no such direction.
    pub fn open(
        specs: &[PortSpec],
        tick: Tick,
        directions: Directions,
    ) -> Result<Listener, PortError> {
        let options = Options {
            tick,
            ..Options::default()
        };
        let mut captured = Captured::here();
        let mut sources = Vec::new();
        for spec in specs {
            let direction = directions.direction.unwrap_or(match spec {
                PortSpec::Interface(_) if !directions.both => Direction::In,
                _ => Direction::Inout,
            });
            let one_way = directions
                .direction
                .is_none_or(|asked| asked == Direction::In);
            let any = |interface| -> Result<Kind, PortError> {
                Ok(Kind::Any {
                    any: Any::open(interface, &options)?,
                    name: spec.to_string(),
                    direction,
                    numbers: Vec::new(),
                    cooked: Vec::new(),
                })
            };
            let kind = match spec {
                PortSpec::Any => any(None)?,
                PortSpec::Interface(name) if direction != Direction::In => any(Some(name))?,
                spec if !matches!(spec, PortSpec::Interface(_)) && !one_way => {
                    return Err(PortError::Unsupported {
                        name: spec.to_string(),
                        why: "what is sent can be heard of interfaces alone; leave `--direction` out",
                    });
                }
                spec => {
                    let port = port::open(spec, &options)?;
                    let index = live::interface::find(&port.info.name).ok().flatten();
                    let number = captured.add(described(&port.info), index.map(|of| of.index));
                    Kind::Port(port, number)
                }
            };
            sources.push(Source {
                kind,
                open: true,
                up: true,
            });
        }
        Ok(Listener {
            sources,
            verbatim: false,
            captured,
            epoch_ps: u128::from(clock::epoch_ns()) * 1_000,
            turn: 0,
            flushed: clock::now_ns(),
            looked: 0,
            failed: None,
        })
    }

    /// Gives packets without Ethernet as a capture has them, with Linux's cooked header.
    #[must_use]
    pub fn verbatim(self) -> Listener {
        Listener {
            verbatim: true,
            ..self
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Those of the ports that are one interface each, and their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &PortInfo, RxCounters)> {
        self.sources.iter().filter_map(|source| match &source.kind {
            Kind::Port(port, number) => Some((*number, &port.info, port.rx.counters())),
            Kind::Any { .. } => None,
        })
    }

    /// Says on stderr what is listened to, if anything is.
    pub fn tell_life(&self, selection: &Selection) {
        if !self.sources.is_empty() {
            let names: Vec<String> = self.sources.iter().map(Source::heard).collect();
            report::begin("listening", &names, selection.duration());
        }
    }

    /// Gives what the ports receive, until Ctrl-C, or until each has ended or enough has come.
    ///
    /// # Errors
    /// Those of `consumer`; and of a port that has gone, once what it gave has been taken.
    pub fn copy(
        &mut self,
        consumer: &mut impl Consumer,
        complaints: &Complaints,
    ) -> anyhow::Result<()> {
        while self.poll(consumer)? {}
        consumer.idle()?;
        self.finish(complaints)
    }

    /// Looks once whether packets have come, and waits for some if none have; false when no more are wanted or will come.
    ///
    /// # Errors
    /// Those of `consumer`.
    pub fn poll(&mut self, consumer: &mut impl Consumer) -> anyhow::Result<bool> {
        let now_ps = self.epoch_ps + u128::from(clock::now_ns()) * 1_000;
        if !self.sources.iter().any(|source| source.open)
            || ::capture::signal::stop_requested()
            || consumer.is_over(now_ps)
        {
            return Ok(false);
        }
        let wait = if self.sources.len() > 1 { TURN } else { WAIT };
        let waiting = consumer.waits();
        let (mut came, mut more) = (0, true);
        for (index, source) in self.sources.iter_mut().enumerate() {
            if !source.open || !more {
                continue;
            }
            // One port at most is waited for, and that only when everything has been written.
            let wait = match waiting || index != self.turn {
                true => Duration::ZERO,
                false => wait,
            };
            let mut taken = Ok(true);
            let received = source.kind.receive(
                wait,
                (&mut self.captured, self.verbatim, self.epoch_ps),
                &mut |item| {
                    if matches!(taken, Ok(true)) {
                        taken = consumer.packet(item);
                    }
                },
            );
            more = taken?;
            match received {
                Ok(count) => came += count,
                Err(error) => {
                    source.open = false;
                    if !matches!(error, PortError::Ended { .. }) && self.failed.is_none() {
                        self.failed = Some(error);
                    }
                }
            }
        }
        let count = self.sources.len();
        let mut after = (1..=count).map(|step| (self.turn + step) % count);
        self.turn = after.find(|&index| self.sources[index].open).unwrap_or(0);
        let now = clock::now_ns();
        if came == 0 && now - self.looked > LINK_CHECK_INTERVAL_NS {
            self.looked = now;
            self.sources.iter_mut().for_each(Source::tell_link);
        }
        if came == 0 || now - self.flushed > DELAY {
            consumer.idle()?;
            self.flushed = now;
        }
        Ok(more)
    }

    /// Says what was lost, if anything was.
    ///
    /// # Errors
    /// That of a port that has gone.
    pub fn finish(&mut self, complaints: &Complaints) -> anyhow::Result<()> {
        for source in &mut self.sources {
            source.report(complaints);
        }
        self.failed.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

/// How a capture describes a port.
fn described(info: &PortInfo) -> Interface {
    with_address(Interface {
        name: info.name.clone(),
        mac: info.mac,
        ..Interface::default()
    })
}

/// The description of an interface with its first IPv4 address and the mask of that, if it has one.
fn with_address(mut interface: Interface) -> Interface {
    let addresses = live::interface::addresses(&interface.name).unwrap_or_default();
    let first = addresses
        .into_iter()
        .find_map(|(address, length)| match address {
            IpAddr::V4(address) => Some((address, length)),
            IpAddr::V6(_) => None,
        });
    if let Some((address, length)) = first {
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        let value = [address.octets(), mask.to_be_bytes()].concat();
        interface.others.push((IPV4_ADDRESS, value));
    }
    interface
}

/// A packet as those of a capture are.
fn item<'a>(bytes: &'a [u8], at_ps: u128, interface: u32, captured: &'a Captured) -> Item<'a> {
    Item {
        at_ps: Some(at_ps),
        interface,
        captured: Some(captured),
        ..Item::of(bytes)
    }
}

impl Kind {
    /// Receives once, for `sink`.
    fn receive(
        &mut self,
        wait: Duration,
        (captured, verbatim, epoch_ps): (&mut Captured, bool, u128),
        sink: &mut dyn FnMut(&Item<'_>),
    ) -> Result<usize, PortError> {
        let dated = |frame: Received<'_>| epoch_ps + u128::from(frame.at_ns) * 1_000;
        match self {
            Kind::Port(port, number) => port.rx.receive(wait, &mut |frame: Received<'_>| {
                sink(&item(frame.bytes, dated(frame), *number, captured));
            }),
            Kind::Any {
                any,
                direction,
                numbers,
                cooked,
                ..
            } => any.receive(wait, &mut |metadata: Metadata<'_>, frame| {
                let options = metadata.flags.options();
                let sent = options.direction() == Some(capture::Direction::Out);
                if *direction == if sent { Direction::In } else { Direction::Out } {
                    return;
                }
                if numbers.len() <= metadata.interface {
                    numbers.resize(metadata.interface + 1, None);
                }
                let number = *numbers[metadata.interface].get_or_insert_with(|| {
                    captured.add(with_address(metadata.described()), Some(metadata.index))
                });
                let at_ps = match metadata.wall_ns {
                    Some(wall_ns) => u128::from(wall_ns) * 1_000,
                    None => dated(frame),
                };
                let raw = match metadata.cooked {
                    Some(header) => {
                        cooked.clear();
                        cooked.extend(header.bytes());
                        // In place of the header of Ethernet that it came with.
                        cooked.extend_from_slice(&frame.bytes[14..]);
                        &cooked[..]
                    }
                    None => frame.bytes,
                };
                let bytes = if verbatim { raw } else { frame.bytes };
                sink(&Item {
                    options,
                    raw: Raw::whole(raw),
                    ..item(bytes, at_ps, number, captured)
                });
            }),
        }
    }
}

impl Source {
    fn name(&self) -> &str {
        match &self.kind {
            Kind::Port(port, _) => &port.info.name,
            Kind::Any { name, .. } => name,
        }
    }

    /// What is listened to.
    fn heard(&self) -> String {
        match &self.kind {
            Kind::Any {
                name,
                direction: Direction::Inout,
                ..
            } => name.clone(),
            Kind::Any {
                name,
                direction: Direction::Out,
                ..
            } => format!("what {name} sends"),
            Kind::Any { name, .. } => format!("what {name} receives"),
            Kind::Port(port, _) => format!("what {} receives", port.info.name),
        }
    }

    /// Says when a link goes down or comes up.
    fn tell_link(&mut self) {
        let Kind::Port(port, _) = &mut self.kind else {
            return;
        };
        let up = port.rx.link().is_none_or(|link| link.up);
        match (self.up, up) {
            (true, false) => eprintln!("wire: {}: link down", port.info.name),
            (false, true) => eprintln!("wire: {}: link up again", port.info.name),
            _ => {}
        }
        self.up = up;
    }

    fn report(&mut self, complaints: &Complaints) {
        let counters = match &mut self.kind {
            Kind::Port(port, _) => {
                let mut text = String::new();
                put_link(&mut text, &port.info.name, port.rx.link());
                text.lines().for_each(|line| eprintln!("wire: {line}"));
                port.rx.counters()
            }
            Kind::Any { any, .. } => any.counters(),
        };
        let what = format_args!(
            "{}: {} packets received, {} lost because they were not read in time, \
             {} refused because of their length",
            self.name(),
            counters.received,
            counters.dropped,
            counters.refused
        );
        complaints.lost(counters.dropped + counters.refused, what);
    }
}
