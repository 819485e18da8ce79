//! The calls of the API.
//!
//! The calls of table 4.1 of the paper have its paths under `/ws.v1`; the others serve the board. The paper does not name
//! methods. Here calls that change something are POST or DELETE: with GET, any web page could permit a device by an image or a
//! link. `/openapi.json` describes all of them.

mod devices;
mod invitations;
mod messages;
mod people;
mod persons;
mod rehearse;
mod rows;

use super::MAX_BODY;
use super::files::FILES;
use super::guard::{Guard, Refusal};
use super::sessions::{Sessions, SignInError};
use super::watch::Watch;
use crate::clock::Clock;
use crate::gateway::Settings;
use crate::home::{Refused, Shared};
use crate::invitations::Invitations;
use crate::messages::Messages;
use crate::store::{Store, StoreError};
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Json, Router};
use listen::http::origin::bearer;
use listen::{Gate, Visitor};
use node::budget::Account;
use page::feed::Feed;
use page::secure;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stream::Database;
use tokio::sync::Semaphore;

/// Time limit for receiving and answering a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Memory that a request holds while it is answered, bytes.
const MEMORY: usize = 16 * MAX_BODY;

/// State that all calls share.
pub struct App {
    pub(super) home: Shared,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) sessions: Sessions,
    pub(super) guard: Guard,
    pub(super) feed: Arc<Feed<Watch>>,
    pub(super) gates: Vec<Arc<Gate>>,
    pub(super) database: Option<Database>,
    /// Settings of the control program, for rehearsals.
    pub(super) settings: Settings,
    /// Permits one rehearsal at a time.
    pub(super) rehearsals: Semaphore,
    pub(super) messages: Arc<Messages>,
    pub(super) invitations: Invitations,
    /// Address of the page for guests.
    pub(super) join: Option<std::net::SocketAddr>,
}

/// The calls of one listener.
#[derive(Clone)]
pub struct Context {
    pub(super) app: Arc<App>,
    /// Whether it speaks TLS.
    pub(super) is_secure: bool,
}

/// Hash of the session token of a request.
#[derive(Clone, Copy)]
struct Session([u8; 32]);

/// A call: method, path, handler.
type Call = (&'static str, &'static str, MethodRouter<Context>);

/// Calls that need a session.
fn calls() -> Vec<Call> {
    vec![
        // Table 4.1.
        ("post", "/ws.v1/permit/{eaddr}", post(devices::permit)),
        ("post", "/ws.v1/deny/{eaddr}", post(devices::deny)),
        ("get", "/ws.v1/status", get(devices::status)),
        ("get", "/ws.v1/status/{eaddr}", get(devices::one)),
        ("get", "/ws.v1/dhcp-status", get(devices::dhcp_status)),
        ("post", "/ws.v1/whitelist/{eaddr}", post(devices::whitelist)),
        ("post", "/ws.v1/blacklist/{eaddr}", post(devices::blacklist)),
        (
            "get",
            "/ws.v1/blacklist-status",
            get(devices::blacklist_status),
        ),
        (
            "post",
            "/ws.v1/permit-dns/{eaddr}/{domain}",
            post(devices::permit_dns),
        ),
        (
            "post",
            "/ws.v1/deny-dns/{eaddr}/{domain}",
            post(devices::deny_dns),
        ),
        // The board.
        ("get", "/ws.v1/devices", get(devices::all)),
        ("get", "/ws.v1/devices/{eaddr}", get(devices::one)),
        ("post", "/ws.v1/devices/{eaddr}", post(devices::change)),
        ("delete", "/ws.v1/devices/{eaddr}", delete(devices::forget)),
        ("post", "/ws.v1/devices/{eaddr}/again", post(devices::again)),
        (
            "get",
            "/ws.v1/devices/{eaddr}/history",
            get(devices::history),
        ),
        (
            "delete",
            "/ws.v1/devices/{eaddr}/domains/{domain}",
            delete(devices::remove_domain),
        ),
        ("get", "/ws.v1/people", get(persons::all)),
        ("get", "/ws.v1/people/{person}", get(persons::one)),
        ("post", "/ws.v1/people/{person}", post(persons::change)),
        ("post", "/ws.v1/rehearse/{eaddr}", post(rehearse::rehearse)),
        ("get", "/ws.v1/invitations", get(invitations::all)),
        ("post", "/ws.v1/invitations", post(invitations::make)),
        (
            "delete",
            "/ws.v1/invitations/{invitation}",
            delete(invitations::revoke),
        ),
        ("get", "/ws.v1/messages", get(messages::view)),
        ("post", "/ws.v1/messages", post(messages::change)),
        ("post", "/ws.v1/messages/test", post(messages::test)),
        ("get", "/ws.v1/events", get(people::events)),
        ("get", "/ws.v1/counters", get(people::counters)),
        ("post", "/ws.v1/password", post(people::change_password)),
        ("delete", "/ws.v1/session", delete(people::sign_out)),
    ]
}

/// Calls without a session.
fn open_calls() -> Vec<Call> {
    vec![
        ("get", "/ws.v1/session", get(people::session)),
        ("post", "/ws.v1/session", post(people::sign_in)),
        ("post", "/ws.v1/setup", post(people::set_up)),
    ]
}

/// Routes of a listener: all calls, and the files of the board.
pub fn router(context: Context) -> Router {
    let add = |router: Router<Context>, (_, path, handler): Call| {
        let router = router.route(path, handler.clone());
        // The paper writes its lists with a trailing slash.
        match path.contains('{') {
            true => router,
            false => router.route(&format!("{path}/"), handler),
        }
    };
    let mut signed_in = calls().into_iter().fold(Router::new(), add);
    if let Some(database) = &context.app.database {
        signed_in = signed_in.nest("/ws.v1/stream", rows::router(&context, database.clone()));
    }
    let signed_in = signed_in.route_layer(from_fn_with_state(context.clone(), require_session));
    let mut router = open_calls()
        .into_iter()
        .fold(Router::new(), add)
        .merge(signed_in);
    for (path, kind, content) in FILES {
        let answer =
            move || async move { ([(header::CONTENT_TYPE, kind)], Bytes::from_static(content)) };
        router = router.route(path, get(answer));
    }
    router
        .fallback(async || Failed(StatusCode::NOT_FOUND, "no such call: /openapi.json lists all calls".into()))
        .method_not_allowed_fallback(async || {
            let why = "wrong method: use POST or DELETE for calls that change something, GET for the others";
            Failed(StatusCode::METHOD_NOT_ALLOWED, why.into())
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(context.clone(), check))
        .with_state(context)
}

/// Accepts or refuses a request, and sets the headers of the response.
async fn check(State(context): State<Context>, request: Request, next: Next) -> Response {
    let refuse = |refusal: Refusal| refuse(&context.app.guard, refusal);
    let account = request
        .extensions()
        .get::<Account>()
        .map(|account| account.hold(MEMORY));
    let mut answer = match (
        context.app.guard.check(&request, context.is_secure),
        &account,
    ) {
        (Err(refusal), _) => refuse(refusal),
        (Ok(()), Some(Err(_))) => refuse(Refusal::Memory),
        (Ok(()), _) => {
            let answered = tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await;
            answered.unwrap_or_else(|_| refuse(Refusal::Slow))
        }
    };
    secure(&mut answer);
    answer
}

async fn require_session(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Response {
    let token = token(request.headers(), context.is_secure);
    let Some(hash) = token.and_then(|token| context.app.sessions.find(&token)) else {
        return refuse(&context.app.guard, Refusal::Session);
    };
    let visitor = request.extensions().get::<Visitor>().cloned();
    let _busy = visitor.as_ref().map(Visitor::busy);
    request.extensions_mut().insert(Session(hash));
    next.run(request).await
}

fn refuse(guard: &Guard, refusal: Refusal) -> Response {
    guard.count(refusal);
    let (code, why) = refusal.answer();
    let mut answer = Failed(code, why.into()).into_response();
    if refusal == Refusal::Session {
        // The peer has not signed in: its place may go to another.
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(header::CONNECTION, close);
    }
    answer
}

/// Name of the cookie. With the prefix `__Host-` browsers refuse it from other hosts and without TLS.
fn cookie(is_secure: bool) -> &'static str {
    if is_secure {
        "__Host-session"
    } else {
        "session"
    }
}

/// Bearer token of a request, or else the token in its cookie.
fn token(headers: &HeaderMap, is_secure: bool) -> Option<String> {
    if headers.contains_key(header::AUTHORIZATION) {
        return bearer(headers).map(Into::into);
    }
    let name = cookie(is_secure);
    let cookies = headers.get_all(header::COOKIE).iter();
    cookies
        .filter_map(|given| given.to_str().ok())
        .flat_map(|given| given.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.into())
}

/// Response to a failed call: its status, and the reason as JSON.
struct Failed(StatusCode, String);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Failed {
        let code = match refused {
            Refused::NoDevice(_) | Refused::NoPerson => StatusCode::NOT_FOUND,
            Refused::Group(_) | Refused::Domain(_) | Refused::Name => StatusCode::BAD_REQUEST,
            Refused::Full(_)
            | Refused::Rules
            | Refused::People
            | Refused::Undecided(_)
            | Refused::Decided(_)
            | Refused::Different => StatusCode::CONFLICT,
            Refused::NotKept(_) => StatusCode::INSUFFICIENT_STORAGE,
        };
        Failed(code, refused.to_string())
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed(StatusCode::INSUFFICIENT_STORAGE, error.to_string())
    }
}

impl From<JsonRejection> for Failed {
    fn from(rejection: JsonRejection) -> Failed {
        Failed(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Failed {
    fn from(rejection: PathRejection) -> Failed {
        Failed(rejection.status(), rejection.body_text())
    }
}

impl From<SignInError> for Response {
    fn from(error: SignInError) -> Response {
        let (code, wait) = match error {
            SignInError::Wrong | SignInError::Code => (StatusCode::FORBIDDEN, None),
            SignInError::NotSet | SignInError::AlreadySet => (StatusCode::CONFLICT, None),
            SignInError::Length => (StatusCode::BAD_REQUEST, None),
            SignInError::Limited(wait) => (StatusCode::TOO_MANY_REQUESTS, Some(wait)),
            SignInError::Busy => (StatusCode::SERVICE_UNAVAILABLE, Some(1)),
            SignInError::Hash(_) | SignInError::Random(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, None)
            }
            SignInError::Store(_) => (StatusCode::INSUFFICIENT_STORAGE, None),
        };
        let mut answer = Failed(code, error.to_string()).into_response();
        if let Some(wait) = wait {
            answer
                .headers_mut()
                .insert(header::RETRY_AFTER, wait.into());
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn openapi_names_each_call_and_no_other() {
        let (_, _, document) = FILES
            .iter()
            .find(|(path, ..)| *path == "/openapi.json")
            .expect("there");
        let document: serde_json::Value = serde_json::from_slice(document).expect("JSON");
        let written: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .expect("paths")
            .iter()
            .flat_map(|(path, calls)| {
                let calls = calls.as_object().expect("calls").keys();
                calls
                    .filter(|key| *key != "parameters")
                    .map(|method| (method.clone(), path.clone()))
            })
            .collect();
        let served: BTreeSet<(String, String)> = calls()
            .iter()
            .chain(&open_calls())
            .map(|(method, path, _)| (method.to_string(), path.to_string()))
            .chain(
                rows::CALLS.map(|(method, path)| (method.into(), format!("/ws.v1/stream{path}"))),
            )
            .collect();
        assert_eq!(written, served);
        // Each parameter of a path is described, and each call says whether it needs a session.
        for (path, calls) in document["paths"].as_object().expect("paths") {
            let wanted: Vec<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            let named = |list: &serde_json::Value| -> Vec<String> {
                let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
                let references = list.iter().filter_map(|each| each["$ref"].as_str());
                references
                    .map(|text| text.rsplit('/').next().expect("a name").into())
                    .collect()
            };
            let parameters = named(&calls["parameters"]);
            assert!(
                wanted
                    .iter()
                    .all(|name| parameters.iter().any(|each| each == name)),
                "{path}"
            );
        }
        for (method, path, _) in open_calls() {
            assert!(
                document["paths"][path][method]["security"]
                    .as_array()
                    .is_some_and(Vec::is_empty),
                "{path}"
            );
        }
        for (method, path, _) in calls() {
            assert!(
                document["paths"][path][method]["security"].is_null(),
                "{path}"
            );
        }
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        let of = |cookies: &[&str]| {
            let mut headers = HeaderMap::new();
            for each in cookies {
                headers.append(header::COOKIE, each.parse().expect("a header"));
            }
            token(&headers, true)
        };
        assert_eq!(of(&["a=b; __Host-session=abc; c=d"]), Some("abc".into()));
        assert_eq!(of(&["a=b", "__Host-session=abc"]), Some("abc".into()));
        assert_eq!(of(&["session=abc; x__Host-session=d; ;=;"]), None);
        assert_eq!(of(&[]), None);
    }
}
