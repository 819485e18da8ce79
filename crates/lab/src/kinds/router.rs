//! Routers.

use super::host::pinger;
use super::services;
use crate::kind::{Context, Kind, Made, at_key};
use crate::tree::Value;
use ::router::router::{Config, Router};
use ip::service::Service;
use std::collections::BTreeMap;

/// The kind.
pub(super) fn kinds() -> Vec<Kind> {
    vec![Kind {
        pings: true,
        ..Kind::made("router", make)
    }]
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let mut config = config.clone();
    let programs = services::programs(&mut config, "router")?;
    let mut read: Config = config.read()?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    let seed = read.seed;
    // A shell pings from the ports without a VRF, or else from those of the first.
    let first = read.port.iter().map(|port| port.vrf.clone()).min();
    let mut by_vrf = BTreeMap::<Option<String>, Vec<Box<dyn Service>>>::new();
    for (number, (run, mut section)) in programs.into_iter().enumerate() {
        let name: String = run.value.read()?;
        let vrf = match section.take("vrf") {
            Some(vrf) => Some(vrf.value.read()?),
            None => None,
        };
        // Each service has random numbers of its own.
        let own = seed ^ (1 + number as u64) << 32;
        let Some(service) = services::make(&name, &section, own) else {
            let known: Vec<&str> = services::names().collect();
            return Err(services::unknown(&run, &name, &known));
        };
        by_vrf.entry(vrf).or_default().push(service?);
    }
    if let Some(pinger) = pinger(&context) {
        by_vrf.entry(first.flatten()).or_default().push(pinger);
    }
    let refused = |refused| at_key(&config, refused);
    let mut router = Router::new(read).map_err(refused)?;
    for (vrf, services) in by_vrf {
        router = router
            .with_services(vrf.as_deref(), services)
            .map_err(refused)?;
    }
    Ok(Box::new(router))
}
