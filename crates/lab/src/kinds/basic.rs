//! Nodes that need nothing but their keys.

use crate::kind::Kind;
use nodes::{echo, huygens, mirror, ntp, ping, ptp, sink, switch, vlan};

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
        Kind::of("ping", |config, _| ping::Ping::new(config)),
        Kind::of("trace", |config, _| ::trace::tracer::Trace::new(config)),
        Kind::seeded(
            "ptp",
            |config: &mut ptp::Config| &mut config.seed,
            ptp::Ptp::new,
        ),
        Kind::seeded(
            "ntp",
            |config: &mut ntp::Config| &mut config.seed,
            ntp::Ntp::new,
        ),
        Kind::seeded(
            "huygens",
            |config: &mut huygens::Config| &mut config.seed,
            huygens::Huygens::new,
        ),
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
