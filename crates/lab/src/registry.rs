//! The kinds of nodes that a lab file can name: those that come with Wireline, and anybody's own.

use crate::fault::{Fault, did_you_mean};
use crate::flops::Measured;
use crate::kinds;
use crate::replay::Notes;
use crate::tree::Value;
use node::{Frame, Node, Port, Properties, Time};
use nodes::ConfigError;
use nodes::capture::Recorder;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds of nodes by their names.
///
/// ```
/// use node::{Frame, Node, Out, Port, Properties, Time};
///
/// /// Drops every n-th frame.
/// struct EveryNth {
///     n: u64,
///     count: u64,
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Config {
///     n: u64,
/// }
///
/// impl Node for EveryNth {
///     fn properties(&self) -> Properties {
///         Properties::of(2)
///     }
///     fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
///         for frame in frames.drain(..) {
///             self.count += 1;
///             match self.count % self.n {
///                 0 => out.drop(frame, "the n-th"),
///                 _ => out.send(Port(1 - port.0), frame),
///             }
///         }
///     }
/// }
///
/// let registry = lab::Registry::standard().with("every-nth", |config: Config, _| {
///     Ok(EveryNth { n: config.n.max(1), count: 0 })
/// });
/// let lab = registry.parse(r#"
///     node.a = { kind = "generator", count = 10, gap = "1 us" }
///     node.x = { kind = "every-nth", n = 3 }
///     node.b = { kind = "sink" }
///     link = [{ ends = ["a.0", "x.0"] }, { ends = ["x.1", "b.0"] }]
/// "#)?;
/// let report = lab::run(&lab, lab::World::Sim, &lab::Options::default())?;
/// assert_eq!(report.outcome.nodes[1].drops, [("the n-th".into(), 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    kinds: Vec<Arc<Kind>>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::standard()
    }
}

impl Registry {
    /// The kinds that come with Wireline.
    pub fn standard() -> Registry {
        Registry {
            kinds: kinds::standard().into_iter().map(Arc::new).collect(),
        }
    }

    /// Adds a kind, in place of one of the same name if there is one. `make` gets the keys of a node's section, read
    /// into `C`, and what else is at hand. It is also called to check a section, and then its node is not used: what
    /// costs much, or acts on the world outside, is for the node's first call.
    #[must_use]
    pub fn with<C, N, M>(mut self, name: &str, make: M) -> Registry
    where
        C: DeserializeOwned,
        N: Node + 'static,
        M: Fn(C, &Context<'_>) -> Result<N, ConfigError> + Clone + Send + Sync + 'static,
    {
        self.kinds.retain(|kind| kind.name != name);
        self.kinds.push(Arc::new(Kind::of(name, make)));
        self
    }

    /// The names of all kinds, but those that stand for something real.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let nodes = self.kinds.iter().filter(|kind| kind.real.is_none());
        nodes.map(|kind| kind.name.as_str())
    }

    /// Whether a node of this kind runs a program that its keys name.
    pub fn runs_programs(&self, kind: &str) -> bool {
        let mut kinds = self.kinds.iter();
        kinds.any(|known| known.name == kind && known.runs_programs)
    }

    /// Finds a kind by its name.
    pub(crate) fn find(&self, value: &Value) -> Result<Arc<Kind>, Fault> {
        let name: String = value.read()?;
        let found = self.kinds.iter().find(|kind| kind.name == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<&str> = self.kinds.iter().map(|kind| &kind.name[..]).collect();
            let message = format!("there is no kind of node called `{name}`");
            Fault::new(value.span.clone(), message).help(did_you_mean(&name, &known))
        })
    }
}

/// What is at hand when a node is made. To check one nothing is.
#[derive(Default)]
pub struct Context<'a> {
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    pub(crate) folder: Option<&'a Path>,
    pub(crate) notes: Notes,
    pub(crate) measured: Measured,
    pub(crate) live: bool,
    pub(crate) alone: bool,
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

    /// What the node draws by lot comes from this: another number for each node, from the lab's seed.
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

/// A kind of node.
pub(crate) struct Kind {
    pub name: String,
    /// Whether what it sees is measured, and can be plotted and kept.
    pub records: bool,
    /// Whether it runs a program that its keys name.
    pub runs_programs: bool,
    /// Whether its control channels may speak TLS, so that its keys may name files for that.
    pub speaks_tls: bool,
    /// Whether it measures what other nodes do to its frames.
    pub measures: bool,
    /// Keys whose values are names of hosts or addresses, with a dot before a key of a table within.
    pub hosts: &'static [&'static str],
    /// Whether it is something real, which only the world `live` has.
    pub real: Option<Real>,
    pub read: Box<Read>,
}

impl Kind {
    /// A kind whose sections `read` reads.
    pub fn new(
        name: &str,
        read: impl Fn(&Value, Option<&Path>) -> Result<Planned, Fault> + Send + Sync + 'static,
    ) -> Kind {
        Kind {
            name: name.into(),
            records: false,
            runs_programs: false,
            speaks_tls: false,
            measures: false,
            hosts: &[],
            real: None,
            read: Box::new(read),
        }
    }

    /// A kind whose nodes cost nothing to make, so that one is made for each check.
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
    pub fn seeded<C, N>(
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
    pub fn made(
        name: &str,
        make: impl Fn(&Value, Context<'_>) -> Made + Clone + Send + Sync + 'static,
    ) -> Kind {
        Kind::new(name, move |config, folder| {
            Planned::by(config, folder, make.clone())
        })
    }

    /// A section's node, checked and not yet made.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn plan(&self, config: &Value, folder: Option<&Path>) -> Result<Planned, Fault> {
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
    /// Why it goes on for ever, if it does, as `generates without "count"`.
    pub endless: Vec<String>,
    /// The program that it runs, as a line for the shell.
    pub command: Option<String>,
    /// How many tests of OFLOPS it runs.
    pub tests: usize,
    /// The only stream that it measures.
    pub stream: Option<u16>,
    /// Files that it reads during the run.
    pub inputs: Vec<PathBuf>,
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
            endless: Vec::new(),
            command: None,
            tests: 0,
            stream: None,
            inputs: Vec::new(),
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
