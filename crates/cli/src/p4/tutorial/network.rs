//! Who is joined to whom, as topology.json has it.

use super::form::{Host, Topology};
use packet::ethernet::Mac;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

pub struct Network {
    /// The switches in the order in which Mininet starts them, each with how many ports it has, from 0.
    pub switches: Vec<(String, u16)>,
    /// In the same order.
    pub hosts: Vec<(String, Station)>,
    pub links: Vec<Link>,
}

/// A host.
pub struct Station {
    /// With how many bits all on the link share.
    pub address: String,
    pub mac: String,
    pub gateway: Option<Ipv4Addr>,
    /// Routes for `routes`.
    pub routes: Vec<String>,
    /// Commands before time zero.
    pub commands: Vec<String>,
}

pub struct Link {
    /// `h1.0`, `s1.1`
    pub ends: [String; 2],
    /// A text for `delay`.
    pub delay: Option<String>,
    /// A text for `rate`.
    pub rate: Option<String>,
}

/// The most ports that v1model can name: it has 9 bits for them.
const PORTS: u16 = 512;

impl Network {
    /// An error begins with the place in the file.
    pub fn of(topology: &Topology) -> Result<Network, String> {
        let mut network = Network {
            switches: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
        };
        for (name, switch) in &topology.switches.0 {
            if switch.cli_input.is_some() {
                return Err(format!(
                    "switches.{name}.cli_input: commands of simple_switch_CLI are not read; put its entries into a file for runtime_json"
                ));
            }
            network.switches.push((name.clone(), 0));
        }
        for (name, host) in &topology.hosts.0 {
            let station = station(host).map_err(|error| format!("hosts.{name}.{error}"))?;
            network.hosts.push((name.clone(), station));
        }
        network.switches.sort_by_cached_key(|(name, _)| key(name));
        network.hosts.sort_by_cached_key(|(name, _)| key(name));
        let mut used = BTreeMap::new();
        for (index, link) in topology.links.iter().enumerate() {
            let link = network.link(link, &mut used, index);
            let link = link.map_err(|error| format!("links[{index}]{error}"))?;
            network.links.push(link);
        }
        for (name, _) in &network.hosts {
            if !used.contains_key(&format!("{name}.0")) {
                return Err(format!("hosts.{name}: no link leads to this host"));
            }
        }
        Ok(network)
    }

    /// Errors begin with the place behind `links[N]`.
    fn link(
        &mut self,
        link: &[Value],
        used: &mut BTreeMap<String, usize>,
        index: usize,
    ) -> Result<Link, String> {
        let ([first, second], more) = match link {
            [first, second, more @ ..] if more.len() <= 2 => ([first, second], more),
            _ => {
                return Err(
                    ": a link is a list of its two ends, and if they are not nothing its latency and its Mb/s"
                        .into(),
                );
            }
        };
        let mut ends = [String::new(), String::new()];
        for (side, (end, value)) in ends.iter_mut().zip([first, second]).enumerate() {
            *end = self
                .end(value)
                .map_err(|error| format!("[{side}]: {error}"))?;
            if let Some(other) = used.insert(end.clone(), index) {
                return Err(format!(
                    "[{side}]: {value} has a link already, links[{other}]"
                ));
            }
        }
        let mut more = more.iter();
        let delay = match more.next() {
            None => None,
            Some(value) => latency(value).map_err(|error| format!("[2]: {error}"))?,
        };
        let rate = match more.next() {
            None | Some(Value::Null) => None,
            Some(value) => Some(rate(value).map_err(|error| format!("[3]: {error}"))?),
        };
        Ok(Link { ends, delay, rate })
    }

    /// `h1`, or `s1-p2`.
    fn end(&mut self, value: &Value) -> Result<String, String> {
        let Some(text) = value.as_str() else {
            return Err(format!(
                "{value} is no end of a link, such as \"h1\" or \"s1-p2\""
            ));
        };
        if self.hosts.iter().any(|(name, _)| name == text) {
            return Ok(format!("{text}.0"));
        }
        let Some((name, port)) = text.rsplit_once('-') else {
            return Err(format!(
                "there is no host `{text}`; the port of a switch is written as in \"s1-p2\""
            ));
        };
        let Some((_, ports)) = self.switches.iter_mut().find(|(other, _)| other == name) else {
            return Err(format!("there is no switch `{name}`"));
        };
        let number = port
            .strip_prefix('p')
            .and_then(|port| port.parse::<u16>().ok());
        match number.filter(|number| *number < PORTS) {
            Some(number) => {
                *ports = (number + 1).max(*ports);
                Ok(format!("{name}.{number}"))
            }
            None => Err(format!(
                "`{port}` is no port such as `p2`: v1model has those from p0 to p{}",
                PORTS - 1
            )),
        }
    }
}

/// Names in their natural order: `s2` before `s10`.
fn key(name: &str) -> (String, u64, String) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[letters.len()..].parse().unwrap_or(0);
    (letters.into(), number, name.into())
}

/// Errors begin with the key.
fn station(host: &Host) -> Result<Station, String> {
    let Host { ip, mac, commands } = host;
    let address = ip.split_once('/').and_then(|(address, bits)| {
        let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
        Some((address.parse::<Ipv4Addr>().ok()?, bits))
    });
    let Some((address, bits)) = address else {
        return Err(format!("ip: `{ip}` is no address such as 10.0.1.1/24"));
    };
    if mac.parse::<Mac>().map_or(true, Mac::is_group) {
        return Err(format!(
            "mac: `{mac}` is no station's address such as 08:00:00:00:01:11"
        ));
    }
    let mut station = Station {
        address: ip.clone(),
        mac: mac.to_ascii_lowercase(),
        gateway: None,
        routes: Vec::new(),
        commands: Vec::new(),
    };
    for command in commands {
        let words: Vec<&str> = command.split_ascii_whitespace().collect();
        let words = match words[..] {
            ["sudo", ref rest @ ..] => rest,
            ref all => all,
        };
        match *words {
            // What net-tools did, which many systems lack.
            ["route", "add", "default", "gw", via]
            | ["route", "add", "default", "gw", via, "dev", "eth0"]
            | ["ip", "route", "add", "default", "via", via]
            | ["ip", "route", "add", "default", "via", via, "dev", "eth0"]
                if station.gateway.is_none() && via.parse::<Ipv4Addr>().is_ok() =>
            {
                station.gateway = via.parse().ok();
            }
            ["arp", "-i", "eth0", "-s", at, mac] | ["arp", "-s", at, mac]
                if at.parse::<Ipv4Addr>().is_ok() && mac.parse::<Mac>().is_ok() =>
            {
                let known = format!("ip neigh replace {at} lladdr {mac} dev eth0 nud permanent");
                station.commands.push(known);
            }
            // The kernel has it already, and would refuse it.
            ["ip", "route", "add", to, "dev", "eth0"] if is_own(to, address, bits) => {}
            ["ip", "route", "add", to, "dev", "eth0"] if !to.starts_with('-') => {
                station.routes.push(format!("{to} dev eth0"));
            }
            _ => station.commands.push(command.clone()),
        }
    }
    Ok(station)
}

/// Whether a network is that of an address.
fn is_own(network: &str, address: Ipv4Addr, bits: u32) -> bool {
    let Some((base, length)) = network.split_once('/') else {
        return false;
    };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    let own = Ipv4Addr::from(u32::from(address) & mask);
    base.parse() == Ok(own) && length.parse() == Ok(bits)
}

/// A number is milliseconds, a text what tc(8) takes for a time: a number with `us`, `ms` or `s`, or one of microseconds.
fn latency(value: &Value) -> Result<Option<String>, String> {
    let wrong = || format!("{value} is no latency, such as 5 (ms) or \"5ms\"");
    let (number, unit) = match value {
        Value::Number(number) => (number.to_string(), "ms"),
        Value::String(text) => {
            let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = match &text[number.len()..] {
                "" | "us" | "usec" | "usecs" => "us",
                "ms" | "msec" | "msecs" => "ms",
                "s" | "sec" | "secs" => "s",
                _ => return Err(wrong()),
            };
            (number.to_string(), unit)
        }
        _ => return Err(wrong()),
    };
    let text = format!("{number} {unit}");
    match text.parse::<node::Time>() {
        Ok(time) if time == node::Time::ZERO => Ok(None),
        Ok(_) => Ok(Some(text)),
        Err(_) => Err(wrong()),
    }
}

/// Mb/s
fn rate(value: &Value) -> Result<String, String> {
    let wrong = || format!("{value} is no rate in Mb/s, such as 0.5");
    let Value::Number(number) = value else {
        return Err(wrong());
    };
    let text = format!("{number} Mb/s");
    match text.parse::<node::Rate>() {
        Ok(_) => Ok(text),
        Err(_) => Err(wrong()),
    }
}
