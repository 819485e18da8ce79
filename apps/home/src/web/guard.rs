//! Requests that are not answered: they name another host, or come from a page of another origin; and headers of answers.
//!
//! A page of any site may have a browser send requests to the router, and by DNS rebinding it may read the answers. So a
//! request names the router by an address, as `localhost` or by one of its names. One from a page of another origin is
//! refused, and one that changes something by a cookie must show that it comes from our own page: by `Sec-Fetch-Site` or
//! by `Origin`. A request with a bearer token needs neither: no page of another origin has the token. There is no CORS.

use axum::extract::Request;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names another host.
    Host,
    /// A page of another origin sent it.
    Origin,
    /// It has a cookie, and nothing shows which page sent it.
    NoOrigin,
    /// It has no session.
    Session,
    /// All memory for requests is in use.
    Memory,
    /// It took too long.
    Slow,
}

impl Refusal {
    /// All of them, with the names of their counters.
    pub const ALL: [(Refusal, &'static str); 6] = [
        (Refusal::Host, "host"),
        (Refusal::Origin, "origin"),
        (Refusal::NoOrigin, "no_origin"),
        (Refusal::Session, "session"),
        (Refusal::Memory, "memory"),
        (Refusal::Slow, "slow"),
    ];

    /// Status and message.
    pub fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Refusal::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "the request names another host; name the router by its IP address, as localhost, or by one of its names",
            ),
            Refusal::Origin => (
                StatusCode::FORBIDDEN,
                "the request comes from a web page of another origin",
            ),
            Refusal::NoOrigin => (
                StatusCode::FORBIDDEN,
                "a request with a cookie that changes something needs `Sec-Fetch-Site` or `Origin`; a script takes a bearer token",
            ),
            Refusal::Session => (
                StatusCode::UNAUTHORIZED,
                "sign in first: POST /ws.v1/session",
            ),
            Refusal::Memory => (
                StatusCode::SERVICE_UNAVAILABLE,
                "all memory for requests is in use; try again",
            ),
            Refusal::Slow => (
                StatusCode::REQUEST_TIMEOUT,
                "the request took too long to come",
            ),
        }
    }
}

/// Checks requests and counts those that are refused.
pub struct Guard {
    /// Names of the router besides its addresses.
    names: Vec<String>,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl Guard {
    /// With these names besides the addresses.
    pub fn new(names: Vec<String>) -> Guard {
        Guard {
            names,
            refused: Default::default(),
        }
    }

    /// Number of refused requests by reason.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self
            .refused
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        Refusal::ALL.into_iter().map(|(_, name)| name).zip(counts)
    }

    /// Counts a refusal.
    pub fn count(&self, refusal: Refusal) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Checks the host and the origin of a request that came over TLS or not.
    ///
    /// # Errors
    /// The reason to refuse it.
    pub fn check(&self, request: &Request, is_secure: bool) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = one(headers, &header::HOST).ok_or(Refusal::Host)?;
        let named = request
            .uri()
            .authority()
            .map(|authority| authority.as_str());
        if !self.is_here(host) || named.is_some_and(|name| !self.is_here(name)) {
            return Err(Refusal::Host);
        }
        // Another site may show a link to the board: its files hold nothing of this home.
        if !request.uri().path().starts_with("/ws.v1") {
            return Ok(());
        }
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        let scheme = if is_secure { "https" } else { "http" };
        let origin = format!("{scheme}://{host}");
        let (mut is_ours, mut is_foreign) = (false, false);
        for given in headers.get_all(header::ORIGIN) {
            let same = given.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
            is_ours |= same;
            is_foreign |= !same;
        }
        for site in headers.get_all(FETCH_SITE) {
            match site.as_bytes() {
                b"same-origin" => is_ours = true,
                b"none" if !changes => {}
                _ => is_foreign = true,
            }
        }
        match (is_foreign, changes && headers.contains_key(header::COOKIE)) {
            (true, _) => Err(Refusal::Origin),
            (false, true) if !is_ours => Err(Refusal::NoOrigin),
            _ => Ok(()),
        }
    }

    /// Whether a host, perhaps with a port, is one that no other site can have a browser take for the router.
    fn is_here(&self, host: &str) -> bool {
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        bare.unwrap_or(host).parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || self
                .names
                .iter()
                .any(|name| host.eq_ignore_ascii_case(name))
    }
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Headers of every answer: a page of ours runs no script that is not a file of ours, is shown in no frame, and is not kept.
pub fn secure(answer: &mut Response) {
    const HEADERS: [(HeaderName, &str); 8] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in HEADERS {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn check(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let guard = Guard::new(vec!["router.home.arpa".into()]);
        guard.check(&request.body(Body::empty()).expect("a request"), true)
    }

    #[test]
    fn only_addresses_and_own_names_are_hosts() {
        let of = |host: &str| check("GET", "/", &[("host", host)]);
        for host in [
            "10.2.0.1",
            "10.2.0.1:8443",
            "[fd00::1]",
            "[fd00::1]:443",
            "localhost:1",
            "Router.home.arpa",
        ] {
            assert_eq!(of(host), Ok(()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "10.2.0.1.evil.example",
            "router.home.arpa.evil.example",
            "a@10.2.0.1",
        ] {
            assert_eq!(of(host), Err(Refusal::Host), "{host}");
        }
        assert_eq!(check("GET", "/", &[]), Err(Refusal::Host));
        let twice = [("host", "10.2.0.1"), ("host", "evil.example")];
        assert_eq!(check("GET", "/", &twice), Err(Refusal::Host));
    }

    #[test]
    fn a_change_by_cookie_shows_that_our_page_asks() {
        let of = |headers: &[(&str, &str)]| {
            let host = [("host", "10.2.0.1"), ("cookie", "a=b")];
            check(
                "POST",
                "/ws.v1/permit/020000000001",
                &[&host, headers].concat(),
            )
        };
        assert_eq!(of(&[]), Err(Refusal::NoOrigin));
        assert_eq!(of(&[("origin", "https://10.2.0.1")]), Ok(()));
        assert_eq!(of(&[("sec-fetch-site", "same-origin")]), Ok(()));
        let foreign: [&[(&str, &str)]; 8] = [
            &[("origin", "https://evil.example")],
            &[("origin", "http://10.2.0.1")],
            &[("origin", "https://10.2.0.1:8443")],
            &[("origin", "null")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[
                ("origin", "https://10.2.0.1"),
                ("sec-fetch-site", "cross-site"),
            ],
        ];
        for headers in foreign {
            assert_eq!(of(headers), Err(Refusal::Origin), "{headers:?}");
        }
        let read = [("host", "10.2.0.1"), ("sec-fetch-site", "cross-site")];
        assert_eq!(check("GET", "/ws.v1/devices", &read), Err(Refusal::Origin));
        assert_eq!(check("GET", "/", &read), Ok(()));
    }
}
