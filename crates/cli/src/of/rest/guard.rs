//! Who may ask: somebody with the token, and no web page that a browser on this machine shows.
//!
//! A page of any site may have its browser send requests to this machine's own addresses, and by a name of its own that it has
//! point here (DNS rebinding) it may read the answers. So a request must name this machine by an address, as `localhost` or by a
//! name of `--rest-name`, must not come from a page of another origin, must carry the token, and what it brings must be JSON, which
//! a page cannot send elsewhere without being allowed to. Nothing here ever allows that: there is no CORS.

use super::failed;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use listen::Visitor;
use listen::http::origin::{self, Names, bearer, one};
use node::budget::Account;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use subtle::ConstantTimeEq;

/// How long a request may take to come and be answered.
const WHOLE: Duration = Duration::from_secs(30);

/// Maximum length of a request's body in bytes: one entry.
pub const MAX_BODY: usize = 64 << 10;
/// Memory of a request that is dealt with: its body, that as JSON, and the entry.
const MEMORY: usize = 8 * MAX_BODY;

/// Why a request is not listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names another host.
    Host,
    /// A page of another origin sent it.
    Origin,
    /// It has no token, or a wrong one.
    Token,
    /// It brings something that is not said to be JSON.
    ContentType,
}

impl Refusal {
    /// All of them, with the names of their counters.
    pub const ALL: [(Refusal, &'static str); 4] = [
        (Refusal::Host, "host"),
        (Refusal::Origin, "origin"),
        (Refusal::Token, "token"),
        (Refusal::ContentType, "content_type"),
    ];

    fn answer(self) -> Response {
        let (code, why) = match self {
            Refusal::Host => (
                StatusCode::FORBIDDEN,
                "the request names another host; address this machine by its IP address, as localhost, or by a name that \
                 --rest-name allows",
            ),
            Refusal::Origin => (
                StatusCode::FORBIDDEN,
                "the request comes from a web page of another origin",
            ),
            Refusal::Token => (
                StatusCode::UNAUTHORIZED,
                "the token is wanted, as `Authorization: Bearer TOKEN`; `wire of controller` told it when it started, or it is in \
                 the file of --token-file",
            ),
            Refusal::ContentType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is to be JSON, with `Content-Type: application/json`",
            ),
        };
        let mut answer = failed(code, why);
        if self == Refusal::Token {
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            // The peer did not identify itself: close, so that others can connect.
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
        }
        answer
    }
}

/// What is asked of a request.
pub struct Guard {
    /// Without one everybody may ask who may connect.
    token: Option<String>,
    names: Names,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl Guard {
    /// A guard with this token, and these names in addition to the addresses.
    pub fn new(token: Option<String>, names: Vec<String>) -> Guard {
        Guard {
            token,
            names: Names::new(names),
            refused: Default::default(),
        }
    }

    /// How many requests were refused, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self
            .refused
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        Refusal::ALL.into_iter().map(|(_, name)| name).zip(counts)
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = self.names.host(request).ok_or(Refusal::Host)?;
        if !origin::is_same(headers, "http", host) {
            return Err(Refusal::Origin);
        }
        if let Some(token) = &self.token {
            let given = bearer(headers).ok_or(Refusal::Token)?;
            if !bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
                return Err(Refusal::Token);
            }
        }
        let brings = !request.body().is_end_stream() || request.method() == Method::POST;
        match brings && !is_json(headers) {
            true => Err(Refusal::ContentType),
            false => Ok(()),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    one(headers, &CONTENT_TYPE).is_some_and(|given| {
        let kind = given.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    })
}

/// Lets a request through, or says why not.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = guard.check(&request) {
        guard.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
        return refusal.answer();
    }
    // `listen::http` gives each connection an account, and a place that it keeps while it is at work.
    let _busy = request.extensions().get::<Visitor>().map(Visitor::busy);
    let held = request
        .extensions()
        .get::<Account>()
        .map(|account| account.hold(MEMORY));
    if let Some(Err(exhausted)) = &held {
        return failed(StatusCode::SERVICE_UNAVAILABLE, &exhausted.to_string());
    }
    let answer = tokio::time::timeout(WHOLE, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        failed(
            StatusCode::REQUEST_TIMEOUT,
            "the request took too long to come",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn asked(headers: &[(&str, &str)], method: &str, body: &str) -> Result<(), Refusal> {
        let guard = Guard::new(Some("secret".into()), vec!["switchbox".into()]);
        let mut request = Request::builder().method(method).uri("/switches/1/flows");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_empty() {
            Body::empty()
        } else {
            Body::from(body.to_owned())
        };
        guard.check(&request.body(body).unwrap())
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer secret");
    const HERE: (&str, &str) = ("host", "127.0.0.1:8080");
    const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");

    #[test]
    fn who_has_the_token_may_ask() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "localhost:8080",
            "[::1]:8080",
            "[::1]",
            "SwitchBox:80",
        ] {
            assert_eq!(asked(&[("host", host), TOKEN], "GET", ""), Ok(()), "{host}");
        }
        assert_eq!(asked(&[HERE, TOKEN, JSON], "POST", "{}"), Ok(()));
        assert_eq!(asked(&[HERE, TOKEN], "DELETE", ""), Ok(()));
        let own = ("origin", "http://127.0.0.1:8080");
        assert_eq!(asked(&[HERE, own, TOKEN], "GET", ""), Ok(()));
    }

    #[test]
    fn another_host_is_refused() {
        for host in [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "switchbox2",
        ] {
            let said = asked(&[("host", host), TOKEN], "GET", "");
            assert_eq!(said, Err(Refusal::Host), "{host}");
        }
        assert_eq!(asked(&[TOKEN], "GET", ""), Err(Refusal::Host));
        let twice = [HERE, ("host", "evil.example"), TOKEN];
        assert_eq!(asked(&twice, "GET", ""), Err(Refusal::Host));
    }

    #[test]
    fn a_page_elsewhere_is_refused() {
        for page in [
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
        ] {
            let said = asked(&[HERE, page, TOKEN, JSON], "POST", "{}");
            assert_eq!(said, Err(Refusal::Origin), "{page:?}");
        }
    }

    #[test]
    fn without_the_token_nothing_is_told() {
        assert_eq!(asked(&[HERE], "GET", ""), Err(Refusal::Token));
        for wrong in [
            "Bearer secre",
            "Bearer secret2",
            "Basic secret",
            "secret",
            "Bearer",
        ] {
            let said = asked(&[HERE, ("authorization", wrong)], "GET", "");
            assert_eq!(said, Err(Refusal::Token), "{wrong}");
        }
    }

    #[test]
    fn what_a_form_sends_is_refused() {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain; application/json",
        ] {
            let said = asked(&[HERE, TOKEN, ("content-type", kind)], "POST", "{}");
            assert_eq!(said, Err(Refusal::ContentType), "{kind}");
        }
        assert_eq!(asked(&[HERE, TOKEN], "POST", ""), Err(Refusal::ContentType));
        assert_eq!(
            asked(&[HERE, TOKEN], "DELETE", "{}"),
            Err(Refusal::ContentType)
        );
    }
}
