//! Host and origin of requests.
//!
//! Any web page can make a browser send requests to this machine, and with DNS rebinding it can read the responses. So a request must
//! name this machine by an address, as `localhost` or by one of its [`Names`], and must not come from a page of another origin.

use hyper::Request;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use std::net::IpAddr;

/// Header with the relation of the page that sent a request to its target (Fetch Metadata).
pub const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Names of this machine, in addition to its addresses and `localhost`.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// These names.
    pub fn new(names: Vec<String>) -> Names {
        Names(names)
    }

    /// The host that a request names, with its port if it has one. `None` if it names none, several, or one that another site can use.
    pub fn host<'a, B>(&self, request: &'a Request<B>) -> Option<&'a str> {
        let host = one(request.headers(), &HOST).filter(|host| self.is_here(host))?;
        let target = request.uri().authority();
        target
            .is_none_or(|name| self.is_here(name.as_str()))
            .then_some(host)
    }

    /// Whether a host, with or without a port, is an address or a name of this machine.
    fn is_here(&self, host: &str) -> bool {
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let mut names = self.0.iter().map(String::as_str).chain(["localhost"]);
        bare.unwrap_or(host).parse::<IpAddr>().is_ok()
            || names.any(|name| host.eq_ignore_ascii_case(name))
    }
}

/// Whether the page that sent a request to `host`, if a page did, is of the same origin: by `Origin` and `Sec-Fetch-Site`.
pub fn is_same(headers: &HeaderMap, scheme: &str, host: &str) -> bool {
    let origin = format!("{scheme}://{host}");
    let mut origins = headers.get_all(ORIGIN).iter();
    let mut sites = headers.get_all(FETCH_SITE).iter();
    origins.all(|given| given.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
        && sites.all(|site| matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// Value of a header that occurs exactly once.
pub fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Token of a request with `Authorization: Bearer`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = one(headers, &hyper::header::AUTHORIZATION)?;
    let (scheme, token) = given.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(header: &[&str], target: &str) -> bool {
        let mut request = Request::builder().uri(target);
        for value in header {
            request = request.header(HOST, *value);
        }
        let names = Names::new(vec!["router.home.arpa".into()]);
        names.host(&request.body(()).expect("a request")).is_some()
    }

    #[test]
    fn a_host_that_another_site_can_use_is_refused() {
        for good in [
            "10.2.0.1",
            "10.2.0.1:8443",
            "[fd00::1]:443",
            "localhost",
            "LOCALHOST:80",
            "Router.home.arpa",
        ] {
            assert!(host(&[good], "/"), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "10.2.0.1.example.com",
            "localhost.example.com",
            "a:b",
        ] {
            assert!(!host(&[bad], "/"), "{bad}");
        }
        assert!(!host(&[], "/") && !host(&["localhost", "localhost"], "/"));
        assert!(!host(&["localhost"], "http://example.com/"));
    }
}
