//! Figure 4.4: gain of a MAC that computes checksums from several packets in one buffer.
//!
//! A buffer is whole pages, as memory for a device is, and is handed on by a flag. By *batching* it has one
//! packet; by *packing* 2, 4, up to 32, each with its length and the offset of the next in front of it.
//! The same number of packets is in the ring each time, more than a cache holds.

use super::{Rows, rate, reference};
use phy::crc;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

/// Packets in the ring.
const PACKETS: usize = 4096;
const PAGE: usize = 4096;
const FACTORS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const SIZES: [usize; 9] = [64, 96, 128, 192, 256, 384, 512, 1024, 1518];
/// Length and offset, and the first byte of a packet at a multiple of 16.
const HEAD: usize = 16;

/// A buffer: pages, and the flag by which it is handed on.
struct Buffer {
    full: AtomicU32,
    start: usize,
}

struct Ring {
    memory: Vec<u8>,
    buffers: Vec<Buffer>,
}

impl Ring {
    fn new(size: usize, factor: usize) -> Ring {
        let step = (HEAD + size).next_multiple_of(16);
        let pages = (factor * step).div_ceil(PAGE) * PAGE;
        let count = PACKETS / factor;
        let mut memory = super::noise(count * pages);
        let mut buffers = Vec::new();
        for at in 0..count {
            // Neighbours in the ring are none in memory: an odd step goes through all of them.
            let start = at * 1_237 % count * pages;
            for packet in 0..factor {
                let head = start + packet * step;
                let next = if packet + 1 < factor { step as u32 } else { 0 };
                memory[head..head + 4].copy_from_slice(&(size as u32).to_le_bytes());
                memory[head + 4..head + 8].copy_from_slice(&next.to_le_bytes());
            }
            buffers.push(Buffer {
                full: AtomicU32::new(0),
                start,
            });
        }
        Ring { memory, buffers }
    }

    /// Writes the check sum of each packet behind it, and hands the buffer on.
    fn turn(&mut self) {
        for buffer in &self.buffers {
            let mut at = buffer.start;
            loop {
                let field = |at: usize| {
                    let bytes = self.memory[at..].first_chunk().expect("four bytes");
                    u32::from_le_bytes(*bytes) as usize
                };
                let (size, next) = (field(at), field(at + 4));
                let frame = &mut self.memory[at + HEAD..at + HEAD + size];
                let (frame, fcs) = frame.split_at_mut(size - 4);
                fcs.copy_from_slice(&crc::fcs(frame).to_le_bytes());
                if next == 0 {
                    break;
                }
                at += next;
            }
            buffer.full.store(1, Ordering::SeqCst);
        }
    }
}

pub fn print(rows: &mut Rows) -> anyhow::Result<()> {
    rows.head("size  batching    pack-2    pack-4    pack-8   pack-16   pack-32 reference")?;
    for size in SIZES {
        let mut rates: Vec<f64> = FACTORS
            .iter()
            .map(|&factor| {
                let mut ring = Ring::new(size, factor);
                rate(size, PACKETS, || ring.turn())
            })
            .collect();
        rates.push(reference(size));
        rows.row(size, black_box(&rates))?;
    }
    Ok(())
}
