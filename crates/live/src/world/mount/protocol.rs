//! The kernel's side of a FUSE file system: requests as bytes, read without any I/O.
//!
//! Written from the kernel's published interface, `linux/fuse.h` version 7.31. Only what a device
//! tree needs is told apart; the rest is [`Body::Other`] and is answered with ENOSYS.

/// The version spoken: the kernel speaks an older one to a server that asks for it.
pub const MAJOR: u32 = 7;
/// Minor version, new enough for streams, and in every kernel since 5.1.
pub const MINOR: u32 = 31;
/// Bytes before each request's arguments.
pub const HEADER: usize = 40;
/// The most bytes of one read or write.
pub const MAX_TRANSFER: usize = 1 << 20;
/// What a buffer for requests has to hold: the longest write, its header, and a page to spare.
pub const BUFFER: usize = MAX_TRANSFER + 4096;

/// Reading and writing bypass the page cache.
pub const OPEN_DIRECT: u32 = 1;
/// The file has no position, and a reader does not hold up a writer of the same description.
pub const OPEN_STREAM: u32 = 1 << 4 | 1 << 2;

/// The kernel leaves truncation to the open request.
const ATOMIC_TRUNCATE: u32 = 1 << 3;
/// Writes of more than a page.
const BIG_WRITES: u32 = 1 << 5;
/// Lookups in one directory may overlap.
const PARALLEL_LOOKUPS: u32 = 1 << 18;
/// `max_pages` in the answer is meant.
const MAX_PAGES: u32 = 1 << 22;

/// The code of a message that says that a polled file is ready.
const NOTIFY_POLL: i32 = 1;

/// Who asks, and about what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The request's number, which its answer repeats.
    pub unique: u64,
    /// The node it is about.
    pub node: u64,
    /// The asking process, as the mount's PID namespace numbers it.
    pub pid: u32,
    /// What is asked.
    pub body: Body<'a>,
}

/// What is asked of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    Init {
        major: u32,
        minor: u32,
        flags: u32,
    },
    Lookup {
        name: &'a [u8],
    },
    /// The kernel no longer knows some nodes. Never answered.
    Forget,
    Attributes,
    /// New attributes; those that are `None` stay.
    SetAttributes {
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
    },
    Open {
        flags: u32,
    },
    /// Where a symbolic link leads.
    ReadLink,
    OpenDirectory,
    Read {
        handle: u64,
        offset: u64,
        size: u32,
        flags: u32,
    },
    ReadDirectory {
        offset: u64,
        size: u32,
    },
    Write {
        handle: u64,
        flags: u32,
        data: &'a [u8],
    },
    Release {
        handle: u64,
    },
    ReleaseDirectory,
    Statistics,
    Poll {
        handle: u64,
        wakeup: u64,
        notify: bool,
        events: u32,
    },
    /// The process that waits for request `unique` has got a signal.
    Interrupt {
        unique: u64,
    },
    /// A file that is not there is to be made.
    Create,
    /// Another change of the tree: names made, moved, removed.
    Change,
    Destroy,
    Other,
}

/// Why bytes are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Fewer bytes than a header, or than the header says.
    #[error("a request of {0} bytes is cut off")]
    Short(usize),
    /// Its arguments are not all there.
    #[error("the arguments of request {unique}, operation {operation}, are cut off")]
    Arguments {
        /// The request.
        unique: u64,
        /// The operation's number.
        operation: u32,
    },
}

/// Reads little pieces of a request in the machine's byte order.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)
            .map(|b| u32::from_ne_bytes(b.try_into().expect("four bytes were taken")))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)
            .map(|b| u64::from_ne_bytes(b.try_into().expect("eight bytes were taken")))
    }
}

/// Reads one request.
///
/// # Errors
/// When bytes are missing; the bytes of a real kernel never are.
pub fn decode(bytes: &[u8]) -> Result<Request<'_>, BadRequest> {
    let short = BadRequest::Short(bytes.len());
    let mut fields = Fields(bytes);
    let (Some(len), Some(operation), Some(unique), Some(node), Some(_ids), Some(pid), Some(_)) = (
        fields.u32(),
        fields.u32(),
        fields.u64(),
        fields.u64(),
        fields.u64(),
        fields.u32(),
        fields.u32(),
    ) else {
        return Err(short);
    };
    let len = len as usize;
    if len < HEADER || len > bytes.len() {
        return Err(short);
    }
    let arguments = Fields(&bytes[HEADER..len]);
    let body = body(operation, arguments).ok_or(BadRequest::Arguments { unique, operation })?;
    Ok(Request {
        unique,
        node,
        pid,
        body,
    })
}

fn body(operation: u32, mut fields: Fields<'_>) -> Option<Body<'_>> {
    let f = &mut fields;
    Some(match operation {
        1 => {
            let end = f.0.iter().position(|&b| b == 0)?;
            Body::Lookup { name: &f.0[..end] }
        }
        2 | 42 => Body::Forget,
        3 => Body::Attributes,
        4 => {
            let valid = f.u32()?;
            f.take(64)?;
            let mode = f.u32()?;
            f.u32()?;
            let (uid, gid) = (f.u32()?, f.u32()?);
            Body::SetAttributes {
                mode: (valid & 1 != 0).then_some(mode),
                uid: (valid & 2 != 0).then_some(uid),
                gid: (valid & 4 != 0).then_some(gid),
            }
        }
        5 => Body::ReadLink,
        14 => Body::Open { flags: f.u32()? },
        15 => {
            let (handle, offset, size) = (f.u64()?, f.u64()?, f.u32()?);
            f.take(12)?;
            Body::Read {
                handle,
                offset,
                size,
                flags: f.u32()?,
            }
        }
        16 => {
            let (handle, _offset, size) = (f.u64()?, f.u64()?, f.u32()?);
            f.take(12)?;
            let flags = f.u32()?;
            f.u32()?;
            Body::Write {
                handle,
                flags,
                data: f.take(size as usize)?,
            }
        }
        17 => Body::Statistics,
        18 => Body::Release { handle: f.u64()? },
        26 => {
            let (major, minor, _readahead) = (f.u32()?, f.u32()?, f.u32()?);
            Body::Init {
                major,
                minor,
                flags: f.u32()?,
            }
        }
        27 => Body::OpenDirectory,
        28 => {
            let (_handle, offset) = (f.u64()?, f.u64()?);
            Body::ReadDirectory {
                offset,
                size: f.u32()?,
            }
        }
        29 => Body::ReleaseDirectory,
        8 | 35 => Body::Create,
        6 | 9..=13 | 45 => Body::Change,
        36 => Body::Interrupt { unique: f.u64()? },
        38 => Body::Destroy,
        40 => {
            let (handle, wakeup, flags, events) = (f.u64()?, f.u64()?, f.u32()?, f.u32()?);
            Body::Poll {
                handle,
                wakeup,
                notify: flags & 1 != 0,
                events,
            }
        }
        _ => Body::Other,
    })
}

/// The 16 bytes before an answer's content of `len` bytes; `error` is 0 or an errno.
pub fn answer_header(unique: u64, error: i32, len: usize) -> [u8; 16] {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&((16 + len) as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&(-error).to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

/// The message that a polled file is ready.
pub fn poll_notice(wakeup: u64) -> [u8; 24] {
    let mut notice = [0; 24];
    // A notice is told from an answer by its number 0; its code stands where the error would.
    notice[..16].copy_from_slice(&answer_header(0, -NOTIFY_POLL, 8));
    notice[16..].copy_from_slice(&wakeup.to_ne_bytes());
    notice
}

/// The answer to `Init`.
pub fn init_answer(flags: u32) -> [u8; 64] {
    let mut answer = [0; 64];
    let wanted = ATOMIC_TRUNCATE | BIG_WRITES | PARALLEL_LOOKUPS | MAX_PAGES;
    let pages = (MAX_TRANSFER / 4096) as u16;
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        answer[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&MAJOR.to_ne_bytes());
    put(&MINOR.to_ne_bytes());
    put(&0u32.to_ne_bytes());
    put(&(flags & wanted).to_ne_bytes());
    // Background requests and their congestion threshold: there are none without a page cache.
    put(&16u16.to_ne_bytes());
    put(&12u16.to_ne_bytes());
    put(&(MAX_TRANSFER as u32).to_ne_bytes());
    put(&1u32.to_ne_bytes());
    put(&pages.to_ne_bytes());
    answer
}

/// What `stat` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The inode's number, as programs compare it to tell files apart.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// All three times, seconds since 1970.
    pub time: u64,
    /// `st_blksize`, bytes, a power of two: stdio of glibc takes a smaller one than 8 KiB as the size of its buffer.
    pub block: u32,
}

impl Attributes {
    fn encode(&self, out: &mut [u8; 88]) {
        out[..8].copy_from_slice(&self.inode.to_ne_bytes());
        for at in [24, 32, 40] {
            out[at..at + 8].copy_from_slice(&self.time.to_ne_bytes());
        }
        let links: u32 = if self.mode & libc::S_IFMT == libc::S_IFDIR {
            2
        } else {
            1
        };
        for (at, value) in [
            (60, self.mode),
            (64, links),
            (68, self.uid),
            (72, self.gid),
            (80, self.block),
        ] {
            out[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
    }
}

/// The answer to `Attributes` and `SetAttributes`.
pub fn attributes_answer(attributes: &Attributes) -> [u8; 104] {
    let mut answer = [0; 104];
    let mut encoded = [0; 88];
    attributes.encode(&mut encoded);
    answer[16..].copy_from_slice(&encoded);
    answer
}

/// The answer to `Lookup`: the kernel keeps the name for `seconds`.
pub fn entry_answer(node: u64, seconds: u64, attributes: &Attributes) -> [u8; 128] {
    let mut answer = [0; 128];
    let mut encoded = [0; 88];
    attributes.encode(&mut encoded);
    answer[..8].copy_from_slice(&node.to_ne_bytes());
    answer[16..24].copy_from_slice(&seconds.to_ne_bytes());
    answer[40..].copy_from_slice(&encoded);
    answer
}

/// The answer to `Open`.
pub fn open_answer(handle: u64, flags: u32) -> [u8; 16] {
    let mut answer = [0; 16];
    answer[..8].copy_from_slice(&handle.to_ne_bytes());
    answer[8..12].copy_from_slice(&flags.to_ne_bytes());
    answer
}

/// An answer that is one number, in eight bytes: how much was written, what a poll found.
pub fn number_answer(number: u32) -> [u8; 8] {
    let mut answer = [0; 8];
    answer[..4].copy_from_slice(&number.to_ne_bytes());
    answer
}

/// The answer to `Statistics`: a file system without blocks, names of up to 255 bytes.
pub fn statistics_answer() -> [u8; 80] {
    let mut answer = [0; 80];
    for (at, value) in [(40, 512u32), (44, 255), (48, 512)] {
        answer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    answer
}

/// Appends an entry to the answer to `ReadDirectory`, unless that would make it longer than `size`;
/// says whether it did. `next` is where reading goes on after it.
pub fn push_entry(
    out: &mut Vec<u8>,
    size: usize,
    (inode, next, mode, name): (u64, u64, u32, &str),
) -> bool {
    let padded = name.len().next_multiple_of(8);
    if out.len() + 24 + padded > size {
        return false;
    }
    out.extend_from_slice(&inode.to_ne_bytes());
    out.extend_from_slice(&next.to_ne_bytes());
    out.extend_from_slice(&(name.len() as u32).to_ne_bytes());
    out.extend_from_slice(&(mode >> 12).to_ne_bytes());
    out.extend_from_slice(name.as_bytes());
    out.resize(out.len() + padded - name.len(), 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(operation: u32, arguments: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + arguments.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(operation.to_ne_bytes());
        bytes.extend(7u64.to_ne_bytes());
        bytes.extend(1u64.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(42u32.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(arguments);
        bytes
    }

    #[test]
    fn a_lookup_is_read() {
        let bytes = request(1, b"r0\0");
        let expected = Request {
            unique: 7,
            node: 1,
            pid: 42,
            body: Body::Lookup { name: b"r0" },
        };
        assert_eq!(decode(&bytes), Ok(expected));
    }

    #[test]
    fn a_request_cut_anywhere_is_refused() {
        for operation in 0..=52 {
            let bytes = request(operation, &[0; 88]);
            assert!(decode(&bytes).is_ok(), "{operation}");
            for len in 0..bytes.len() {
                assert!(decode(&bytes[..len]).is_err());
            }
            for len in 0..88 {
                // May be refused or read; it must not panic.
                let _ = decode(&request(operation, &vec![0; len]));
            }
        }
    }

    #[test]
    fn a_write_longer_than_its_data_is_refused() {
        let mut arguments = vec![0; 40];
        arguments[16..20].copy_from_slice(&100u32.to_ne_bytes());
        arguments.extend([b'x'; 99]);
        let refused = BadRequest::Arguments {
            unique: 7,
            operation: 16,
        };
        assert_eq!(decode(&request(16, &arguments)), Err(refused));
    }

    #[test]
    fn a_directory_entry_that_does_not_fit_is_left_for_the_next_read() {
        let mut out = Vec::new();
        assert!(push_entry(&mut out, 64, (1, 1, libc::S_IFDIR, "0.d")));
        assert_eq!(out.len(), 32);
        assert!(push_entry(&mut out, 64, (1, 2, libc::S_IFREG, "0")));
        assert!(!push_entry(&mut out, 64, (1, 3, libc::S_IFREG, "1")));
        assert_eq!(out.len(), 64);
    }
}
