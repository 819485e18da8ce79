//! Requests and responses over TCP, in the words of HTTP/1.1: a user who asks and thinks, and a server.
//!
//! Client: `to`, port 80; `start`, 0; `duration` and `count`, none: for how long, and how many requests of each user;
//! `users`, 1; `size`, none: bytes to ask for, a distribution, asked for as the path `/SIZE`; `path`, `/`, where there is no `size`; `think`, 0: between a response and the
//! next request; `keep_alive`, true: one connection for all requests of a user; `buffer`, 64 KiB; `congestion`, `cubic`; `ecn`, `passive`; `min_rto`, 200 ms.
//!
//! Server: `port`, 80; `size`, 10,000: bytes of a page whose path is no number; `think`, 0: before it answers; `buffer`,
//! 64 KiB; `congestion`, `ecn`, `initial_window`, `min_rto` and `pacing` as of [`bulk`](super::bulk). A path that is a number has as many bytes: real clients may ask too.

mod client;
mod server;

pub use client::Config;
pub use server::ServerConfig;

pub(crate) use client::Client;
pub(crate) use server::Server;

use alloc::vec::Vec;

/// The usual port.
pub const PORT: u16 = 80;
/// Bytes of a connection's buffer in each direction, where nothing else is said.
const BUFFER: usize = 1 << 16;
/// Maximum length of the head of a request or response, bytes.
const MAX_HEAD_LEN: usize = 16_384;

/// A head as it comes in, up to the empty line.
#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
    /// Takes bytes up to the head's end; tells how many, and whether the end is among them. `None`: it is too
    /// long to be one.
    fn take(&mut self, bytes: &[u8]) -> Option<(usize, bool)> {
        for (index, &byte) in bytes.iter().enumerate() {
            self.0.push(byte);
            if byte == b'\n' && (self.0.ends_with(b"\r\n\r\n") || self.0.ends_with(b"\n\n")) {
                return Some((index + 1, true));
            }
            if self.0.len() > MAX_HEAD_LEN {
                return None;
            }
        }
        Some((bytes.len(), false))
    }

    /// The first line, as text.
    fn first(&self) -> &str {
        let line = self.0.split(|&byte| byte == b'\n').next().unwrap_or(&[]);
        core::str::from_utf8(line).unwrap_or("").trim_end()
    }

    /// A field's value.
    fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.split(|&byte| byte == b'\n').skip(1);
        lines.find_map(|line| {
            let (key, value) = core::str::from_utf8(line).ok()?.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_at_the_empty_line_however_it_is_cut() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello";
        for cut in 0..text.len() {
            let mut head = Head::default();
            let (taken, whole) = head.take(&text[..cut]).unwrap();
            let (rest, end) = match whole {
                true => (0, true),
                false => head.take(&text[cut..]).unwrap(),
            };
            assert!(end && taken + rest == text.len() - 5, "{cut}");
            assert_eq!(head.field("content-length"), Some("12"));
            assert_eq!(head.first(), "HTTP/1.1 200 OK");
        }
        assert!(Head::default().take(&[b'x'; MAX_HEAD_LEN + 1]).is_none());
    }
}
