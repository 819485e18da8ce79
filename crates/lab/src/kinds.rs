//! The kinds of nodes that a lab file can name.

use crate::fault::{Fault, did_you_mean};
use crate::tree::{Entry, Value, What};
use node::{Frame, Node, Port};
use nodes::ConfigError;
use nodes::capture::{Capture, Recorder};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What is at hand when a node is made.
pub(crate) struct Context {
    /// Takes down what a node of a recording kind sees.
    pub recorder: Option<Box<dyn Recorder>>,
}

/// A kind of node.
pub(crate) struct Kind {
    pub name: &'static str,
    /// Whether what it sees is measured, and can be plotted and kept.
    pub records: bool,
    make: fn(&Value, Context) -> Result<Box<dyn Node>, Fault>,
}

pub(crate) static KINDS: &[Kind] = &[
    plain("switch", |config, _| {
        node(config, nodes::switch::Switch::new)
    }),
    plain("delay", |config, _| {
        node(config, |config| Ok(nodes::delay::Delay::new(config)))
    }),
    plain("generator", |config, _| {
        node(config, nodes::generator::Generator::new)
    }),
    plain("sink", |config, _| node(config, nodes::sink::Sink::new)),
    plain("echo", |config, _| node(config, nodes::echo::Echo::new)),
    recording("capture", |config, context| {
        let recorder = context.recorder();
        node(config, |config| Ok(Capture::new(config, recorder)))
    }),
    recording("meter", |config, context| {
        // The report has the statistics, so that the node only hands its frames on.
        let nodes::meter::Config { tap, .. } = config.read()?;
        let config = nodes::capture::Config { tap };
        Ok(Box::new(Capture::new(config, context.recorder())))
    }),
];

const fn plain(
    name: &'static str,
    make: fn(&Value, Context) -> Result<Box<dyn Node>, Fault>,
) -> Kind {
    Kind {
        name,
        records: false,
        make,
    }
}

const fn recording(
    name: &'static str,
    make: fn(&Value, Context) -> Result<Box<dyn Node>, Fault>,
) -> Kind {
    Kind {
        name,
        records: true,
        make,
    }
}

/// A node from its configuration; `make` may refuse it.
fn node<C: DeserializeOwned, N: Node + 'static>(
    config: &Value,
    make: impl FnOnce(C) -> Result<N, ConfigError>,
) -> Result<Box<dyn Node>, Fault> {
    match make(config.read()?) {
        Ok(node) => Ok(Box::new(node)),
        Err(refused) => Err(at_key(config, refused)),
    }
}

/// A fault at the key that it is about, or at the section if that key was left out.
fn at_key(config: &Value, error: ConfigError) -> Fault {
    let value = config.get(error.key);
    let span = value.map_or_else(|| config.span.clone(), |value| value.span.clone());
    Fault::new(span, error.to_string())
}

impl Context {
    fn recorder(self) -> Box<dyn Recorder> {
        self.recorder.unwrap_or(Box::new(Nobody))
    }
}

/// Takes nothing down: for a graph that is only checked.
struct Nobody;

impl Recorder for Nobody {
    fn record(&mut self, _port: Port, _frame: &Frame) {}
}

impl Kind {
    /// Finds a kind by its name.
    pub fn find(value: &Value) -> Result<&'static Kind, Fault> {
        let name: String = value.read()?;
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let message = format!("there is no kind of node called `{name}`");
            Fault::new(value.span.clone(), message).help(did_you_mean(&name, &known))
        })
    }

    /// Makes a node of this kind from its own keys.
    pub fn make(&self, config: &Value, context: Context) -> Result<Box<dyn Node>, Fault> {
        (self.make)(config, context)
    }
}

impl Value {
    /// The value of a table's key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let What::Table(entries) = &self.what else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.key == key);
        entry.map(|entry| &entry.value)
    }

    /// Takes a key out of a table.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let What::Table(entries) = &mut self.what else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    }
}

/// The only stream that a meter measures.
pub(crate) fn stream_of(config: &Value) -> Option<u16> {
    #[derive(Deserialize)]
    struct Stream {
        stream: Option<u16>,
    }
    config.read::<Stream>().ok()?.stream
}
