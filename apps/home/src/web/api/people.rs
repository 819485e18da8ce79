//! Calls about sessions, the password, events and counters.

use super::{Context, Failed, Session, cookie, token};
use crate::web::sessions::{MAX_AGE, SignInError};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Extension, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use listen::Visitor;
use listen::http::Peer;
use page::feed::MAX_READERS;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Whether the request has a session, and whether a password is set.
pub async fn session(State(context): State<Context>, headers: HeaderMap) -> Json<Value> {
    let sessions = &context.app.sessions;
    let token = token(&headers, context.is_secure);
    let signed_in = token.is_some_and(|token| sessions.find(&token).is_some());
    Json(json!({ "signed_in": signed_in, "set_up": sessions.setup_code().is_none() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    password: String,
    /// Whether the response has the token in its body and not as a cookie: for scripts.
    #[serde(default)]
    bearer: bool,
}

pub async fn sign_in(
    State(context): State<Context>,
    Extension(Peer(address)): Extension<Peer>,
    body: Result<Json<SignIn>, JsonRejection>,
) -> Response {
    let Json(SignIn { password, bearer }) = match body {
        Ok(body) => body,
        Err(rejection) => return Failed::from(rejection).into_response(),
    };
    let token = context.app.sessions.sign_in(address, password).await;
    begun(&context, token, bearer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    code: String,
    password: String,
}

pub async fn set_up(
    State(context): State<Context>,
    Extension(Peer(address)): Extension<Peer>,
    body: Result<Json<SetUp>, JsonRejection>,
) -> Response {
    let Json(SetUp { code, password }) = match body {
        Ok(body) => body,
        Err(rejection) => return Failed::from(rejection).into_response(),
    };
    let token = context.app.sessions.set_up(address, code, password).await;
    begun(&context, token, false)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    old: String,
    new: String,
}

/// Changes the password. All sessions end, and the response has a new one.
pub async fn change_password(
    State(context): State<Context>,
    Extension(Peer(address)): Extension<Peer>,
    headers: HeaderMap,
    body: Result<Json<ChangePassword>, JsonRejection>,
) -> Response {
    let Json(ChangePassword { old, new }) = match body {
        Ok(body) => body,
        Err(rejection) => return Failed::from(rejection).into_response(),
    };
    let token = context.app.sessions.change(address, old, new).await;
    begun(&context, token, headers.contains_key(header::AUTHORIZATION))
}

fn begun(context: &Context, token: Result<String, SignInError>, bearer: bool) -> Response {
    let token = match token {
        Ok(token) => token,
        Err(error) => return error.into(),
    };
    if bearer {
        return Json(json!({ "token": token })).into_response();
    }
    let mut answer = Json(json!({ "signed_in": true })).into_response();
    set_cookie(&mut answer, context.is_secure, &token, MAX_AGE);
    answer
}

pub async fn sign_out(
    State(context): State<Context>,
    Extension(Session(hash)): Extension<Session>,
) -> Response {
    let ended = context.app.sessions.sign_out(&hash);
    let mut answer = match ended {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => Failed::from(error).into_response(),
    };
    set_cookie(&mut answer, context.is_secure, "", 0);
    answer
}

/// Sets the cookie: out of reach of page scripts, and not sent with requests from other sites.
fn set_cookie(answer: &mut Response, is_secure: bool, token: &str, age: u64) {
    let secure = if is_secure { "; Secure" } else { "" };
    let name = cookie(is_secure);
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        answer.headers_mut().insert(header::SET_COOKIE, value);
    }
}

/// Events from the id in `Last-Event-ID`, else in `?after=`, else from now on.
pub async fn events(
    State(context): State<Context>,
    Extension(Session(hash)): Extension<Session>,
    Extension(visitor): Extension<Visitor>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let query = uri.query().and_then(|query| query.strip_prefix("after="));
    let app = Arc::clone(&context.app);
    let changed = app.sessions.ended.subscribe();
    let is_allowed = move || app.sessions.is_alive(&hash);
    // The connection is in use until the reader disconnects.
    let feed = Arc::clone(&context.app.feed);
    let answer = feed.read(header.or(query), changed, is_allowed, visitor.busy());
    answer.unwrap_or_else(|| {
        let why = format!("{MAX_READERS} boards are open, which is the limit; close one");
        Failed(StatusCode::SERVICE_UNAVAILABLE, why).into_response()
    })
}

/// Requests and connections by outcome.
pub async fn counters(State(context): State<Context>) -> Json<Value> {
    let refused: serde_json::Map<_, _> = context
        .app
        .guard
        .refused()
        .map(|(name, count)| (name.into(), count.into()))
        .collect();
    let mut connections = serde_json::Map::new();
    for (name, count) in context
        .app
        .gates
        .iter()
        .flat_map(|gate| gate.counts().named())
    {
        let sum = connections
            .get(name)
            .and_then(Value::as_u64)
            .unwrap_or_default();
        connections.insert(name.into(), (sum + count).into());
    }
    Json(json!({ "requests_refused": refused, "connections": connections }))
}
