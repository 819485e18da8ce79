//! Questions and subscriptions over HTTP, as a router of axum.
//!
//! | request | response |
//! |---|---|
//! | `GET /tables` | tables with their columns, rows and counters |
//! | `POST /query` with `{"sql": "...", "parameters": [...]}` | `{"columns": [...], "rows": [[...]], "missing": 0, "is_cut": false}` |
//! | `GET /subscribe?pattern=...` | server-sent events with `{"at": ..., "values": {...}}` |
//!
//! An error is `{"error": "..."}` with status 400, or 503 when a limit of the database is reached.
//! Blobs are texts of hexadecimal digits, and real numbers that JSON lacks are null. The router has
//! no authentication: the server that mounts it authenticates clients and limits connections.

use crate::database::{Database, Subscription};
use crate::sql::QueryError;
use crate::value::{Owned, Value};
use crate::watch::{Event, WatchError};
use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{self, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::{Map, Number, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Maximum size of a question's body, bytes.
const MAX_BODY_LEN: usize = 128 << 10;

/// The routes of a database.
pub fn router(database: Database) -> Router {
    Router::new()
        .route("/tables", get(tables))
        .route("/query", post(query))
        .route("/subscribe", get(subscribe))
        .layer(DefaultBodyLimit::max(MAX_BODY_LEN))
        .with_state(database)
}

async fn tables(State(database): State<Database>) -> Json<serde_json::Value> {
    let tables = database.tables().into_iter().map(|table| {
        let (schema, counts) = (table.schema(), table.counts());
        let columns = schema.columns().iter();
        let columns: Vec<_> = columns
            .map(|column| json!({"name": column.name, "type": column.kind.name()}))
            .collect();
        json!({
            "name": schema.name(),
            "columns": columns,
            "rows": schema.rows(),
            "inserted": counts.inserted,
            "overwritten": counts.overwritten,
            "late": counts.late,
            "refused": counts.refused,
        })
    });
    Json(json!({"now": database.now(), "tables": tables.collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    sql: String,
    #[serde(default)]
    parameters: Vec<serde_json::Value>,
}

async fn query(State(database): State<Database>, Json(question): Json<Question>) -> Response {
    // A question may take seconds.
    let task = tokio::task::spawn_blocking(move || {
        let parameters = question.parameters.iter().map(parameter);
        let Some(parameters) = parameters.collect::<Option<Vec<Value<'_>>>>() else {
            let message = "a parameter is a number, a text, true, false or null";
            return Err(QueryError::Refused(message.into()));
        };
        database.query_with(&question.sql, &parameters)
    });
    match task.await {
        Ok(Ok(answer)) => {
            let row = |row: &Vec<Owned>| row.iter().map(to_json).collect::<Vec<_>>();
            let rows: Vec<_> = answer.rows.iter().map(row).collect();
            Json(json!({
                "columns": answer.columns,
                "rows": rows,
                "missing": answer.missing,
                "is_cut": answer.is_cut,
            }))
            .into_response()
        }
        Ok(Err(error)) => {
            let status = match error {
                QueryError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::BAD_REQUEST,
            };
            fault(status, &error.to_string())
        }
        Err(error) => fault(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

#[derive(Deserialize)]
struct Pattern {
    pattern: String,
}

async fn subscribe(State(database): State<Database>, Query(asked): Query<Pattern>) -> Response {
    match database.subscribe(&asked.pattern) {
        Ok(subscription) => {
            let columns = subscription.columns();
            let events = Events {
                subscription,
                columns,
            };
            Sse::new(events)
                .keep_alive(sse::KeepAlive::default())
                .into_response()
        }
        Err(error @ WatchError::Syntax(_)) => fault(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(error) => fault(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

/// Events of a subscription, which ends with the connection.
struct Events {
    subscription: Subscription,
    columns: Vec<String>,
}

impl Stream for Events {
    type Item = Result<sse::Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Poll::Ready(Event { at, values }) = self.subscription.poll_next(context) else {
            return Poll::Pending;
        };
        let values: Map<_, _> = self
            .columns
            .iter()
            .cloned()
            .zip(values.iter().map(to_json))
            .collect();
        let data = json!({"at": at, "values": values}).to_string();
        Poll::Ready(Some(Ok(sse::Event::default().data(data))))
    }
}

fn fault(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"error": message}))).into_response()
}

fn to_json(value: &Owned) -> serde_json::Value {
    match value {
        Owned::Null => serde_json::Value::Null,
        Owned::Integer(value) => (*value).into(),
        Owned::Real(value) => Number::from_f64(*value).into(),
        Owned::Text(text) => text.as_str().into(),
        blob @ Owned::Blob(_) => blob.to_string().into(),
    }
}

fn parameter(value: &serde_json::Value) -> Option<Value<'_>> {
    Some(match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Integer((*value).into()),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Real(number.as_f64()?),
        },
        serde_json::Value::String(text) => Value::Text(text),
        _ => return None,
    })
}
