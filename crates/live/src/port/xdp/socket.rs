//! A socket of a queue, and the memory that it shares with the kernel.

use super::ring::{Mapping, Offsets, Ring};
use crate::kernel::interface::Interface;
use crate::port::Copying;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// Bytes of a frame's place in the shared memory: the kernel's page.
pub const PLACE: usize = 4096;
/// Places for frames of each direction, and entries of each ring.
pub const PLACES: u32 = 2048;
/// The lowest queue is the one that frames are sent by.
const QUEUE: u32 = 0;

const XDP_MMAP_OFFSETS: i32 = 1;
const XDP_RX_RING: i32 = 2;
const XDP_TX_RING: i32 = 3;
const XDP_UMEM_REG: i32 = 4;
const XDP_UMEM_FILL_RING: i32 = 5;
const XDP_UMEM_COMPLETION_RING: i32 = 6;
/// The socket's counters of what was lost.
pub const XDP_STATISTICS: i32 = 7;
const XDP_PGOFF_TX_RING: i64 = 0x8000_0000;
const XDP_UMEM_PGOFF_FILL_RING: i64 = 0x1_0000_0000;
const XDP_UMEM_PGOFF_COMPLETION_RING: i64 = 0x1_8000_0000;
/// Flags of the socket.
const XDP_OPTIONS: i32 = 8;
const XDP_OPTIONS_ZEROCOPY: u32 = 1;
const XDP_COPY: u16 = 1 << 1;
const XDP_ZEROCOPY: u16 = 1 << 2;
const XDP_USE_NEED_WAKEUP: u16 = 1 << 3;

/// struct xdp_umem_reg.
#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    at: u64,
    len: u64,
    place: u32,
    headroom: u32,
    flags: u32,
    metadata: u32,
}

/// struct sockaddr_xdp.
#[repr(C)]
#[derive(Clone, Copy)]
struct Address {
    family: u16,
    flags: u16,
    interface: u32,
    queue: u32,
    shared: u32,
}

/// struct xdp_desc.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// Where the frame begins in the memory.
    pub at: u64,
    /// Its bytes.
    pub len: u32,
    /// None are known.
    pub options: u32,
}

/// A socket, and the memory that it shares with the kernel.
pub struct Area {
    pub socket: OwnedFd,
    memory: Mapping,
}

impl Area {
    /// A frame's bytes.
    ///
    /// # Safety
    /// The place is this side's: taken from the ring of received frames, or not given to the kernel.
    #[expect(clippy::mut_from_ref, reason = "each place has one owner at a time")]
    pub unsafe fn bytes(&self, at: u64, len: usize) -> &mut [u8] {
        let at = at as usize;
        assert!(
            at + len <= self.memory.len(),
            "the kernel keeps within the memory it was given"
        );
        // SAFETY: within the mapping; that nobody else has it is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(at), len) }
    }

    /// Of a test that stands in for the kernel behind a socket.
    #[cfg(test)]
    pub fn fake(socket: OwnedFd) -> io::Result<Area> {
        let memory = Mapping::new(2 * PLACES as usize * PLACE, None)?;
        Ok(Area { socket, memory })
    }

    /// Binds the socket to a queue with the flags of the first attempt that the kernel takes; whether frames are not copied.
    fn bind(&self, interface: &Interface, queue: u32, copying: Copying) -> io::Result<bool> {
        // Without a flag the kernel tries zero copy, and falls back by itself; a driver may say no in a way that it does not expect.
        let attempts: &[u16] = match copying {
            Copying::IfNeeded => &[0, XDP_COPY],
            Copying::Always => &[XDP_COPY],
            Copying::Never => &[XDP_ZEROCOPY],
        };
        let mut bound = Ok(());
        for flags in attempts {
            let address = Address {
                family: libc::AF_XDP as u16,
                flags: flags | XDP_USE_NEED_WAKEUP,
                interface: interface.index,
                queue,
                shared: 0,
            };
            // SAFETY: the address is valid and its length is given.
            let result = unsafe {
                let len = size_of::<Address>() as u32;
                libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), len)
            };
            bound = match result {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            };
            if bound.is_ok() {
                break;
            }
        }
        bound?;
        // Kernels before 5.3 do not know the question, and say nothing about it.
        let options: u32 = self.ask(XDP_OPTIONS).unwrap_or(0);
        Ok(options & XDP_OPTIONS_ZEROCOPY != 0)
    }

    fn set<T: Copy>(&self, option: i32, value: T) -> io::Result<()> {
        // SAFETY: the value is valid and its length is given.
        let result = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw const value).cast(),
                size_of::<T>() as u32,
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Asks for an option's value.
    pub fn ask<T: Default>(&self, option: i32) -> io::Result<T> {
        let (mut value, mut len) = (T::default(), size_of::<T>() as u32);
        // SAFETY: the value is valid and its length is given; the kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw mut value).cast(),
                &mut len,
            )
        };
        match result {
            0 => Ok(value),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The receiving side of a queue.
pub struct Lane {
    /// The socket.
    pub area: Arc<Area>,
    /// Places for frames to come.
    pub fill: Ring<u64>,
    /// Frames that have come.
    pub received: Ring<Descriptor>,
    /// Whether the driver itself writes and reads the memory.
    pub zero_copy: bool,
}

/// Makes the socket of a queue; the lowest one can send as well.
pub fn make_lane(
    interface: &Interface,
    queue: u32,
    copying: Copying,
) -> io::Result<(Lane, Option<SendLane>)> {
    // SAFETY: a plain system call; the result is checked before it is owned.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let sends = queue == QUEUE;
    // The first half is for frames received, the second for frames to send.
    let places = if sends { 2 * PLACES } else { PLACES };
    let memory = Mapping::new(places as usize * PLACE, None)?;
    let area = Area { socket, memory };
    area.set(
        XDP_UMEM_REG,
        Memory {
            at: area.memory.start() as u64,
            len: area.memory.len() as u64,
            place: PLACE as u32,
            headroom: 0,
            flags: 0,
            metadata: 0,
        },
    )?;
    for ring in [XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING] {
        area.set(ring, PLACES)?;
    }
    if sends {
        area.set(XDP_TX_RING, PLACES)?;
    }
    let [received, sent, fill, completion]: [Offsets; 4] = area.ask(XDP_MMAP_OFFSETS)?;
    let fd = &area.socket;
    let mut fill = Ring::map(fd, XDP_UMEM_PGOFF_FILL_RING, fill, PLACES)?;
    let received = Ring::map(fd, 0, received, PLACES)?;
    let completion = Ring::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, completion, PLACES)?;
    let sent = match sends {
        true => Some(Ring::map(fd, XDP_PGOFF_TX_RING, sent, PLACES)?),
        false => None,
    };
    let place = |index: u32| u64::from(index) * PLACE as u64;
    (0..PLACES).for_each(|index| fill.put(place(index)));
    fill.publish();
    let zero_copy = area.bind(interface, queue, copying)?;
    let area = Arc::new(area);
    let sender = sent.map(|ring| SendLane {
        area: area.clone(),
        ring,
        completion,
        free: (PLACES..2 * PLACES).map(place).collect(),
        zero_copy,
    });
    let lane = Lane {
        area,
        fill,
        received,
        zero_copy,
    };
    Ok((lane, sender))
}

/// The sending side of the lowest queue.
pub struct SendLane {
    /// The socket.
    pub area: Arc<Area>,
    /// Frames to send.
    pub ring: Ring<Descriptor>,
    /// Places of frames that were sent.
    pub completion: Ring<u64>,
    /// Places that hold no frame.
    pub free: Vec<u64>,
    /// Whether the driver takes frames from the ring by itself.
    pub zero_copy: bool,
}
