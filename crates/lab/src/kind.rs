//! A kind of node: how a node's section is read, checked, and made into a node.

use crate::engine::Engines;
use crate::fault::Fault;
use crate::replay::Notes;
use crate::services::Services;
use crate::tree::Value;
use node::ConfigError;
use node::{Frame, Node, Port, Properties, Time};
use nodes::capture::Recorder;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is at hand when a node is made. To check one nothing is.
#[derive(Default)]
pub struct Context<'a> {
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    pub(crate) folder: Option<&'a Path>,
    pub(crate) notes: Notes,
    /// The node's number in the lab, and its name; 0 and empty for one that is checked or alone.
    pub(crate) node: (usize, &'a str),
    pub(crate) services: Services,
    pub(crate) live: bool,
    pub(crate) alone: bool,
    /// Whether a node that can keeps its memory in a file, as its process may end and start again.
    pub(crate) keeps: bool,
    pub(crate) seed: u64,
}

impl Context<'_> {
    /// The folder in which files are looked for; `None` while nothing is read.
    pub fn folder(&self) -> Option<&Path> {
        self.folder
    }

    /// Where to say what goes wrong during the run.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Whether the run is in the world `live`.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The node's number in the lab, from 0 in the order of the file, and its name; 0 and empty while a node is only checked.
    pub fn node(&self) -> (usize, &str) {
        self.node
    }

    /// A service that an [instrument](crate::Instrument) of the run [provides](crate::Attachments::provide); none while a
    /// node is only checked, nor where it runs by itself.
    pub fn service<T: Any>(&self) -> Option<&T> {
        self.services.get()
    }

    /// Seed of the node's random numbers: from the lab's seed and the node's name, whatever else is in the lab.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Takes down what a recording node sees.
    pub(crate) fn recorder(self) -> Box<dyn Recorder> {
        self.recorder.unwrap_or(Box::new(Nobody))
    }
}

/// Takes nothing down: for a node that is only checked.
struct Nobody;

impl Recorder for Nobody {
    fn record(&mut self, _now: Time, _port: Port, _frame: &Frame) {}
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

/// A node, or what is wrong with its section.
pub(crate) type Made = Result<Box<dyn Node>, Fault>;

/// Reads a section, and checks it: with a folder also what it says of files.
type Read = dyn Fn(&Value, Option<&Path>) -> Result<Planned, Fault> + Send + Sync;

/// A kind of node, for [`Registry::with_kind`](crate::Registry::with_kind).
#[derive(Clone)]
pub struct Kind {
    pub(crate) name: String,
    /// Whether what it sees is measured, and can be plotted and kept.
    pub(crate) records: bool,
    /// Whether it runs a program that its keys name.
    pub(crate) runs_programs: bool,
    /// Whether its control channels may speak TLS, so that its keys may name files for that.
    pub(crate) speaks_tls: bool,
    /// Whether it measures what other nodes do to its frames.
    pub(crate) measures: bool,
    /// Whether it sends probes at exact times.
    pub(crate) sends_probes: bool,
    /// Whether it pings and is pinged in a shell.
    pub(crate) pings: bool,
    /// Whether it is a host, which keeps its congestion windows if its key `windows` says so.
    pub(crate) is_host: bool,
    /// The same with other engines for programs in P4, if it runs them.
    pub(crate) with_engines: Option<fn(Engines) -> Kind>,
    /// Keys whose values are names of hosts or addresses, with a dot before a key of a table within.
    pub(crate) hosts: &'static [&'static str],
    /// Whether it is something real, which only the world `live` has.
    pub(crate) real: Option<Real>,
    pub(crate) read: Arc<Read>,
    /// What it is, for people: a text as [`Description`](crate::Description) reads it.
    pub(crate) description: Option<Cow<'static, str>>,
}

impl Kind {
    /// A kind whose sections `read` reads.
    pub(crate) fn new(
        name: &str,
        read: impl Fn(&Value, Option<&Path>) -> Result<Planned, Fault> + Send + Sync + 'static,
    ) -> Kind {
        Kind {
            name: name.into(),
            records: false,
            runs_programs: false,
            speaks_tls: false,
            measures: false,
            sends_probes: false,
            pings: false,
            is_host: false,
            with_engines: None,
            hosts: &[],
            real: None,
            read: Arc::new(read),
            description: None,
        }
    }

    /// A kind whose nodes cost nothing to make, so that one is made for each check: `make` gets the keys of a node's section, read
    /// into `C`, and what else is at hand. Expensive work, and effects outside of the node, belong in the node's first call.
    pub fn of<C, N, M>(name: &str, make: M) -> Kind
    where
        C: DeserializeOwned,
        N: Node + 'static,
        M: Fn(C, &Context<'_>) -> Result<N, ConfigError> + Clone + Send + Sync + 'static,
    {
        Kind::made(name, move |config, context| {
            let made = make(config.read()?, &context);
            Ok(Box::new(made.map_err(|error| at_key(config, error))?))
        })
    }

    /// A kind whose nodes take what they draw by lot from the lab's seed, unless their own key `seed` says otherwise.
    pub(crate) fn seeded<C, N>(
        name: &str,
        seed: fn(&mut C) -> &mut u64,
        make: fn(C) -> Result<N, ConfigError>,
    ) -> Kind
    where
        C: DeserializeOwned + 'static,
        N: Node + 'static,
    {
        Kind::made(name, move |config, context| {
            let mut read: C = config.read()?;
            if config.get("seed").is_none() {
                *seed(&mut read) = context.seed;
            }
            let made = make(read).map_err(|error| at_key(config, error))?;
            Ok(Box::new(made))
        })
    }

    /// A kind whose nodes `make` makes from a section as it stands.
    pub(crate) fn made(
        name: &str,
        make: impl Fn(&Value, Context<'_>) -> Made + Clone + Send + Sync + 'static,
    ) -> Kind {
        Kind::new(name, move |config, folder| {
            Planned::by(config, folder, make.clone())
        })
    }

    /// Each node gives a fixed number of results, which `count` tells by its keys: a run ends when the
    /// [instruments](crate::Instrument) have all.
    #[must_use]
    pub fn with_results<C: DeserializeOwned>(
        self,
        count: impl Fn(&C) -> usize + Send + Sync + 'static,
    ) -> Kind {
        self.and(move |config: &C, planned| planned.tests = count(config))
    }

    /// Nodes run the programs that `command` tells by the keys: in simulated time they have to be allowed.
    #[must_use]
    pub fn with_command<C: DeserializeOwned>(
        self,
        command: impl Fn(&C) -> Option<String> + Send + Sync + 'static,
    ) -> Kind {
        Kind {
            runs_programs: true,
            ..self.and(move |config: &C, planned| planned.command = command(config))
        }
    }

    /// Nodes measure what others do to their frames: a lab that does not say where to measure leaves their links out.
    #[must_use]
    pub fn measuring(self) -> Kind {
        Kind {
            measures: true,
            ..self
        }
    }

    /// Keys whose values may be names of hosts in place of addresses, with a dot before a key of a table within.
    #[must_use]
    pub fn with_host_keys(self, hosts: &'static [&'static str]) -> Kind {
        Kind { hosts, ..self }
    }

    /// Nodes send probes at exact times, so that inter-packet delays are reported.
    #[must_use]
    pub fn sending_probes(self) -> Kind {
        Kind {
            sends_probes: true,
            ..self
        }
    }

    /// With a text for `wire nodes`, as [`Description`](crate::Description) reads it.
    #[must_use]
    pub fn described(self, text: impl Into<Cow<'static, str>>) -> Kind {
        Kind {
            description: Some(text.into()),
            ..self
        }
    }

    /// The same, with more that follows from a node's keys.
    fn and<C: DeserializeOwned>(
        self,
        more: impl Fn(&C, &mut Planned) + Send + Sync + 'static,
    ) -> Kind {
        let read = self.read;
        Kind {
            read: Arc::new(move |config, folder| {
                let mut planned = read(config, folder)?;
                more(&config.read()?, &mut planned);
                Ok(planned)
            }),
            ..self
        }
    }

    /// A section's node, checked and not yet made.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn plan(&self, config: &Value, folder: Option<&Path>) -> Result<Planned, Fault> {
        (self.read)(config, folder)
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Makes a node.
type Make = dyn Fn(Context<'_>) -> Made + Send + Sync;

/// A node that has been checked, and can be made.
pub(crate) struct Planned {
    /// What it will be, as far as that shows before it is made: its ports, whether these may lack links, and what it needs.
    pub properties: Properties,
    /// Why it goes on without end, if it does, as `generates without "count"`: what the node says of
    /// itself, unless its kind knows more.
    pub endless: Vec<String>,
    /// The program that it runs, as a line for the shell.
    pub command: Option<String>,
    /// How many tests of OFLOPS it runs.
    pub tests: usize,
    /// The only stream that it measures.
    pub stream: Option<u16>,
    /// Files that it reads during the run.
    pub inputs: Vec<PathBuf>,
    /// It loads a program into the kernel.
    pub loads_program: bool,
    /// Where controllers reach it by P4Runtime.
    pub p4runtime: Option<SocketAddr>,
    pub make: Box<Make>,
}

impl Planned {
    /// A node with these properties that `make` makes.
    pub fn new(
        properties: Properties,
        make: impl Fn(Context<'_>) -> Made + Send + Sync + 'static,
    ) -> Planned {
        Planned {
            properties,
            endless: properties.endless.into_iter().map(String::from).collect(),
            command: None,
            tests: 0,
            stream: None,
            inputs: Vec::new(),
            loads_program: false,
            p4runtime: None,
            make: Box::new(make),
        }
    }

    /// A node that is checked by making one, which costs next to nothing.
    pub fn by(
        config: &Value,
        folder: Option<&Path>,
        make: impl Fn(&Value, Context<'_>) -> Made + Send + Sync + 'static,
    ) -> Result<Planned, Fault> {
        let context = Context {
            folder,
            ..Context::default()
        };
        let properties = make(config, context)?.properties();
        let config = config.clone();
        Ok(Planned::new(properties, move |context| {
            make(&config, context)
        }))
    }

    /// Makes the node.
    ///
    /// # Errors
    /// What shows only now, such as a file that has gone.
    pub fn make(&self, context: Context<'_>) -> Made {
        (self.make)(context)
    }
}

impl Default for Planned {
    /// Stands for a node until its section has been checked.
    fn default() -> Planned {
        Planned::new(Properties::of(0), |_| {
            Err(Fault::new(0..0, "the node was not checked"))
        })
    }
}

impl std::fmt::Debug for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planned")
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// A fault at the key that it is about, or at the section if that key was left out.
pub(crate) fn at_key(config: &Value, error: ConfigError) -> Fault {
    let value = config.get(error.key);
    let span = value.map_or_else(|| config.span.clone(), |value| value.span.clone());
    Fault::new(span, error.to_string())
}
