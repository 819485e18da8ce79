//! The kinds of nodes that a lab file can name: those that come with Wireline, and anybody's own.

use crate::description::Description;
use crate::engine::Engines;
use crate::fault::{Fault, did_you_mean};
use crate::hardware::{Cause, Hardware, Site};
use crate::instruments;
use crate::kind::{Context, Kind};
use crate::kinds;
use crate::plan::instrument::Instrument;
use crate::tree::Value;
use node::ConfigError;
use node::Node;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
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
    /// Each makes an instrument as it is before a lab file is read.
    instruments: Vec<Arc<MakeInstrument>>,
    /// Ports for the world `cosim`.
    pub(crate) hardware: Option<Hardware>,
    engines: Engines,
}

type MakeInstrument = dyn Fn() -> Box<dyn Instrument> + Send + Sync;

fn standard_instrument(make: fn() -> Box<dyn Instrument>) -> Arc<MakeInstrument> {
    Arc::new(make)
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
            instruments: instruments::standard().map(standard_instrument).into(),
            hardware: None,
            engines: Engines::default(),
        }
        .all_described()
    }

    fn all_described(self) -> Registry {
        let all = kinds::descriptions().into_iter();
        all.fold(self, |registry, (name, text)| registry.describe(name, text))
    }

    /// Adds a kind, in place of one of the same name if there is one. `make` gets the keys of a node's section, read
    /// into `C`, and what else is at hand. It is also called to check a section, and then its node is not used: what
    /// costs much, or acts on the world outside, is for the node's first call.
    #[must_use]
    pub fn with<C, N, M>(self, name: &str, make: M) -> Registry
    where
        C: DeserializeOwned,
        N: Node + 'static,
        M: Fn(C, &Context<'_>) -> Result<N, ConfigError> + Clone + Send + Sync + 'static,
    {
        self.with_kind(Kind::of(name, make))
    }

    /// Adds a kind with more properties than its nodes, in place of one of the same name if there is one.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Registry {
        self.kinds.retain(|known| known.name != kind.name);
        self.kinds.push(Arc::new(kind));
        self
    }

    /// Adds an instrument: `make` makes one for each lab file that is read. Its section of a report comes after those of
    /// the instruments that are there already.
    #[must_use]
    pub fn with_instrument<I: Instrument + 'static>(
        mut self,
        make: impl Fn() -> I + Send + Sync + 'static,
    ) -> Registry {
        self.instruments.push(Arc::new(move || Box::new(make())));
        self
    }

    /// The instruments for a lab file.
    pub(crate) fn instruments(&self) -> impl Iterator<Item = Box<dyn Instrument>> + use<> {
        let makers = self.instruments.clone();
        makers.into_iter().map(|make| make())
    }

    /// Adds the world `cosim`: `make` puts a node behind ports that are hardware.
    #[must_use]
    pub fn with_hardware(
        mut self,
        make: impl Fn(Box<dyn Node>, Site<'_>) -> Result<Box<dyn Node>, Cause> + Send + Sync + 'static,
    ) -> Registry {
        self.hardware = Some(Hardware::new(make));
        self
    }

    /// With these engines for programs in P4.
    #[must_use]
    pub fn with_engines(mut self, engines: Engines) -> Registry {
        for kind in &mut self.kinds {
            if let Some(with_engines) = kind.with_engines {
                *kind = Arc::new(Kind {
                    description: kind.description.clone(),
                    ..with_engines(engines.clone())
                });
            }
        }
        self.engines = engines;
        self
    }

    /// The engines for programs in P4.
    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// With what a kind is, for `wire nodes`: a text as [`Description`] reads it, when somebody asks. A kind that is not there is left so.
    #[must_use]
    pub fn describe(mut self, name: &str, text: impl Into<Cow<'static, str>>) -> Registry {
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.name == name) {
            Arc::make_mut(kind).description = Some(text.into());
        }
        self
    }

    /// The description of each kind: its name, and nothing of one that came without.
    pub fn descriptions(&self) -> impl Iterator<Item = (&str, Option<Description>)> {
        let kinds = self.kinds.iter();
        kinds.map(|kind| {
            (
                kind.name.as_str(),
                kind.description.as_deref().map(Description::read),
            )
        })
    }

    /// The descriptions of the tables that a node of any kind may have.
    pub fn table_descriptions(&self) -> Vec<(&'static str, Description)> {
        let tables = crate::kinds::tables().into_iter();
        tables
            .map(|(name, text)| (name, Description::read(text)))
            .collect()
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
