//! Ports over AF_XDP, on request: `xdp:IFACE`, `xdp:IFACE:copy=on`, `xdp:IFACE:zerocopy=on`.
//!
//! **It takes the interface's traffic from the stack**: what arrives comes here and nowhere else, until
//! the port is closed. In exchange a frame costs less. Frames come as the driver has them: stamps are
//! this program's own, a tag that a card has taken off and a checksum that a local stack has left to a
//! card stay so. Frames are at most 3,520 bytes.
//!
//! Where the driver has zero copy, the card itself writes and reads the memory, if `copy=on` does not forbid it; elsewhere the kernel
//! copies, if `zerocopy=on` does not forbid that. What it came to is in the port's [method](PortInfo::method).
//!
//! The program that redirects frames and the sockets' memory go with the process, however it ends. The interface may be set
//! down and up. When it is removed the port ends: the kernel parts the sockets from it for good, with all their memory.

mod program;
mod receive;
mod ring;
mod send;
mod socket;

use crate::kernel::interface;
use crate::kernel::interface::Interface;
use crate::port::raw;
use crate::port::{Copying, Options, Port, PortError, PortInfo};
use program::{Mode, Sockets};
use receive::Receiver;
use send::Sender;
use socket::make_lane;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Maximum frame length, bytes: a chunk of memory without the kernel's headroom and tail.
const MAX_FRAME_LEN: usize = 3520;
/// Frames given in one call, so that other ports have their turn.
const BATCH: usize = 64;
/// Maximum number of queues that are received from.
const MAX_QUEUES: u32 = 64;

/// Opens `xdp:IFACE`.
///
/// # Errors
/// As for the interface itself; when the process lacks CAP_NET_RAW, CAP_NET_ADMIN or CAP_BPF; when the
/// interface has another XDP program already, or its MTU is too large; when zero copy is demanded and the driver has none.
pub fn open(name: &str, copying: Copying, options: &Options) -> Result<Port, PortError> {
    let interface = raw::usable(name)?;
    let longest = interface.mtu as usize + 14 + 8;
    if longest > MAX_FRAME_LEN {
        return Err(PortError::Unsupported {
            name: name.into(),
            why: "its MTU is more than the 3,498 bytes that AF_XDP carries here; lower it, or leave `xdp:` out",
        });
    }
    let failed = |doing, error| PortError::from_io(name, doing, CAPABILITY, error);
    let queues = interface::queues(name).unwrap_or(1).clamp(1, MAX_QUEUES);
    let map = Sockets::new(queues).map_err(|error| failed("making an XDP map", error))?;
    // A program behind the driver gets copies only.
    let (link, copying, mode) = match map.attach(interface.index, Mode::Driver) {
        Ok(link) => (link, copying, Mode::Driver),
        Err(_) if copying != Copying::Never => {
            let link = map
                .attach(interface.index, Mode::Generic)
                .map_err(|error| failed("attaching an XDP program", error))?;
            (link, Copying::Always, Mode::Generic)
        }
        Err(error) => return Err(without_zero_copy(name, "attaching an XDP program", error)),
    };
    let mut lanes = Vec::new();
    let mut sender = None;
    for queue in 0..queues {
        let (lane, tx) = make_lane(&interface, queue, copying).map_err(|error| match copying {
            Copying::Never => without_zero_copy(name, "making an AF_XDP socket", error),
            _ => failed("making an AF_XDP socket", error),
        })?;
        map.set(queue, &lane.area.socket)
            .map_err(|error| failed("filling the XDP map", error))?;
        lanes.push(lane);
        sender = sender.or(tx);
    }
    let uncopied = lanes.iter().filter(|lane| lane.zero_copy).count();
    let method = match (mode, uncopied) {
        (Mode::Generic, _) => "af_xdp, generic, copy",
        (Mode::Driver, 0) => "af_xdp, driver, copy",
        (Mode::Driver, some) if some < lanes.len() => "af_xdp, driver, zero copy of some queues",
        (Mode::Driver, _) => "af_xdp, driver, zero copy",
    };
    let about = interface::socket().map_err(|error| failed("making a socket", error))?;
    let program = Arc::new(Program {
        about,
        _link: link,
        _map: map,
    });
    let sender = sender.expect("there is a lowest queue");
    let rx = Receiver::new(name, lanes, program.clone())
        .map_err(|error| failed("watching the sockets", error))?;
    Ok(Port {
        info: info(&interface, options, method),
        rx: Box::new(rx),
        tx: Box::new(Sender::new(
            name,
            interface.mtu,
            sender,
            options.patience,
            program,
        )),
    })
}

/// Why a port that demands zero copy does not open.
fn without_zero_copy(name: &str, doing: &'static str, error: std::io::Error) -> PortError {
    match error.raw_os_error() {
        // ENOTSUPP, which some drivers say, is for the kernel's own use.
        Some(libc::EOPNOTSUPP | libc::EINVAL | 524) => PortError::Unsupported {
            name: name.into(),
            why: "its driver has no zero copy for AF_XDP, which `zerocopy=on` demands; leave that out, and the kernel copies",
        },
        _ => PortError::from_io(name, doing, CAPABILITY, error),
    }
}

const CAPABILITY: &str = "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF";

fn info(interface: &Interface, options: &Options, method: &'static str) -> PortInfo {
    PortInfo::of_interface("xdp:", interface, method, options)
}

/// What keeps the interface's traffic coming here.
struct Program {
    /// To ask about the interface by: the sockets themselves know no such questions.
    about: OwnedFd,
    _link: OwnedFd,
    _map: Sockets,
}

/// Whether the interface is up and has a carrier, asked by a socket of its namespace.
///
/// # Errors
/// When it was removed.
fn has_link(name: &str, socket: &OwnedFd) -> Result<bool, PortError> {
    let both = libc::IFF_UP | libc::IFF_RUNNING;
    let ask = interface::Ask::new(std::os::fd::AsFd::as_fd(socket), name);
    match ask.flags() {
        Ok(flags) => Ok(flags & both == both),
        Err(_) => Err(PortError::Gone { name: name.into() }),
    }
}
