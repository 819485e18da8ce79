//! From a port's name to the port.

use super::{Options, Port, PortError, PortSpec};
use super::{
    calibration, channel, dummy, hardware, multicast, nfqueue, raw, stream, tap, udp, xdp,
};

/// Opens the port, with what [`calibrate`](super::calibrate) has found about it before.
///
/// # Errors
/// What is missing, and how to mend it.
pub fn open(spec: &PortSpec, options: &Options) -> Result<Port, PortError> {
    let Some(found) = calibration::find(spec) else {
        return open_plain(spec, options);
    };
    let options = Options {
        method: options.method.or(found.method),
        ..options.clone()
    };
    let mut port = open_plain(spec, &options)?;
    port.tx = calibration::with_latency(port.tx, found.lead_ns);
    Ok(port)
}

/// Opens the port without regard to what was found about it before.
pub(crate) fn open_plain(spec: &PortSpec, options: &Options) -> Result<Port, PortError> {
    match spec {
        PortSpec::Interface(name) => raw::open(name, options),
        PortSpec::Any => Err(PortError::Unsupported {
            name: "any".into(),
            why: "all interfaces can be listened to, by cat, dump, cut, flows and profile; name the one that is to send, or to be a port",
        }),
        PortSpec::Tap(name) => tap::open(name, options),
        PortSpec::Udp { host, port, listen } => udp::open(host, *port, *listen, options),
        PortSpec::Multicast { group, interface } => multicast::open(*group, *interface, options),
        PortSpec::Capture(path) => stream::open_capture(path, options),
        PortSpec::Path(path) => stream::open_path(path, options),
        PortSpec::Standard => stream::open_path("-".as_ref(), options),
        PortSpec::Xdp(name, copying) => xdp::open(name, *copying, options),
        PortSpec::Queue(number) => nfqueue::open(*number, options),
        PortSpec::Channel(spec) => channel::open(spec, options),
        PortSpec::Dummy(len) => Ok(dummy::open(*len, options)),
        PortSpec::Rtl(line, medium) => hardware::open(*line, medium, options),
    }
}
