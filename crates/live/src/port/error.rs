//! What can go wrong with a port.

mod tls;

pub use tls::TlsError;

use crate::kernel::capability::grant;
use crate::kernel::nfqueue::QueueError;
use std::io;
use std::time::Duration;

/// What is wrong with a port, where, and the mend.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// No interface of that name.
    #[error("there is no interface `{name}` here; there are: {known}")]
    NoSuchInterface {
        /// The name asked for.
        name: String,
        /// Those that exist, with commas.
        known: String,
    },
    /// The process may not do this.
    #[error("`{name}`: {doing} needs {capability}; {}", grant(capability))]
    Permission {
        /// The port.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// What the process lacks.
        capability: &'static str,
    },
    /// The interface is not up.
    #[error("interface `{name}` is down; bring it up first: ip link set {name} up")]
    Down {
        /// The interface.
        name: String,
    },
    /// Not an Ethernet interface.
    #[error("interface `{name}` does not carry Ethernet frames (link type {kind})")]
    NotEthernet {
        /// The interface.
        name: String,
        /// Its ARPHRD number.
        kind: u16,
    },
    /// The interface was removed while the port was open.
    #[error("interface `{name}` was removed while in use")]
    Gone {
        /// The interface.
        name: String,
    },
    /// The interface was removed, and the port waits for one of its name.
    #[error("interface `{name}` was removed; it is used again when it returns")]
    Away {
        /// The interface.
        name: String,
    },
    /// The interface's queue has no room.
    #[error(
        "the queue of interface `{name}` had no room for a frame in {patience:?}; send more slowly"
    )]
    Full {
        /// The interface.
        name: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// Nothing more will come: the end of a file, or of the other side.
    #[error("the end of `{name}`")]
    Ended {
        /// The port.
        name: String,
    },
    /// A frame that is too long for the port.
    #[error(
        "a frame of {len} bytes does not fit `{name}`, whose MTU of {mtu} allows {longest} with the \
         Ethernet header; send shorter ones, or raise it: ip link set {name} mtu {}", len.saturating_sub(14)
    )]
    TooLong {
        /// The port.
        name: String,
        /// Bytes of the frame.
        len: usize,
        /// The port's MTU.
        mtu: u32,
        /// The longest frame that it takes.
        longest: usize,
    },
    /// A frame without a whole Ethernet header.
    #[error("a frame of {len} bytes has no whole Ethernet header (14 bytes)")]
    TooShort {
        /// Bytes of the frame.
        len: usize,
    },
    /// Something that this machine or this kind of port does not do.
    #[error("`{name}`: {why}")]
    Unsupported {
        /// The port.
        name: String,
        /// What it does not do, and what does.
        why: &'static str,
    },
    /// A file that cannot be read, or not to its end.
    #[error("`{name}`: {source}")]
    File {
        /// The port.
        name: String,
        /// What is wrong with it.
        source: ::capture::file::FileError,
    },
    /// A file that cannot be written, or not to its end.
    #[error("`{name}`: {source}")]
    Output {
        /// The port.
        name: String,
        /// What is wrong with it, and where what was written is.
        source: ::capture::output::OutputError,
    },
    /// A key or a certificate that does not do.
    #[error("`{name}`: {source}; give private-key, certificate and ca-cert as files in PEM form")]
    Tls {
        /// The port.
        name: String,
        /// What is wrong.
        source: TlsError,
    },
    /// A queue of netfilter that cannot be had.
    #[error("`{name}`: {error}")]
    Queue {
        /// The port.
        name: String,
        /// What is wrong with it.
        error: Box<QueueError>,
    },
    /// A frame without an IP packet, for a port that takes nothing else.
    #[error("`{name}` takes IP packets only, each whole and behind an Ethernet header")]
    NoPacket {
        /// The port.
        name: String,
    },
    /// Any other refusal of the system.
    #[error("`{name}`: {doing}: {source}")]
    Io {
        /// The port.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl PortError {
    /// Whether the port is of no more use: no later call will do better.
    pub fn is_end(&self) -> bool {
        let frame = matches!(
            self,
            PortError::TooLong { .. }
                | PortError::TooShort { .. }
                | PortError::NoPacket { .. }
                | PortError::Full { .. }
        );
        !frame && !self.is_no_link()
    }

    /// Whether a frame is lost because there is no link, which may return.
    pub fn is_no_link(&self) -> bool {
        matches!(self, PortError::Down { .. } | PortError::Away { .. })
    }

    /// What the system said, as an error that names the place; a lack of rights is told apart.
    pub(crate) fn from_io(
        name: &str,
        doing: &'static str,
        capability: &'static str,
        source: io::Error,
    ) -> PortError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => PortError::Permission {
                name: name.into(),
                doing,
                capability,
            },
            _ => PortError::Io {
                name: name.into(),
                doing,
                source,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_what_is_advised_to_be_granted() {
        let told = |capability| {
            let error = io::Error::from_raw_os_error(libc::EACCES);
            PortError::from_io("p", "waiting", capability, error).to_string()
        };
        let open = told("CAP_NET_RAW");
        assert!(open.contains("setcap cap_net_raw,cap_net_admin+ep"));
        // Nobody but a group is to have them.
        let group = open.find("chmod 0750").unwrap();
        assert!(group < open.find("setcap").unwrap(), "{open}");
        assert!(
            told("CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF")
                .contains("setcap cap_net_raw,cap_net_admin,cap_bpf+ep")
        );
        assert!(told("CAP_NET_BIND_SERVICE").contains("cap_net_bind_service+ep"));
        assert!(!told("the right to write there").contains("setcap"));
    }
}
