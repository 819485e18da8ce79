//! Ports over AF_PACKET: the default for an interface. They see what the stack sees and take
//! nothing from it.
//!
//! | part | what it does |
//! |---|---|
//! | `socket` | makes and binds sockets, asks for drops and for what became of the interface |
//! | `watched` | a receiving socket whose link comes and goes |
//! | `any` | all interfaces at once, to receive only |
//! | `messages` | receives by recvmmsg: no memory before it is needed |
//! | `ring` | receives by a TPACKET_V2 ring: neither a call nor a copy for a frame |
//! | `deliver` | from what the kernel hands over to frames as they are on a wire |
//! | `split` | takes super-frames apart |
//! | `aggregate` | frames that are sent at one time in one buffer of the kernel, between ends of the same world |
//! | `coalesce` | joins TCP segments with the same departure time into a super-frame |
//! | `mend` | puts tags back and completes checksums that an offload has taken away |
//! | `send` | sends by send and sendmmsg |
//! | `send_ring` | sends by a TPACKET_V2 ring |
//! | `stamp` | when the kernel gave what was sent to the driver |

pub mod aggregate;
pub mod any;
mod coalesce;
mod deliver;
mod messages;
mod offload;
mod ring;
mod send;
mod send_ring;
mod slots;
mod socket;
mod split;
mod stamp;
mod watched;

use crate::kernel::interface::{self, Interface};
use crate::port::{Method, Options, Port, PortError, PortInfo, Receive, Stamps, Transmit};

/// Opens an interface of this thread's network namespace.
///
/// # Errors
/// When it does not exist, is down or is not Ethernet, or the process lacks CAP_NET_RAW.
pub fn open(name: &str, options: &Options) -> Result<Port, PortError> {
    let interface = usable(name)?;
    let (rx, method) = receiver(&interface, options)?;
    Ok(Port {
        info: info(&interface, options, method),
        rx,
        tx: sender(&interface, options)?,
    })
}

/// The receiving half of [`open`], and the name of its method. A half that is not opened need not be closed,
/// which takes the kernel a grace period of RCU for each packet socket.
///
/// # Errors
/// When the process lacks CAP_NET_RAW.
pub fn receiver(
    interface: &Interface,
    options: &Options,
) -> Result<(Box<dyn Receive>, &'static str), PortError> {
    Ok(match options.ring {
        true => (Box::new(ring::Ring::open(interface, options)?), "ring"),
        false => {
            let rx = messages::Receiver::open(interface, options)?;
            (Box::new(rx), "recvmmsg")
        }
    })
}

/// The sending half of [`open`].
///
/// # Errors
/// When the process lacks CAP_NET_RAW.
pub fn sender(interface: &Interface, options: &Options) -> Result<Box<dyn Transmit>, PortError> {
    Ok(match options.method.unwrap_or(Method::Send) {
        Method::Send => Box::new(send::Sender::open(interface, options)?),
        Method::Ring => Box::new(send_ring::RingSender::open(interface, options)?),
    })
}

/// Finds an interface that a port can be opened on.
///
/// # Errors
/// When it does not exist, is down or is not Ethernet.
pub fn usable(name: &str) -> Result<Interface, PortError> {
    let failed = |source| PortError::from_io(name, "asking for the interface", "rights", source);
    let Some(interface) = interface::find(name).map_err(failed)? else {
        return Err(PortError::NoSuchInterface {
            name: name.into(),
            known: interface::names().map_err(failed)?.join(", "),
        });
    };
    if !interface.is_ethernet() {
        return Err(PortError::NotEthernet {
            name: name.into(),
            kind: interface.kind,
        });
    }
    if !interface.up {
        return Err(PortError::Down { name: name.into() });
    }
    Ok(interface)
}

/// What is known of a port on `interface`, whose stamps are the kernel's.
pub fn info(interface: &Interface, options: &Options, method: &'static str) -> PortInfo {
    PortInfo {
        stamps: Stamps::Kernel,
        ..PortInfo::of_interface("", interface, method, options)
    }
}
