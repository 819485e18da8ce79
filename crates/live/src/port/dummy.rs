//! `dummy`: a port without a wire. It gives the same frame as often as it is asked, and takes everything: what a
//! packet function costs by itself (paper 000 section 6.1, which has such a driver).

use super::TxCounters;
use super::{Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Transmit};
use ::capture::clock;
use packet::MAX_FRAME_LEN;
use std::time::Duration;

/// Minimum frame length without FCS, bytes; with it, the paper's 64.
pub const MIN_FRAME_LEN: usize = 60;
/// Bytes of frames that are given at a time, but at least one frame.
const BATCH: usize = 64 * 1024;

/// Opens one with frames of `len` bytes without FCS: a broadcast of an experimental EtherType (RFC 5342), and zeros.
pub fn open(len: usize, options: &Options) -> Port {
    let mut frame = vec![0; len];
    frame[..6].fill(0xFF);
    frame[6] = 0x02;
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    Port {
        info: PortInfo {
            mtu: MAX_FRAME_LEN as u32 - 14,
            on_demand: true,
            ..PortInfo::of("dummy".into(), "made on demand", options)
        },
        rx: Box::new(Source {
            frame,
            counters: RxCounters::default(),
        }),
        tx: Box::new(Taker::default()),
    }
}

struct Source {
    frame: Vec<u8>,
    counters: RxCounters,
}

impl Receive for Source {
    fn receive(
        &mut self,
        _wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let at_ns = clock::now_ns();
        let count = (BATCH / self.frame.len()).max(1);
        for _ in 0..count {
            sink(Received {
                bytes: &self.frame,
                at_ns,
            });
        }
        self.counters.received += count as u64;
        self.counters.bytes += (count * self.frame.len()) as u64;
        Ok(count)
    }

    fn counters(&self) -> RxCounters {
        self.counters
    }
}

#[derive(Default)]
struct Taker(TxCounters);

impl Transmit for Taker {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.0.sent += frames.len() as u64;
        self.0.bytes += frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
        Ok(frames.len())
    }

    fn method(&self) -> &'static str {
        "nowhere"
    }

    fn counters(&self) -> TxCounters {
        self.0
    }
}
