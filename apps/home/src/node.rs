//! The control program as a node with one control port, to which the switch connects.

use crate::bedtime::Bedtime;
use crate::device::Admission;
use crate::gateway::{Gateway, Settings};
use crate::home::{Change, Home, News, Shared};
use crate::limits::{Quota, Why};
use crate::people::PersonChange;
use crate::record::Record;
use core::task::Waker;
use node::outcome::Table;
use node::{Event, Frame, Node, Out, Port, Properties, Statistics, Time};
use openflow::controller::{App, Controller, Options};
use openflow::version::Version;
use parking_lot::Mutex;
use std::sync::Arc;

/// A controller of OpenFlow 1.3 with the control program of a home. OpenFlow 1.0 has no action that decrements the hop limit.
pub struct HomeNode {
    home: Shared,
    controller: Controller,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl HomeNode {
    /// A node for a home. Programs in `others` run before the home's, such as one with decisions at given times.
    pub fn new(
        home: Shared,
        settings: Settings,
        record: Box<dyn Record>,
        others: Vec<Box<dyn App>>,
    ) -> HomeNode {
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let noticed = waker.clone();
        home.lock().on_notice(move || {
            if let Some(waker) = &*noticed.lock() {
                waker.wake_by_ref();
            }
        });
        let mut apps = others;
        apps.push(Box::new(Gateway::new(home.clone(), settings, record)));
        let options = Options {
            ports: 1,
            versions: vec![Version::V13],
            ..Options::default()
        };
        HomeNode {
            home,
            controller: Controller::new(options, apps),
            waker,
        }
    }

    /// The home.
    pub fn home(&self) -> &Shared {
        &self.home
    }
}

impl Node for HomeNode {
    fn properties(&self) -> Properties {
        self.controller.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.controller.frames(now, port, frames, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.controller.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.controller.next_wake()
    }

    fn set_waker(&mut self, waker: &Waker) {
        *self.waker.lock() = Some(waker.clone());
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.controller.event(now, event, out);
    }

    fn statistics(&self) -> Statistics {
        self.controller.statistics()
    }

    fn tables(&self, _: Time) -> Vec<Table> {
        let home = self.home.lock();
        vec![
            Table {
                name: "devices".into(),
                entries: devices(&home),
            },
            Table {
                name: "notices".into(),
                entries: notices(&home),
            },
        ]
    }
}

/// The devices, one a line.
fn devices(home: &Home) -> Vec<String> {
    let line = |device: &crate::Device| {
        let state = match (device.blacklisted, device.admission) {
            (true, _) => "blacklisted",
            (_, Admission::Waiting) => "waiting",
            (_, Admission::Permitted) if device.paused => "paused",
            (_, Admission::Permitted) if device.held.is_some() => "held",
            (_, Admission::Permitted) => "permitted",
            (_, Admission::Denied) => "denied",
        };
        format!(
            "{} {} {state} {}: {} packets sent, {} received, {} flows refused",
            device.mac,
            home.plan.device(device.slot),
            device.label(),
            device.traffic.sent.0,
            device.traffic.received.0,
            device.traffic.refused
        )
    };
    home.devices().map(line).collect()
}

/// The notices that are kept, one a line.
fn notices(home: &Home) -> Vec<String> {
    let first = home.last_notice().saturating_sub(home.notice_count());
    let notices = home.notices(first).into_iter().flatten();
    let line =
        |notice: &crate::Notice| format!("{} {} {}", notice.at, notice.mac, text(&notice.news));
    notices.map(line).collect()
}

/// News as a text.
fn text(news: &News) -> String {
    let change = match news {
        News::Changed(change) => change,
        News::Lease(end) => return format!("lease until {end}"),
        News::LeaseEnded => return "lease ended".into(),
        News::DomainDenied(name) => return format!("asked for {name}, which is denied"),
        News::Refuge(count) => return format!("has {count} flows: one entry for all"),
        News::Held(held) => {
            return match held.why {
                Why::Owner => "is held: all devices of its owner are paused".into(),
                Why::Bedtime => "is held: bedtime".into(),
                Why::Quota => "is held: its quota is used up".into(),
            };
        }
        News::Released => return "is no longer held".into(),
        News::Owner(change) => {
            let text = match change {
                PersonChange::Paused(true) => "is paused".into(),
                PersonChange::Paused(false) => "goes on".into(),
                PersonChange::Bedtime(times) => bedtime(times),
                PersonChange::Quota(quota) => self::quota(quota.as_ref()),
            };
            return format!("its owner {text}");
        }
        News::Again(earlier) => return format!("may be {earlier} again"),
        News::Authenticated(true) => return "is authenticated".into(),
        News::Authenticated(false) => return "is no longer authenticated".into(),
        News::Spoofed(address) => {
            return format!("used the address {address}, which is not its own");
        }
    };
    let quoted = |name: &Option<String>| match name {
        Some(name) => format!("`{name}`"),
        None => "none".into(),
    };
    match change {
        Change::Found(_) => "is new".into(),
        Change::Forgotten => "is forgotten".into(),
        Change::Admission(Admission::Waiting) => "waits for a decision".into(),
        Change::Admission(Admission::Permitted) => "is permitted".into(),
        Change::Admission(Admission::Denied) => "is denied".into(),
        Change::Paused(true) => "is paused".into(),
        Change::Paused(false) => "goes on".into(),
        Change::Blacklisted(true) => "is blacklisted".into(),
        Change::Blacklisted(false) => "is no longer blacklisted".into(),
        Change::Domain(domain, Some(true)) => format!("may reach {domain}"),
        Change::Domain(domain, Some(false)) => format!("may not reach {domain}"),
        Change::Domain(domain, None) => format!("has no rule for {domain}"),
        Change::OthersDenied(true) => "may not reach other domains".into(),
        Change::OthersDenied(false) => "may reach other domains".into(),
        Change::Name(name) => format!("name: {}", quoted(name)),
        Change::Person(name) => format!("person: {}", quoted(name)),
        Change::HostName(name) => format!("calls itself `{name}`"),
        Change::Bedtime(times) => bedtime(times),
        Change::Quota(quota) => self::quota(quota.as_ref()),
        Change::Evidence(_) => "has new evidence about its identity".into(),
        Change::Again(earlier) => format!("is {earlier} again"),
        Change::NotAgain(earlier) => format!("is not {earlier}"),
    }
}

fn bedtime(times: &Bedtime) -> String {
    match Vec::<String>::from(times.clone()) {
        times if times.is_empty() => "has no bedtime".into(),
        times => format!("has bedtime {}", times.join("; ")),
    }
}

fn quota(quota: Option<&Quota>) -> String {
    match quota {
        None => "has no quota".into(),
        Some(quota) => format!("may use {} bytes a day from {}", quota.bytes, quota.reset),
    }
}
