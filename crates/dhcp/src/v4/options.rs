//! Options that a server hands out: set by name, or as text with a number and a format.

use super::message::option;
use crate::domain;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ip::address::InterfaceAddress;
use node::ConfigError;

/// Options by number, in the order of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(u8, Vec<u8>)>);

impl Options {
    /// Sets an option; an empty value removes it.
    pub fn set(&mut self, number: u8, value: impl Into<Vec<u8>>) {
        let value = value.into();
        self.0.retain(|(one, _)| *one != number);
        if !value.is_empty() {
            self.0.push((number, value));
        }
    }

    /// Sets an option that is a list of addresses.
    pub fn set_addresses(&mut self, number: u8, addresses: &[Ipv4Addr]) {
        let octets = addresses.iter().flat_map(|address| address.octets());
        self.set(number, octets.collect::<Vec<u8>>());
    }

    /// The value of an option.
    pub fn get(&self, number: u8) -> Option<&[u8]> {
        let found = self.0.iter().find(|(one, _)| *one == number);
        found.map(|(_, value)| &**value)
    }

    /// All options.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        self.0.iter().map(|(number, value)| (*number, &**value))
    }

    /// Sets an option by a text: its number, `ip`, `text`, `hex`, `u8`, `u16` or `u32`, and the value, as in
    /// `150 ip 10.0.0.1`.
    ///
    /// # Errors
    /// When the text has another form, or the server sets this option itself.
    pub fn set_text(&mut self, text: &str) -> Result<(), ConfigError> {
        let wanted = || {
            let reason =
                "`NUMBER ip|text|hex|u8|u16|u32 VALUE` is wanted, such as \"150 ip 10.0.0.1\"";
            ConfigError::new("options", reason)
        };
        let mut words = text.trim().splitn(3, ' ');
        let (Some(number), Some(format), Some(value)) = (words.next(), words.next(), words.next())
        else {
            return Err(wanted());
        };
        let number: u8 = number.parse().map_err(|_| wanted())?;
        if matches!(number, 0 | 1 | 50..=59 | 61 | 80 | 82 | 255) {
            return Err(ConfigError::new(
                "options",
                "the server sets this option itself",
            ));
        }
        let value = value.trim();
        let uint = || value.parse::<u32>().map_err(|_| wanted());
        let value = match format {
            "ip" => {
                let addresses = value.split([' ', ',']).filter(|word| !word.is_empty());
                let addresses: Result<Vec<Ipv4Addr>, _> = addresses.map(str::parse).collect();
                let addresses = addresses.map_err(|_| wanted())?;
                addresses.iter().flat_map(Ipv4Addr::octets).collect()
            }
            "text" => value.as_bytes().to_vec(),
            "hex" => hex(value).ok_or_else(wanted)?,
            "u8" => u8::try_from(uint()?)
                .map_err(|_| wanted())?
                .to_be_bytes()
                .to_vec(),
            "u16" => u16::try_from(uint()?)
                .map_err(|_| wanted())?
                .to_be_bytes()
                .to_vec(),
            "u32" => uint()?.to_be_bytes().to_vec(),
            _ => return Err(wanted()),
        };
        self.set(number, value);
        Ok(())
    }
}

/// Bytes in hexadecimal, with spaces or colons between them; `None` for another text.
pub fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !matches!(c, ' ' | ':'))
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    pairs.collect()
}

/// A route of option 121.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClasslessRoute {
    /// The destination.
    pub to: Ipv4Addr,
    /// Length of its prefix, 0 to 32 bits.
    pub prefix: u8,
    /// The router; unspecified for a destination on the link.
    pub via: Ipv4Addr,
}

/// Value of option 121 (RFC 3442).
pub fn write_routes(routes: &[ClasslessRoute]) -> Vec<u8> {
    let mut value = Vec::new();
    for route in routes {
        value.push(route.prefix);
        let significant = usize::from(route.prefix.div_ceil(8)).min(4);
        value.extend(&route.to.octets()[..significant]);
        value.extend(route.via.octets());
    }
    value
}

/// Reads option 121; `None` when it is broken.
pub fn read_routes(mut value: &[u8]) -> Option<Vec<ClasslessRoute>> {
    let mut routes = Vec::new();
    while let [prefix, rest @ ..] = value {
        if *prefix > 32 {
            return None;
        }
        let (significant, rest) = rest.split_at_checked(usize::from(prefix.div_ceil(8)))?;
        let (via, rest) = rest.split_first_chunk::<4>()?;
        let mut to = [0; 4];
        to[..significant.len()].copy_from_slice(significant);
        routes.push(ClasslessRoute {
            to: to.into(),
            prefix: *prefix,
            via: (*via).into(),
        });
        value = rest;
    }
    Some(routes)
}

/// Addresses of an option that is a list of them; a rest of less than four bytes is ignored.
pub fn read_addresses(value: &[u8]) -> Vec<Ipv4Addr> {
    let chunks = value.chunks_exact(4);
    chunks
        .filter_map(|chunk| <[u8; 4]>::try_from(chunk).ok())
        .map(Ipv4Addr::from)
        .collect()
}

/// Options of a configuration by name.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Named {
    /// Default routers. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub router: Vec<Ipv4Addr>,
    /// Name servers. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub dns: Vec<Ipv4Addr>,
    /// Domain of the hosts. Default: none.
    pub domain: Option<String>,
    /// Domains that are searched (RFC 3397). Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub search: Vec<String>,
    /// Time servers (NTP). Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub ntp: Vec<Ipv4Addr>,
    /// MTU of the link, 68 to 65,535 bytes. Default: not stated.
    pub mtu: Option<u16>,
    /// Routes, such as `10.9.0.0/16 via 10.0.0.2` (RFC 3442); `default` is added from `router`. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub routes: Vec<String>,
    /// Time for which hosts that can do without IPv4 do so (RFC 8925), at least 300 s. Default: not stated.
    pub ipv6_only: Option<node::Time>,
    /// Other options, such as `150 ip 10.0.0.1`, see [`Options::set_text`]. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub options: Vec<String>,
}

impl Named {
    /// The options.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn options(&self) -> Result<Options, ConfigError> {
        let mut options = Options::default();
        options.set_addresses(option::ROUTER, &self.router);
        options.set_addresses(option::NAME_SERVER, &self.dns);
        options.set_addresses(option::NTP, &self.ntp);
        if let Some(domain) = &self.domain {
            options.set(option::DOMAIN_NAME, domain.as_bytes());
        }
        let mut search = Vec::new();
        for name in &self.search {
            domain::write(name, &mut search)
                .map_err(|fault| ConfigError::new("search", fault.to_string()))?;
        }
        options.set(option::DOMAIN_SEARCH, search);
        if let Some(mtu) = self.mtu {
            if mtu < 68 {
                return Err(ConfigError::new("mtu", "68 to 65535 bytes"));
            }
            options.set(option::MTU, mtu.to_be_bytes());
        }
        let mut routes = Vec::new();
        for text in &self.routes {
            routes.push(route(text).ok_or_else(|| {
                ConfigError::new("routes", "a route is written \"10.9.0.0/16 via 10.0.0.2\"")
            })?);
        }
        if let ([router, ..], false) = (&*self.router, routes.is_empty()) {
            // A client that takes these routes ignores option 3 (RFC 3442).
            routes.push(ClasslessRoute {
                to: Ipv4Addr::UNSPECIFIED,
                prefix: 0,
                via: *router,
            });
        }
        options.set(option::CLASSLESS_ROUTES, write_routes(&routes));
        if let Some(wait) = self.ipv6_only {
            let seconds = (wait.as_secs_f64() as u32).max(300);
            options.set(option::IPV6_ONLY, seconds.to_be_bytes());
        }
        for text in &self.options {
            options.set_text(text)?;
        }
        Ok(options)
    }
}

fn route(text: &str) -> Option<ClasslessRoute> {
    let (to, via) = text.split_once(" via ")?;
    let to: InterfaceAddress = to.trim().parse().ok()?;
    let IpAddr::V4(address) = to.address else {
        return None;
    };
    let mask = u32::MAX.checked_shl(32 - u32::from(to.prefix)).unwrap_or(0);
    Some(ClasslessRoute {
        to: (u32::from(address) & mask).into(),
        prefix: to.prefix,
        via: via.trim().parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_the_bytes_of_the_rfc() {
        // The examples of RFC 3442.
        let one = |to: [u8; 4], prefix| ClasslessRoute {
            to: to.into(),
            prefix,
            via: [10, 0, 0, 1].into(),
        };
        let routes = [
            one([0; 4], 0),
            one([10, 0, 0, 0], 8),
            one([10, 17, 0, 0], 16),
            one([10, 27, 129, 0], 24),
            one([10, 229, 0, 128], 25),
            one([10, 198, 122, 47], 32),
        ];
        let value = write_routes(&routes);
        assert_eq!(&value[..12], [0, 10, 0, 0, 1, 8, 10, 10, 0, 0, 1, 16]);
        assert_eq!(
            &value[value.len() - 18..][..9],
            [25, 10, 229, 0, 128, 10, 0, 0, 1]
        );
        assert_eq!(read_routes(&value).unwrap(), routes);
        assert_eq!(read_routes(&value[..value.len() - 1]), None);
        assert_eq!(read_routes(&[33, 1, 2, 3, 4, 5, 6, 7, 8, 9]), None);
    }

    #[test]
    fn options_are_read_from_texts() {
        let mut options = Options::default();
        for text in [
            "150 ip 10.0.0.1, 10.0.0.2",
            "66 text boot.lab",
            "43 hex 01:02 ff",
            "35 u32 60",
        ] {
            options.set_text(text).unwrap();
        }
        assert_eq!(options.get(150), Some(&[10, 0, 0, 1, 10, 0, 0, 2][..]));
        assert_eq!(options.get(66), Some(&b"boot.lab"[..]));
        assert_eq!(options.get(43), Some(&[1, 2, 255][..]));
        assert_eq!(options.get(35), Some(&[0, 0, 0, 60][..]));
        for text in [
            "",
            "43",
            "43 hex 1",
            "53 u8 1",
            "300 u8 1",
            "23 u8 256",
            "6 ip x",
        ] {
            assert!(options.set_text(text).is_err(), "{text}");
        }
    }
}
