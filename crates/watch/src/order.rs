//! Orders from the page to the run, and their answers.

use crate::pace::Speed;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::oneshot;

/// Maximum number of pending orders.
const MAX_WAITING: usize = 16;
/// Maximum number of events of one step.
const MAX_STEP: u64 = 10_000;

/// An order, as the body of a request: `{"run": false}`, `{"speed": 0.001}`, `{"speed": "max"}`, `{"step": 1}`,
/// `{"link": {"number": 0, "up": false}}`, `{"ping": ["h1", "h2"]}`, `{"show": "r1"}`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Continue or pause.
    Run(bool),
    /// Simulated seconds per second of the clock.
    Speed(#[serde(deserialize_with = "speed")] Speed),
    /// Process this number of events, then pause.
    Step(#[serde(deserialize_with = "step")] u64),
    /// Take a link down, or bring it up.
    Link {
        /// Its index in the file.
        number: usize,
        /// Whether the link is brought up; `false`: it is taken down.
        up: bool,
    },
    /// Send a ping from a node to a node or an address.
    Ping(String, String),
    /// Return the counters, conversations and tables of a node.
    Show(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Number(f64),
    Word(String),
}

fn speed<'de, D: Deserializer<'de>>(from: D) -> Result<Speed, D::Error> {
    match Given::deserialize(from)? {
        Given::Number(times) if (Speed::MIN_TIMES..=Speed::MAX_TIMES).contains(&times) => {
            Ok(Speed::Times(times))
        }
        Given::Word(word) if word == "max" => Ok(Speed::Max),
        _ => Err(serde::de::Error::custom(
            "a speed is a number from 1e-9 to 1e6, or \"max\"",
        )),
    }
}

fn step<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        count @ 1..=MAX_STEP => Ok(count),
        _ => Err(serde::de::Error::custom("a step has 1 to 10000 events")),
    }
}

/// The answer to an order: JSON, or the reason of the refusal.
pub type Answer = Result<Value, String>;

/// Sender of orders, for the server.
#[derive(Clone)]
pub struct Asked(SyncSender<(Order, oneshot::Sender<Answer>)>);

/// Receiver of orders, for the run.
pub type Orders = Receiver<(Order, oneshot::Sender<Answer>)>;

/// The queue of orders.
pub fn queue() -> (Asked, Orders) {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    (Asked(sender), receiver)
}

impl Asked {
    /// Sends an order. `None` if too many are pending, or the run has ended.
    pub fn give(&self, order: Order) -> Option<oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        self.0.try_send((order, sender)).ok()?;
        Some(receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_wrong_ones_name_the_fault() {
        let read = |text: &str| serde_json::from_str::<Order>(text);
        for (text, order) in [
            (r#"{"run": false}"#, Order::Run(false)),
            (r#"{"speed": 0.001}"#, Order::Speed(Speed::Times(0.001))),
            (r#"{"speed": 1}"#, Order::Speed(Speed::Times(1.0))),
            (r#"{"speed": "max"}"#, Order::Speed(Speed::Max)),
            (r#"{"step": 3}"#, Order::Step(3)),
            (
                r#"{"link": {"number": 0, "up": false}}"#,
                Order::Link {
                    number: 0,
                    up: false,
                },
            ),
            (
                r#"{"ping": ["a", "10.0.0.1"]}"#,
                Order::Ping("a".into(), "10.0.0.1".into()),
            ),
        ] {
            assert_eq!(read(text).expect(text), order);
        }
        for (text, fault) in [
            (r#"{"speed": 0}"#, "from 1e-9"),
            (r#"{"speed": -1}"#, "from 1e-9"),
            (r#"{"speed": "fast"}"#, "max"),
            (r#"{"step": 0}"#, "1 to 10000"),
            (r#"{"step": 1000000}"#, "1 to 10000"),
            (r#"{"stop": 1}"#, "unknown variant"),
            (r#"{"ping": ["a"]}"#, "2 elements"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
