//! The kernel's stamps of frames that are sent: when it gave them to the driver.

use super::socket::Socket;
use crate::clock::Converter;
use std::os::fd::RawFd;

const TX_SOFTWARE: u32 = 1 << 1;
const SOFTWARE: u32 = 1 << 4;
/// The stamp alone comes back, not the frame with it.
const STAMP_ONLY: u32 = 1 << 11;
/// Bytes of the control message that asks: a header and a word, padded to words of 8 bytes.
const ASK: usize = 24;
/// Room for what comes back: the stamp, and what else the kernel likes to tell.
const ANSWER: usize = 256;

#[repr(C, align(8))]
struct Control<const N: usize>([u8; N]);

/// Asks for stamps and reads them.
pub struct Stamper {
    works: bool,
    clock: Converter,
    ask: Control<ASK>,
}

impl Stamper {
    /// For this socket. Stamps are made only of frames sent by [`send`](Stamper::send).
    pub fn new(socket: &Socket) -> Stamper {
        let mut ask = Control([0; ASK]);
        // struct cmsghdr: length, level, type; then the flag.
        let (head, rest) = ask.0.split_at_mut(8);
        head.copy_from_slice(&20usize.to_ne_bytes());
        rest[..4].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        rest[4..8].copy_from_slice(&libc::SO_TIMESTAMPING.to_ne_bytes());
        rest[8..12].copy_from_slice(&TX_SOFTWARE.to_ne_bytes());
        let flags = SOFTWARE | STAMP_ONLY;
        let result = socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags, "");
        Stamper {
            // Without stamps everything else works.
            works: result.is_ok() && size_of::<usize>() == 8,
            clock: Converter::new(),
            ask,
        }
    }

    /// Whether the kernel knows of such stamps; a driver may still give none.
    pub fn works(&self) -> bool {
        self.works
    }

    /// Sends the frame that the header leads to, to be stamped; 1, or -1 as the system call.
    ///
    /// # Safety
    /// The header leads to one valid vector, or to none where a ring has the frame.
    pub unsafe fn send(&mut self, fd: RawFd, header: &mut libc::msghdr) -> isize {
        header.msg_control = self.ask.0.as_mut_ptr().cast();
        header.msg_controllen = ASK as _;
        // SAFETY: the header is valid by the caller's word, and so is its control message.
        let sent = unsafe { libc::sendmsg(fd, header, libc::MSG_DONTWAIT) };
        header.msg_control = std::ptr::null_mut();
        header.msg_controllen = 0;
        sent.min(1)
    }

    /// A stamp that has come.
    pub fn take(&mut self, fd: RawFd) -> Option<u64> {
        let mut answer = Control([0; ANSWER]);
        // SAFETY: an all-zero header is a valid one; with the control buffer it is what the call wants.
        let result = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_control = answer.0.as_mut_ptr().cast();
            header.msg_controllen = ANSWER as _;
            libc::recvmsg(fd, &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
        };
        if result < 0 {
            return None;
        }
        let wall = wall_of(&answer.0)?;
        self.clock.refresh();
        Some(self.clock.convert(wall))
    }
}

/// The software stamp in control messages, ns since 1970.
fn wall_of(control: &[u8]) -> Option<u64> {
    let mut rest = control;
    while rest.len() >= 32 {
        let word = |at: usize| u64::from_ne_bytes(rest[at..at + 8].try_into().unwrap_or_default());
        let half = |at: usize| i32::from_ne_bytes(rest[at..at + 4].try_into().unwrap_or_default());
        let len = word(0) as usize;
        if half(8) == libc::SOL_SOCKET && half(12) == libc::SCM_TIMESTAMPING {
            return Some(word(16) * 1_000_000_000 + word(24));
        }
        if len < 16 {
            return None;
        }
        rest = rest.get(len.next_multiple_of(8)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_is_found_among_other_messages() {
        let mut control = Vec::new();
        for (kind, words) in [(1, vec![9u64; 2]), (libc::SCM_TIMESTAMPING, vec![3, 500])] {
            control.extend((16 + 8 * words.len()).to_ne_bytes());
            control.extend(libc::SOL_SOCKET.to_ne_bytes());
            control.extend(kind.to_ne_bytes());
            words
                .iter()
                .for_each(|word| control.extend(word.to_ne_bytes()));
        }
        assert_eq!(wall_of(&control), Some(3_000_000_500));
        assert_eq!(wall_of(&control[..40]), None);
        assert_eq!(wall_of(&[0; 64]), None);
    }
}
