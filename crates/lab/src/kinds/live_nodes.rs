//! What is something real, which only the world `live` has.

use crate::fault::Fault;
use crate::kind::{Kind, Planned, Real};
use crate::live_nodes::{openvswitch::OpenVSwitch, process::Process, tap};
use crate::tree::Value;
use live::world::Slot;
use std::path::Path;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        real("process", Real::Process, |config, folder| {
            let ports = Process::read(config)?.interfaces.len();
            stand_in(config, folder, ports)
        }),
        real("openvswitch", Real::OpenVSwitch, |config, folder| {
            let switch = OpenVSwitch::read(config)?;
            let ports = usize::from(switch.ports) + usize::from(switch.control_ports);
            stand_in(config, folder, ports)
        }),
        real("tap", Real::Tap, |config, folder| {
            tap::check(config)?;
            Ok(Planned {
                endless: vec!["waits for what comes from this machine".into()],
                ..stand_in(config, folder, 1)?
            })
        }),
    ]
}

/// An end of a link that is `port:SPEC`; no section says so.
pub(crate) fn port() -> Kind {
    real("port", Real::Port, |config, folder| {
        stand_in(config, folder, 1)
    })
}

fn real(name: &str, real: Real, read: fn(&Value, Option<&Path>) -> Result<Planned, Fault>) -> Kind {
    Kind {
        real: Some(real),
        ..Kind::new(name, read)
    }
}

/// In the graph each of its ports passes frames between the link and what is outside.
fn stand_in(config: &Value, folder: Option<&Path>, ports: usize) -> Result<Planned, Fault> {
    Planned::by(config, folder, move |_, _| Ok(Box::new(Slot::new(ports))))
}
