//! Nodes that need nothing but their keys.

use crate::kind::{Kind, Planned};
use node::Node;
use nodes::{ConfigError, echo, huygens, mirror, ntp, ping, ptp, sink, switch, vlan};
use serde::de::DeserializeOwned;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::seeded(
            "switch",
            |config: &mut switch::Config| &mut config.seed,
            switch::Switch::new,
        ),
        Kind::of("mirror", |config, _| mirror::Mirror::new(config)),
        Kind::of("vlan", |config, _| vlan::Vlan::new(config)),
        Kind::of("sink", |config, _| sink::Sink::new(config)),
        Kind::of("echo", |config, _| echo::Echo::new(config)),
        Kind::new("ping", |config, folder| {
            let make = Kind::of("ping", |config, _| ping::Ping::new(config));
            let endless = match config.get("count") {
                Some(_) => Vec::new(),
                None => vec!["asks without `count`".into()],
            };
            Ok(Planned {
                endless,
                ..make.plan(config, folder)?
            })
        }),
        clock(
            "ptp",
            |config: &mut ptp::Config| &mut config.seed,
            ptp::Ptp::new,
        ),
        clock(
            "ntp",
            |config: &mut ntp::Config| &mut config.seed,
            ntp::Ntp::new,
        ),
        Kind {
            has_peers: true,
            ..clock(
                "huygens",
                |config: &mut huygens::Config| &mut config.seed,
                huygens::Huygens::new,
            )
        },
        Kind::of("covert", |config, context| {
            // Messages that it reads become notes of the report, each once.
            let notes = context.notes().clone();
            let mut last = Vec::new();
            let reader = Box::new(move |at: node::Time, message: &[u8]| {
                if last != message {
                    last = message.to_vec();
                    let text = String::from_utf8_lossy(message);
                    notes.add(format!("a covert message, whole at {at}: {text:?}"));
                }
            });
            nodes::covert::Covert::new(config, reader)
        }),
    ]
}

/// One that sets clocks, or is set.
fn clock<C, N>(
    name: &str,
    seed: fn(&mut C) -> &mut u64,
    make: fn(C) -> Result<N, ConfigError>,
) -> Kind
where
    C: DeserializeOwned + 'static,
    N: Node + 'static,
{
    let kind = Kind::seeded(name, seed, make);
    Kind::new(name, move |config, folder| {
        Ok(Planned {
            endless: vec!["speaks of its clock for ever".into()],
            ..kind.plan(config, folder)?
        })
    })
}
