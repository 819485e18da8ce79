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
    // From inside, so that nothing of it is ever seen in the namespace of the caller.
    ends[0].namespace.enter(|| lay(ends, mtu))??;
    for end in &ends {
        end.namespace.enter(|| raise_here(end.name))??;
    }
    ends.iter().try_for_each(wait_until_ready)
}

/// Makes a veth pair whose first end is in this thread's namespace, both ends down.
pub fn lay(ends: [VethEnd<'_>; 2], mtu: u32) -> Result<(), NetnsError> {
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
    let [a, b] = &ends;
    let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = describe(Request::new(libc::RTM_NEWLINK, create).link(0, 0, 0), a).nest(
        netlink::IFLA_LINKINFO,
        |info| {
            info.with(netlink::IFLA_INFO_KIND, b"veth")
                .nest(netlink::IFLA_INFO_DATA, |data| {
                    data.nest(netlink::VETH_INFO_PEER, |peer| {
                        describe(peer.link(0, 0, 0), b)
                    })
                })
        },
    );
    let made = Netlink::open().and_then(|netlink| netlink.ask(request));
    made.map_err(|source| {
        let doing = format!("making the veth pair {}, {}", a.name, b.name);
        NetnsError::new(doing, source)
    })
}

/// Sets an interface of this thread's namespace up.
pub fn raise_here(name: &str) -> Result<(), NetnsError> {
    interface::set_up(name).map_err(|source| NetnsError::new(format!("setting up {name}"), source))
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
        self.enter(|| add_route_here(route))?
    }
}

/// Adds a route to this thread's namespace.
pub fn add_route_here(route: &Route) -> Result<(), NetnsError> {
    let (to, prefix) = route.to;
    let failed = |source| NetnsError::new(format!("adding the route to {to}/{prefix}"), source);
    let family = if to.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let scope = match route.via {
        Some(_) => libc::RT_SCOPE_UNIVERSE,
        None => libc::RT_SCOPE_LINK,
    };
    let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut request = Request::new(libc::RTM_NEWROUTE, create).route(family as u8, prefix, scope);
    if prefix > 0 {
        request = request.with(netlink::RTA_DST, &bytes(to));
    }
    if let Some(via) = route.via {
        request = request.with(netlink::RTA_GATEWAY, &bytes(via));
    }
    if let Some(name) = &route.on {
        let found = interface::find(name).map_err(failed)?;
        let found = found.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::ENODEV)))?;
        request = request.with(netlink::RTA_OIF, &found.index.to_ne_bytes());
    }
    let added = Netlink::open().and_then(|netlink| netlink.ask(request));
    added.map_err(failed)
}

/// Gives an interface of this thread's namespace an address.
pub fn add_address_here(name: &str, address: IpAddr, prefix: u8) -> Result<(), NetnsError> {
    let failed = |source| NetnsError::new(format!("giving an address to {name}"), source);
    let found = interface::find(name).map_err(failed)?;
    let found = found.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::ENODEV)))?;
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let bytes = bytes(address);
    let request = Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
        .address(family as u8, prefix, found.index)
        .with(netlink::IFA_LOCAL, &bytes)
        .with(netlink::IFA_ADDRESS, &bytes);
    let added = Netlink::open().and_then(|netlink| netlink.ask(request));
    added.map_err(failed)
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
