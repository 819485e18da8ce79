//! What runs a P4 program: the engine that one chooses.

use ::pipeline::architecture::{Config, Pipeline};
use ::pipeline::engine::Engine;
use ::pipeline::environment::{Environment, Options, Unsupported};
use ::pipeline::interpreter::Interpreter;
use p4::compile::Compiled;
use p4::ir;
use std::str::FromStr;
use std::sync::Arc;

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The interpreter: slow, and written to be obviously right. The default where there is no other.
    #[cfg_attr(not(feature = "jit"), default)]
    Reference,
    /// Machine code.
    #[cfg_attr(feature = "jit", default)]
    Fast,
    /// A program of the kernel, for XDP: needs root, and does what the kernel can do.
    Xdp,
    /// Hardware in Verilog, cycle by cycle: of a command that [brings](Engines::with_hardware) it.
    Rtl,
}

/// Makes an engine that is hardware.
type Make = dyn Fn(&Arc<Environment>) -> Result<Box<dyn Engine>, Unsupported> + Send + Sync;

/// The engines that a command has: those in software, and the one that it may bring.
#[derive(Clone, Default)]
pub struct Engines {
    hardware: Option<Arc<Make>>,
}

impl Engines {
    /// With the engine [`EngineKind::Rtl`] too. What makes it may start a compiler.
    #[must_use]
    pub fn with_hardware(
        make: impl Fn(&Arc<Environment>) -> Result<Box<dyn Engine>, Unsupported> + Send + Sync + 'static,
    ) -> Engines {
        Engines {
            hardware: Some(Arc::new(make)),
        }
    }

    /// Whether the engine [`EngineKind::Rtl`] is here.
    #[must_use]
    pub fn has_hardware(&self) -> bool {
        self.hardware.is_some()
    }

    /// The engine for an environment's program.
    ///
    /// # Errors
    /// When the program asks for something that it cannot do, or the engine is not here.
    pub fn engine(
        &self,
        kind: EngineKind,
        environment: &Arc<Environment>,
    ) -> Result<Box<dyn Engine>, Unsupported> {
        match kind {
            EngineKind::Reference => Ok(Box::new(Interpreter::new(environment)?)),
            #[cfg(not(feature = "jit"))]
            EngineKind::Fast => Err(Unsupported {
                message: "the engine `fast` is not in this build: the crate `lab` was built without its feature `jit`".into(),
                span: None,
            }),
            #[cfg(feature = "jit")]
            EngineKind::Fast => Ok(Box::new(jit::Jit::new(environment)?)),
            EngineKind::Xdp => Ok(Box::new(xdp::Xdp::new(environment)?)),
            EngineKind::Rtl => match &self.hardware {
                Some(make) => make(environment),
                None => Err(Unsupported {
                    message: "the engine `rtl` is hardware in Verilog, which the command `wire-rtl` has and this one has not: build it with `cargo build -p wireline-rtl`".into(),
                    span: None,
                }),
            },
        }
    }

    /// A pipeline for a program, with everything as the program begins.
    ///
    /// # Errors
    /// When the program asks for something that cannot be run here, with the place in it.
    pub fn pipeline(
        &self,
        program: &Arc<ir::Program>,
        kind: EngineKind,
        options: Options,
        config: &Config,
    ) -> Result<Pipeline, Unsupported> {
        let environment = Arc::new(Environment::new(Arc::clone(program), options)?);
        let engine = self.engine(kind, &environment)?;
        Pipeline::new(&environment, engine, config)
    }
}

impl EngineKind {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Reference => "reference",
            EngineKind::Fast => "fast",
            EngineKind::Xdp => "xdp",
            EngineKind::Rtl => "rtl",
        }
    }
}

/// A text that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`fast`, `reference`, `xdp` or `rtl` is wanted, not `{0}`")]
pub struct UnknownEngine(String);

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        match text {
            "reference" => Ok(EngineKind::Reference),
            "fast" => Ok(EngineKind::Fast),
            "xdp" => Ok(EngineKind::Xdp),
            "rtl" => Ok(EngineKind::Rtl),
            _ => Err(UnknownEngine(text.into())),
        }
    }
}

/// Why a program cannot be run, with the place in its text.
#[must_use]
pub fn describe(unsupported: &Unsupported, compiled: &Compiled) -> String {
    let place = unsupported
        .span
        .and_then(|span| compiled.sources.location(span.start));
    match place {
        Some(place) => format!(
            "{}:{}:{}: {unsupported}",
            place.file, place.line, place.column
        ),
        None => unsupported.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_hardware_the_engine_says_where_it_is() {
        let environment = Environment::new(Arc::new(ir::Program::default()), Options::default());
        let environment = Arc::new(environment.unwrap());
        let told = match Engines::default().engine(EngineKind::Rtl, &environment) {
            Ok(_) => panic!("nobody brought it"),
            Err(unsupported) => unsupported.to_string(),
        };
        assert!(told.contains("`wire-rtl`"), "{told}");
        assert_eq!("rtl".parse(), Ok(EngineKind::Rtl));
    }
}
