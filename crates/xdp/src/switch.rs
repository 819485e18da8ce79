//! A program on interfaces.

use crate::frame::CODES;
use crate::kernel::{Error, Kernel, failed};
use crate::maps::Purpose;
use crate::path::path;
use crate::timed;
use crate::unit::{Code, Entrance};
use live::ebpf::Mode;
use node::Time;
use pipeline::environment::Environment;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// An interface has a program already.
const EBUSY: i32 = 16;

/// An interface as a port of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// As the kernel numbers it.
    pub index: u32,
    /// The most bytes of a packet behind the Ethernet header.
    pub mtu: u32,
    /// Where the program is to run: of a veth, whose driver sends only what its peer has asked for, behind the driver.
    pub mode: Mode,
}

/// How many packets ended in which way since the program was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// They were given to the interface of a port. What it did not take is in its own statistics.
    pub sent: u64,
    /// They were to be sent by a port that is not there.
    pub no_port: u64,
    /// They were longer than the MTU of the interface that they were to leave by: segments that a local sender has left whole, for example. They are lost.
    pub too_long: u64,
    pub dropped: u64,
    /// They were to be copied, which a program of the kernel cannot: clones, or copies of which each is treated in its own way. They are lost.
    pub left: u64,
    /// Copies of a multicast group for ports that are not there; the packets are counted otherwise.
    pub copies_lost: u64,
    /// They asked for more than the kernel allows: they read beyond 4 KiB, emitted more than 1 KiB of headers, or moved on by a part of a byte. They are
    /// lost.
    pub beyond: u64,
    /// They grew by more than there is room for before a packet, or shrank below an Ethernet header. They are lost.
    pub no_room: u64,
    /// They were to begin anew more often than the kernel allows, 33 times. They are lost.
    pub passes: u64,
    /// Digests and messages there was no room for.
    pub messages_lost: u64,
    /// An `assert` or `assume` did not hold, or there were too many jumps backwards.
    pub stopped: u64,
}

impl Counts {
    /// How many came in.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.sent + self.dropped + self.lost() + self.stopped
    }

    /// How many were lost, since the kernel could not do what the program asks for.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.no_port + self.too_long + self.left + self.beyond + self.no_room + self.passes
    }
}

/// A program on interfaces, the first of which is port 0. It is gone from them when the value goes.
///
/// What the control plane does to the environment's tables the kernel has after [`Switch::bring`]; what the kernel counted the environment has
/// after [`Switch::read`].
pub struct Switch {
    kernel: Kernel,
    /// What counters and registers were when they were last the same on both sides.
    same: Vec<u64>,
    modes: Vec<Mode>,
    /// Number and longest frame of each port's interface.
    interfaces: Vec<(u32, u64)>,
    /// How packets ended in programs that ran before this one.
    past: [u64; CODES + 1],
    links: Vec<OwnedFd>,
}

impl Switch {
    /// Loads the program and attaches it.
    ///
    /// # Errors
    /// When the kernel cannot do what the program asks for, refuses it, or an interface has a program already.
    pub fn new(environment: &Arc<Environment>, interfaces: &[Interface]) -> Result<Self, Error> {
        let path = path(environment)?;
        let kernel = Kernel::load(environment, &path, Entrance::Attached)?;
        let numbers = interfaces
            .iter()
            .map(|interface| (interface.index, longest(interface.mtu)));
        let numbers: Vec<(u32, u64)> = numbers.collect();
        number(&kernel, &numbers)?;
        let attach = |interface: &Interface| {
            let attached = |mode| kernel.program.attach(interface.index, mode);
            let (result, mode) = match attached(interface.mode) {
                // A driver without XDP.
                Err(error)
                    if interface.mode == Mode::Driver && error.raw_os_error() != Some(EBUSY) =>
                {
                    (attached(Mode::Generic), Mode::Generic)
                }
                first => (first, interface.mode),
            };
            match result {
                Ok(link) => Ok((link, mode)),
                Err(error) if error.raw_os_error() == Some(EBUSY) => {
                    Err(Error::Taken(interface.index))
                }
                Err(error) => Err(failed("attaching the program to an interface")(error)),
            }
        };
        let links = interfaces
            .iter()
            .map(attach)
            .collect::<Result<Vec<_>, _>>()?;
        let (links, modes) = links.into_iter().unzip();
        let mut switch = Switch {
            kernel,
            same: Vec::new(),
            modes,
            interfaces: numbers,
            past: [0; CODES + 1],
            links,
        };
        switch.read().map_err(failed("reading the meters"))?;
        switch
            .bring_groups()
            .map_err(failed("telling the multicast groups"))?;
        Ok(switch)
    }

    /// Puts another program in place of the one that runs, with the state of its environment. Each packet meets one or the other.
    ///
    /// # Errors
    /// As for [`Switch::new`]; then the one that runs goes on.
    pub fn replace(&mut self, environment: &Arc<Environment>) -> Result<(), Error> {
        let path = path(environment)?;
        let mut kernel = Kernel::load(environment, &path, Entrance::Attached)?;
        number(&kernel, &self.interfaces)?;
        kernel
            .bring_groups(&self.interfaces)
            .map_err(failed("telling the multicast groups"))?;
        let replaced = self
            .links
            .iter()
            .try_for_each(|link| kernel.program.replace(link));
        if let Err(error) = replaced {
            for link in &self.links {
                // One whose interface has gone has no program to be put back.
                let _ = self.kernel.program.replace(link);
            }
            return Err(failed("putting the program in place of another")(error));
        }
        let counts = self.kernel.ended();
        let counts = counts.map_err(failed("reading the kernel's counters"))?;
        for (sum, count) in self.past.iter_mut().zip(counts) {
            *sum += count;
        }
        self.kernel = kernel;
        self.read().map_err(failed("reading the meters"))
    }

    /// Where the program came to run, interface by interface.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Another MTU of a port's interface.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn set_mtu(&mut self, port: usize, mtu: u32) -> io::Result<()> {
        set_mtu(&self.kernel, port as u32, mtu)?;
        if let Some((_, most)) = self.interfaces.get_mut(port) {
            *most = longest(mtu);
        }
        self.bring_groups()
    }

    fn bring_groups(&mut self) -> io::Result<()> {
        self.kernel.bring_groups(&self.interfaces)
    }

    /// Gives the kernel what the control plane has changed: tables, and counters and registers that were set since [`Switch::read`].
    ///
    /// # Errors
    /// When a map has no room.
    pub fn bring(&mut self) -> io::Result<()> {
        self.kernel.bring_tables()?;
        self.bring_groups()?;
        self.kernel.bring_meters()?;
        self.kernel.push_changes(&mut self.same);
        Ok(())
    }

    /// Copies entries that packets have added to the environment, and removes expired ones from both; `now` is the time of the kernel's clock.
    ///
    /// # Errors
    /// When the kernel does not show its tables, or a map has no room.
    pub fn tick(&mut self, now: Time) -> io::Result<()> {
        let environment = Arc::clone(&self.kernel.environment);
        if timed::key_cells(&environment) == 0 {
            return Ok(());
        }
        self.kernel.settle(now)?;
        environment.expire(now);
        for idle in environment.tables.idle(now) {
            environment.idles.push(idle);
        }
        self.kernel.bring_tables()
    }

    /// Brings the environment what the program has said: digests.
    pub fn hear(&mut self) {
        self.kernel.hear();
    }

    /// Brings the environment what the kernel has counted and what the program has said: counters, registers, meters' tokens, digests.
    ///
    /// # Errors
    /// When the kernel does not say what its meters hold.
    pub fn read(&mut self) -> io::Result<()> {
        self.hear();
        self.same = self.kernel.pull();
        self.kernel.pull_meters()
    }

    /// How packets have ended.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut ended = self.kernel.ended()?;
        for (sum, past) in ended.iter_mut().zip(self.past) {
            *sum += past;
        }
        let count = |code: Code| ended[code as usize];
        Ok(Counts {
            sent: count(Code::Sent),
            no_port: count(Code::NoPort),
            too_long: count(Code::TooLong),
            dropped: count(Code::Dropped),
            left: count(Code::Left),
            copies_lost: count(Code::NoCopy),
            beyond: count(Code::Beyond),
            no_room: count(Code::NoRoom),
            passes: count(Code::Passes),
            messages_lost: ended[CODES],
            stopped: count(Code::Assert) + count(Code::Assume) + count(Code::Steps),
        })
    }
}

/// Tells a program its ports: number and longest frame of each one's interface.
fn number(kernel: &Kernel, interfaces: &[(u32, u64)]) -> Result<(), Error> {
    for (port, (index, longest)) in (0u32..).zip(interfaces) {
        let set = |purpose, key: u32, value: &[u8]| match kernel.map(purpose) {
            Some(map) => map.set(&key.to_ne_bytes(), value),
            None => Ok(()),
        };
        set(Purpose::PortOf, *index, &u64::from(port).to_ne_bytes())
            .map_err(failed("numbering the ports"))?;
        set(Purpose::Interfaces, port, &index.to_ne_bytes())
            .map_err(failed("numbering the interfaces"))?;
        set(Purpose::Longest, port, &longest.to_ne_bytes()).map_err(failed("telling the MTU"))?;
    }
    Ok(())
}

/// The longest frame: with an Ethernet header and a VLAN tag, as the kernel itself counts.
fn longest(mtu: u32) -> u64 {
    u64::from(mtu) + 14 + 4
}

fn set_mtu(kernel: &Kernel, port: u32, mtu: u32) -> io::Result<()> {
    match kernel.map(Purpose::Longest) {
        Some(map) => map.set(&port.to_ne_bytes(), &longest(mtu).to_ne_bytes()),
        None => Ok(()),
    }
}
