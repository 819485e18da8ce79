//! Queues of netfilter (NFQUEUE): packets that the kernel holds until they are answered, the answers, and packets of our own
//! into the kernel's path.

mod inbox;
pub mod inject;
pub mod message;
pub mod packets;
pub mod pending;
mod queue;
pub mod verdicts;

pub use inbox::Inbox;
pub use queue::{Mode, Queue, dropped};

use crate::kernel::capability::grant;
use std::io;
use std::str::FromStr;

/// The upper half of the mark of what is injected; the lower is the number of the first queue.
pub const MARK: u32 = 0x5749_0000;

/// What becomes of packets when there is no answer in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fail {
    /// They pass.
    Open,
    /// They are dropped.
    #[default]
    Closed,
}

impl FromStr for Fail {
    type Err = NoSuchFail;

    fn from_str(text: &str) -> Result<Fail, NoSuchFail> {
        match text {
            "open" => Ok(Fail::Open),
            "closed" => Ok(Fail::Closed),
            _ => Err(NoSuchFail(text.into())),
        }
    }
}

/// A text that is no [`Fail`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither open nor closed")]
pub struct NoSuchFail(pub String);

/// What is wrong with a queue or the way to it, and the mend.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The process may not do this.
    #[error(
        "{doing} needs CAP_NET_ADMIN and CAP_NET_RAW; {}",
        grant("CAP_NET_ADMIN")
    )]
    Permission {
        /// What was tried.
        doing: String,
    },
    /// Another process has the queue.
    #[error(
        "queue {0} of netfilter is another process's (see /proc/net/netfilter/nfnetlink_queue); take another number, or none \
         for one that is free"
    )]
    Taken(u16),
    /// Every queue is taken.
    #[error("no queue of netfilter is free: see /proc/net/netfilter/nfnetlink_queue")]
    NoneFree,
    /// The kernel lacks something.
    #[error("this kernel lacks {0}; a kernel with it is needed to take packets from its path")]
    Lacking(&'static str),
    /// Any other refusal of the system.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl QueueError {
    /// What the system said to what was tried.
    pub fn from_io(doing: &str, source: io::Error) -> QueueError {
        let doing = doing.to_string();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => QueueError::Permission { doing },
            Some(libc::EPROTONOSUPPORT) => {
                QueueError::Lacking("netlink sockets to netfilter (NETFILTER_NETLINK)")
            }
            _ => QueueError::Io { doing, source },
        }
    }
}
