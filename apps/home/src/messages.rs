//! Messages to people who are not looking at the board: by a webhook, and by MQTT.
//!
//! | module | content |
//! |---|---|
//! | [`settings`] | destinations and secrets |
//! | `queue` | bounded queues, and the limit on the rate of messages |
//! | `reach` | addresses that may be reached, names, TCP and TLS |
//! | `webhook` | HTTPS requests with a signature |
//! | `mqtt`, `packets` | MQTT 3.1.1 with the discovery of Home Assistant |
//!
//! News of the home become messages in the order of their notices. Each destination has a queue of its own: one that fails does
//! not hold up the other.

mod mqtt;
mod packets;
mod queue;
mod reach;
pub mod settings;
mod webhook;

use crate::clock::Clock;
use crate::device::{Admission, Device};
use crate::home::{Change, Home, News, Shared};
use crate::limits::Why;
use crate::store::{Store, StoreError};
use packet::ethernet::Mac;
use parking_lot::Mutex;
use queue::{Channel, Limiter};
use reach::Reach;
use serde::Serialize;
use settings::{BadSettings, Settings, Wanted};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

const SETTING: &str = "messages";

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct Options {
    /// DNS servers for the names of destinations.
    pub dns: Vec<SocketAddr>,
    /// Whether a webhook may go to this machine: for a program of its own. The board's settings cannot allow it.
    pub loopback: bool,
    /// Time before the first retry; each further one doubles it.
    pub retry: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dns: Vec::new(),
            loopback: false,
            retry: Duration::from_secs(1),
        }
    }
}

/// A message.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// `asks`, `permitted`, `denied`, `quota`, `spoofed` or `test`.
    pub kind: &'static str,
    /// Unix time, seconds.
    pub at: u64,
    /// The device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Named>,
    /// The message for people.
    pub text: String,
}

/// The device of a message.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    mac: String,
    label: String,
    person: Option<String>,
}

/// Kinds of messages.
const KINDS: [&str; 6] = ["asks", "permitted", "denied", "quota", "spoofed", "test"];

/// Sends messages about a home.
pub struct Messages {
    home: Shared,
    store: Store,
    clock: Clock,
    options: Options,
    reach: Reach,
    settings: Mutex<Settings>,
    /// Changes with the settings.
    changed: watch::Sender<u64>,
    wake: Arc<Notify>,
    limiter: Mutex<Limiter>,
    webhook: Channel,
    mqtt: Channel,
}

impl Messages {
    /// Loads the settings of the store, and the certificates of authorities that this machine trusts.
    ///
    /// # Errors
    /// When the store cannot be read or has invalid settings.
    pub fn open(
        home: Shared,
        store: Store,
        clock: Clock,
        options: Options,
    ) -> Result<Arc<Messages>, StoreError> {
        let settings = match store.setting(SETTING)? {
            Some(text) => serde_json::from_slice(&text)
                .map_err(|error| StoreError::Row(format!("settings of messages ({error})")))?,
            None => Settings::default(),
        };
        let wake: Arc<Notify> = Arc::default();
        let waker = Arc::clone(&wake);
        home.lock().on_notice(move || waker.notify_one());
        Ok(Arc::new(Messages {
            reach: Reach::new(options.dns.clone()),
            home,
            store,
            clock,
            options,
            settings: Mutex::new(settings),
            changed: watch::Sender::new(0),
            wake,
            limiter: Mutex::default(),
            webhook: Channel::default(),
            mqtt: Channel::default(),
        }))
    }

    /// Changes the settings. Returns a new secret for the webhook, if one was made.
    ///
    /// # Errors
    /// When a setting is invalid, or it could not be stored.
    pub fn change(&self, wanted: Wanted) -> Result<Option<String>, ChangeError> {
        let mut settings = self.settings.lock();
        let (new, secret) = wanted.applied(&settings)?;
        let text = serde_json::to_vec(&new).map_err(|error| StoreError::Row(error.to_string()))?;
        self.store.set(SETTING, &text)?;
        *settings = new;
        drop(settings);
        self.changed.send_modify(|number| *number += 1);
        Ok(secret)
    }

    /// The settings without secrets, and counters.
    pub fn view(&self) -> serde_json::Value {
        let settings = self.settings.lock();
        let webhook = settings.webhook.as_ref().map(|each| each.view());
        let mqtt = settings.mqtt.as_ref().map(|each| each.view());
        let limited = self.limiter.lock().suppressed;
        serde_json::json!({
            "webhook": webhook, "webhook_state": self.webhook.view(),
            "mqtt": mqtt, "mqtt_state": self.mqtt.view(),
            "limited": limited,
        })
    }

    /// Sends a message to see whether it arrives.
    pub fn test(&self) {
        self.push(Message {
            kind: "test",
            at: self.clock.unix(),
            device: None,
            text: "This is a test of the Guest Board".into(),
        });
    }

    /// Sends messages until the future is dropped.
    pub async fn run(self: Arc<Self>) {
        tokio::join!(self.translate(), self.send_webhooks(), self.send_mqtt());
    }

    fn push(&self, message: Message) {
        let message = Arc::new(message);
        let settings = self.settings.lock();
        if settings.webhook.is_some() {
            self.webhook.push(Arc::clone(&message));
        }
        if settings.mqtt.is_some() {
            self.mqtt.push(message);
        }
    }

    /// Makes messages of notices.
    async fn translate(&self) {
        let mut after = self.home.lock().last_notice();
        loop {
            self.wake.notified().await;
            let mut messages = Vec::new();
            {
                let home = self.home.lock();
                // Notices that are no longer kept are those of a flood, of which most would be limited.
                for notice in home.notices(after).into_iter().flatten() {
                    let at = self.clock.unix_of(notice.at);
                    let kind = kind(&home, notice.mac, &notice.news);
                    if let Some((kind, device)) = kind
                        && self.limiter.lock().may(at, (kind, notice.mac))
                    {
                        messages.push(message(kind, at, device, &notice.news));
                    }
                }
                after = home.last_notice();
            }
            messages.into_iter().for_each(|message| self.push(message));
        }
    }

    /// Number of devices that wait for a decision.
    fn asking(&self) -> usize {
        let now = self.clock.now();
        let home = self.home.lock();
        let asking = home.devices().filter(|device| device.is_asking(now));
        asking.count()
    }
}

/// Kind of the message about news, and its device; `None` for other news.
fn kind<'a>(home: &'a Home, mac: Mac, news: &News) -> Option<(&'static str, &'a Device)> {
    let device = home.device(mac)?;
    let kind = match news {
        // A device that is permitted in advance has not been seen.
        News::Changed(Change::Found(_)) if device.seen.is_some() => match device.admission {
            Admission::Waiting => "asks",
            _ => return None,
        },
        News::Changed(Change::Admission(Admission::Permitted)) => "permitted",
        News::Changed(Change::Admission(Admission::Denied)) => "denied",
        News::Held(held) if held.why == Why::Quota => "quota",
        News::Spoofed(_) => "spoofed",
        _ => return None,
    };
    Some((kind, device))
}

fn message(kind: &'static str, at: u64, device: &Device, news: &News) -> Message {
    let label = device.label();
    let text = match (kind, news) {
        ("asks", _) => format!("{label} asks to join"),
        ("quota", _) => format!("{label} is paused: a quota is used up"),
        (_, News::Spoofed(address)) => {
            format!("{label} used the address {address}, which is not its own")
        }
        _ => format!("{label} is {kind}"),
    };
    Message {
        kind,
        at,
        device: Some(Named {
            mac: device.mac.to_string(),
            label,
            person: device.person.clone(),
        }),
        text,
    }
}

/// Settings that could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// One is invalid.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Number of each outcome of a channel, by name.
type Counts = BTreeMap<&'static str, u64>;
