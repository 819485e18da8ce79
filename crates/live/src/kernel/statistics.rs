//! What the kernel knows of interfaces, for nodes: counters, queues, routes and neighbours, by rtnetlink
//! (paper 004 section 4.2).
//!
//! A [`Feed`] tells the same [facts](node::event) of interfaces that simulated links tell of themselves. What is read
//! each time is asked for by name, in one call, and answered in another: only the counters of those interfaces, disciplines and classes
//! that there are. Everything else - which these are, their rates, the state of the link, routes and neighbours - is read when
//! the kernel gives notice that it has changed.
//!
//! - An interface's rate is what its driver calls its speed; a veth says 10 Gb/s.
//! - What waits at a port ([`Queue::class`](node::event::Queue::class) zero) is what waits in the queueing discipline at the top, which counts
//!   all that is in those below. Its rate is that at which packets leave at most: of the disciplines and classes that shape
//!   (TBF, HTB's ceilings, HFSC's upper limits, CAKE, netem), or the interface's where that is less or nothing shapes.
//! - Routes are the unicast routes of the main table, those of several interfaces once for each.

mod interface;
pub mod message;
mod request;
mod socket;
mod table;

use crate::kernel::interface::Ask;
use crate::kernel::netlink::Received;
use interface::InterfaceStatistics;
use node::event::Event;
use node::{Port, Rate, Time};
use socket::{Came, MAX_BATCH, Socket};
use std::io;
use table::Table;

/// How soon what has changed is read again after it was read.
const PAUSE: Time = Time::from_ms(10);

/// What goes wrong with facts.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// There is no interface of that name.
    #[error("there is no interface {name}: `ip link` shows those there are")]
    NotThere { name: String },
    /// An interface is there no more.
    #[error(
        "the interface {name} was removed: nothing is known of it until there is one of that name again"
    )]
    Gone { name: String },
    /// Any other refusal.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl StatisticsError {
    fn io(doing: &'static str) -> impl Fn(io::Error) -> StatisticsError {
        move |source| StatisticsError::Io { doing, source }
    }
}

/// The facts of some interfaces.
pub struct Feed {
    socket: Socket,
    interfaces: Vec<InterfaceStatistics>,
    table: Table,
    stale: Stale,
    batches: Vec<Batch>,
    /// When what has changed may be read next.
    next: Time,
    found: Vec<(bool, message::Traffic)>,
    request: Vec<u8>,
}

/// What has to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stale {
    links: bool,
    disciplines: bool,
    routes: bool,
    neighbours: bool,
}

impl Stale {
    const ALL: Stale = Stale {
        links: true,
        disciplines: true,
        routes: true,
        neighbours: true,
    };
    const NOTHING: Stale = Stale {
        links: false,
        disciplines: false,
        routes: false,
        neighbours: false,
    };
}

/// Requests that are sent together.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// What each is about: the place of the interface, and of a discipline or class.
    about: Vec<(usize, Option<usize>)>,
}

impl Feed {
    /// Facts of interfaces in this thread's namespace, each for the port that it is given with. Needs no rights.
    ///
    /// # Errors
    /// When there is none of such a name, or the system does not tell.
    pub fn open(interfaces: &[(Port, &str)]) -> Result<Feed, StatisticsError> {
        let doing = "opening a socket for facts of the kernel (rtnetlink)";
        let interfaces = interfaces
            .iter()
            .map(|(port, name)| InterfaceStatistics::new(*port, name));
        let mut feed = Feed {
            socket: Socket::open().map_err(StatisticsError::io(doing))?,
            interfaces: interfaces.collect(),
            table: Table::default(),
            stale: Stale::ALL,
            batches: Vec::new(),
            next: Time::ZERO,
            found: Vec::new(),
            request: Vec::new(),
        };
        feed.refresh(Time::ZERO)?;
        match feed
            .interfaces
            .iter()
            .find(|interface| interface.index.is_none())
        {
            Some(InterfaceStatistics { name, .. }) => {
                Err(StatisticsError::NotThere { name: name.clone() })
            }
            None => Ok(feed),
        }
    }

    /// Tells what is so at time `now`: of each port the interface, all that waits, and each discipline and class; and which routes and neighbours
    /// have changed since it was told last. What could not be read again is told as it was, with the time of then.
    ///
    /// # Errors
    /// When an interface has gone, once; and when the system does not tell. Everything else has been told all the same, and
    /// goes on to be.
    pub fn read(&mut self, now: Time, tell: &mut dyn FnMut(Event)) -> Result<(), StatisticsError> {
        let mut result = self.poll(now);
        if self.stale != Stale::NOTHING && now >= self.next {
            self.next = now + PAUSE;
            let again = self.refresh(now).and_then(|()| self.poll(now));
            result = result.and(again);
        }
        for interface in &self.interfaces {
            interface.tell(now, tell);
        }
        for (port, what) in self.table.changes.drain(..) {
            let at = now;
            tell(Event { at, port, what });
        }
        let mut gone = self
            .interfaces
            .iter_mut()
            .filter(|interface| interface.gone);
        if let Some(interface) = gone.next() {
            interface.gone = false;
            let name = interface.name.clone();
            return Err(StatisticsError::Gone { name });
        }
        result
    }

    /// Reads all counters, and notices.
    fn poll(&mut self, now: Time) -> Result<(), StatisticsError> {
        let Feed {
            socket,
            interfaces,
            table,
            stale,
            batches,
            ..
        } = self;
        for batch in batches.iter_mut() {
            let Batch { bytes, about } = batch;
            let mut answered = 0;
            let came = socket.ask(bytes, &mut |place, message| {
                let Some(&(interface, member)) = place.and_then(|place| about.get(place)) else {
                    notice(&message, interfaces, table, stale);
                    return;
                };
                answered += 1;
                let read = match (message.kind, member) {
                    (message::NEWSTATS, None) => match message::stats(message.body) {
                        Some((_, received, sent)) => {
                            interfaces[interface].put_stats(now, received, sent);
                            true
                        }
                        None => false,
                    },
                    (libc::RTM_NEWQDISC | libc::RTM_NEWTCLASS, Some(member)) => {
                        match message::traffic(message.body) {
                            Some(traffic) => {
                                interfaces[interface].put_traffic(now, member, &traffic);
                                true
                            }
                            None => false,
                        }
                    }
                    _ => false,
                };
                if !read {
                    stale.links |= member.is_none();
                    stale.disciplines = true;
                }
            });
            let came = came.map_err(StatisticsError::io("reading counters by rtnetlink"))?;
            if came == Came::Overrun || answered < about.len() {
                *stale = Stale::ALL;
            }
        }
        Ok(())
    }

    /// Reads what has changed.
    fn refresh(&mut self, now: Time) -> Result<(), StatisticsError> {
        let stale = std::mem::replace(&mut self.stale, Stale::NOTHING);
        if stale.links {
            self.read_links()?;
        }
        if stale.links || stale.disciplines {
            self.read_disciplines(now)?;
            self.prepare();
        }
        if stale.links || stale.routes {
            self.read_routes()?;
        }
        if stale.links || stale.neighbours {
            self.table.neighbours_begin();
            self.request.clear();
            request::neighbours(&mut self.request);
            self.dump(&mut |message, interfaces, table| {
                if let Some((index, neighbour)) = message::neighbour(message.body) {
                    table.neighbour(interfaces, index, neighbour, false);
                }
            })?;
            self.table.neighbours_read();
        }
        Ok(())
    }

    /// Looks for each interface by its number, and by its name where that is not there.
    fn read_links(&mut self) -> Result<(), StatisticsError> {
        for place in 0..self.interfaces.len() {
            let index = self.interfaces[place].index;
            if index.is_none_or(|index| !self.read_link(place, index).unwrap_or(false)) {
                let failed = StatisticsError::io("looking for an interface by rtnetlink");
                if !self.read_link(place, 0).map_err(failed)? {
                    self.interfaces[place].lost();
                }
            }
        }
        Ok(())
    }

    /// Asks for an interface by its number, or by its name with 0; whether it is there.
    fn read_link(&mut self, place: usize, index: u32) -> io::Result<bool> {
        let Feed {
            socket,
            interfaces,
            table,
            stale,
            request,
            ..
        } = self;
        request.clear();
        request::link(index, &interfaces[place].name, request);
        let (mut found, mut refused) = (None, None);
        let name = &mut Vec::new();
        // Of others the notices, as ever.
        socket
            .dump(request, &mut |mine, message| {
                if !mine {
                    notice(&message, interfaces, table, stale);
                } else if let Some(link) = message::link(message.body) {
                    name.clear();
                    name.extend_from_slice(link.name);
                    found = Some((link.index, link.flags, link.mtu));
                }
            })
            .map(|_| ())
            .or_else(|error| match error.raw_os_error() {
                Some(libc::ENODEV | libc::EINVAL | libc::ERANGE) => {
                    refused = Some(error);
                    Ok(())
                }
                _ => Err(error),
            })?;
        let Some((index, flags, mtu)) = found.filter(|_| refused.is_none()) else {
            return Ok(false);
        };
        let text = String::from_utf8_lossy(name);
        let speed = Ask::new(socket.descriptor(), &text).speed();
        let link = message::Link {
            index,
            name,
            flags,
            mtu,
        };
        interfaces[place].found(&link, speed.and_then(Rate::from_bits_per_second));
        Ok(true)
    }

    /// Reads which disciplines and classes there are.
    fn read_disciplines(&mut self, now: Time) -> Result<(), StatisticsError> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.request.clear();
        request::disciplines(&mut self.request);
        self.dump(&mut |message, interfaces, _| {
            let traffic = message::traffic(message.body).filter(interface::is_outward);
            let ours = |index| {
                interfaces
                    .iter()
                    .any(|interface| interface.index == Some(index))
            };
            if let Some(traffic) = traffic.filter(|traffic| ours(traffic.index)) {
                found.push((false, traffic));
            }
        })?;
        for place in 0..self.interfaces.len() {
            let Some(index) = self.interfaces[place].index else {
                continue;
            };
            let mut own: Vec<_> = found
                .iter()
                .copied()
                .filter(|(_, it)| it.index == index)
                .collect();
            self.request.clear();
            request::classes(index, &mut self.request);
            self.dump(&mut |message, _, _| {
                let traffic = message::traffic(message.body).filter(interface::is_outward);
                if let Some(traffic) = traffic.filter(|_| own.len() < interface::MEMBERS) {
                    own.push((true, traffic));
                }
            })?;
            self.interfaces[place].put_members(now, &own);
        }
        self.found = found;
        Ok(())
    }

    /// Writes the requests that are sent again and again.
    fn prepare(&mut self) {
        self.batches.clear();
        let mut batch = Batch::default();
        let mut full = |batch: &mut Batch| {
            if batch.about.len() == MAX_BATCH {
                self.batches.push(std::mem::take(batch));
            }
        };
        for (place, interface) in self.interfaces.iter().enumerate() {
            let Some(index) = interface.index else {
                continue;
            };
            request::stats(index, &mut batch.bytes);
            batch.about.push((place, None));
            full(&mut batch);
            for (member, handle, class) in interface.asks() {
                match class {
                    true => request::class(index, handle, &mut batch.bytes),
                    false => request::discipline(index, handle, &mut batch.bytes),
                }
                batch.about.push((place, Some(member)));
                full(&mut batch);
            }
        }
        // Without anything to ask for too: notices are read all the same.
        if !batch.about.is_empty() || self.batches.is_empty() {
            self.batches.push(batch);
        }
    }

    fn read_routes(&mut self) -> Result<(), StatisticsError> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.request.clear();
            request::routes(family, &mut self.request);
            let read = self.dump(&mut |message, interfaces, table| {
                message::routes(message.body, &mut |index, route| {
                    table.route(interfaces, index, route);
                });
            });
            match read {
                // No table yet, or no such family in this kernel.
                Err(StatisticsError::Io { ref source, .. })
                    if matches!(
                        source.raw_os_error(),
                        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EAFNOSUPPORT)
                    ) => {}
                read => read?,
            }
        }
        self.table.routes_read();
        Ok(())
    }

    /// Asks for a table, by the request that was written.
    fn dump(
        &mut self,
        visit: &mut dyn FnMut(&Received<'_>, &[InterfaceStatistics], &mut Table),
    ) -> Result<(), StatisticsError> {
        let Feed {
            socket,
            interfaces,
            table,
            stale,
            request,
            ..
        } = self;
        let came = socket.dump(request, &mut |mine, message| match mine {
            true => visit(&message, interfaces, table),
            false => notice(&message, interfaces, table, stale),
        });
        let came = came.map_err(StatisticsError::io("reading a table by rtnetlink"))?;
        if came == Came::Overrun {
            *stale = Stale::ALL;
        }
        Ok(())
    }
}

/// Takes what the kernel says of its own accord.
fn notice(
    message: &Received<'_>,
    interfaces: &[InterfaceStatistics],
    table: &mut Table,
    stale: &mut Stale,
) {
    let ours = |index: u32| {
        interfaces
            .iter()
            .any(|interface| interface.index == Some(index))
    };
    match message.kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK => {
            let wanted = interfaces.iter().any(|interface| interface.index.is_none());
            let about = message::link(message.body);
            stale.links |= about.is_none_or(|link| wanted || ours(link.index));
        }
        libc::RTM_NEWQDISC | libc::RTM_DELQDISC | libc::RTM_NEWTCLASS | libc::RTM_DELTCLASS => {
            let about = message::traffic(message.body);
            stale.disciplines |= about.is_none_or(|traffic| ours(traffic.index));
        }
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => stale.routes = true,
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => {
            if let Some((index, neighbour)) = message::neighbour(message.body) {
                let gone = message.kind == libc::RTM_DELNEIGH;
                table.neighbour(interfaces, index, neighbour, gone);
            }
        }
        kind if i32::from(kind) == libc::NLMSG_OVERRUN => *stale = Stale::ALL,
        _ => {}
    }
}
