//! Receiving by recvmmsg, of datagrams that the kernel may have put together.

use crate::kernel::clock::{Converter, now_ns};
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// Buffers a call, each for one datagram or for those that were put together.
const BATCH: usize = 16;
/// Calls before the caller has its turn again.
const CALLS: usize = 4;
/// Bytes of one: the longest that UDP has.
const PLACE: usize = 65_536;
/// Bytes for its control messages: stamp, losses, length.
const CONTROL: usize = 128;

/// What the kernel writes into.
pub struct Buffers {
    places: Box<[u8]>,
    controls: Box<[Control]>,
    /// What the kernel says last of how many it dropped, of 32 bits, and of all.
    said: u32,
    lost: u64,
}

/// Control messages are made of size_t.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// What is told beside the bytes.
#[derive(Default)]
struct Beside {
    wall_ns: Option<u64>,
    lost: Option<u32>,
    segment: Option<usize>,
}

impl Buffers {
    pub fn new() -> Buffers {
        Buffers {
            places: vec![0; BATCH * PLACE].into(),
            controls: vec![Control([0; CONTROL]); BATCH].into(),
            said: 0,
            lost: 0,
        }
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Gives what is there now.
    pub fn take(
        &mut self,
        fd: RawFd,
        clock: &mut Converter,
        sink: &mut dyn FnMut(SocketAddr, &[u8], u64),
    ) -> io::Result<usize> {
        let mut given = 0;
        for _ in 0..CALLS {
            match self.call(fd, clock, sink) {
                Ok((taken, datagrams)) => {
                    given += datagrams;
                    if taken < BATCH {
                        break;
                    }
                }
                // It comes again with the next call, if it lasts.
                Err(_) if given > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(given)
    }

    /// One call: how many buffers were filled, and how many datagrams were in them.
    fn call(
        &mut self,
        fd: RawFd,
        clock: &mut Converter,
        sink: &mut dyn FnMut(SocketAddr, &[u8], u64),
    ) -> io::Result<(usize, usize)> {
        let mut addresses: [_; BATCH] = std::array::from_fn(|_| SockAddrStorage::zeroed());
        // SAFETY: all-zero is valid for these plain structures.
        let (mut headers, mut vectors) = unsafe {
            (
                std::mem::zeroed::<[libc::mmsghdr; BATCH]>(),
                std::mem::zeroed::<[libc::iovec; BATCH]>(),
            )
        };
        let places = self.places.chunks_exact_mut(PLACE);
        for (index, (place, control)) in places.zip(self.controls.iter_mut()).enumerate() {
            vectors[index] = libc::iovec {
                iov_base: place.as_mut_ptr().cast(),
                iov_len: PLACE,
            };
            let header = &mut headers[index].msg_hdr;
            header.msg_iov = &raw mut vectors[index];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut addresses[index]).cast();
            header.msg_namelen = addresses[index].size_of();
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        // SAFETY: the headers lead to memory of the lengths that they give, which lives until the call is over.
        let got = unsafe {
            libc::recvmmsg(
                fd,
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok((0, 0)),
                _ => Err(error),
            };
        };
        let mut datagrams = 0;
        for (index, address) in addresses.into_iter().enumerate().take(got) {
            let header = &headers[index];
            let control = &self.controls[index].0[..header.msg_hdr.msg_controllen.min(CONTROL)];
            let beside = read_beside(control);
            if let Some(said) = beside.lost {
                self.lost += u64::from(said.wrapping_sub(self.said));
                self.said = said;
            }
            // SAFETY: the kernel has written an address of this length there.
            let from = unsafe { SockAddr::new(address, header.msg_hdr.msg_namelen) };
            let Some(from) = from.as_socket() else {
                continue;
            };
            // IPv4 as such, though it came to a socket of both.
            let from = SocketAddr::new(from.ip().to_canonical(), from.port());
            let at = beside
                .wall_ns
                .map_or_else(now_ns, |wall| clock.convert(wall));
            let bytes = &self.places[index * PLACE..][..(header.msg_len as usize).min(PLACE)];
            let segment = beside.segment.unwrap_or(bytes.len()).max(1);
            match bytes {
                [] => {
                    datagrams += 1;
                    sink(from, bytes, at);
                }
                _ => bytes.chunks(segment).for_each(|datagram| {
                    datagrams += 1;
                    sink(from, datagram, at);
                }),
            }
        }
        Ok((got, datagrams))
    }
}

fn read_beside(control: &[u8]) -> Beside {
    let mut beside = Beside::default();
    let mut rest = control;
    let head = size_of::<libc::cmsghdr>();
    while rest.len() >= head {
        // SAFETY: there are enough bytes for a header, which is plain data.
        let message: libc::cmsghdr =
            unsafe { rest.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let len = message.cmsg_len;
        if len < head || len > rest.len() {
            break;
        }
        let data = &rest[head..len];
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| data[at + i]));
        let half = || u32::from_ne_bytes([data[0], data[1], data[2], data[3]]);
        match (message.cmsg_level, message.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if data.len() >= 16 => {
                beside.wall_ns = Some(word(0) * 1_000_000_000 + word(8));
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) if data.len() >= 4 => {
                beside.lost = Some(half());
            }
            (libc::SOL_UDP, libc::UDP_GRO) if data.len() >= 4 => {
                beside.segment = Some(half() as usize);
            }
            _ => {}
        }
        rest = rest
            .get(len.next_multiple_of(size_of::<usize>())..)
            .unwrap_or(&[]);
    }
    beside
}
