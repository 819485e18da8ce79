//! A home as a source of events: its notices, and the rates of its devices.

use super::views::{DeviceView, Figures, NoticeView};
use crate::clock::Clock;
use crate::home::Shared;
use node::Time;
use packet::ethernet::Mac;
use page::feed::Source;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of notices in a batch. Older ones are only counted; the batch has the devices of all.
const MAX_NOTICES: usize = 100;
/// Number of samples for which unchanged figures are repeated, so that a slow reader gets the last ones.
const REPEATS: u8 = 3;

/// A home that is watched.
pub struct Watch {
    home: Shared,
    clock: Clock,
    samples: Mutex<BTreeMap<Mac, Sample>>,
}

struct Sample {
    at: Time,
    figures: Figures,
    repeats: u8,
}

#[derive(Serialize)]
struct News {
    notices: Vec<NoticeView>,
    /// Number of notices left out.
    skipped: usize,
    /// The devices of the notices as they are now.
    devices: Vec<DeviceView>,
    /// Forgotten devices.
    gone: Vec<String>,
}

impl Watch {
    /// Watches a home.
    pub fn new(home: Shared, clock: Clock) -> Watch {
        Watch {
            home,
            clock,
            samples: Mutex::default(),
        }
    }

    /// Bytes a second to and from a device, by the last samples.
    pub fn rate(&self, mac: Mac) -> u64 {
        self.samples
            .lock()
            .get(&mac)
            .map_or(0, |sample| sample.figures.rate)
    }
}

impl Source for Watch {
    fn last(&self) -> u64 {
        self.home.lock().last_notice()
    }

    fn news(&self, after: u64) -> Option<(u64, Option<String>)> {
        let home = self.home.lock();
        let last = home.last_notice();
        let notices: Vec<_> = home.notices(after)?.collect();
        if notices.is_empty() {
            return Some((last, None));
        }
        let macs: BTreeSet<Mac> = notices.iter().map(|notice| notice.mac).collect();
        let skipped = notices.len().saturating_sub(MAX_NOTICES);
        let (there, gone): (Vec<Mac>, Vec<Mac>) = macs
            .into_iter()
            .partition(|mac| home.device(*mac).is_some());
        let news = News {
            notices: notices[skipped..]
                .iter()
                .map(|notice| NoticeView::new(notice, &self.clock))
                .collect(),
            skipped,
            devices: there
                .iter()
                .filter_map(|mac| home.device(*mac))
                .map(|device| DeviceView::new(&home, device, &self.clock, self.rate(device.mac)))
                .collect(),
            gone: gone.iter().map(Mac::to_string).collect(),
        };
        drop(home);
        Some((last, serde_json::to_string(&news).ok()))
    }

    fn figures(&self) -> String {
        let home = self.home.lock();
        let mut samples = self.samples.lock();
        samples.retain(|mac, _| home.device(*mac).is_some());
        let now = self.clock.now();
        let mut changed = BTreeMap::new();
        for device in home.devices() {
            let old = samples.get(&device.mac);
            let rate = old.map_or(0, |old| {
                let bytes = device.traffic.sent.1 + device.traffic.received.1;
                let new = bytes.saturating_sub(old.figures.sent + old.figures.received);
                let elapsed = now.as_ps().saturating_sub(old.at.as_ps()).max(1);
                let new = u128::from(new) * 1_000_000_000_000 / u128::from(elapsed);
                // Smoothed with half of the last rate, so that labels do not jump.
                (old.figures.rate + u64::try_from(new).unwrap_or(u64::MAX)) / 2
            });
            let figures = Figures::new(&home, device, &self.clock, rate);
            let repeats = match old {
                Some(old) if old.figures == figures => old.repeats.saturating_sub(1),
                Some(_) => REPEATS,
                None => 0,
            };
            if repeats > 0 {
                changed.insert(device.mac.to_string(), figures.clone());
            }
            let sample = Sample {
                at: now,
                figures,
                repeats,
            };
            samples.insert(device.mac, sample);
        }
        serde_json::to_string(&changed).unwrap_or_else(|_| "{}".into())
    }
}
