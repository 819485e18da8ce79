//! The kernel's stamps of frames that are sent: when it gave them to the driver.

use super::socket::Socket;
use ::capture::clock::Converter;
use std::os::fd::RawFd;

const TX_SOFTWARE: u32 = 1 << 1;
const SOFTWARE: u32 = 1 << 4;
/// The stamp alone comes back, not the frame with it.
const STAMP_ONLY: u32 = 1 << 11;
/// Room for what comes back: the stamp, and what else the kernel likes to tell.
const ANSWER: usize = 256;

#[repr(C, align(8))]
struct Control<const N: usize>([u8; N]);

/// Asks for stamps and reads them.
///
/// They are switched on for one frame and off behind it, well before and after its time, so that it goes the
/// way that all others go: one that asked by a control message was 2 us slower.
pub struct Stamper {
    works: bool,
    on: bool,
    clock: Converter,
}

impl Stamper {
    /// For this socket; no stamps are made yet.
    pub fn new(socket: &Socket) -> Stamper {
        Stamper {
            // Without stamps everything else works.
            works: switch(socket, SOFTWARE | STAMP_ONLY) && size_of::<usize>() == 8,
            on: false,
            clock: Converter::new(),
        }
    }

    /// Has the next frame stamped; whether the kernel knows of that. A driver may still give no stamp.
    pub fn ask(&mut self, socket: &Socket) -> bool {
        self.on = self.works && switch(socket, TX_SOFTWARE | SOFTWARE | STAMP_ONLY);
        self.on
    }

    /// After each call that sends.
    #[inline]
    pub fn sent(&mut self, socket: &Socket) {
        if self.on {
            self.on = false;
            switch(socket, SOFTWARE | STAMP_ONLY);
        }
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

fn switch(socket: &Socket, flags: u32) -> bool {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    socket.set(level, option, flags, "").is_ok()
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
