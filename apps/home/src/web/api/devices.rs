//! Calls about devices.

use super::{Context, Failed};
use crate::bedtime::Bedtime;
use crate::device::{Admission, Device};
use crate::home::Change;
use crate::limits::Quota;
use crate::messages::settings::given;
use crate::store::Entry;
use crate::web::views::DeviceView;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use packet::ethernet::Mac;
use serde::{Deserialize, Serialize};

type Answer<T> = Result<Json<T>, Failed>;
/// The parameters of a path.
pub(super) type Of<T> = Result<Path<T>, PathRejection>;

pub async fn permit(State(context): State<Context>, path: Of<String>) -> Answer<DeviceView> {
    decide(&context, path, Change::Admission(Admission::Permitted))
}

pub async fn deny(State(context): State<Context>, path: Of<String>) -> Answer<DeviceView> {
    decide(&context, path, Change::Admission(Admission::Denied))
}

pub async fn whitelist(State(context): State<Context>, path: Of<String>) -> Answer<DeviceView> {
    decide(&context, path, Change::Blacklisted(false))
}

pub async fn blacklist(State(context): State<Context>, path: Of<String>) -> Answer<DeviceView> {
    decide(&context, path, Change::Blacklisted(true))
}

pub async fn permit_dns(
    State(context): State<Context>,
    path: Of<(String, String)>,
) -> Answer<DeviceView> {
    rule(&context, path, Some(true))
}

pub async fn deny_dns(
    State(context): State<Context>,
    path: Of<(String, String)>,
) -> Answer<DeviceView> {
    rule(&context, path, Some(false))
}

pub async fn remove_domain(
    State(context): State<Context>,
    path: Of<(String, String)>,
) -> Answer<DeviceView> {
    rule(&context, path, None)
}

/// The devices that are permitted.
pub async fn status(State(context): State<Context>) -> Json<Vec<DeviceView>> {
    Json(list(&context, |device| {
        device.admission == Admission::Permitted
    }))
}

pub async fn blacklist_status(State(context): State<Context>) -> Json<Vec<DeviceView>> {
    Json(list(&context, |device| device.blacklisted))
}

/// The devices that have a lease.
pub async fn dhcp_status(State(context): State<Context>) -> Json<Vec<DeviceView>> {
    let now = context.app.clock.now();
    Json(list(&context, |device| {
        device.lease_end.is_some_and(|end| end > now)
    }))
}

/// All devices, and the id of the events that follow.
#[derive(Serialize)]
pub struct All {
    after: String,
    devices: Vec<DeviceView>,
}

pub async fn all(State(context): State<Context>) -> Json<All> {
    // In this order no event is missed; one that happens in between is delivered again.
    let after = context.app.feed.id();
    Json(All {
        after,
        devices: list(&context, |_| true),
    })
}

pub async fn one(State(context): State<Context>, path: Of<String>) -> Answer<DeviceView> {
    view(&context, mac(path?)?)
}

/// Changes of a device's names, and of its restrictions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// An empty name removes it.
    name: Option<String>,
    person: Option<String>,
    paused: Option<bool>,
    others_denied: Option<bool>,
    bedtime: Option<Bedtime>,
    #[serde(default, deserialize_with = "given")]
    quota: Option<Option<Quota>>,
}

pub async fn change(
    State(context): State<Context>,
    path: Of<String>,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Answer<DeviceView> {
    let (mac, Json(wanted)) = (mac(path?)?, body?);
    let named = |name: String| Some(name).filter(|name| !name.is_empty());
    let changes = [
        wanted.paused.map(Change::Paused),
        wanted.others_denied.map(Change::OthersDenied),
        wanted.name.map(|name| Change::Name(named(name))),
        wanted.person.map(|person| Change::Person(named(person))),
        wanted.bedtime.map(Change::Bedtime),
        wanted.quota.map(Change::Quota),
    ];
    let now = context.app.clock.now();
    {
        let mut home = context.app.home.lock();
        for change in changes.into_iter().flatten() {
            home.change(now, mac, change)?;
        }
    }
    view(&context, mac)
}

pub async fn forget(
    State(context): State<Context>,
    path: Of<String>,
) -> Result<StatusCode, Failed> {
    let mac = mac(path?)?;
    let now = context.app.clock.now();
    context
        .app
        .home
        .lock()
        .change(now, mac, Change::Forgotten)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answer to the question whether a device is an earlier one again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// MAC address of the earlier device.
    earlier: String,
    same: bool,
}

pub async fn again(
    State(context): State<Context>,
    path: Of<String>,
    body: Result<Json<Again>, JsonRejection>,
) -> Answer<DeviceView> {
    let (device, Json(answer)) = (mac(path?)?, body?);
    let earlier = mac(Path(answer.earlier))?;
    let now = context.app.clock.now();
    let change = match answer.same {
        true => Change::Again(earlier),
        false => Change::NotAgain(earlier),
    };
    context.app.home.lock().change(now, device, change)?;
    view(&context, device)
}

pub async fn history(State(context): State<Context>, path: Of<String>) -> Answer<Vec<Entry>> {
    Ok(Json(context.app.store.history(mac(path?)?)?))
}

/// Makes a decision about a device, also before it is seen.
fn decide(context: &Context, path: Of<String>, change: Change) -> Answer<DeviceView> {
    let mac = mac(path?)?;
    let now = context.app.clock.now();
    {
        let mut home = context.app.home.lock();
        home.add(now, mac)?;
        home.change(now, mac, change)?;
    }
    view(context, mac)
}

fn rule(
    context: &Context,
    path: Of<(String, String)>,
    permitted: Option<bool>,
) -> Answer<DeviceView> {
    let Path((eaddr, domain)) = path?;
    decide(context, Ok(Path(eaddr)), Change::Domain(domain, permitted))
}

pub(super) fn mac(Path(text): Path<String>) -> Result<Mac, Failed> {
    text.parse().map_err(|error: packet::ethernet::BadMac| {
        Failed(StatusCode::BAD_REQUEST, error.to_string())
    })
}

fn view(context: &Context, mac: Mac) -> Answer<DeviceView> {
    let rate = context.app.feed.source().rate(mac);
    let home = context.app.home.lock();
    let device = home
        .device(mac)
        .ok_or(crate::home::Refused::NoDevice(mac))?;
    let view = DeviceView::new(&home, device, &context.app.clock, rate);
    Ok(Json(view.with_rules(device)))
}

fn list(context: &Context, wanted: impl Fn(&Device) -> bool) -> Vec<DeviceView> {
    let (home, source) = (context.app.home.lock(), context.app.feed.source());
    let devices = home.devices().filter(|device| wanted(device));
    devices
        .map(|device| DeviceView::new(&home, device, &context.app.clock, source.rate(device.mac)))
        .collect()
}
