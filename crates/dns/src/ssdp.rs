//! Relay of the Simple Service Discovery Protocol between links (UPnP Device Architecture 2.0, section 1), over IPv4.
//!
//! Announcements (`NOTIFY`) and searches (`M-SEARCH`) go to the other links as they are. A search leaves from a port of the
//! relay's own; the responses that come to this port go to the searcher, as they are. What a message says is read first:
//! one that is malformed, is of another target than `targets`, or has a `LOCATION` that is only valid on its link, is dropped.
//!
//! The state is one entry for each search, for the seconds that it gives devices to respond (`MX`, at most 5, and one more).

use crate::recent::{Recent, Refusal};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use node::random::Random;
use node::{ConfigError, Time};

/// The port of SSDP.
pub const PORT: u16 = 1900;
/// The group of SSDP.
pub const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);
/// Maximum length of a message, bytes: without fragments.
const MAX_LEN: usize = 1_472;
/// Maximum number of header fields of a message.
const MAX_FIELDS: usize = 32;
/// Maximum number of searches that wait for responses.
const MAX_SEARCHES: usize = 256;
/// Maximum number of those of one searcher.
const MAX_PER_CLIENT: usize = 16;
/// Maximum number of responses to a search.
const MAX_RESPONSES: u32 = 256;
/// Longest wait for responses, seconds; UPnP has control points ask for 5 at most.
const MAX_WAIT: u64 = 5;
/// The lowest port of a search.
const MIN_PORT: u16 = 49_152;

/// Reasons of messages that are not relayed.
pub mod reason {
    /// Not a message of SSDP.
    pub const MALFORMED: &str = "ssdp: malformed";
    /// Of a target that does not pass.
    pub const FILTERED: &str = "ssdp: filtered";
    /// Its location is valid on its link alone.
    pub const LINK_LOCAL: &str = "ssdp: link-local location";
    /// It has come from another link a short time ago.
    pub const LOOP: &str = "ssdp: loop";
    /// Beyond the link's rate.
    pub const RATE: &str = "ssdp: beyond the rate";
    /// Too many searches wait.
    pub const OVERLOAD: &str = "ssdp: too many searches";
}

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Notify,
    /// With the seconds that devices have to respond.
    Search(u64),
    Response,
}

struct Fields<'a> {
    kind: Kind,
    target: &'a [u8],
    location: Option<&'a [u8]>,
}

/// Counters of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Announcements relayed.
    pub announcements: u64,
    /// Searches relayed.
    pub searches: u64,
    /// Responses relayed.
    pub responses: u64,
}

#[derive(Debug)]
struct Search {
    client: SocketAddr,
    until: Time,
    responses: u32,
}

/// A relay.
#[derive(Debug)]
pub struct Relay {
    targets: Vec<String>,
    /// By own port.
    searches: BTreeMap<u16, Search>,
    recent: Recent,
    random: Random,
    counters: Counters,
}

impl Relay {
    /// A relay of targets that begin with one of these texts, such as `urn:schemas-upnp-org:device:MediaServer:`, or of all,
    /// and with a rate of messages a second for each link.
    ///
    /// # Errors
    /// When a target is empty.
    pub fn new(targets: &[String], rate: u32, seed: u64) -> Result<Relay, ConfigError> {
        if targets.iter().any(String::is_empty) {
            return Err(ConfigError::new("targets", "a target has a name"));
        }
        Ok(Relay {
            targets: targets.to_vec(),
            searches: BTreeMap::new(),
            recent: Recent::new(rate),
            random: Random::new(seed),
            counters: Counters::default(),
        })
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of searches that wait for responses.
    pub fn searches(&self) -> usize {
        self.searches.len()
    }

    /// Whether a search has this port.
    pub fn has_port(&self, port: u16) -> bool {
        self.searches.contains_key(&port)
    }

    /// Takes a message to the group that has arrived on a link. Gives the own port from which it goes to the group on the
    /// others.
    ///
    /// # Errors
    /// The reason why it is not relayed.
    pub fn handle_group(
        &mut self,
        now: Time,
        link: u16,
        source: SocketAddr,
        bytes: &[u8],
    ) -> Result<u16, &'static str> {
        let fields = self.check(bytes)?;
        self.recent
            .admit(now, link, bytes)
            .map_err(|refusal| match refusal {
                Refusal::Loop => reason::LOOP,
                Refusal::Rate => reason::RATE,
            })?;
        let wait = match fields.kind {
            Kind::Notify => {
                self.counters.announcements += 1;
                return Ok(PORT);
            }
            Kind::Search(wait) => wait,
            // A response goes to one searcher.
            Kind::Response => return Err(reason::MALFORMED),
        };
        self.searches.retain(|_, search| now < search.until);
        let of_client = self
            .searches
            .values()
            .filter(|search| search.client.ip() == source.ip());
        if self.searches.len() >= MAX_SEARCHES || of_client.count() >= MAX_PER_CLIENT {
            return Err(reason::OVERLOAD);
        }
        let port = loop {
            let port = MIN_PORT + self.random.below(u64::from(u16::MAX - MIN_PORT) + 1) as u16;
            if !self.searches.contains_key(&port) {
                break port;
            }
        };
        let search = Search {
            client: source,
            until: now + Time::from_secs(wait.min(MAX_WAIT) + 1),
            responses: 0,
        };
        self.searches.insert(port, search);
        self.counters.searches += 1;
        Ok(port)
    }

    /// Takes a message to an own port that [a search has](Relay::has_port). Gives the searcher, to whom it goes.
    ///
    /// # Errors
    /// The reason why it is not relayed.
    pub fn handle_response(
        &mut self,
        now: Time,
        port: u16,
        bytes: &[u8],
    ) -> Result<SocketAddr, &'static str> {
        if self.check(bytes)?.kind != Kind::Response {
            return Err(reason::MALFORMED);
        }
        let search = self
            .searches
            .get_mut(&port)
            .filter(|search| now < search.until);
        let search = search.ok_or(reason::OVERLOAD)?;
        if search.responses >= MAX_RESPONSES {
            return Err(reason::RATE);
        }
        search.responses += 1;
        self.counters.responses += 1;
        Ok(search.client)
    }

    fn check<'b>(&self, bytes: &'b [u8]) -> Result<Fields<'b>, &'static str> {
        if bytes.len() > MAX_LEN {
            return Err(reason::MALFORMED);
        }
        let fields = read(bytes).ok_or(reason::MALFORMED)?;
        let is_general = fields.kind != Kind::Notify
            && [&b"ssdp:all"[..], b"upnp:rootdevice"].contains(&fields.target);
        let is_wanted = |target: &String| fields.target.starts_with(target.as_bytes());
        // A response to a general search has the device's own target.
        let passes = self.targets.is_empty()
            || (is_general && fields.kind != Kind::Response)
            || self.targets.iter().any(is_wanted);
        if !passes {
            return Err(reason::FILTERED);
        }
        if fields.location.is_some_and(is_link_local) {
            return Err(reason::LINK_LOCAL);
        }
        Ok(fields)
    }
}

fn read(bytes: &[u8]) -> Option<Fields<'_>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let is_response = bytes.starts_with(b"HTTP/");
    let (method, headers) = if is_response {
        let mut response = httparse::Response::new(&mut headers);
        response
            .parse(bytes)
            .ok()
            .filter(httparse::Status::is_complete)?;
        (response.code? == 200).then_some(())?;
        ("", response.headers)
    } else {
        let mut request = httparse::Request::new(&mut headers);
        request
            .parse(bytes)
            .ok()
            .filter(httparse::Status::is_complete)?;
        (request.path? == "*").then_some(())?;
        (request.method?, request.headers)
    };
    let field = |name: &str| {
        let mut found = headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        found.next().map(|field| field.value)
    };
    let is_group = |host: &[u8]| [&b"239.255.255.250:1900"[..], b"239.255.255.250"].contains(&host);
    let (kind, target) = match method {
        "" => (Kind::Response, field("ST")?),
        "NOTIFY" => {
            let kinds = [&b"ssdp:alive"[..], b"ssdp:byebye", b"ssdp:update"];
            kinds.contains(&field("NTS")?).then_some(())?;
            field("USN")?;
            (Kind::Notify, field("NT")?)
        }
        "M-SEARCH" => {
            (field("MAN")? == b"\"ssdp:discover\"").then_some(())?;
            let wait: u64 = core::str::from_utf8(field("MX")?)
                .ok()?
                .trim()
                .parse()
                .ok()?;
            (Kind::Search(wait), field("ST")?)
        }
        _ => return None,
    };
    if !is_response && !is_group(field("HOST")?) {
        return None;
    }
    let location = field("LOCATION");
    (!target.is_empty()).then_some(Fields {
        kind,
        target,
        location,
    })
}

/// Whether the host of an URL is an address of link-local scope.
fn is_link_local(url: &[u8]) -> bool {
    let Ok(url) = core::str::from_utf8(url) else {
        return true;
    };
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split([']', '%']).next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match host.parse() {
        Ok(IpAddr::V4(address)) => address.is_link_local() || address.is_loopback(),
        Ok(IpAddr::V6(address)) => address.is_unicast_link_local() || address.is_loopback(),
        Err(_) => false,
    }
}
