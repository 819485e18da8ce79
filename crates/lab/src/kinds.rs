//! The kinds of nodes that a lab file can name.

mod command;
mod flops;
mod host;
mod p4;

use crate::fault::{Fault, did_you_mean};
use crate::replay::{Notes, Replayed};
use crate::tree::{Entry, Value, What};
use live::world::Relay;
use node::{Frame, Node, Port};
use nodes::ConfigError;
use nodes::capture::{Capture, Recorder};
use nodes::filter::Program;
use nodes::generator::{Frames, Generator, Source};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What is at hand when a node is made. By default nothing: a node that is only checked reads no file
/// and compiles no expression.
#[derive(Default)]
pub(crate) struct Context<'a> {
    /// Takes down what a node of a recording kind sees.
    pub recorder: Option<Box<dyn Recorder>>,
    /// The folder in which files are looked for.
    pub folder: Option<&'a Path>,
    /// Where to say what goes wrong during the run.
    pub notes: Notes,
    /// Where a node that measures a switch puts its report.
    pub measured: crate::flops::Measured,
    /// Whether the run is live, so that a node may be told of the machine.
    pub live: bool,
    /// What the node draws by lot comes from this, unless its own `seed` says otherwise.
    pub seed: u64,
}

/// A kind of node.
pub(crate) struct Kind {
    pub name: &'static str,
    /// Whether what it sees is measured, and can be plotted and kept.
    pub records: bool,
    /// Whether it runs programs that the lab file names.
    pub runs_programs: bool,
    /// Whether it is something real, which only the world `live` has.
    pub real: Option<Real>,
    make: Make,
}

/// What is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    /// Programs in a namespace.
    Process,
    /// Open vSwitch.
    OpenVSwitch,
    /// A port that is there already.
    Port,
    /// An interface that is made for the run.
    Tap,
}

/// Makes a node from its own keys.
type Make = fn(&Value, Context<'_>) -> Result<Box<dyn Node>, Fault>;

pub(crate) static KINDS: &[Kind] = &[
    plain("switch", |config, context| {
        let own = config.get("seed").is_some();
        node(config, |mut read: nodes::switch::Config| {
            if !own {
                read.seed = context.seed;
            }
            nodes::switch::Switch::new(read)
        })
    }),
    plain("delay", delay),
    plain("generator", generator),
    plain("mirror", |config, _| {
        node(config, nodes::mirror::Mirror::new)
    }),
    plain("filter", filter),
    plain("vlan", |config, _| node(config, nodes::vlan::Vlan::new)),
    plain("sink", |config, _| node(config, nodes::sink::Sink::new)),
    plain("echo", |config, _| node(config, nodes::echo::Echo::new)),
    plain("host", host::make),
    plain("tcp", |config, context| {
        node(config, |config| {
            hosts::control::Tcp::new(config, context.seed)
        })
    }),
    plain("covert", covert),
    plain("p4", p4::make),
    running("command", command::pipe),
    running("callback", command::callback),
    plain("through", |config, _| {
        node(config, |config| Ok(relay::through::Through::new(config)))
    }),
    plain("compress", compress),
    plain("duplicate", |config, context| {
        let own = config.get("seed").is_some();
        node(config, |mut read: relay::duplicate::Config| {
            if !own {
                read.seed = context.seed;
            }
            relay::duplicate::Duplicate::new(read)
        })
    }),
    plain("early-discard", |config, context| {
        let own = config.get("seed").is_some();
        node(config, |mut read: relay::early_discard::Config| {
            if !own {
                read.seed = context.seed;
            }
            relay::early_discard::EarlyDiscard::new(read)
        })
    }),
    plain("split", |config, context| {
        let own = config.get("seed").is_some();
        node(config, |mut read: relay::split::Config| {
            if !own {
                read.seed = context.seed;
            }
            relay::split::Split::new(read)
        })
    }),
    plain("xor", |config, _| node(config, relay::xor::Xor::new)),
    plain("paths", |config, _| node(config, relay::paths::Paths::new)),
    real("process", Real::Process, |config, _| {
        let process = crate::real::process::Process::read(config)?;
        Ok(Box::new(Relay::new(process.interfaces.len())))
    }),
    real("openvswitch", Real::OpenVSwitch, |config, _| {
        let switch = crate::real::openvswitch::OpenVSwitch::read(config)?;
        let ports = usize::from(switch.ports) + usize::from(switch.control_ports);
        Ok(Box::new(Relay::new(ports)))
    }),
    real("tap", Real::Tap, |config, _| {
        crate::real::tap::check(config)?;
        Ok(Box::new(Relay::new(1)))
    }),
    plain("openflow-switch", |config, context| {
        let own = config.get("seed").is_some();
        let config = &crate::real::keys::without(config)?;
        let mut read: openflow::switch::Config = config.read()?;
        if !own {
            read.seed = context.seed;
        }
        let made = openflow::switch::Switch::new(read);
        let made = made.map_err(|error| {
            let openflow::switch::ConfigError { key, reason } = error;
            at_key(config, ConfigError { key, reason })
        })?;
        Ok(Box::new(made))
    }),
    plain("flops", flops::make),
    plain("controller", |config, _| {
        node(&crate::real::keys::without(config)?, |config| {
            Ok(openflow::controller::Controller::of(&config))
        })
    }),
    plain("ping", |config, _| node(config, nodes::ping::Ping::new)),
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

/// Stands for a kind that is not known, until the faults are told.
pub(crate) static UNKNOWN: Kind = plain("unknown", |config, _| {
    Err(Fault::new(config.span.clone(), "a node of no kind"))
});

/// An end of a link that is `port:SPEC`; no section says so.
pub(crate) static PORT: Kind = real("port", Real::Port, |_, _| Ok(Box::new(Relay::new(1))));

const fn plain(name: &'static str, make: Make) -> Kind {
    Kind {
        name,
        records: false,
        runs_programs: false,
        real: None,
        make,
    }
}

const fn real(name: &'static str, real: Real, make: Make) -> Kind {
    Kind {
        real: Some(real),
        ..plain(name, make)
    }
}

const fn recording(name: &'static str, make: Make) -> Kind {
    Kind {
        records: true,
        ..plain(name, make)
    }
}

const fn running(name: &'static str, make: Make) -> Kind {
    Kind {
        runs_programs: true,
        ..plain(name, make)
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

/// A generator of made frames, or with `replay` of those in a file.
fn generator(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let mut config = config.clone();
    let own = config.get("seed").is_some();
    let seeded = |read: nodes::generator::Config| match own {
        true => read,
        false => nodes::generator::Config {
            seed: context.seed,
            ..read
        },
    };
    let Some(replay) = config.take("replay") else {
        return node(&config, |config| Generator::new(seeded(config)));
    };
    let source: Box<dyn Source> = match context.folder {
        None => Box::new(Frames::default()),
        Some(folder) => {
            let path = folder.join(replay.value.read::<String>()?);
            let replayed = Replayed::open(path, context.notes);
            Box::new(replayed.map_err(|error| Fault::new(replay.value.span, error))?)
        }
    };
    node(&config, |config| Generator::replay(seeded(config), source))
}

/// A delay box, whose lists of delays are in files.
fn delay(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let mut read: nodes::delay::Config = config.read()?;
    let mut load = |name: &str| match context.folder {
        // What serves for any file.
        None => Ok("0".into()),
        Some(folder) => text_of(&folder.join(name)),
    };
    read.back.get_or_insert_with(|| read.forth.clone());
    for (key, spec) in [
        ("spec", Some(&mut read.forth)),
        ("back", read.back.as_mut()),
    ] {
        if let Some(spec) = spec {
            spec.seed.get_or_insert(context.seed);
            let loaded = spec.load(&mut load);
            loaded.map_err(|reason| at_key(config, ConfigError { key, reason }))?;
        }
    }
    match nodes::delay::Delay::new(read) {
        Ok(node) => Ok(Box::new(node)),
        Err(refused) => Err(at_key(config, refused)),
    }
}

/// A compressing node, whose dictionary is in a file.
fn compress(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let read: relay::compress::Config = config.read()?;
    let dictionary = match (&read.dictionary, context.folder) {
        (None, _) => Vec::new(),
        // What serves for any file.
        (Some(_), None) => b"dictionary".to_vec(),
        (Some(name), Some(folder)) => {
            let longest = relay::codec::LONGEST_DICTIONARY as u64;
            let (key, name) = ("dictionary", folder.join(name));
            let bytes = bytes_of(&name, longest);
            bytes.map_err(|reason| at_key(config, ConfigError { key, reason }))?
        }
    };
    match relay::compress::Compress::new(read, &dictionary) {
        Ok(node) => Ok(Box::new(node)),
        Err(refused) => Err(at_key(config, refused)),
    }
}

/// The longest list in a file, bytes.
const LONGEST_LIST: u64 = 64 << 20;

/// A file's text, if it is not too long.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    String::from_utf8(bytes_of(path, LONGEST_LIST)?).map_err(|error| error.to_string())
}

/// A file's bytes, if there are not too many.
fn bytes_of(path: &Path, longest: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let file = live::file::Bytes::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(longest + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > longest {
        true => Err(format!("longer than {longest} bytes")),
        false => Ok(bytes),
    }
}

/// A covert node; messages that it reads become notes of the report, each once.
fn covert(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let notes = context.notes;
    let mut last = Vec::new();
    let reader = Box::new(move |at: node::Time, message: &[u8]| {
        if last != message {
            last = message.to_vec();
            let text = String::from_utf8_lossy(message);
            notes.add(format!("a covert message, whole at {at}: {text:?}"));
        }
    });
    node(config, |config| nodes::covert::Covert::new(config, reader))
}

/// A filter, whose expression libpcap compiles.
fn filter(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let read: nodes::filter::Config = config.read()?;
    let at = |key, message: String| {
        let span = config.get(key).unwrap_or(config).span.clone();
        Err(Fault::new(span, message))
    };
    let program = match &read.program {
        Some(_) if !read.expression.is_empty() => {
            return at(
                "program",
                "either `expression` or `program`, not both".into(),
            );
        }
        Some(text) => match text.parse::<Program>() {
            Ok(program) => program,
            Err(error) => return at("program", error.to_string()),
        },
        None if read.expression.is_empty() || context.folder.is_none() => Program::everything(),
        None => match live::bpf::compile(&read.expression, WHOLE) {
            Err(error) => return at("expression", error.to_string()),
            Ok(instructions) => match Program::new(instructions) {
                Err(error) => return at("expression", error.to_string()),
                Ok(program) => program,
            },
        },
    };
    Ok(Box::new(nodes::filter::Filter::new(read, program)))
}

/// What a matching program returns: the whole frame.
const WHOLE: u32 = 262_144;

/// A fault at the key that it is about, or at the section if that key was left out.
fn at_key(config: &Value, error: ConfigError) -> Fault {
    let value = config.get(error.key);
    let span = value.map_or_else(|| config.span.clone(), |value| value.span.clone());
    Fault::new(span, error.to_string())
}

impl Context<'_> {
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
    pub fn make(&self, config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
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
