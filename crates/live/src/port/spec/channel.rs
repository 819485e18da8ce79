//! How a stream is named as a port.

use super::SpecError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The port of OpenFlow, where none is given.
pub const DEFAULT_PORT: u16 = 6653;

/// A stream as a port, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelSpec {
    /// Whether it waits for connections, or makes them.
    pub listen: bool,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Where.
    pub endpoint: Endpoint,
}

/// Where a stream begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// Name or address, and TCP port. Empty to wait at the loopback address of IPv4.
    Host(String, u16),
    /// A Unix socket.
    Path(PathBuf),
}

impl ChannelSpec {
    /// Reads what is behind `kind:`; `None` when there is no such kind or nothing fitting behind it.
    pub(super) fn of(kind: &str, rest: &str) -> Option<ChannelSpec> {
        let (listen, kind) = match kind.strip_prefix('p') {
            Some(kind) => (true, kind),
            None => (false, kind),
        };
        let endpoint = match (kind, listen) {
            ("unix", _) if !rest.is_empty() => Endpoint::Path(rest.into()),
            ("tcp" | "ssl", false) => connect_to(rest)?,
            ("tcp" | "ssl", true) => listen_on(rest)?,
            _ => return None,
        };
        let tls = kind == "ssl";
        Some(ChannelSpec {
            listen,
            tls,
            endpoint,
        })
    }
}

impl FromStr for ChannelSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<ChannelSpec, SpecError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        ChannelSpec::of(kind, rest).ok_or_else(|| SpecError::Channel(text.into()))
    }
}

/// `HOST`, `HOST:PORT`, `[HOST]`, `[HOST]:PORT`.
fn connect_to(text: &str) -> Option<Endpoint> {
    let (host, port) = match text.strip_prefix('[') {
        Some(text) => {
            let (host, rest) = text.split_once(']')?;
            match rest {
                "" => (host, None),
                rest => (host, Some(rest.strip_prefix(':')?)),
            }
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
    let fine = !host.is_empty() && port != 0;
    fine.then(|| Endpoint::Host(host.into(), port))
}

/// Nothing, `PORT`, `PORT:HOST`, `:HOST`. Port 0 is one that the system chooses.
fn listen_on(text: &str) -> Option<Endpoint> {
    let (port, host) = text.split_once(':').unwrap_or((text, ""));
    let port = match port {
        "" => DEFAULT_PORT,
        port => port.parse().ok()?,
    };
    let bare = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']')?,
        None => host,
    };
    Some(Endpoint::Host(bare.into(), port))
}

impl fmt::Display for ChannelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passive = if self.listen { "p" } else { "" };
        let kind = if self.tls { "ssl" } else { "tcp" };
        let in_brackets = |host: &String| match host.contains(':') {
            true => format!("[{host}]"),
            false => host.clone(),
        };
        match &self.endpoint {
            Endpoint::Path(path) => write!(f, "{passive}unix:{}", path.display()),
            Endpoint::Host(host, port) if !self.listen => {
                write!(f, "{kind}:{}:{port}", in_brackets(host))
            }
            Endpoint::Host(host, port) if host.is_empty() => write!(f, "p{kind}:{port}"),
            Endpoint::Host(host, port) => write!(f, "p{kind}:{port}:{}", in_brackets(host)),
        }
    }
}
