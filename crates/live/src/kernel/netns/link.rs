//! Veth pairs and routes: what connects namespaces.

use super::{Namespace, NetnsError};
use crate::kernel::interface;
use crate::kernel::netlink::{self, Message};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Where it is.
    pub namespace: &'a Namespace,
    /// What it is called there.
    pub name: &'a str,
    /// Its address; `None` for one that the kernel makes up.
    pub mac: Option<[u8; 6]>,
}

/// Makes a veth pair and sets both ends up. It goes with either of its namespaces.
///
/// # Errors
/// When a name is taken, or the process may not.
pub fn veth(ends: [VethEnd<'_>; 2], mtu: u32) -> Result<(), NetnsError> {
    let mut batch = Batch::default();
    batch.pair(ends, [0, 0], mtu);
    // From inside, so that nothing of it is ever seen in the namespace of the caller.
    ends[0].namespace.enter(|| batch.send())??;
    for end in &ends {
        end.namespace.set_up(end.name)?;
    }
    ends.iter().try_for_each(wait_until_ready)
}

/// Requests in one call. Their acknowledgements wait in the socket, which has room for some hundred.
const CHUNK: usize = 32;
/// linux/if_link.h, linux/veth.h and linux/if_addr.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Changes to the interfaces of one namespace, which the kernel is told in one go.
#[derive(Default)]
pub struct Batch {
    /// The requests, numbered from 0.
    bytes: Vec<u8>,
    /// Where each begins, and what it is for.
    requests: Vec<(usize, String)>,
}

impl Batch {
    /// A veth pair whose first end is in this namespace, both ends down. Their interfaces have these numbers, or with 0 the
    /// kernel's next.
    pub fn pair(&mut self, ends: [VethEnd<'_>; 2], numbers: [u32; 2], mtu: u32) {
        fn describe<'a>(message: Message<'a>, end: &VethEnd<'_>, mtu: u32) -> Message<'a> {
            let fd = end.namespace.descriptor();
            let message = message
                .with_text(IFLA_IFNAME, end.name)
                .with(IFLA_MTU, &mtu.to_ne_bytes())
                .with(IFLA_NET_NS_FD, &fd.as_raw_fd().to_ne_bytes());
            match end.mac {
                Some(mac) => message.with(IFLA_ADDRESS, &mac),
                None => message,
            }
        }
        let ([a, b], [own, far]) = (&ends, numbers);
        let doing = format!("making the veth pair {}, {}", a.name, b.name);
        let message = self.link(libc::RTM_NEWLINK, CREATE, [own, 0, 0], doing);
        describe(message, a, mtu)
            .nest(IFLA_LINKINFO, |info| {
                info.with(IFLA_INFO_KIND, b"veth")
                    .nest(IFLA_INFO_DATA, |data| {
                        data.nest(VETH_INFO_PEER, |peer| {
                            describe(peer.words(&[0, far, 0, 0]), b, mtu)
                        })
                    })
            })
            .end();
    }

    /// Sets the interface of this number up.
    pub fn set_up(&mut self, number: u32, name: &str) {
        let doing = format!("setting up {name}");
        self.link(libc::RTM_NEWLINK, 0, [number, UP, UP], doing)
            .end();
    }

    /// Sets the interface of this number down.
    pub fn set_down(&mut self, number: u32, name: &str) {
        let doing = format!("setting down {name}");
        self.link(libc::RTM_NEWLINK, 0, [number, 0, UP], doing)
            .end();
    }

    /// Removes the interface of this number.
    pub fn remove(&mut self, number: u32, name: &str) {
        let doing = format!("removing {name}");
        self.link(libc::RTM_DELLINK, 0, [number, 0, 0], doing).end();
    }

    /// Gives the interface of this number an address.
    pub fn address(&mut self, number: u32, name: &str, address: IpAddr, prefix: u8) {
        let bytes = bytes(address);
        // Of IPv6 without a second in which the address is not used yet; IPv4 has no such flag.
        let flags = match address {
            IpAddr::V6(_) => libc::IFA_F_NODAD as u8,
            IpAddr::V4(_) => 0,
        };
        let doing = format!("giving the address {address} to {name}");
        // struct ifaddrmsg: family, prefix length, flags, scope, number.
        self.begin(libc::RTM_NEWADDR, CREATE, doing)
            .raw(&[family(address), prefix, flags, 0])
            .words(&[number])
            .with(IFA_LOCAL, &bytes)
            .with(IFA_ADDRESS, &bytes)
            .end();
    }

    /// Adds a route, over the interface of this number if it is not 0.
    pub fn route(&mut self, route: &Route, number: u32) {
        let (to, prefix) = route.to;
        let scope = match route.via {
            Some(_) => libc::RT_SCOPE_UNIVERSE,
            None => libc::RT_SCOPE_LINK,
        };
        let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        let doing = format!("adding the route to {to}/{prefix}");
        // struct rtmsg: family, prefix lengths, TOS, table, protocol, scope, type, flags.
        let mut message = self
            .begin(libc::RTM_NEWROUTE, CREATE, doing)
            .raw(&[
                family(to),
                prefix,
                0,
                0,
                table,
                protocol,
                scope,
                libc::RTN_UNICAST,
            ])
            .words(&[0]);
        if prefix > 0 {
            message = message.with(libc::RTA_DST, &bytes(to));
        }
        if let Some(via) = route.via {
            message = message.with(libc::RTA_GATEWAY, &bytes(via));
        }
        if number > 0 {
            message = message.with(libc::RTA_OIF, &number.to_ne_bytes());
        }
        message.end();
    }

    /// struct ifinfomsg: family and type, then the number of an interface, 0 for one yet to be, flags, and those that change.
    fn link(&mut self, kind: u16, flags: i32, link: [u32; 3], doing: String) -> Message<'_> {
        self.begin(kind, flags, doing).words(&[0]).words(&link)
    }

    fn begin(&mut self, kind: u16, flags: i32, doing: String) -> Message<'_> {
        let sequence = self.requests.len() as u32;
        self.requests.push((self.bytes.len(), doing));
        Message::begin(&mut self.bytes, kind, flags | libc::NLM_F_ACK, sequence)
    }

    /// Makes the changes, in this thread's namespace and in their order.
    ///
    /// # Errors
    /// The first that the kernel refused; those behind it are made all the same.
    pub fn send(&self) -> Result<(), NetnsError> {
        let mut refused = None;
        let failed = |(index, source): (u32, io::Error)| {
            let request = self.requests.get(index as usize);
            NetnsError::new(request.map_or("", |(_, doing)| doing), source)
        };
        if self.requests.is_empty() {
            return Ok(());
        }
        let socket = netlink::Socket::open(netlink::Protocol::Route, 0);
        let socket = socket.map_err(|error| failed((0, error)))?;
        for first in (0..self.requests.len()).step_by(CHUNK) {
            let behind = (first + CHUNK).min(self.requests.len());
            let end = self
                .requests
                .get(behind)
                .map_or(self.bytes.len(), |&(at, _)| at);
            let bytes = &self.bytes[self.requests[first].0..end];
            let answered = socket.acknowledged(bytes, first as u32, behind as u32 - 1);
            refused = refused.or(answered.err());
        }
        refused.map_or(Ok(()), |refused| Err(failed(refused)))
    }
}

/// What makes something that must not be there yet.
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
const UP: u32 = libc::IFF_UP as u32;

/// Waits until an end takes frames: the kernel starts its queue some time after the link is there, and
/// until then loses without a word what is sent.
pub fn wait_until_ready(end: &VethEnd<'_>) -> Result<(), NetnsError> {
    end.namespace.enter(|| wait_here(end.name))?
}

/// As [`wait_until_ready`], for an interface of this thread's namespace.
pub fn wait_here(name: &str) -> Result<(), NetnsError> {
    let failed = |source| NetnsError::new(format!("waiting for a link on {name}"), source);
    for _ in 0..2000 {
        if interface::is_ready(name).map_err(failed)? {
            return Ok(());
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    Err(failed(io::Error::from(io::ErrorKind::TimedOut)))
}

/// Where packets to some destinations go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destinations: an address, and how many of its bits count, at most 32 or 128. Zero bits are
    /// the default route.
    pub to: (IpAddr, u8),
    /// The next router; `None` when they are on the link itself.
    pub via: Option<IpAddr>,
    /// The interface; `None` for the one at which the router is.
    pub on: Option<String>,
}

impl Namespace {
    /// Adds a route to this namespace.
    ///
    /// # Errors
    /// When the router cannot be reached, the interface is not there, or the process may not.
    pub fn add_route(&self, route: &Route) -> Result<(), NetnsError> {
        self.enter(|| {
            let number = match &route.on {
                None => 0,
                Some(name) => number_here(name)?,
            };
            let mut batch = Batch::default();
            batch.route(route, number);
            batch.send()
        })?
    }
}

/// The number of an interface of this thread's namespace.
pub fn number_here(name: &str) -> Result<u32, NetnsError> {
    let failed = |source| NetnsError::new(format!("looking for the interface {name}"), source);
    let found = interface::find(name).map_err(failed)?;
    let found = found.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::ENODEV)))?;
    Ok(found.index)
}

fn family(address: IpAddr) -> u8 {
    let family = match address {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    };
    family as u8
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
