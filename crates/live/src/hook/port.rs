//! `nfqueue:NUMBER` as a port: what somebody's rules put into a queue of netfilter.
//!
//! Packets are accepted once they have been read. What is sent is injected, and goes where the kernel routes it. A node that is to
//! answer about packets is at the queues by [`Relay::on_queues`](super::Relay::on_queues).

use super::inject::{Injected, Injector};
use super::message::{self, Told};
use super::packets::{self, ETHERNET};
use super::pending::Pending;
use super::queue::{self, Manner, Queue};
use super::socket::Inbox;
use super::verdicts::{Answer, Verdicts};
use super::ways::Ways;
use super::{Config, Fail, HookError, MARK};
use crate::clock::{epoch_ns, now_ns};
use crate::port::{
    Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Stamps, Transmit, TxCounters,
};
use node::Pool;
use packet::LONGEST_ON_WIRE;
use std::os::fd::RawFd;
use std::time::Duration;

/// Opens a queue as a port.
///
/// # Errors
/// What is missing, and the mend.
pub fn open(number: u16, options: &Options) -> Result<Port, PortError> {
    let name = format!("nfqueue:{number}");
    let failed = |error: HookError| PortError::Queue {
        name: name.clone(),
        error: Box::new(error),
    };
    let manner = Manner {
        length: Config::default().length,
        fail: Fail::Open,
        chains: false,
    };
    let queue = Queue::bind(number, manner).map_err(failed)?;
    let ways = Ways::none();
    let injector = Injector::open(&ways, 1, MARK | u32::from(number))
        .map_err(|error| failed(HookError::from_io("opening sockets to send by", error)))?;
    Ok(Port {
        info: PortInfo {
            name: name.clone(),
            tick: options.tick,
            stamps: Stamps::Software,
            mac: None,
            mtu: (LONGEST_ON_WIRE - ETHERNET) as u32,
            method: "nfqueue",
            driver: String::new(),
            link: true,
            hardware_stamps: false,
            epoch_ns: epoch_ns(),
            on_demand: false,
        },
        rx: Box::new(Receiver {
            name: name.clone(),
            queue,
            inbox: Inbox::new(),
            pool: Pool::default(),
            pending: Pending::new(0),
            verdicts: Verdicts::default(),
            last: None,
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            name,
            ways,
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
    /// The number of the last packet.
    last: Option<u64>,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let failed = |source| PortError::from_io(&self.name, "reading", "CAP_NET_ADMIN", source);
        let mut got = self
            .inbox
            .receive(&self.queue.socket, &mut self.pool)
            .map_err(failed)?;
        if got == 0 && !wait.is_zero() {
            let fd = self.queue.socket.descriptor();
            crate::wait::for_event(fd, libc::POLLIN, wait).map_err(failed)?;
            got = self
                .inbox
                .receive(&self.queue.socket, &mut self.pool)
                .map_err(failed)?;
        }
        let at_ns = now_ns();
        let mut given = 0;
        for place in 0..got {
            let bytes = self.inbox.message_mut(place);
            let Some((Told::Packet(packet), _)) = message::read(bytes, 0) else {
                continue;
            };
            let id = match self.last {
                None => u64::from(packet.id) | 1 << 32,
                Some(last) => {
                    let step = packet.id.wrapping_sub(last as u32) as i32;
                    self.counters.dropped += u64::try_from(step - 1).unwrap_or(0);
                    last.wrapping_add_signed(step.into())
                }
            };
            self.last = Some(id);
            let (ticket, waiting) = self.pending.add();
            waiting.id = id;
            self.verdicts.put(ticket, Answer::Accept);
            let len = packet.end - packet.start + ETHERNET;
            if packet.start < ETHERNET || packet.whole.is_some() || len > LONGEST_ON_WIRE {
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
            dropped: self.counters.dropped + queue::dropped(self.queue.number),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.queue.socket.descriptor())
    }
}

struct Sender {
    name: String,
    ways: Ways,
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
            match self.injector.send(&self.ways, port, protocol, packet) {
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
