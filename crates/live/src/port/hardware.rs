//! Ports that are hardware in Verilog: `rtl:MEDIUM`. This crate has none; a command that has them [provides](provide) them.

use super::{Medium, Options, Port, PortError, PortSpec};
use std::sync::OnceLock;

/// Opens a port in Verilog, whose cable leads there.
pub type Open = fn(&Medium, &Options) -> Result<Port, PortError>;

static OPEN: OnceLock<Open> = OnceLock::new();

/// From now on ports in Verilog are opened by this. The first call counts.
pub fn provide(open: Open) {
    let _ = OPEN.set(open);
}

/// Opens `rtl:MEDIUM`.
pub(super) fn open(medium: &Medium, options: &Options) -> Result<Port, PortError> {
    match OPEN.get() {
        Some(open) => open(medium, options),
        None => Err(PortError::Unsupported {
            name: PortSpec::Rtl(medium.clone()).to_string(),
            why: "ports in Verilog are those of the command `wire-rtl`, which `make rtl` builds",
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::port::{Options, open};

    #[test]
    fn a_command_without_hardware_says_which_has_it() {
        let spec = "rtl:eth0".parse().unwrap();
        let refused = open(&spec, &Options::default()).err().unwrap().to_string();
        assert!(refused.starts_with("`rtl:eth0`: "), "{refused}");
        assert!(refused.contains("wire-rtl"), "{refused}");
    }
}
