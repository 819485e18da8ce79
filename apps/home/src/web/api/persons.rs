//! Calls about people: the owners of devices.

use super::{Context, Failed};
use crate::bedtime::Bedtime;
use crate::home::{Home, Refused};
use crate::limits::Quota;
use crate::messages::settings::given;
use crate::people::{Person, PersonChange};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};

/// A person.
#[derive(Debug, Serialize)]
pub struct PersonView {
    person: String,
    paused: bool,
    bedtime: Bedtime,
    quota: Option<Quota>,
    /// Bytes that count against the quota since the reset.
    used: u64,
    /// MAC addresses.
    devices: Vec<String>,
}

impl PersonView {
    fn new(home: &Home, name: &str) -> PersonView {
        let Person { paused, limits } = home.person(name).cloned().unwrap_or_default();
        let own = home
            .devices()
            .filter(|device| device.person.as_deref() == Some(name));
        PersonView {
            person: name.into(),
            paused,
            bedtime: limits.bedtime,
            quota: limits.quota,
            used: limits.used.bytes,
            devices: own.map(|device| device.mac.to_string()).collect(),
        }
    }
}

/// All owners of devices, and people with limits.
pub async fn all(State(context): State<Context>) -> Json<Vec<PersonView>> {
    let home = context.app.home.lock();
    let names = home.names_of_people().into_iter();
    Json(names.map(|name| PersonView::new(&home, name)).collect())
}

pub async fn one(
    State(context): State<Context>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<PersonView>, Failed> {
    let Path(name) = path?;
    let home = context.app.home.lock();
    match home.names_of_people().contains(&*name) {
        true => Ok(Json(PersonView::new(&home, &name))),
        false => Err(Refused::NoPerson.into()),
    }
}

/// Changes of a person.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    paused: Option<bool>,
    bedtime: Option<Bedtime>,
    #[serde(default, deserialize_with = "given")]
    quota: Option<Option<Quota>>,
}

pub async fn change(
    State(context): State<Context>,
    path: Result<Path<String>, PathRejection>,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<PersonView>, Failed> {
    let (Path(name), Json(wanted)) = (path?, body?);
    let changes = [
        wanted.paused.map(PersonChange::Paused),
        wanted.bedtime.map(PersonChange::Bedtime),
        wanted.quota.map(PersonChange::Quota),
    ];
    let now = context.app.clock.now();
    let mut home = context.app.home.lock();
    for change in changes.into_iter().flatten() {
        home.change_person(now, &name, change)?;
    }
    Ok(Json(PersonView::new(&home, &name)))
}
