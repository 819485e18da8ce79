//! `nfqueue:NUMBER` as a port: what somebody's rules put into a queue of netfilter.
//!
//! Packets are accepted once they have been read. What is sent is injected, and goes where the kernel routes it. A node that is to
//! answer about packets is at the queues by [`Runner::on_queues`](crate::world::hook::Runner::on_queues).

use super::{
    Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Transmit, TxCounters,
};
use crate::kernel::nfqueue::inject::{Injected, Injector};
use crate::kernel::nfqueue::message::{self, Incoming};
use crate::kernel::nfqueue::packets::{self, ETHERNET};
use crate::kernel::nfqueue::pending::{Numbers, Pending};
use crate::kernel::nfqueue::verdicts::{Answer, Verdicts};
use crate::kernel::nfqueue::{self, Fail, Inbox, MARK, Mode, Queue, QueueError};
use crate::kernel::wait;
use ::capture::clock::now_ns;
use node::Pool;
use packet::MAX_WIRE_FRAME_LEN;
use std::os::fd::RawFd;
use std::time::Duration;

/// Packets that may wait in the queue.
const LENGTH: u32 = 4096;

/// Opens a queue as a port.
///
/// # Errors
/// The missing item, and the fix.
pub fn open(number: u16, options: &Options) -> Result<Port, PortError> {
    let name = format!("nfqueue:{number}");
    let failed = |error: QueueError| PortError::Queue {
        name: name.clone(),
        error: Box::new(error),
    };
    let mode = Mode {
        length: LENGTH,
        fail: Fail::Open,
        chains: false,
    };
    let queue = Queue::bind(number, mode).map_err(failed)?;
    let injector = Injector::open([None].into_iter(), MARK | u32::from(number))
        .map_err(|error| failed(QueueError::from_io("opening sockets to send by", error)))?;
    Ok(Port {
        info: PortInfo::of(name.clone(), "nfqueue", options),
        rx: Box::new(Receiver {
            name: name.clone(),
            queue,
            inbox: Inbox::default(),
            pool: Pool::default(),
            pending: Pending::new(0),
            verdicts: Verdicts::default(),
            numbers: Numbers::default(),
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            name,
            injector,
            counters: TxCounters::default(),
        }),
    })
}

struct Receiver {
    name: String,
    queue: Queue,
    inbox: Inbox,
    pool: Pool,
    pending: Pending,
    verdicts: Verdicts,
    numbers: Numbers,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let failed = |source| PortError::from_io(&self.name, "reading", "CAP_NET_ADMIN", source);
        let mut got = self.inbox.receive(&self.queue.socket).map_err(failed)?;
        if got == 0 && !wait.is_zero() {
            let fd = self.queue.socket.raw();
            wait::for_event(fd, libc::POLLIN, wait).map_err(failed)?;
            got = self.inbox.receive(&self.queue.socket).map_err(failed)?;
        }
        let at_ns = now_ns();
        let mut given = 0;
        for place in 0..got {
            let bytes = self.inbox.message_mut(place);
            let Some(Incoming::Packet(packet)) = message::read(bytes) else {
                continue;
            };
            let (id, missed) = self.numbers.next(packet.id);
            self.counters.dropped += missed;
            let (ticket, waiting) = self.pending.add();
            waiting.id = id;
            self.verdicts.put(ticket, Answer::Accept);
            let len = packet.end - packet.start + ETHERNET;
            if packet.start < ETHERNET || packet.whole.is_some() || len > MAX_WIRE_FRAME_LEN {
                self.counters.refused += 1;
                continue;
            }
            let frame = &mut bytes[packet.start - ETHERNET..packet.end];
            packets::dress(frame, [0; 6], packet.source, packet.protocol);
            self.counters.received += 1;
            self.counters.bytes += len as u64;
            given += 1;
            sink(Received {
                bytes: frame,
                at_ns,
            });
        }
        let sent = self.verdicts.send(
            &self.queue.socket,
            self.queue.number,
            &mut self.pending,
            &mut self.pool,
            |_, _| (),
        );
        sent.map_err(|source| {
            PortError::from_io(&self.name, "accepting packets", "CAP_NET_ADMIN", source)
        })?;
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            dropped: self.counters.dropped + nfqueue::dropped(self.queue.number),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.queue.socket.raw())
    }
}

struct Sender {
    name: String,
    injector: Injector,
    counters: TxCounters,
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        for (index, frame) in frames.iter().enumerate() {
            let Some((protocol, len)) = packets::packet_of(frame) else {
                if index > 0 {
                    return Ok(index);
                }
                self.counters.refused += 1;
                return Err(PortError::NoPacket {
                    name: self.name.clone(),
                });
            };
            let packet = &frame[ETHERNET..ETHERNET + len];
            let port = node::Port(0);
            match self.injector.send(port, protocol, packet) {
                Injected::Whole | Injected::Pieces => {
                    self.counters.sent += 1;
                    self.counters.bytes += len as u64;
                }
                Injected::TooBig | Injected::Refused => self.counters.refused += 1,
            }
        }
        Ok(frames.len())
    }

    fn method(&self) -> &'static str {
        "raw socket"
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
