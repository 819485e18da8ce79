//! Questions to the database of streams, and subscriptions, for clients with a session.

use super::{Context, Session};
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use listen::Visitor;
use std::sync::Arc;
use stream::Database;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// The calls: method, and path below `/ws.v1/stream`.
#[cfg(test)]
pub const CALLS: [(&str, &str); 3] = [
    ("get", "/tables"),
    ("post", "/query"),
    ("get", "/subscribe"),
];

/// The routes of a database.
pub fn router(context: &Context, database: Database) -> Router<Context> {
    stream::http::router(database)
        .layer(from_fn_with_state(context.clone(), while_signed_in))
        .with_state(())
}

/// Ends a subscription with its session.
async fn while_signed_in(
    State(context): State<Context>,
    Extension(Session(hash)): Extension<Session>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let answer = next.run(request).await;
    let kind = answer.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "text/event-stream") {
        return answer;
    }
    let app = Arc::clone(&context.app);
    let mut ended = app.sessions.ended.subscribe();
    let (parts, body) = answer.into_parts();
    let mut events = body.into_data_stream();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _busy = visitor.busy();
        while app.sessions.is_alive(&hash) {
            let event = tokio::select! {
                () = sender.closed() => return,
                _ = ended.changed() => continue,
                event = events.next() => event,
            };
            let Some(event) = event else { return };
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(ReceiverStream::new(receiver)))
}
