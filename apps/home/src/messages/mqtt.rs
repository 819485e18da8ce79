//! MQTT: each message is an event, and the number of guests that wait is a sensor, both found by Home Assistant.
//!
//! | topic | payload | retained |
//! |---|---|---|
//! | `TOPIC/status` | `online` or `offline` | yes |
//! | `TOPIC/asking` | number of devices that wait for a decision | yes |
//! | `TOPIC/event` | a message as JSON, with its kind as `event_type` | no |
//! | `homeassistant/.../config` | descriptions for MQTT discovery | yes |

use super::packets::{DISCONNECT, PING, Reader, connect, kind, publish};
use super::reach::{Endpoint, Stream};
use super::settings::Mqtt;
use super::{KINDS, Message, Messages};
use serde_json::json;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Interval in which the broker hears of the client, seconds; one and a half of it later it publishes the will.
const KEEP_ALIVE: u16 = 60;
/// Interval between two looks at the number of guests; each third one is a ping.
const TICK: Duration = Duration::from_secs(10);
/// Time to wait for an acknowledgement.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time between two connections.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// A connection to a broker.
struct Session {
    stream: Box<dyn Stream>,
    reader: Reader,
    /// Identifier of the last packet.
    number: u16,
}

impl Messages {
    /// Keeps a connection to the broker and publishes messages.
    pub(super) async fn send_mqtt(&self) {
        let mut changed = self.changed.subscribe();
        let mut wait = self.options.retry;
        loop {
            let mqtt = self.settings.lock().mqtt.clone();
            let Some(mqtt) = mqtt else {
                self.mqtt.clear();
                // The sender lives as long as this.
                let _ = changed.changed().await;
                continue;
            };
            let mut has_connected = false;
            let Err(error) = self.converse(&mqtt, &mut changed, &mut has_connected).await else {
                continue;
            };
            self.mqtt.failed(error);
            if has_connected {
                wait = self.options.retry;
            }
            tokio::select! {
                () = sleep(wait) => {}
                _ = changed.changed() => {}
            }
            wait = (wait * 2).min(MAX_WAIT);
        }
    }

    /// A connection, until it fails or the settings change.
    async fn converse(
        &self,
        mqtt: &Mqtt,
        changed: &mut watch::Receiver<u64>,
        has_connected: &mut bool,
    ) -> Result<(), String> {
        let endpoint = Endpoint::read(&mqtt.url).ok_or("not a URL")?;
        // A broker on this machine is usual, and it understands nothing else than MQTT.
        let certificate = mqtt.certificate.as_deref();
        let stream = self.reach.connect(&endpoint, certificate, true).await?;
        let status = format!("{}/status", mqtt.topic);
        let (user, password) = (mqtt.user.as_deref(), mqtt.password.as_deref());
        let client = format!("wire-home-{}", id(&mqtt.topic));
        let hello = connect(&client, KEEP_ALIVE, (&status, "offline"), user, password);
        let mut session = Session {
            stream,
            reader: Reader::default(),
            number: 0,
        };
        session.write(&hello).await?;
        let answer = session.expect(kind::CONNACK).await?;
        match answer.get(1) {
            Some(0) => *has_connected = true,
            Some(4 | 5) => return Err("the broker refuses the user or the password".into()),
            _ => return Err("the broker refuses the connection".into()),
        }
        for (topic, payload) in discovery(&mqtt.topic) {
            session.publish(&topic, &payload, true).await?;
        }
        session.publish(&status, "online", true).await?;
        let mut asking = None;
        let mut ticks = 0_u32;
        loop {
            let now = self.asking();
            if asking.replace(now) != Some(now) {
                session
                    .publish(&format!("{}/asking", mqtt.topic), &now.to_string(), true)
                    .await?;
            }
            tokio::select! {
                message = self.mqtt.next() => {
                    session.publish(&format!("{}/event", mqtt.topic), &event(&message), false).await?;
                    self.mqtt.done(&message, "sent");
                }
                _ = changed.changed() => {
                    session.publish(&status, "offline", true).await?;
                    return session.write(&DISCONNECT).await;
                }
                // The broker says nothing without being asked, so this is the end of the connection.
                packet = session.reader.next(&mut *session.stream) => { packet?; }
                () = sleep(TICK) => {
                    ticks += 1;
                    if ticks.is_multiple_of(3) {
                        session.write(&PING).await?;
                        session.expect(kind::PINGRESP).await?;
                    }
                }
            }
        }
    }
}

impl Session {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let written = timeout(TIMEOUT, async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        });
        let written = written.await.map_err(|_| "the broker does not read")?;
        written.map_err(|error| error.to_string())
    }

    /// Waits for a packet of a kind.
    async fn expect(&mut self, kind: u8) -> Result<Vec<u8>, String> {
        let waited = timeout(TIMEOUT, async {
            loop {
                let (found, body) = self.reader.next(&mut *self.stream).await?;
                if found == kind {
                    return Ok(body);
                }
            }
        });
        waited
            .await
            .unwrap_or_else(|_| Err("no answer of the broker within 10 s".into()))
    }

    /// Publishes a payload and waits for the acknowledgement.
    async fn publish(
        &mut self,
        topic: &str,
        payload: &str,
        is_retained: bool,
    ) -> Result<(), String> {
        self.number = self.number.checked_add(1).unwrap_or(1);
        let packet = publish(topic, payload, self.number, is_retained);
        self.write(&packet).await?;
        while self.expect(kind::PUBACK).await? != self.number.to_be_bytes() {}
        Ok(())
    }
}

/// A message as an event of Home Assistant.
fn event(message: &Message) -> String {
    let mut event = serde_json::to_value(message).unwrap_or_default();
    event["event_type"] = message.kind.into();
    event.to_string()
}

/// A topic as part of an identifier.
fn id(topic: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    topic.chars().map(plain).take(64).collect()
}

/// Descriptions for MQTT discovery of Home Assistant: topic and payload.
fn discovery(topic: &str) -> [(String, String); 2] {
    let id = id(topic);
    let device = json!({ "identifiers": [format!("wire_home_{id}")], "name": "Home router", "manufacturer": "Wireline" });
    let status = format!("{topic}/status");
    let sensor = json!({
        "name": "Guests waiting", "unique_id": format!("wire_home_{id}_asking"), "icon": "mdi:account-clock",
        "state_topic": format!("{topic}/asking"), "state_class": "measurement",
        "availability_topic": &status, "device": &device,
    });
    let event = json!({
        "name": "Guest Board", "unique_id": format!("wire_home_{id}_event"), "event_types": KINDS,
        "state_topic": format!("{topic}/event"), "availability_topic": &status, "device": &device,
    });
    [
        (
            format!("homeassistant/sensor/wire_home_{id}/asking/config"),
            sensor.to_string(),
        ),
        (
            format!("homeassistant/event/wire_home_{id}/board/config"),
            event.to_string(),
        ),
    ]
}
