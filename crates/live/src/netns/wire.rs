//! Veth pairs and routes: what connects namespaces.

use super::netlink::{self, Netlink, Request};
use super::{Namespace, NetnsError};
use crate::interface;
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

/// Changes to the interfaces of one namespace, which the kernel is told in one go.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// What each is for.
    doing: Vec<String>,
}

impl Batch {
    /// A veth pair whose first end is in this namespace, both ends down. Their interfaces have these numbers, or with 0 the
    /// kernel's next.
    pub fn pair(&mut self, ends: [VethEnd<'_>; 2], numbers: [u32; 2], mtu: u32) {
        let describe = |request: Request, end: &VethEnd<'_>| {
            let fd = end.namespace.descriptor();
            let request = request
                .with_text(netlink::IFLA_IFNAME, end.name)
                .with(netlink::IFLA_MTU, &mtu.to_ne_bytes())
                .with(netlink::IFLA_NET_NS_FD, &fd.as_raw_fd().to_ne_bytes());
            match end.mac {
                Some(mac) => request.with(netlink::IFLA_ADDRESS, &mac),
                None => request,
            }
        };
        let ([a, b], [own, far]) = (&ends, numbers);
        let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let request = Request::new(libc::RTM_NEWLINK, create).link(own, 0, 0);
        let request = describe(request, a).nest(netlink::IFLA_LINKINFO, |info| {
            info.with(netlink::IFLA_INFO_KIND, b"veth")
                .nest(netlink::IFLA_INFO_DATA, |data| {
                    data.nest(netlink::VETH_INFO_PEER, |peer| {
                        describe(peer.link(far, 0, 0), b)
                    })
                })
        });
        self.put(
            request,
            format!("making the veth pair {}, {}", a.name, b.name),
        );
    }

    /// Sets the interface of this number up.
    pub fn raise(&mut self, number: u32, name: &str) {
        let up = libc::IFF_UP as u32;
        let request = Request::new(libc::RTM_NEWLINK, 0).link(number, up, up);
        self.put(request, format!("setting up {name}"));
    }

    /// Gives the interface of this number an address.
    pub fn address(&mut self, number: u32, name: &str, address: IpAddr, prefix: u8) {
        let bytes = bytes(address);
        let request = Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
            .address(family(address), prefix, number)
            .with(netlink::IFA_LOCAL, &bytes)
            .with(netlink::IFA_ADDRESS, &bytes);
        self.put(request, format!("giving the address {address} to {name}"));
    }

    /// Adds a route, over the interface of this number if it is not 0.
    pub fn route(&mut self, route: &Route, number: u32) {
        let (to, prefix) = route.to;
        let scope = match route.via {
            Some(_) => libc::RT_SCOPE_UNIVERSE,
            None => libc::RT_SCOPE_LINK,
        };
        let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Request::new(libc::RTM_NEWROUTE, create).route(family(to), prefix, scope);
        if prefix > 0 {
            request = request.with(netlink::RTA_DST, &bytes(to));
        }
        if let Some(via) = route.via {
            request = request.with(netlink::RTA_GATEWAY, &bytes(via));
        }
        if number > 0 {
            request = request.with(netlink::RTA_OIF, &number.to_ne_bytes());
        }
        self.put(request, format!("adding the route to {to}/{prefix}"));
    }

    fn put(&mut self, request: Request, doing: String) {
        self.requests.push(request);
        self.doing.push(doing);
    }

    /// Makes the changes, in this thread's namespace and in their order.
    ///
    /// # Errors
    /// The first that the kernel refused; those behind it are made all the same.
    pub fn send(&self) -> Result<(), NetnsError> {
        if self.requests.is_empty() {
            return Ok(());
        }
        let sent = Netlink::open()
            .map_err(|error| (0, error))
            .and_then(|netlink| netlink.ask_all(&self.requests));
        sent.map_err(|(place, source)| {
            let doing = self.doing.get(place).cloned().unwrap_or_default();
            NetnsError::new(doing, source)
        })
    }
}

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
