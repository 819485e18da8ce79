//! The page for guests: all that a device that waits for a decision can reach.
//!
//! It is plain HTTP on an address of the home: a guest's browser would warn of the router's own certificate. Its packets go from
//! the device through the router to this machine alone, and no other device sees them. The page has no data of the home.

use super::api::App;
use super::files::JOIN_FILES;
use super::limit::Limiter;
use crate::invitations::InvitationError;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::StatusCode;
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use listen::http::Peer;
use page::secure;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a request's body, bytes.
const MAX_BODY: usize = 256;
/// Time limit for receiving and answering a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Context {
    app: Arc<App>,
    limiter: Arc<Mutex<Limiter>>,
}

/// Routes of the listener for guests.
pub fn router(app: Arc<App>) -> Router {
    let context = Context {
        app,
        limiter: Arc::default(),
    };
    let mut router = Router::new().route("/join", post(join));
    for (path, kind, content) in JOIN_FILES {
        router = router.route(
            path,
            get(move || async move { ([(header::CONTENT_TYPE, kind)], content) }),
        );
    }
    router
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(context.clone(), check))
        .with_state(context)
}

async fn check(State(context): State<Context>, request: Request, next: Next) -> Response {
    let guard = &context.app.guard;
    let mut answer = match guard.check(&request, false) {
        Err(refusal) => {
            guard.count(refusal);
            let (code, why) = refusal.answer();
            (code, why).into_response()
        }
        Ok(()) => {
            let answered = tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await;
            answered.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response())
        }
    };
    secure(&mut answer);
    answer
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accept {
    code: String,
}

/// Permits the device that sends the request, by the code of an invitation.
async fn join(
    State(context): State<Context>,
    Extension(Peer(address)): Extension<Peer>,
    body: Result<Json<Accept>, JsonRejection>,
) -> Response {
    let Ok(Json(Accept { code })) = body else {
        return failed(&InvitationError::Code);
    };
    let invitations = &context.app.invitations;
    // A device that does not wait costs a look at its address, and no guess.
    let accepted = invitations.waiting(address).and_then(|_| {
        let now = context.app.clock.now();
        let counted = context.limiter.lock().guess(now, address, false);
        counted.map_err(|wait| InvitationError::Limited(wait.as_ns().div_ceil(1_000_000_000)))?;
        invitations.accept(address, &code)
    });
    match accepted {
        Ok(label) => {
            context.limiter.lock().take_back(address, false);
            Json(json!({ "label": label })).into_response()
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &InvitationError) -> Response {
    let code = match error {
        InvitationError::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
        InvitationError::Store(_) | InvitationError::Refused(_) => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::FORBIDDEN,
    };
    (code, Json(json!({ "error": error.to_string() }))).into_response()
}
