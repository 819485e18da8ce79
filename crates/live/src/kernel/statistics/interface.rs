//! An interface: what it counts, and the disciplines and classes by which packets leave it.

use super::message::{INGRESS, Link, ROOT, Traffic};
use node::event::{Counts, Event, Interface, Queue, What};
use node::{Port, Rate, Time};

/// Disciplines and classes of an interface that are known; others are left out.
pub const MEMBERS: usize = 1024;
/// How deep they may stand within each other: the kernel allows 8 for HTB.
const DEPTH: u32 = 16;

/// An interface that a port stands for.
pub struct InterfaceStatistics {
    pub port: Port,
    /// The interface's name.
    pub name: String,
    /// Its number; `None` while it is not there.
    pub index: Option<u32>,
    /// Whether its being gone is yet to be told.
    pub gone: bool,
    interface: Interface,
    /// When its counters were read.
    taken: Time,
    /// Disciplines, and then classes.
    members: Vec<Member>,
    /// The discipline at the top.
    root: Option<usize>,
}

/// A discipline or a class.
struct Member {
    class: bool,
    parent: u32,
    /// What it is shaped to itself.
    own: Option<Rate>,
    /// Whether it has counters, and can be asked for by its handle.
    told: bool,
    queue: Queue,
    /// Dropped and overlimits, as the kernel has them.
    last: [u32; 2],
    taken: Time,
}

impl InterfaceStatistics {
    /// One that is not looked at yet.
    pub fn new(port: Port, name: &str) -> InterfaceStatistics {
        InterfaceStatistics {
            port,
            name: name.into(),
            index: None,
            gone: false,
            interface: Interface::default(),
            taken: Time::ZERO,
            members: Vec::new(),
            root: None,
        }
    }

    /// The interface is there, as the kernel says.
    pub fn found(&mut self, link: &Link<'_>, speed: Option<Rate>) {
        if self.index.replace(link.index) != Some(link.index) {
            self.members.clear();
            self.root = None;
        }
        self.gone = false;
        let both = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
        self.interface.up = link.flags & both == both;
        self.interface.mtu = link.mtu;
        self.interface.rate = speed;
    }

    /// It is not there any more.
    pub fn lost(&mut self) {
        self.gone |= self.index.take().is_some();
        self.members.clear();
        self.root = None;
        self.interface = Interface::default();
    }

    /// Takes what it counts.
    pub fn put_stats(&mut self, now: Time, received: Counts, sent: Counts) {
        (self.interface.received, self.interface.sent) = (received, sent);
        self.taken = now;
    }

    /// Takes what there is now of disciplines and classes.
    pub fn put_members(&mut self, now: Time, found: &[(bool, Traffic)]) {
        let mut members: Vec<Member> = Vec::with_capacity(found.len());
        let mut root = None;
        for (class, traffic) in found.iter().take(MEMBERS) {
            let top = !class && traffic.parent == ROOT;
            if top {
                root = Some(members.len());
            }
            let handle =
                |member: &&Member| (member.class, member.queue.class) == (*class, traffic.handle);
            let before = self.members.iter().find(handle);
            let mut member = Member {
                class: *class,
                parent: traffic.parent,
                own: traffic.rate,
                told: traffic.counts && (top || traffic.handle != 0),
                queue: Queue {
                    // A shaper of the kernel counts bytes as they are.
                    overhead: 0,
                    class: traffic.handle,
                    ..before.map_or(Queue::default(), |before| before.queue)
                },
                last: before.map_or([0; 2], |before| before.last),
                taken: now,
            };
            member.put(now, traffic);
            members.push(member);
        }
        self.members = members;
        self.root = root;
        let mut within: Vec<(u32, usize)> = Vec::with_capacity(self.members.len());
        for (place, member) in self.members.iter_mut().enumerate() {
            member.queue.rate = None;
            // A class without another above it is in its discipline.
            let parent = match member.parent {
                ROOT if member.class => member.queue.class & 0xFFFF_0000,
                parent => parent,
            };
            within.push((parent, place));
        }
        within.sort_unstable();
        let mut seen = vec![false; self.members.len()];
        for place in 0..self.members.len() {
            self.find_rate(place, &within, &mut seen, 0);
        }
        if let Some(root) = root {
            let rate = &mut self.members[root].queue.rate;
            *rate = least(*rate, self.interface.rate);
        }
    }

    /// What a discipline or class lets go at most: what it is shaped to itself, and what all in it are together, where all are. Each is
    /// looked at once; `within` has what is in which, by the handle of the latter.
    fn find_rate(
        &mut self,
        place: usize,
        within: &[(u32, usize)],
        seen: &mut [bool],
        depth: u32,
    ) -> Option<Rate> {
        if std::mem::replace(&mut seen[place], true) || depth > DEPTH {
            return self.members[place].queue.rate;
        }
        let handle = self.members[place].queue.class;
        let first = within.partition_point(|&(parent, _)| parent < handle);
        let inside = within[first..].iter();
        let inside = inside.take_while(|&&(parent, _)| parent == handle && handle != 0);
        let (mut sum, mut any) = (Some(0u64), false);
        for &(_, inner) in inside {
            any = true;
            let rate = self.find_rate(inner, within, seen, depth + 1);
            let rate = rate.map(Rate::bits_per_second);
            sum = sum.zip(rate).and_then(|(sum, rate)| sum.checked_add(rate));
        }
        let together = sum.filter(|_| any).and_then(Rate::from_bits_per_second);
        let rate = least(self.members[place].own, together);
        self.members[place].queue.rate = rate;
        rate
    }

    /// What is asked for again and again: the places, handles, and whether they are classes. The one at the top has the handle 0.
    pub fn asks(&self) -> impl Iterator<Item = (usize, u32, bool)> {
        let members = self.members.iter().enumerate();
        members
            .filter(|(_, member)| member.told)
            .map(|(place, member)| {
                let top = Some(place) == self.root;
                let handle = if top { 0 } else { member.queue.class };
                (place, handle, member.class)
            })
    }

    /// Takes what one of them has counted.
    pub fn put_traffic(&mut self, now: Time, place: usize, traffic: &Traffic) {
        if let Some(member) = self.members.get_mut(place) {
            member.put(now, traffic);
        }
    }

    /// Tells what is known.
    pub fn tell(&self, now: Time, tell: &mut dyn FnMut(Event)) {
        let port = self.port;
        let mut say = |at, what| tell(Event { at, port, what });
        if self.index.is_none() {
            if self.gone {
                say(now, What::Interface(Interface::default()));
                say(now, What::Queue(Queue::default()));
            }
            return;
        }
        say(self.taken, What::Interface(self.interface));
        let (taken, all) = match self.root.and_then(|root| self.members.get(root)) {
            Some(root) => (root.taken, root.queue),
            None => (self.taken, Queue::default()),
        };
        let all = Queue {
            class: 0,
            rate: all.rate.or(self.interface.rate),
            ..all
        };
        say(taken, What::Queue(all));
        for (place, member) in self.members.iter().enumerate() {
            if member.told && Some(place) != self.root {
                say(member.taken, What::Queue(member.queue));
            }
        }
    }
}

/// Whether it is about packets that leave.
pub fn is_outward(traffic: &Traffic) -> bool {
    traffic.parent != INGRESS
}

fn least(a: Option<Rate>, b: Option<Rate>) -> Option<Rate> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Member {
    fn put(&mut self, now: Time, traffic: &Traffic) {
        self.taken = now;
        self.queue.packets = traffic.packets;
        self.queue.bytes = traffic.bytes.into();
        self.queue.sent_packets = traffic.sent_packets;
        self.queue.sent_bytes = traffic.sent_bytes;
        let [dropped, overlimits] = &mut self.last;
        extend(&mut self.queue.dropped, dropped, traffic.dropped);
        extend(&mut self.queue.overlimits, overlimits, traffic.overlimits);
    }
}

/// Counts on where the kernel's 32 bits have gone round. Fewer than before without that are those of a new one.
fn extend(total: &mut u64, last: &mut u32, now: u32) {
    let more = now.wrapping_sub(*last);
    *total = match now < *last && more > u32::MAX / 2 {
        true => now.into(),
        false => total.saturating_add(more.into()),
    };
    *last = now;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits: u64) -> Option<Rate> {
        Rate::from_bits_per_second(bits)
    }

    fn entry(class: bool, handle: u32, parent: u32, bits: u64) -> (bool, Traffic) {
        let traffic = Traffic {
            index: 7,
            handle,
            parent,
            rate: rate(bits),
            counts: true,
            ..Traffic::default()
        };
        (class, traffic)
    }

    fn rates(speed: u64, found: &[(bool, Traffic)]) -> Vec<(u32, Option<Rate>)> {
        let mut interface = InterfaceStatistics::new(Port(0), "eth0");
        let link = Link {
            index: 7,
            name: b"eth0",
            flags: 0,
            mtu: 1500,
        };
        interface.found(&link, rate(speed));
        interface.put_members(Time::ZERO, found);
        let mut rates = Vec::new();
        interface.tell(Time::ZERO, &mut |event| {
            if let What::Queue(queue) = event.what {
                rates.push((queue.class, queue.rate));
            }
        });
        rates
    }

    #[test]
    fn a_port_empties_at_the_rate_of_what_shapes_it() {
        // No discipline that shapes: the interface's.
        let fifo = entry(false, 0, ROOT, 0);
        assert_eq!(rates(1000, &[fifo]), [(0, rate(1000))]);
        assert_eq!(rates(0, &[fifo]), [(0, None)]);
        // A bucket, and one that lets more go than the interface does.
        assert_eq!(
            rates(1000, &[entry(false, 0x1_0000, ROOT, 100)]),
            [(0, rate(100))]
        );
        assert_eq!(
            rates(1000, &[entry(false, 0x1_0000, ROOT, 9999)]),
            [(0, rate(1000))]
        );
        // HTB: a class for all, two in it, one of which has a slower bucket.
        let htb = [
            entry(false, 0x1_0000, ROOT, 0),
            entry(false, 0x10_0000, 0x1_0010, 30),
            entry(true, 0x1_0001, ROOT, 100),
            entry(true, 0x1_0010, 0x1_0001, 100),
            entry(true, 0x1_0020, 0x1_0001, 50),
        ];
        let told = [
            (0, 80),
            (0x10_0000, 30),
            (0x1_0001, 80),
            (0x1_0010, 30),
            (0x1_0020, 50),
        ];
        assert_eq!(
            rates(1000, &htb),
            told.map(|(class, bits)| (class, rate(bits)))
        );
        // Bands of which only one is shaped.
        let bands = [
            entry(false, 0x1_0000, ROOT, 0),
            entry(false, 0x10_0000, 0x1_0001, 30),
            entry(true, 0x1_0001, 0x1_0000, 0),
            entry(true, 0x1_0002, 0x1_0000, 0),
        ];
        assert_eq!(rates(1000, &bands)[0], (0, rate(1000)));
    }

    #[test]
    fn circles_among_classes_end() {
        let circle = [
            entry(false, 0x1_0000, ROOT, 0),
            entry(true, 0x1_0001, 0x1_0001, 100),
        ];
        assert_eq!(rates(0, &circle)[0].0, 0);
    }

    #[test]
    fn counters_of_32_bits_go_on_where_these_end() {
        let (mut total, mut last) = (0, 0);
        extend(&mut total, &mut last, 3_000_000_000);
        extend(&mut total, &mut last, 5);
        assert_eq!(total, (1 << 32) + 5);
        // A new discipline of the same handle.
        extend(&mut total, &mut last, 3);
        assert_eq!(total, 3);
    }
}
