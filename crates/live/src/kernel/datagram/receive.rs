//! Receiving by recvmmsg, of datagrams that the kernel may have put together.

use crate::kernel::control::ControlMessages;
use ::capture::clock::{Converter, now_ns};
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::net::{IpAddr, SocketAddr};
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

/// What comes with the bytes.
#[derive(Default)]
struct Ancillary {
    wall_ns: Option<u64>,
    lost: Option<u32>,
    segment: Option<usize>,
    to: Option<IpAddr>,
}

/// A datagram that has come.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Where from.
    pub from: SocketAddr,
    /// To which address of this machine, if the socket [tells](super::Datagrams::tell_destinations).
    pub to: Option<IpAddr>,
    /// What is in it.
    pub bytes: &'a [u8],
    /// When, ns on the machine's counter.
    pub at_ns: u64,
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
        sink: &mut dyn FnMut(Datagram<'_>),
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
        sink: &mut dyn FnMut(Datagram<'_>),
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
            let ancillary = read_ancillary(control);
            if let Some(said) = ancillary.lost {
                self.lost += u64::from(said.wrapping_sub(self.said));
                self.said = said;
            }
            // SAFETY: the kernel has written an address of this length there.
            let from = unsafe { SockAddr::new(address, header.msg_hdr.msg_namelen) };
            let Some(from) = from.as_socket() else {
                continue;
            };
            // IPv4 as such, though it came to a socket of both.
            let from = match from.ip().to_canonical() {
                IpAddr::V4(v4) => (v4, from.port()).into(),
                // With its scope, which link-local addresses need.
                IpAddr::V6(_) => from,
            };
            let at_ns = ancillary
                .wall_ns
                .map_or_else(now_ns, |wall| clock.convert(wall));
            let bytes = &self.places[index * PLACE..][..(header.msg_len as usize).min(PLACE)];
            let segment = ancillary.segment.unwrap_or(bytes.len()).max(1);
            let to = ancillary.to.map(|to| to.to_canonical());
            let mut give = |bytes| {
                datagrams += 1;
                sink(Datagram {
                    from,
                    to,
                    bytes,
                    at_ns,
                });
            };
            match bytes {
                [] => give(bytes),
                _ => bytes.chunks(segment).for_each(give),
            }
        }
        Ok((got, datagrams))
    }
}

fn read_ancillary(control: &[u8]) -> Ancillary {
    let mut ancillary = Ancillary::default();
    for message in ControlMessages::new(control) {
        if let Some(wall_ns) = message.wall_ns() {
            ancillary.wall_ns = Some(wall_ns);
        }
        match (message.level, message.kind) {
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => ancillary.lost = message.word(),
            (libc::SOL_UDP, libc::UDP_GRO) => {
                ancillary.segment = message.word().map(|bytes| bytes as usize);
            }
            // in_pktinfo: the interface, the address that answers, the address in the header.
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                let address = message.data.get(8..).and_then(|rest| rest.first_chunk());
                ancillary.to = address.map(|address: &[u8; 4]| (*address).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                let address = message.data.first_chunk();
                ancillary.to = address.map(|address: &[u8; 16]| (*address).into());
            }
            _ => {}
        }
    }
    ancillary
}
