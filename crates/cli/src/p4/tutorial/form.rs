//! The tutorials' JSON files, as they are written.

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;

/// `topology.json`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    pub hosts: Ordered<Host>,
    pub switches: Ordered<Switch>,
    /// Two ends each, then the latency and the rate, which may be left out.
    pub links: Vec<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// `10.0.1.1/24`
    pub ip: String,
    pub mac: String,
    /// For its shell, once the network is up.
    #[serde(default)]
    pub commands: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// From the exercise's folder.
    pub runtime_json: Option<String>,
    /// Commands for `simple_switch_CLI`.
    pub cli_input: Option<String>,
    /// What p4c has made of its program.
    pub program: Option<String>,
    /// A number, or one in quotes.
    pub cpu_port: Option<Value>,
    pub priority_queues: Option<Value>,
}

/// `sX-runtime.json`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    pub target: String,
    pub p4info: String,
    pub bmv2_json: String,
    #[serde(default)]
    pub table_entries: Vec<Entry>,
    #[serde(default)]
    pub multicast_group_entries: Vec<Group>,
    #[serde(default)]
    pub clone_session_entries: Vec<Session>,
}

/// A table's entry, or its default action.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub table: String,
    #[serde(rename = "match")]
    pub keys: Option<Ordered<Value>>,
    pub action_name: String,
    pub action_params: Ordered<Value>,
    #[serde(default)]
    pub default_action: bool,
    pub priority: Option<u32>,
}

/// A multicast group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub multicast_group_id: u32,
    pub replicas: Vec<Replica>,
}

/// A clone session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub clone_session_id: u32,
    pub replicas: Vec<Replica>,
    /// What is left of a copy; 0 for all of it.
    #[serde(default)]
    pub packet_length_bytes: u32,
}

/// Where a copy goes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    pub egress_port: u32,
    pub instance: u32,
}

/// The port that stands for the controller.
pub fn cpu_port(name: &str, switch: &Switch) -> Result<Option<u32>, String> {
    let Some(value) = &switch.cpu_port else {
        return Ok(None);
    };
    let number = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(format!(
            "switches.{name}.cpu_port: {value} is no number of a port, such as 510"
        )),
    }
}

/// An object's members in their order; a name stands once.
#[derive(Debug)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for Members<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut members: Vec<(String, T)> = Vec::new();
                let mut names = std::collections::BTreeSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("`{name}` stands twice")));
                    }
                    members.push((name, map.next_value()?));
                }
                Ok(Ordered(members))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}
