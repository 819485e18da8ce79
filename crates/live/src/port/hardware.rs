//! Ports that are hardware in Verilog: `rtl:MEDIUM` and `rtl10g:MEDIUM`. This crate has none; a command that has them [provides](provide) them.

use super::{Line, Medium, Options, Port, PortError, PortSpec};
use std::sync::OnceLock;

/// Opens a port in Verilog, whose cable leads there.
pub type Open = fn(Line, &Medium, &Options) -> Result<Port, PortError>;

static OPEN: OnceLock<Open> = OnceLock::new();

/// From now on ports in Verilog are opened by this. The first call counts.
pub fn provide(open: Open) {
    let _ = OPEN.set(open);
}

/// Opens `rtl:MEDIUM` or `rtl10g:MEDIUM`.
pub(super) fn open(line: Line, medium: &Medium, options: &Options) -> Result<Port, PortError> {
    match OPEN.get() {
        Some(open) => open(line, medium, options),
        None => Err(PortError::Unsupported {
            name: PortSpec::Rtl(line, medium.clone()).to_string(),
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
