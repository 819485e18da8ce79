//! HTTP/1 (RFC 9112): the first line and the header of a message that begins in this packet, as far as it is there.

/// Methods; a payload that does not begin with one of these, or with a version, is not HTTP.
const METHODS: [&[u8]; 9] = [
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH",
];
/// Maximum length of a header that is parsed, bytes.
const MAX_HEAD_LEN: usize = 64 * 1024;

/// A message, or its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpView<'a> {
    /// Its first line.
    pub first: First<'a>,
    header: &'a [u8],
}

/// The first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// The request line of a client.
    Request {
        /// The method.
        method: &'a [u8],
        /// What it is to be done with.
        target: &'a [u8],
        /// The version, `HTTP/1.1`.
        version: &'a [u8],
    },
    /// What a server answers.
    Response {
        /// The version.
        version: &'a [u8],
        /// The status: 200 is good, 404 not found.
        status: u16,
        /// The status in words.
        reason: &'a [u8],
    },
}

impl<'a> HttpView<'a> {
    /// Looks at a segment's payload; `None` if no message of HTTP/1 begins there, or its first line is cut off.
    pub fn new(payload: &'a [u8]) -> Option<HttpView<'a>> {
        let payload = &payload[..payload.len().min(MAX_HEAD_LEN)];
        // Most of what is not HTTP is told by its first byte.
        payload.first().filter(|byte| byte.is_ascii_uppercase())?;
        let (line, header) = line(payload)?;
        let (begin, rest) = split(line)?;
        let first = match begin {
            b"HTTP/1.0" | b"HTTP/1.1" => {
                let (status, reason) = split(rest).unwrap_or((rest, &[]));
                let status = str::from_utf8(status).ok()?.parse().ok()?;
                First::Response {
                    version: begin,
                    status,
                    reason,
                }
            }
            _ if METHODS.contains(&begin) => {
                let last = rest.iter().rposition(|byte| *byte == b' ')?;
                if !rest[last + 1..].starts_with(b"HTTP/1.") {
                    return None;
                }
                // A target has no spaces. Of one that does, Wireshark takes the rest for the
                // version.
                let (target, version) = split(rest)?;
                First::Request {
                    method: begin,
                    target,
                    version,
                }
            }
            _ => return None,
        };
        Some(HttpView { first, header })
    }

    /// The values of the lines of this name, in any case, that are there.
    pub fn header(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.header;
        core::iter::from_fn(move || {
            let (line, behind) = line(rest)?;
            rest = behind;
            (!line.is_empty()).then_some(line)
        })
        .filter_map(move |line| {
            let at = memchr::memchr(b':', line)?;
            line[..at]
                .eq_ignore_ascii_case(name.as_bytes())
                .then(|| line[at + 1..].trim_ascii())
        })
    }
}

/// The first line, without its end, and what follows.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'\n', bytes)?;
    let line = &bytes[..at];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &bytes[at + 1..]))
}

/// The text before and after the first space.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b' ', line)?;
    Some((&line[..at], &line[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_request_has_its_method_target_and_host() {
        let text = b"GET /a b?c HTTP/1.1\r\nhOST:  here \r\nhost: there\nX: y\r\n\r\nhost: no";
        let view = HttpView::new(text).unwrap();
        assert_eq!(
            view.first,
            First::Request {
                method: b"GET",
                target: b"/a",
                version: b"b?c HTTP/1.1"
            }
        );
        let hosts: Vec<_> = view.header("Host").collect();
        assert_eq!(hosts, [&b"here"[..], b"there"]);
    }

    #[test]
    fn a_response_has_its_status() {
        let view = HttpView::new(b"HTTP/1.0 404 Not Found\r\nServer: s").unwrap();
        let First::Response { status, reason, .. } = view.first else {
            panic!("{view:?}");
        };
        assert_eq!((status, reason), (404, &b"Not Found"[..]));
        // Its end is not there.
        assert_eq!(view.header("server").count(), 0);
    }

    #[test]
    fn what_is_not_http_is_none() {
        for text in [
            "GET / HTTP/1.1",
            "GET /\r\n",
            "get / HTTP/1.1\r\n",
            "PRI * HTTP/2.0\r\n",
            "FETCH / HTTP/1.1\r\n",
            "HTTP/1.1 good\r\n",
            "HTTP/2 200\r\n",
            "\r\n",
            "",
        ] {
            assert_eq!(HttpView::new(text.as_bytes()), None, "{text}");
        }
    }
}
