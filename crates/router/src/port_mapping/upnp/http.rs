//! Requests and responses of HTTP/1.1, one on a connection.

use alloc::format;
use alloc::string::String;

/// Maximum length of a request, bytes.
pub(super) const MAX_LEN: usize = 8_192;
/// Maximum number of lines of a head.
const MAX_LINES: usize = 64;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub host: Option<&'a str>,
    pub soap_action: Option<&'a str>,
    pub body: &'a str,
}

/// The state of reading a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading<'a> {
    More,
    Whole(Request<'a>),
    /// To be refused with this status.
    Bad(u16),
}

/// Value of a field that must be there once at most.
struct Field<'a>(Option<&'a str>);

impl<'a> Field<'a> {
    fn set(&mut self, value: &'a str) -> Option<()> {
        self.0.replace(value).is_none().then_some(())
    }
}

impl<'a> Request<'a> {
    /// Reads a request from all bytes that have come.
    pub fn read(bytes: &'a [u8]) -> Reading<'a> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            return match bytes.len() > MAX_LEN {
                true => Reading::Bad(431),
                false => Reading::More,
            };
        };
        let (head, body) = (&bytes[..end], &bytes[end + 4..]);
        match Request::parse(head, body) {
            Some(reading) => reading,
            None => Reading::Bad(400),
        }
    }

    fn parse(head: &'a [u8], body: &'a [u8]) -> Option<Reading<'a>> {
        let head = core::str::from_utf8(head).ok()?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, path, version) = (first.next()?, first.next()?, first.next()?);
        let is_first = first.next().is_none() && matches!(version, "HTTP/1.1" | "HTTP/1.0");
        if !is_first || method.is_empty() || path.is_empty() {
            return None;
        }
        let [mut host, mut action, mut length] = [Field(None), Field(None), Field(None)];
        for (number, line) in lines.enumerate() {
            let (name, value) = line.split_once(':')?;
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            if number >= MAX_LINES || name.is_empty() || !name.bytes().all(is_token) {
                return None;
            }
            let value = value.trim_matches([' ', '\t']);
            if name.eq_ignore_ascii_case("host") {
                host.set(value)?;
            } else if name.eq_ignore_ascii_case("soapaction") {
                action.set(value)?;
            } else if name.eq_ignore_ascii_case("content-length") {
                length.set(value)?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Some(Reading::Bad(501));
            }
        }
        let length = match length.0 {
            Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                length.parse().ok()?
            }
            Some(_) => return None,
            None if method == "POST" => return Some(Reading::Bad(411)),
            None => 0_usize,
        };
        if length > MAX_LEN || head.len() + 4 + length > MAX_LEN {
            return Some(Reading::Bad(413));
        }
        let Some(body) = body.get(..length) else {
            return Some(Reading::More);
        };
        let body = core::str::from_utf8(body).ok()?;
        Some(Reading::Whole(Request {
            method,
            path,
            host: host.0,
            soap_action: action.0,
            body,
        }))
    }
}

/// A response that ends the connection.
pub(super) fn response(status: u16, kind: &str, body: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        _ => "Internal Server Error",
    };
    let kind = match kind {
        "" => String::new(),
        kind => format!("Content-Type: {kind}; charset=\"utf-8\"\r\n"),
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\n{kind}Content-Length: {}\r\nConnection: close\r\nExt:\r\n\
         Server: {}\r\n\r\n{body}",
        body.len(),
        super::ssdp::SERVER
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &str = "POST /ctl HTTP/1.1\r\nHost: 10.0.0.1:49152\r\nSOAPAction: \"a#B\"\r\nContent-Length: 4\r\n\r\n<a/>";

    #[test]
    fn a_request_is_whole_at_its_end_however_it_is_cut() {
        for cut in 0..POST.len() {
            assert_eq!(Request::read(&POST.as_bytes()[..cut]), Reading::More);
        }
        let Reading::Whole(request) = Request::read(POST.as_bytes()) else {
            panic!("not whole");
        };
        assert_eq!(
            (request.method, request.path, request.body),
            ("POST", "/ctl", "<a/>")
        );
        assert_eq!(request.host, Some("10.0.0.1:49152"));
        assert_eq!(request.soap_action, Some("\"a#B\""));
    }

    #[test]
    fn requests_that_are_unclear_or_too_long_are_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(MAX_LEN));
        for (text, status) in [
            ("GET /\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\n\r\n", 400),
            ("GET  / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nno field\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\n\r\n", 411),
            ("POST / HTTP/1.1\r\nContent-Length: 9000\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
            (&long, 431),
        ] {
            assert_eq!(
                Request::read(text.as_bytes()),
                Reading::Bad(status),
                "{text}"
            );
        }
    }
}
