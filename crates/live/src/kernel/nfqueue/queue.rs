//! Queues of packets that wait for user space.

use super::message::{self, CONFIG};
use super::{Fail, QueueError};
use crate::kernel::netlink::{Protocol, Socket};
use std::io;

/// Where the kernel lists queues.
const LIST: &str = "/proc/thread-self/net/netfilter/nfnetlink_queue";
/// The first number that is tried when any will do.
const FIRST: u16 = 7700;
/// Socket buffer for unread packets, bytes as the kernel counts them.
const RECEIVE_BUFFER_BYTES: usize = 128 << 20;
/// Socket buffer for verdicts, bytes.
const SEND_BUFFER_BYTES: usize = 8 << 20;

const NFQA_CFG_CMD: u16 = 1;
const NFQA_CFG_PARAMS: u16 = 2;
const NFQA_CFG_QUEUE_MAXLEN: u16 = 3;
const NFQA_CFG_MASK: u16 = 4;
const NFQA_CFG_FLAGS: u16 = 5;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
const FAIL_OPEN: u32 = 1;
const GSO: u32 = 4;

/// A queue that is ours as long as this value lives.
#[derive(Debug)]
pub struct Queue {
    pub number: u16,
    /// Where its packets come from and its verdicts go.
    pub socket: Socket,
}

/// How a queue is.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Packets that may wait for an answer.
    pub length: u32,
    /// What becomes of those beyond.
    pub fail: Fail,
    /// Whether chains of segments come as one packet.
    pub chains: bool,
}

impl Queue {
    /// Takes the queue of this number.
    pub fn bind(number: u16, mode: Mode) -> Result<Queue, QueueError> {
        let failed = |doing: &str, error| QueueError::from_io(doing, error);
        let mut socket = Socket::open(Protocol::Netfilter, 0)
            .map_err(|error| failed("opening a netlink socket", error))?;
        socket.set_room(RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES);
        // Gaps in the numbers of packets tell of those for which there was no room.
        socket
            .set(libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)
            .map_err(|error| failed("setting up a netlink socket", error))?;
        let mut bytes = Vec::new();
        let first = socket.next_sequence();
        let ack = libc::NLM_F_ACK;
        let mut flags = 0;
        if mode.fail == Fail::Open {
            flags |= FAIL_OPEN;
        }
        if mode.chains {
            flags |= GSO;
        }
        message::begin(&mut bytes, CONFIG, ack, first, 0, number)
            .with(NFQA_CFG_CMD, &[BIND, 0, 0, 0])
            .end();
        socket
            .acknowledged(&bytes, first, first)
            .map_err(|(_, error)| match error.raw_os_error() {
                // The kernel says so of a queue that another process has, and of a lack of rights.
                Some(libc::EPERM | libc::EBUSY) if taken(number) => QueueError::Taken(number),
                _ => failed("taking a queue of netfilter", error),
            })?;
        bytes.clear();
        let second = socket.next_sequence();
        message::begin(&mut bytes, CONFIG, ack, second, 0, number)
            .with_be32(NFQA_CFG_QUEUE_MAXLEN, mode.length)
            .with_be32(NFQA_CFG_FLAGS, flags)
            .with_be32(NFQA_CFG_MASK, FAIL_OPEN | GSO)
            .end();
        socket
            .acknowledged(&bytes, second, second)
            .map_err(|(_, error)| failed("setting up a queue of netfilter", error))?;
        // From here on packets may come, so that no answer is waited for.
        bytes.clear();
        let mut params = [0; 5];
        params[..4].copy_from_slice(&0xFFFF_u32.to_be_bytes());
        params[4] = COPY_PACKET;
        message::begin(&mut bytes, CONFIG, 0, 0, 0, number)
            .with(NFQA_CFG_PARAMS, &params)
            .end();
        socket
            .send(&[std::io::IoSlice::new(&bytes)])
            .map_err(|error| failed("setting up a queue of netfilter", error))?;
        Ok(Queue { number, socket })
    }

    /// Takes so many queues in a row, whichever are free.
    pub fn bind_any(count: u16, mode: Mode) -> Result<Vec<Queue>, QueueError> {
        let mut first = FIRST;
        'tries: loop {
            let mut queues = Vec::new();
            for offset in 0..count {
                let number = first.checked_add(offset).ok_or(QueueError::NoneFree)?;
                match Queue::bind(number, mode) {
                    Ok(queue) => queues.push(queue),
                    Err(QueueError::Taken(taken)) => {
                        first = taken.checked_add(1).ok_or(QueueError::NoneFree)?;
                        continue 'tries;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(queues);
        }
    }
}

/// A line of the kernel's list.
struct Listed {
    number: u16,
    dropped: u64,
}

fn listed() -> io::Result<Vec<Listed>> {
    let text = std::fs::read_to_string(LIST)?;
    let lines = text.lines().filter_map(|line| {
        // Number, address of the socket, waiting, mode, range, dropped for want of room here, dropped for want of room
        // in the socket, last number, one.
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let dropped = words.nth(4)?.parse().ok()?;
        Some(Listed { number, dropped })
    });
    Ok(lines.collect())
}

fn taken(number: u16) -> bool {
    listed().is_ok_and(|list| list.iter().any(|queue| queue.number == number))
}

/// Packets that this thread's namespace dropped because the queue was full.
pub fn dropped(number: u16) -> u64 {
    let list = listed().unwrap_or_default();
    let found = list.iter().find(|queue| queue.number == number);
    found.map_or(0, |queue| queue.dropped)
}
