//! Control messages: what the kernel tells beside the bytes that a socket received (cmsg(3)).

use libc::cmsghdr;

/// The messages in a buffer that `recvmsg` filled. One that is cut short ends them.
pub struct ControlMessages<'a>(&'a [u8]);

/// One of them.
pub struct ControlMessage<'a> {
    /// Who says it, as `SOL_SOCKET`.
    pub level: i32,
    /// What it is, as `SCM_TIMESTAMPNS`.
    pub kind: i32,
    /// What is said.
    pub data: &'a [u8],
}

impl<'a> ControlMessages<'a> {
    /// Of the bytes that the kernel says it wrote.
    pub fn new(written: &'a [u8]) -> ControlMessages<'a> {
        ControlMessages(written)
    }
}

impl<'a> Iterator for ControlMessages<'a> {
    type Item = ControlMessage<'a>;

    fn next(&mut self) -> Option<ControlMessage<'a>> {
        let head = size_of::<cmsghdr>();
        if self.0.len() < head {
            return None;
        }
        // SAFETY: there are enough bytes for a header, which is plain data.
        let header: cmsghdr = unsafe { self.0.as_ptr().cast::<cmsghdr>().read_unaligned() };
        let len = header.cmsg_len;
        if len < head || len > self.0.len() {
            return None;
        }
        let data = &self.0[head..len];
        let next = len.next_multiple_of(size_of::<usize>());
        self.0 = self.0.get(next..).unwrap_or(&[]);
        Some(ControlMessage {
            level: header.cmsg_level,
            kind: header.cmsg_type,
            data,
        })
    }
}

impl ControlMessage<'_> {
    /// The kernel's stamp, ns since 1970, if it is one.
    pub fn wall_ns(&self) -> Option<u64> {
        let stamp = (self.level, self.kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
        let word = |at: usize| Some(u64::from_ne_bytes(*self.data.get(at..)?.first_chunk()?));
        stamp.then_some(())?;
        Some(word(0)? * 1_000_000_000 + word(8)?)
    }

    /// Four bytes of it, in this machine's order.
    pub fn word(&self) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.data.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it, with this length in its header.
    fn message(kind: i32, data: &[u8], len: usize) -> Vec<u8> {
        let mut bytes = len.to_ne_bytes().to_vec();
        bytes.extend(libc::SOL_SOCKET.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    #[test]
    fn each_message_is_given_with_what_it_says() {
        let mut bytes = message(libc::SO_RXQ_OVFL, &7u32.to_ne_bytes(), 20);
        let stamp: Vec<u8> = [3u64, 5].iter().flat_map(|n| n.to_ne_bytes()).collect();
        bytes.extend(message(libc::SCM_TIMESTAMPNS, &stamp, 32));
        let [first, second] = ControlMessages::new(&bytes)
            .collect::<Vec<_>>()
            .try_into()
            .ok()
            .expect("two");
        assert_eq!((first.word(), first.wall_ns()), (Some(7), None));
        assert_eq!(second.wall_ns(), Some(3_000_000_005));
    }

    #[test]
    fn what_is_cut_short_is_not_given() {
        for len in [0, 15, 25, usize::MAX] {
            let bytes = message(libc::SO_RXQ_OVFL, &7u32.to_ne_bytes(), len);
            assert_eq!(ControlMessages::new(&bytes).count(), 0, "{len}");
        }
        assert_eq!(ControlMessages::new(&[1; 15]).count(), 0);
        let short = message(libc::SCM_TIMESTAMPNS, &[0; 12], 28);
        assert_eq!(ControlMessages::new(&short).next().unwrap().wall_ns(), None);
    }
}
