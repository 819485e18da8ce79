//! The command `wire` with one more kind of node, `every-nth`, and one more instrument, `[silence]`.

mod silence;

use wireline::node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use wireline::{ConfigError, Registry};

fn main() -> std::process::ExitCode {
    let registry = Registry::standard()
        .with("every-nth", |config, _| EveryNth::new(config))
        .with_instrument(silence::Silence::default);
    wireline::main(registry)
}

/// The keys of a node.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Which frames are dropped: 3 is every third one.
    n: u64,
}

/// Passes frames from port 0 to port 1 and back, and drops every n-th.
struct EveryNth {
    n: u64,
    frames: u64,
}

impl EveryNth {
    fn new(config: Config) -> Result<EveryNth, ConfigError> {
        match config.n {
            0 => Err(ConfigError {
                key: "n",
                reason: "1 or more".into(),
            }),
            n => Ok(EveryNth { n, frames: 0 }),
        }
    }
}

impl Node for EveryNth {
    fn properties(&self) -> Properties {
        Properties {
            changes_frames: false,
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, _now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frames += 1;
            match self.frames.is_multiple_of(self.n) {
                true => out.drop(frame, "the n-th"),
                false => out.send(Port(1 - port.0), frame),
            }
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.frames)])
    }
}
