//! The call that tries a decision on the flows of the last hour.

use super::devices::{Of, mac};
use super::{Context, Failed};
use crate::flows::FlowKey;
use crate::home::{Change, Home, Refused};
use crate::rehearse::{self, Group, MAX_FLOWS, Past, Rehearsal};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use packet::ethernet::Mac;
use serde::Serialize;
use std::net::IpAddr;
use stream::{Database, Owned, Value};

/// Maximum number of groups in each list of an answer.
const MAX_GROUPS: usize = 50;
/// Both directions of the flows of a device, and the flows between devices.
const QUESTION: &str =
    "SELECT device, direction, protocol, source, source_port, destination, destination_port,
    min(at), max(at), sum(bytes) FROM Flows [RANGE 1 HOUR] WHERE device = ?1 OR direction = 'home'
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 9 DESC LIMIT 20000";

/// Result of a rehearsal. Times are Unix times in seconds.
#[derive(Serialize)]
pub struct Tried {
    /// Number of flows replayed, and the time of the oldest row.
    flows: u64,
    since: Option<u64>,
    /// Whether flows of the last hour are left out, since there are too many.
    is_cut: bool,
    broken_flows: u64,
    broken_bytes: u64,
    breaks: Vec<Group>,
    unknown: Vec<Group>,
    may_begin: bool,
}

pub async fn rehearse(
    State(context): State<Context>,
    path: Of<String>,
    body: Result<Json<Change>, JsonRejection>,
) -> Result<Json<Tried>, Failed> {
    let (mac, Json(change)) = (mac(path?)?, body?);
    let is_policy = matches!(
        change,
        Change::Admission(_)
            | Change::Blacklisted(_)
            | Change::Paused(_)
            | Change::Domain(..)
            | Change::OthersDenied(_)
    );
    if !is_policy {
        let why = "a rehearsal is about `admission`, `blacklisted`, `paused`, `domain` or `others_denied`";
        return Err(Failed(StatusCode::BAD_REQUEST, why.into()));
    }
    let app = context.app;
    let Some(database) = app.database.clone() else {
        let why = "this router records no flows";
        return Err(Failed(StatusCode::NOT_FOUND, why.into()));
    };
    let failed = |error: String| Failed(StatusCode::SERVICE_UNAVAILABLE, error);
    // One at a time: each one takes a core for up to a second.
    let _turn = app
        .rehearsals
        .acquire()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let now = app.clock.now();
    let home = app.home.lock().copy(now, mac);
    if home.device(mac).is_none() {
        return Err(Refused::NoDevice(mac).into());
    }
    let settings = app.settings.clone();
    let work = move || {
        let (flows, is_cut) = recorded(&database, &home, mac).map_err(failed)?;
        let tried = rehearse::rehearse(&home, &settings, now, (mac, &change), &flows)?;
        let since = flows.iter().map(|past| past.first).min();
        Ok(Json(view(tried, since, is_cut)))
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(failed(error.to_string())))
}

fn seconds(at: u64) -> u64 {
    at / 1_000_000_000
}

fn view(tried: Rehearsal, since: Option<u64>, is_cut: bool) -> Tried {
    let shown = |groups: Vec<Group>| -> Vec<Group> {
        let groups = groups.into_iter().take(MAX_GROUPS);
        let in_seconds = |group: Group| Group {
            last: seconds(group.last),
            ..group
        };
        groups.map(in_seconds).collect()
    };
    Tried {
        flows: tried.flows,
        since: since.map(seconds),
        is_cut,
        broken_flows: tried.breaks.iter().map(|group| group.flows).sum(),
        broken_bytes: tried.breaks.iter().map(|group| group.bytes).sum(),
        breaks: shown(tried.breaks),
        unknown: shown(tried.unknown),
        may_begin: tried.may_begin,
    }
}

/// The recorded flows of a device, and whether some are left out.
fn recorded(database: &Database, home: &Home, mac: Mac) -> Result<(Vec<Past>, bool), String> {
    let device = mac.to_string();
    let answer = database.query_with(QUESTION, &[Value::Text(&device)]);
    let answer = answer.map_err(|error| error.to_string())?;
    let rows = answer.rows.iter().filter_map(|row| past(home, row));
    let own = rows.filter(|past| past.ends.0 == Some(mac) || past.ends.1 == Some(mac));
    let flows = rehearse::join_directions(own.collect());
    let is_cut = answer.is_cut || answer.rows.len() >= 2 * MAX_FLOWS || flows.len() >= MAX_FLOWS;
    Ok((flows, is_cut))
}

/// A row of the question. `None`: a device is gone, or the row is about an address that is not of a home's flow.
fn past(home: &Home, row: &[Owned]) -> Option<Past> {
    let [
        device,
        direction,
        protocol,
        source,
        from,
        destination,
        to,
        first,
        last,
        bytes,
    ] = row
    else {
        return None;
    };
    let text = |value: &Owned| match value {
        Owned::Text(text) => Some(text.to_string()),
        _ => None,
    };
    let number = |value: &Owned| match value {
        Owned::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let port = |value: &Owned| u16::try_from(number(value)?).ok();
    let address = |value: &Owned| -> Option<IpAddr> { text(value)?.parse().ok() };
    let device: Option<Mac> = text(device).and_then(|mac| mac.parse().ok());
    let key = FlowKey {
        protocol: u8::try_from(number(protocol)?).ok()?,
        source: address(source)?,
        destination: address(destination)?,
        ports: port(from).zip(port(to)),
    };
    let ends = match text(direction)?.as_str() {
        "out" => (Some(device?), None),
        "in" => (None, Some(device?)),
        _ => (Some(device?), Some(home.owner(key.destination)?.mac)),
    };
    Some(Past {
        key,
        ends,
        first: number(first)?,
        last: number(last)?,
        bytes: number(bytes)?,
    })
}
