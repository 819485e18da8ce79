//! The program that gives an interface's frames to our sockets, loaded by bpf(2) and attached by a link
//! that goes with its descriptor: nothing is left behind, however the process ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
/// Helper number of bpf_redirect_map.
const REDIRECT_MAP: i32 = 51;
/// What becomes of frames of a queue without a socket: they go to the stack.
const XDP_PASS: i32 = 2;

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes its own structure of a frame.
    Driver,
    /// Behind the driver; works everywhere.
    Generic,
}

/// struct bpf_insn.
fn instruction(code: u8, registers: u8, offset: i16, value: i32) -> u64 {
    u64::from(code)
        | u64::from(registers) << 8
        | u64::from(offset as u16) << 16
        | u64::from(value as u32) << 32
}

/// A command with its attributes, of which the kernel takes those not given as zero.
fn bpf<const N: usize>(command: libc::c_int, attributes: &[u64; N]) -> io::Result<i32> {
    // SAFETY: the attributes are valid for the length that is given; those that are addresses lead to
    // memory that outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attributes.as_ptr(),
            size_of_val(attributes),
        )
    };
    match result {
        0.. => Ok(result as i32),
        _ => Err(io::Error::last_os_error()),
    }
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: the kernel has just given out this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Two 32-bit attributes as one word, in the machine's order.
fn pair(first: u32, second: u32) -> u64 {
    let [a, b, c, d] = first.to_ne_bytes();
    let [e, f, g, h] = second.to_ne_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Which socket takes the frames of which queue.
pub struct Sockets(OwnedFd);

impl Sockets {
    /// For so many queues.
    pub fn new(queues: u32) -> io::Result<Sockets> {
        // map_type, key_size, value_size, max_entries.
        let attributes = [pair(BPF_MAP_TYPE_XSKMAP, 4), pair(4, queues)];
        bpf(BPF_MAP_CREATE, &attributes).map(|fd| Sockets(owned(fd)))
    }

    /// None at all, for tests without an interface.
    #[cfg(test)]
    pub fn none() -> Sockets {
        Sockets(
            std::fs::File::open("/dev/null")
                .expect("it is always there")
                .into(),
        )
    }

    /// Lets a bound socket take a queue's frames.
    pub fn set(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        let fd = socket.as_raw_fd() as u32;
        // map_fd, key, value, flags.
        let attributes = [
            pair(self.0.as_raw_fd() as u32, 0),
            (&raw const queue) as u64,
            (&raw const fd) as u64,
            0,
        ];
        bpf(BPF_MAP_UPDATE_ELEM, &attributes).map(|_| ())
    }

    /// Loads the program and attaches it to the interface. It is detached when the value goes.
    pub fn attach(&self, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
        let program = [
            // r2 = the queue's number, from struct xdp_md.
            instruction(0x61, 0x12, 16, 0),
            // r1 = this map, by its descriptor.
            instruction(0x18, 0x11, 0, self.0.as_raw_fd()),
            0,
            // r3 = what to do when there is no socket.
            instruction(0xB7, 0x03, 0, XDP_PASS),
            instruction(0x85, 0, 0, REDIRECT_MAP),
            instruction(0x95, 0, 0, 0),
        ];
        let licence = c"Apache-2.0";
        // prog_type, insn_cnt; insns; license; log_level, log_size; log_buf; kern_version, prog_flags.
        let attributes = [
            pair(BPF_PROG_TYPE_XDP, program.len() as u32),
            program.as_ptr() as u64,
            licence.as_ptr() as u64,
            0,
            0,
            0,
        ];
        let program = owned(bpf(BPF_PROG_LOAD, &attributes)?);
        let flags = match mode {
            Mode::Driver => XDP_FLAGS_DRV_MODE,
            Mode::Generic => XDP_FLAGS_SKB_MODE,
        };
        // prog_fd, target_ifindex; attach_type, flags.
        let attributes = [
            pair(program.as_raw_fd() as u32, interface),
            pair(BPF_XDP, flags),
        ];
        bpf(BPF_LINK_CREATE, &attributes).map(owned)
    }
}
