//! HOST[:PORT], ADDR[:PORT].

use anyhow::Context;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Which version of IP is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Any,
    V4,
    V6,
}

/// The parts of `host`, `host:port`, `[address]:port` and of a bare IPv6 address.
fn parts(text: &str, port: u16) -> anyhow::Result<(&str, u16)> {
    let wrong = || format!("{text}: the port behind the colon is a number from 1 to 65535");
    let number = |digits: &str| digits.parse().ok().filter(|port: &u16| *port > 0);
    if text.parse::<IpAddr>().is_ok() {
        return Ok((text, port));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .with_context(|| format!("{text}: an address in brackets ends with ]"))?;
        return match rest.strip_prefix(':') {
            Some(digits) => Ok((host, number(digits).with_context(wrong)?)),
            None if rest.is_empty() => Ok((host, port)),
            None => anyhow::bail!("{text}: behind ] comes :PORT"),
        };
    }
    match text.rsplit_once(':') {
        Some((host, digits)) => Ok((host, number(digits).with_context(wrong)?)),
        None => Ok((text, port)),
    }
}

/// Where a server is.
///
/// # Errors
/// When the host is not known, or has no address of that version.
pub fn server(text: &str, port: u16, version: Version) -> anyhow::Result<SocketAddr> {
    let (host, port) = parts(text, port)?;
    let found = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("no host has the name {host}; give its name or its address"))?;
    let mut found = found.filter(|address| match version {
        Version::Any => true,
        Version::V4 => address.is_ipv4(),
        Version::V6 => address.is_ipv6(),
    });
    found.next().with_context(|| {
        let other = if version == Version::V4 {
            "IPv4"
        } else {
            "IPv6"
        };
        format!("{host} has no {other} address; try without -4 and -6")
    })
}

/// Where to answer: an address of this machine.
///
/// # Errors
/// When it is no address.
pub fn own(text: &str, port: u16) -> anyhow::Result<SocketAddr> {
    let (address, port) = parts(text, port)?;
    let address: IpAddr = address.parse().with_context(|| {
        format!("{text}: --on takes an address of this machine, such as 192.0.2.7 or [2001:db8::7]:24601")
    })?;
    Ok((address, port).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for (text, host, port) in [
            ("a.example", "a.example", 1),
            ("a.example:9", "a.example", 9),
            ("10.0.0.1:9", "10.0.0.1", 9),
            ("::1", "::1", 1),
            ("[::1]", "::1", 1),
            ("[::1]:9", "::1", 9),
        ] {
            assert_eq!(parts(text, 1).unwrap(), (host, port), "{text}");
        }
        for text in ["a:0", "a:65536", "a:x", "[::1", "[::1]9"] {
            assert!(parts(text, 1).is_err(), "{text}");
        }
        assert!(own("localhost", 1).is_err());
        assert!(own("[::1]:9", 1).unwrap().is_ipv6());
    }
}
