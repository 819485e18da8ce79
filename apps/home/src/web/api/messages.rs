//! Calls about messages to people who are not looking.

use super::{Context, Failed};
use crate::messages::ChangeError;
use crate::messages::settings::Wanted;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde_json::Value;

impl From<ChangeError> for Failed {
    fn from(error: ChangeError) -> Failed {
        match error {
            ChangeError::Settings(bad) => Failed(StatusCode::BAD_REQUEST, bad.to_string()),
            ChangeError::Store(error) => error.into(),
        }
    }
}

/// Destinations without their secrets, and counters.
pub async fn view(State(context): State<Context>) -> Json<Value> {
    Json(context.app.messages.view())
}

/// Changes destinations. A new secret of the webhook is in the response, and never again.
pub async fn change(
    State(context): State<Context>,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<Value>, Failed> {
    let Json(wanted) = body?;
    let secret = context.app.messages.change(wanted)?;
    let mut view = context.app.messages.view();
    if let Some(secret) = secret {
        view["new_secret"] = secret.into();
    }
    Ok(Json(view))
}

/// Sends a message to see whether it arrives.
pub async fn test(State(context): State<Context>) -> StatusCode {
    context.app.messages.test();
    StatusCode::ACCEPTED
}
