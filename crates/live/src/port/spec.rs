//! How a port is named.

mod channel;

pub use channel::{ChannelSpec, Endpoint};

use super::dummy;
use node::link::FCS;
use packet::MAX_FRAME_LEN;
use std::ffi::OsStr;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

/// Maximum length of an interface name, bytes: the kernel's IFNAMSIZ without the final zero.
const MAX_NAME_LEN: usize = 15;

/// A port, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortSpec {
    /// `eth0`: an interface, over AF_PACKET; it sees what the stack sees.
    Interface(String),
    /// `any`: all interfaces, to receive only ([`raw::any`](super::raw::any)).
    Any,
    /// `tap:NAME`: a TAP interface that is made, and removed at the end.
    Tap(String),
    /// `pcap:FILE`: a capture; reads any format, writes pcapng.
    Capture(PathBuf),
    /// `xdp:IFACE`, `xdp:IFACE:copy=on`, `xdp:IFACE:zerocopy=on`: an interface over AF_XDP; it takes the traffic from the stack.
    Xdp(String, Copying),
    /// `nfqueue:NUMBER`: a queue of netfilter, which somebody's rules fill; packets are accepted once they have been read.
    Queue(u16),
    /// `udp:HOST:PORT`: a frame a datagram, to that address.
    Udp {
        /// Name or address; empty with `listen` means all addresses.
        host: String,
        /// UDP port.
        port: u16,
        /// `udp:@HOST:PORT`: wait there instead, and answer whoever sent last.
        listen: bool,
    },
    /// `multicast:GROUP:PORT`, `multicast:GROUP:PORT@ADDRESS`: a group of UDP multicast, over the kernel's sockets.
    Multicast {
        /// The group and its UDP port.
        group: SocketAddrV4,
        /// The address of the interface; unspecified: which the system chooses.
        interface: Ipv4Addr,
    },
    /// `tcp:HOST[:PORT]`, `ptcp:[PORT][:HOST]`, `ssl:`, `pssl:`, `unix:PATH`, `punix:PATH`: control channels over sockets,
    /// as [segments](packet::segment).
    Channel(ChannelSpec),
    /// A path with a `/` in it: a port's file under a mount, or any file of lines or records.
    Path(PathBuf),
    /// `-`: standard input and output, as lines.
    Standard,
    /// `dummy` or `dummy:BYTES`: no wire at all. It gives frames of so many bytes with FCS, by default 64, as often as it is
    /// asked, and takes all. Here the bytes are without FCS.
    Dummy(usize),
    /// `rtl:PORT`, `rtl:cable:NAME.END`, and `rtl10g:` with the same: a port of a network card in Verilog, with its cable.
    Rtl(Line, Medium),
}

/// How fast a port in Verilog is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// `rtl:`: 1 Gb/s, with ticks of 8 ns.
    Gigabit,
    /// `rtl10g:`: 10 Gb/s, with ticks of 6.4 ns.
    TenGigabit,
}

impl Line {
    /// As it stands before the cable.
    const fn name(self) -> &'static str {
        match self {
            Line::Gigabit => "rtl",
            Line::TenGigabit => "rtl10g",
        }
    }
}

/// Where the cable of a port in Verilog leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Medium {
    /// To another port of the machine, whose frames are those on the cable.
    Port(Box<PortSpec>),
    /// To another port in Verilog of the same process.
    Cable {
        /// The cable.
        name: String,
        /// Which of its ends, 0 or 1.
        end: u8,
    },
}

/// How frames of a port over AF_XDP get from the driver into the memory that is shared with it, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copying {
    /// Without a copy where the driver can, else by the kernel's copies.
    #[default]
    IfNeeded,
    /// `copy=on`: by the kernel's copies.
    Always,
    /// `zerocopy=on`: without a copy, or not at all.
    Never,
}

/// Why a text names no port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Nothing there.
    #[error("an empty port; {FORMS}")]
    Empty,
    /// Nothing behind the colon.
    #[error("`{0}` lacks a name behind the colon, such as `{1}`")]
    Incomplete(String, &'static str),
    /// Something before the colon that is not known.
    #[error("`{0}` is no kind of port; {FORMS}")]
    Kind(String),
    /// No name that the kernel would accept.
    #[error("`{0}` cannot be an interface: names have 1 to 15 bytes without blanks, `/` and `:`")]
    Name(String),
    /// No key of a port over AF_XDP.
    #[error(
        "`{0}` is no port over AF_XDP; write `xdp:IFACE`, `xdp:IFACE:copy=on`, or `xdp:IFACE:zerocopy=on` to have zero copy or no port"
    )]
    Xdp(String),
    /// No number of a queue.
    #[error(
        "`{0}` is no queue; write `nfqueue:NUMBER`, 0 to 65535, as the rules that fill it have it"
    )]
    Queue(String),
    /// No address and port.
    #[error(
        "`{0}` is no address for frames; write `udp:HOST:PORT`, such as `udp:127.0.0.1:7000`, or `udp:@HOST:PORT` to wait there"
    )]
    Address(String),
    /// No group.
    #[error(
        "`{0}` is no group; write `multicast:GROUP:PORT`, such as `multicast:239.0.0.1:57021`, or `multicast:GROUP:PORT@ADDRESS` for the interface with that address"
    )]
    Group(String),
    /// No length of a frame.
    #[error("`{0}` is no length of a frame; write `dummy:BYTES`, with FCS, 64 to 262,148")]
    Length(String),
    /// No cable.
    #[error(
        "`{0}` is no cable for a port in Verilog; write `rtl:PORT` with an interface, `tap:NAME`, `xdp:IFACE` or `udp:HOST:PORT`, or for the two ends of one \
         in this process `rtl:cable:NAME.0` and `rtl:cable:NAME.1`; with `rtl10g:` for 10 Gb/s"
    )]
    Cable(String),
    /// No place for a control channel.
    #[error(
        "`{0}` is no place for a control channel; write `tcp:HOST:PORT`, `ptcp:PORT:HOST` to wait there, `ssl:` and `pssl:` \
         for the same over TLS, `unix:PATH` or `punix:PATH`"
    )]
    Channel(String),
}

const FORMS: &str = "a port is an interface name, `any`, `tap:NAME`, `pcap:FILE`, `xdp:IFACE`, `nfqueue:NUMBER`, `udp:HOST:PORT`, `multicast:GROUP:PORT`, `rtl:PORT`, `rtl10g:PORT`, `dummy`, a path, `-`, or for control \
                     channels `tcp:HOST:PORT`, `ptcp:PORT`, `ssl:`, `pssl:`, `unix:`, `punix:`";

impl PortSpec {
    /// The same of a name that may be no UTF-8, as paths may: only `pcap:FILE` and paths can be that.
    ///
    /// # Errors
    /// As by [`FromStr`].
    pub fn from_os(name: &OsStr) -> Result<PortSpec, SpecError> {
        if let Some(text) = name.to_str() {
            return text.parse();
        }
        let bytes = name.as_bytes();
        match bytes.strip_prefix(b"pcap:") {
            Some(file) => Ok(PortSpec::Capture(OsStr::from_bytes(file).into())),
            None if bytes.contains(&b'/') => Ok(PortSpec::Path(name.into())),
            None => Err(SpecError::Name(name.to_string_lossy().into())),
        }
    }
}

impl FromStr for PortSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<PortSpec, SpecError> {
        let lacking = |example| SpecError::Incomplete(text.into(), example);
        if text.is_empty() {
            return Err(SpecError::Empty);
        }
        if text == "-" {
            return Ok(PortSpec::Standard);
        }
        if text == "any" {
            return Ok(PortSpec::Any);
        }
        if text == "dummy" {
            return Ok(PortSpec::Dummy(dummy::MIN_FRAME_LEN));
        }
        if let Some((kind, rest)) = text.split_once(':')
            && !kind.contains('/')
        {
            return match (kind, rest) {
                ("tap", "") => Err(lacking("tap:wire0")),
                ("tap", name) => Ok(PortSpec::Tap(interface_name(name)?)),
                ("xdp", "") => Err(lacking("xdp:eth0")),
                ("xdp", rest) => {
                    let (name, key) = rest.split_once(':').unwrap_or((rest, ""));
                    let copying = match key {
                        _ if name.len() == rest.len() => Copying::IfNeeded,
                        "copy=on" => Copying::Always,
                        "zerocopy=on" => Copying::Never,
                        _ => return Err(SpecError::Xdp(text.into())),
                    };
                    Ok(PortSpec::Xdp(interface_name(name)?, copying))
                }
                ("nfqueue", "") => Err(lacking("nfqueue:0")),
                ("nfqueue", number) => {
                    let number = number.parse().map_err(|_| SpecError::Queue(text.into()));
                    number.map(PortSpec::Queue)
                }
                ("dummy", bytes) => {
                    let bytes = bytes
                        .parse()
                        .ok()
                        .and_then(|bytes: usize| bytes.checked_sub(FCS));
                    let sound =
                        bytes.filter(|len| (dummy::MIN_FRAME_LEN..=MAX_FRAME_LEN).contains(len));
                    let wrong = || SpecError::Length(text.into());
                    sound.map(PortSpec::Dummy).ok_or_else(wrong)
                }
                ("rtl", "") => Err(lacking("rtl:eth0")),
                ("rtl10g", "") => Err(lacking("rtl10g:eth0")),
                ("rtl" | "rtl10g", rest) => {
                    let line = match kind {
                        "rtl" => Line::Gigabit,
                        _ => Line::TenGigabit,
                    };
                    let medium = medium(rest).ok_or_else(|| SpecError::Cable(text.into()));
                    medium.map(|medium| PortSpec::Rtl(line, medium))
                }
                ("pcap", "") => Err(lacking("pcap:trace.pcapng")),
                ("pcap", file) => Ok(PortSpec::Capture(file.into())),
                ("udp", rest) => udp(rest).ok_or_else(|| SpecError::Address(text.into())),
                ("multicast", rest) => multicast(rest).ok_or_else(|| SpecError::Group(text.into())),
                ("tcp" | "ptcp" | "ssl" | "pssl" | "unix" | "punix", rest) => {
                    ChannelSpec::of(kind, rest)
                        .map(PortSpec::Channel)
                        .ok_or_else(|| SpecError::Channel(text.into()))
                }
                _ => Err(SpecError::Kind(kind.into())),
            };
        }
        if text.contains('/') {
            return Ok(PortSpec::Path(text.into()));
        }
        interface_name(text).map(PortSpec::Interface)
    }
}

fn interface_name(name: &str) -> Result<String, SpecError> {
    let fine = (1..=MAX_NAME_LEN).contains(&name.len())
        && !name.contains(|c: char| c.is_whitespace() || c == '/' || c == ':' || c == '\0')
        && name != "."
        && name != "..";
    if fine {
        Ok(name.into())
    } else {
        Err(SpecError::Name(name.into()))
    }
}

fn medium(rest: &str) -> Option<Medium> {
    if let Some(cable) = rest.strip_prefix("cable:") {
        let (name, end) = cable.rsplit_once('.')?;
        let end = ["0", "1"].iter().position(|&text| text == end)? as u8;
        let name = Some(name).filter(|name| !name.is_empty())?.into();
        return Some(Medium::Cable { name, end });
    }
    let port: PortSpec = rest.parse().ok()?;
    let carries = matches!(
        port,
        PortSpec::Interface(_) | PortSpec::Tap(_) | PortSpec::Xdp(..) | PortSpec::Udp { .. }
    );
    carries.then(|| Medium::Port(port.into()))
}

fn udp(rest: &str) -> Option<PortSpec> {
    let (listen, address) = match rest.strip_prefix('@') {
        Some(address) => (true, address),
        None => (false, rest),
    };
    let (host, port) = address.rsplit_once(':')?;
    let bare = host
        .strip_prefix('[')
        .map_or(Some(host), |host| host.strip_suffix(']'))?;
    let port = port.parse().ok().filter(|&port| listen || port != 0)?;
    if bare.is_empty() && !listen {
        return None;
    }
    Some(PortSpec::Udp {
        host: bare.into(),
        port,
        listen,
    })
}

fn multicast(rest: &str) -> Option<PortSpec> {
    let (group, interface) = rest.split_once('@').unwrap_or((rest, "0.0.0.0"));
    let group: SocketAddrV4 = group.parse().ok()?;
    let interface = interface.parse().ok()?;
    let sound = group.ip().is_multicast() && group.port() != 0;
    sound.then_some(PortSpec::Multicast { group, interface })
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortSpec::Interface(name) => f.write_str(name),
            PortSpec::Any => f.write_str("any"),
            PortSpec::Tap(name) => write!(f, "tap:{name}"),
            PortSpec::Capture(file) => write!(f, "pcap:{}", file.display()),
            PortSpec::Xdp(name, copying) => {
                let key = match copying {
                    Copying::IfNeeded => "",
                    Copying::Always => ":copy=on",
                    Copying::Never => ":zerocopy=on",
                };
                write!(f, "xdp:{name}{key}")
            }
            PortSpec::Queue(number) => write!(f, "nfqueue:{number}"),
            PortSpec::Udp { host, port, listen } => {
                let at = if *listen { "@" } else { "" };
                match host.contains(':') {
                    true => write!(f, "udp:{at}[{host}]:{port}"),
                    false => write!(f, "udp:{at}{host}:{port}"),
                }
            }
            PortSpec::Multicast { group, interface } if interface.is_unspecified() => {
                write!(f, "multicast:{group}")
            }
            PortSpec::Multicast { group, interface } => write!(f, "multicast:{group}@{interface}"),
            PortSpec::Channel(spec) => spec.fmt(f),
            PortSpec::Path(path) => path.display().fmt(f),
            PortSpec::Standard => f.write_str("-"),
            PortSpec::Dummy(dummy::MIN_FRAME_LEN) => f.write_str("dummy"),
            PortSpec::Dummy(len) => write!(f, "dummy:{}", len + FCS),
            PortSpec::Rtl(line, Medium::Port(port)) => write!(f, "{}:{port}", line.name()),
            PortSpec::Rtl(line, Medium::Cable { name, end }) => {
                write!(f, "{}:cable:{name}.{end}", line.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_it_is_shown() {
        for text in [
            "eth0",
            "any",
            "tap:wire0",
            "xdp:eth0",
            "xdp:eth0:copy=on",
            "xdp:eth0:zerocopy=on",
            "nfqueue:5",
            "pcap:a b.pcapng",
            "pcap:/tmp/x:y.pcap",
            "udp:localhost:7000",
            "udp:@:7000",
            "udp:[::1]:7000",
            "tcp:127.0.0.1:6633",
            "tcp:[::1]:6633",
            "ptcp:6653",
            "ptcp:0:127.0.0.1",
            "pssl:6653:[::1]",
            "ssl:controller:6653",
            "unix:/run/switch.sock",
            "punix:switch.sock",
            "/dev/ethpipe/0",
            "./r0",
            "-",
            "dummy",
            "dummy:1518",
            "rtl:eth0",
            "rtl:udp:@:7000",
            "rtl:cable:eth0.5.1",
            "rtl10g:tap:x",
            "rtl10g:cable:x.0",
        ] {
            let spec: PortSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
    }

    #[test]
    fn what_names_no_port_is_refused_with_a_mend() {
        for (text, said) in [
            ("", "interface name"),
            ("tap:", "tap:wire0"),
            ("xdp:", "xdp:eth0"),
            ("xdp:eth0:", "zerocopy=on"),
            ("xdp:eth0:copy=off", "copy=on"),
            ("xdp::copy=on", "1 to 15 bytes"),
            ("nfqueue:", "nfqueue:0"),
            ("nfqueue:65536", "0 to 65535"),
            ("tun:x", "`tun` is no kind"),
            ("udp:7000", "udp:HOST:PORT"),
            ("udp:host:0", "udp:HOST:PORT"),
            ("udp:host:70000", "udp:HOST:PORT"),
            ("multicast:10.0.0.1:7000", "multicast:GROUP:PORT"),
            ("multicast:239.0.0.1", "multicast:GROUP:PORT"),
            ("multicast:239.0.0.1:7000@eth0", "multicast:GROUP:PORT"),
            ("tcp:", "tcp:HOST:PORT"),
            ("tcp:host:0", "tcp:HOST:PORT"),
            ("ptcp:host", "ptcp:PORT:HOST"),
            ("ssl:[::1]6653", "tcp:HOST:PORT"),
            ("unix:", "unix:PATH"),
            ("rtl:", "rtl:eth0"),
            ("rtl:any", "rtl:cable:NAME.0"),
            ("rtl:rtl:eth0", "no cable"),
            ("rtl10g:", "rtl10g:eth0"),
            ("rtl10g:rtl:eth0", "no cable"),
            ("rtl:/tmp/file", "no cable"),
            ("rtl:cable:x", "rtl:cable:NAME.0"),
            ("rtl:cable:x.2", "rtl:cable:NAME.0"),
            ("rtl:cable:.1", "rtl:cable:NAME.0"),
            ("dummy:63", "64 to 262,148"),
            ("dummy:x", "dummy:BYTES"),
            ("a-name-of-sixteen", "1 to 15 bytes"),
            ("two words", "1 to 15 bytes"),
        ] {
            let error = text.parse::<PortSpec>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
