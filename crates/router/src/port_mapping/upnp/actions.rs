//! Actions of the service WANIPConnection, versions 1 and 2. A host sees and changes its own mappings alone.

use super::http::{self, Request};
use super::xml::{Action, encode};
use crate::nat::{Mapped, Nat, RemoteFilter, Suggestion, Transport};
use crate::port_mapping::ledger::{Key, MAX_DESCRIPTION, Owner, Refusal, Wish};
use crate::port_mapping::{Server, epoch};
use crate::prefix::Prefix;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use node::Time;

const SERVICE: &str = "urn:schemas-upnp-org:service:WANIPConnection:";
/// Maximum number of mappings in a list.
const MAX_LISTED: usize = 64;

/// Error codes (UPnP Device Architecture 1.1 section 3.2.2, WANIPConnection:2 section 2.5).
const INVALID_ACTION: u16 = 401;
const INVALID_ARGS: u16 = 402;
const ACTION_FAILED: u16 = 501;
const NOT_AUTHORIZED: u16 = 606;
const NO_INDEX: u16 = 713;
const NO_ENTRY: u16 = 714;
const WILDCARD_EXTERNAL: u16 = 716;
const CONFLICT: u16 = 718;
const NO_PORTS: u16 = 728;
const NO_PORTS_IN_RANGE: u16 = 730;
const WILDCARD_INTERNAL: u16 = 732;

/// Outputs of an action, by their names.
type Outputs = Vec<(&'static str, String)>;

/// A request: its host and its arguments.
struct Call<'a> {
    now: Time,
    client: Ipv4Addr,
    action: Action<'a>,
}

impl Call<'_> {
    fn argument(&self, name: &str) -> Result<&str, u16> {
        self.action.argument(name).ok_or(INVALID_ARGS)
    }

    fn number<T: core::str::FromStr>(&self, name: &str) -> Result<T, u16> {
        let text = self.argument(name)?;
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_number.then(|| text.parse().ok()).flatten();
        number.ok_or(INVALID_ARGS)
    }

    fn protocol(&self) -> Result<Transport, u16> {
        match self.argument("NewProtocol")? {
            "TCP" => Ok(Transport::Tcp),
            "UDP" => Ok(Transport::Udp),
            _ => Err(INVALID_ARGS),
        }
    }

    /// The one remote host that may send, if it is not any.
    fn remote(&self) -> Result<Option<Ipv4Addr>, u16> {
        match self.argument("NewRemoteHost")? {
            "" | "0.0.0.0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| INVALID_ARGS),
        }
    }
}

/// A mapping as an entry of the gateway's list.
struct Entry {
    key: Key,
    external: u16,
    remote: Option<Ipv4Addr>,
    left: Time,
    description: String,
}

impl Entry {
    fn outputs(&self) -> Outputs {
        alloc::vec![
            ("NewInternalPort", format!("{}", self.key.port)),
            ("NewInternalClient", format!("{}", self.key.host)),
            ("NewEnabled", String::from("1")),
            ("NewPortMappingDescription", self.description.clone()),
            ("NewLeaseDuration", format!("{}", epoch(self.left))),
        ]
    }

    fn place(&self) -> Outputs {
        let protocol = if self.key.is_tcp { "TCP" } else { "UDP" };
        let remote = self
            .remote
            .map_or_else(String::new, |remote| format!("{remote}"));
        alloc::vec![
            ("NewRemoteHost", remote),
            ("NewExternalPort", format!("{}", self.external)),
            ("NewProtocol", String::from(protocol)),
        ]
    }
}

fn write(outputs: &Outputs, text: &mut String) {
    for (name, value) in outputs {
        *text += &format!("<{name}>");
        encode(value, text);
        *text += &format!("</{name}>");
    }
}

fn envelope(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body>{body}</s:Body></s:Envelope>\r\n"
    )
}

fn fault(code: u16) -> String {
    let about = match code {
        INVALID_ACTION => "Invalid Action",
        INVALID_ARGS => "Invalid Args",
        NOT_AUTHORIZED => "Action not authorized",
        NO_INDEX => "SpecifiedArrayIndexInvalid",
        NO_ENTRY => "NoSuchEntryInArray",
        WILDCARD_EXTERNAL => "WildCardNotPermittedInExtPort",
        CONFLICT => "ConflictInMappingEntry",
        NO_PORTS => "NoPortMapsAvailable",
        NO_PORTS_IN_RANGE => "PortMappingNotFound",
        WILDCARD_INTERNAL => "WildCardNotPermittedInIntPort",
        _ => "Action Failed",
    };
    envelope(&format!(
        "<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail>\
         <UPnPError xmlns=\"urn:schemas-upnp-org:control-1-0\"><errorCode>{code}</errorCode>\
         <errorDescription>{about}</errorDescription></UPnPError></detail></s:Fault>"
    ))
}

impl Server {
    /// Carries an action out.
    pub(super) fn control(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Ipv4Addr,
        request: &Request<'_>,
    ) -> String {
        nat.expire(now);
        self.counters.requests += 1;
        let named = request.soap_action.map(|action| action.trim_matches('"'));
        let named = named.and_then(|action| action.split_once('#'));
        let service = named.map_or("", |(service, _)| service);
        let is_service = matches!(service.strip_prefix(SERVICE), Some("1" | "2"));
        let action = Action::read(request.body).filter(|_| is_service);
        let action = action.filter(|action| named.is_some_and(|(_, name)| name == action.name));
        let Some(action) = action else {
            self.counters.refused += 1;
            return http::response(500, "text/xml", &fault(INVALID_ACTION));
        };
        let name = action.name;
        let call = Call {
            now,
            client,
            action,
        };
        match self.call(nat, &call) {
            Ok(outputs) => {
                let mut body = format!("<u:{name}Response xmlns:u=\"{service}\">");
                write(&outputs, &mut body);
                body += &format!("</u:{name}Response>");
                http::response(200, "text/xml", &envelope(&body))
            }
            Err(code) => {
                self.counters.refused += 1;
                http::response(500, "text/xml", &fault(code))
            }
        }
    }

    fn call(&mut self, nat: &mut Nat, call: &Call<'_>) -> Result<Outputs, u16> {
        let own = |name: &'static str, value: &str| (name, String::from(value));
        match call.action.name {
            "GetExternalIPAddress" => {
                let address = format!("{}", nat.address_of(call.client));
                Ok(alloc::vec![("NewExternalIPAddress", address)])
            }
            "GetStatusInfo" => Ok(alloc::vec![
                own("NewConnectionStatus", "Connected"),
                own("NewLastConnectionError", "ERROR_NONE"),
                ("NewUptime", format!("{}", epoch(call.now))),
            ]),
            "GetConnectionTypeInfo" => Ok(alloc::vec![
                own("NewConnectionType", "IP_Routed"),
                own("NewPossibleConnectionTypes", "IP_Routed"),
            ]),
            "GetNATRSIPStatus" => Ok(alloc::vec![
                own("NewRSIPAvailable", "0"),
                own("NewNATEnabled", "1"),
            ]),
            "AddPortMapping" => self.add(nat, call, false).map(|_| Outputs::new()),
            "AddAnyPortMapping" => {
                let port = self.add(nat, call, true)?;
                Ok(alloc::vec![("NewReservedPort", format!("{port}"))])
            }
            "DeletePortMapping" => self.delete(nat, call),
            "DeletePortMappingRange" => self.delete_range(nat, call),
            "GetSpecificPortMappingEntry" => {
                let port = call.number("NewExternalPort")?;
                let found = self.entry(nat, call, call.protocol()?, port);
                let remote = call.remote()?;
                let found = found.filter(|entry| entry.remote == remote);
                Ok(found.ok_or(NO_ENTRY)?.outputs())
            }
            "GetGenericPortMappingEntry" => {
                let index: u16 = call.number("NewPortMappingIndex")?;
                let all = self.entries(nat, call);
                let entry = all.get(usize::from(index)).ok_or(NO_INDEX)?;
                let mut outputs = entry.place();
                outputs.extend(entry.outputs());
                Ok(outputs)
            }
            "GetListOfPortMappings" => self.list(nat, call),
            _ => Err(INVALID_ACTION),
        }
    }

    /// The mappings of the host that it has by UPnP.
    fn entries(&self, nat: &Nat, call: &Call<'_>) -> Vec<Entry> {
        let all = self.ledger.of_owner(call.now, call.client, Owner::Upnp);
        let entries = all.filter_map(|(key, left, description)| {
            let mapped = nat.mapped(key.transport(), key.inside())?;
            let filters = nat.filters(key.transport(), key.inside());
            let remote = filters
                .first()
                .and_then(|filter| match filter.prefix.address() {
                    IpAddr::V4(address) => Some(address),
                    IpAddr::V6(_) => None,
                });
            Some(Entry {
                key,
                external: mapped.external.port(),
                remote,
                left,
                description: String::from(description),
            })
        });
        entries.collect()
    }

    fn entry(&self, nat: &Nat, call: &Call<'_>, protocol: Transport, port: u16) -> Option<Entry> {
        let mut all = self.entries(nat, call).into_iter();
        all.find(|entry| entry.external == port && entry.key.transport() == protocol)
    }

    /// Owner of the mapping of an external port.
    fn at(
        nat: &Nat,
        call: &Call<'_>,
        protocol: Transport,
        port: u16,
    ) -> Option<(SocketAddrV4, Mapped)> {
        let external = SocketAddrV4::new(nat.address_of(call.client), port);
        nat.mapped_at(protocol, external)
    }

    /// Makes or renews a mapping; its external port.
    fn add(&mut self, nat: &mut Nat, call: &Call<'_>, any: bool) -> Result<u16, u16> {
        let (now, protocol, remote) = (call.now, call.protocol()?, call.remote()?);
        let external: u16 = call.number("NewExternalPort")?;
        let internal: u16 = call.number("NewInternalPort")?;
        let lease: u32 = call.number("NewLeaseDuration")?;
        let host: Ipv4Addr = call
            .argument("NewInternalClient")?
            .parse()
            .map_err(|_| INVALID_ARGS)?;
        if host != call.client {
            return Err(NOT_AUTHORIZED);
        }
        match (external, internal) {
            (0, _) if !any => return Err(WILDCARD_EXTERNAL),
            (_, 0) => return Err(WILDCARD_INTERNAL),
            _ => {}
        }
        // A mapping that lets no packet through is none.
        if !matches!(call.argument("NewEnabled")?, "1" | "true" | "yes") {
            return Err(ACTION_FAILED);
        }
        let key = Key {
            host,
            is_tcp: protocol == Transport::Tcp,
            port: internal,
            remote: None,
        };
        let known = self.entry(nat, call, protocol, external);
        if let Some(known) = known.filter(|known| known.key != key) {
            // The same external port for another port of the host.
            let _ = self.ledger.end(now, nat, known.key, Owner::Upnp);
        } else if !any
            && Self::at(nat, call, protocol, external)
                .is_some_and(|(inside, _)| inside != key.inside())
        {
            return Err(CONFLICT);
        }
        let wish = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, external);
        let filters = remote.map(|remote| RemoteFilter {
            prefix: Prefix::new(remote.into(), 32),
            port: 0,
        });
        let description = call
            .action
            .argument("NewPortMappingDescription")
            .unwrap_or_default();
        let end = description.floor_char_boundary(MAX_DESCRIPTION);
        let wish = Wish {
            suggestion: if any {
                Suggestion::Wish(wish)
            } else {
                Suggestion::Exact(wish)
            },
            // None: as long as there may be.
            lifetime: if lease == 0 {
                Time::MAX
            } else {
                Time::from_secs(lease.into())
            },
            filters: filters.as_slice(),
            description: &description[..end],
        };
        let granted = self.ledger.grant(now, nat, key, Owner::Upnp, wish);
        self.counters.over_quota += u64::from(granted == Err(Refusal::Quota));
        let granted = granted.map_err(|refusal| match refusal {
            Refusal::Owner(_) | Refusal::Nat(crate::nat::MapError::NotSuggested) => CONFLICT,
            Refusal::Quota | Refusal::Nat(_) => NO_PORTS,
        })?;
        self.counters.granted += 1;
        Ok(granted.external.port())
    }

    fn delete(&mut self, nat: &mut Nat, call: &Call<'_>) -> Result<Outputs, u16> {
        let (protocol, port) = (call.protocol()?, call.number("NewExternalPort")?);
        call.remote()?;
        let Some(entry) = self.entry(nat, call, protocol, port) else {
            return Err(match Self::at(nat, call, protocol, port) {
                Some(_) => NOT_AUTHORIZED,
                None => NO_ENTRY,
            });
        };
        let ended = self.ledger.end(call.now, nat, entry.key, Owner::Upnp);
        ended.map(|()| Outputs::new()).map_err(|_| ACTION_FAILED)
    }

    /// Those of the host's mappings whose external ports are in a range.
    fn range(&self, nat: &Nat, call: &Call<'_>) -> Result<Vec<Entry>, u16> {
        let (protocol, first, last) = (
            call.protocol()?,
            call.number("NewStartPort")?,
            call.number("NewEndPort")?,
        );
        let mut all = self.entries(nat, call);
        let is_in = |entry: &Entry| {
            (first..=last).contains(&entry.external) && entry.key.transport() == protocol
        };
        all.retain(is_in);
        match all.is_empty() {
            true => Err(NO_PORTS_IN_RANGE),
            false => Ok(all),
        }
    }

    fn delete_range(&mut self, nat: &mut Nat, call: &Call<'_>) -> Result<Outputs, u16> {
        for entry in self.range(nat, call)? {
            let _ = self.ledger.end(call.now, nat, entry.key, Owner::Upnp);
        }
        Ok(Outputs::new())
    }

    fn list(&self, nat: &Nat, call: &Call<'_>) -> Result<Outputs, u16> {
        let max: u16 = call.number("NewNumberOfPorts")?;
        let max = if max == 0 {
            MAX_LISTED
        } else {
            usize::from(max).min(MAX_LISTED)
        };
        let mut text =
            String::from("<p:PortMappingList xmlns:p=\"urn:schemas-upnp-org:gw:WANIPConnection\">");
        for entry in self.range(nat, call)?.iter().take(max) {
            let mut outputs = entry.place();
            outputs.extend(entry.outputs());
            let described = outputs
                .iter_mut()
                .find(|(name, _)| *name == "NewPortMappingDescription");
            if let Some((name, _)) = described {
                *name = "NewDescription";
            }
            let lease = outputs
                .iter_mut()
                .find(|(name, _)| *name == "NewLeaseDuration");
            if let Some((name, _)) = lease {
                *name = "NewLeaseTime";
            }
            text += "<p:PortMappingEntry>";
            for (name, value) in &outputs {
                text += &format!("<p:{name}>");
                encode(value, &mut text);
                text += &format!("</p:{name}>");
            }
            text += "</p:PortMappingEntry>";
        }
        text += "</p:PortMappingList>";
        Ok(alloc::vec![("NewPortListing", text)])
    }
}
