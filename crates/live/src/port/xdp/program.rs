//! The program that gives an interface's frames to our sockets, attached by a link that goes with its descriptor.

pub use crate::kernel::ebpf::Mode;

use crate::kernel::ebpf::{LoadError, Map, Program};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const BPF_MAP_TYPE_XSKMAP: u32 = 17;
/// Helper number of bpf_redirect_map.
const REDIRECT_MAP: i32 = 51;
/// What becomes of frames of a queue without a socket: they go to the stack.
const XDP_PASS: i32 = 2;

/// struct bpf_insn.
fn instruction(code: u8, registers: u8, offset: i16, value: i32) -> u64 {
    u64::from(code)
        | u64::from(registers) << 8
        | u64::from(offset as u16) << 16
        | u64::from(value as u32) << 32
}

/// Which socket takes the frames of which queue.
pub struct Sockets(Option<Map>);

impl Sockets {
    /// For so many queues.
    pub fn new(queues: u32) -> io::Result<Sockets> {
        Map::new(BPF_MAP_TYPE_XSKMAP, 4, 4, queues, 0, None).map(|map| Sockets(Some(map)))
    }

    /// None at all, for tests without an interface.
    #[cfg(test)]
    pub fn none() -> Sockets {
        Sockets(None)
    }

    fn map(&self) -> io::Result<&Map> {
        self.0
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Lets a bound socket take a queue's frames.
    pub fn set(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        let fd = socket.as_raw_fd() as u32;
        self.map()?.set(&queue.to_ne_bytes(), &fd.to_ne_bytes())
    }

    /// Loads the program and attaches it to the interface. It is detached when the value goes.
    pub fn attach(&self, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
        let program = [
            // r2 = the queue's number, from struct xdp_md.
            instruction(0x61, 0x12, 16, 0),
            // r1 = this map, by its descriptor.
            instruction(0x18, 0x11, 0, self.map()?.number()),
            0,
            // r3 = what to do when there is no socket.
            instruction(0xB7, 0x03, 0, XDP_PASS),
            instruction(0x85, 0, 0, REDIRECT_MAP),
            instruction(0x95, 0, 0, 0),
        ];
        let program = Program::load(&program).map_err(|error| match error {
            LoadError::Kernel(error) => error,
            refused => io::Error::other(refused),
        })?;
        program.attach(interface, mode)
    }
}
