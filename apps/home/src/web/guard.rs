//! Checks of the host and origin of requests.
//!
//! Any web page can make a browser send requests to the router, and with DNS rebinding it can read the responses. So the host
//! of a request must be an address, `localhost` or a name of the router. A request from a page of another origin is refused.
//! A request that changes something by a cookie must show by `Sec-Fetch-Site` or `Origin` that it comes from the board. A
//! request with a bearer token needs neither: no page of another origin has the token. CORS is not supported.

use axum::extract::Request;
use axum::http::header;
use axum::http::{Method, StatusCode};
use listen::http::origin::{FETCH_SITE, Names};
use std::sync::atomic::{AtomicU64, Ordering};

/// A reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names another host.
    Host,
    /// A page of another origin sent it.
    Origin,
    /// It has a cookie, and no header shows its page of origin.
    NoOrigin,
    /// It has no session.
    Session,
    /// All memory for requests is in use.
    Memory,
    /// It did not arrive in time.
    Slow,
}

impl Refusal {
    /// All reasons, with the names of their counters.
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
                "a change by cookie needs `Sec-Fetch-Site` or `Origin`; scripts use a bearer token",
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
    /// Names of the router, in addition to its addresses.
    names: Names,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl Guard {
    /// A guard with these names, in addition to the addresses.
    pub fn new(names: Vec<String>) -> Guard {
        Guard {
            names: Names::new(names),
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
        let host = self.names.host(request).ok_or(Refusal::Host)?;
        // Another site may link to the board: its files contain no data of this home.
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
