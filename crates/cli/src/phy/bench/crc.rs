//! Figure 4.5: the frame check sequence by three algorithms, over 16 pages packed with frames of one size.

use super::{Rows, SIZES, noise, rate, reference};
use phy::crc;
use std::hint::black_box;

/// 16 pages, as in the paper.
const BUFFER: usize = 16 * 4096;
/// CRC-32 with its bits in the order of the wire.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// A bit at a time. Written bit by bit of the frame: a loop over the eight bits of a byte is known to the
/// compiler, which makes a table of it.
fn serial(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for bit in 0..8 * bytes.len() {
        let out = (crc ^ u32::from(bytes[bit / 8] >> (bit % 8))) & 1;
        crc = (crc >> 1) ^ (POLYNOMIAL & out.wrapping_neg());
    }
    !crc
}

/// The effect of eight bits on the remainder, up to seven bytes later.
const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut at = 0;
    while at < 8 * 256 {
        let (behind, byte) = (at / 256, at % 256);
        let mut crc = match behind {
            0 => byte as u32,
            _ => tables[behind - 1][byte],
        };
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        tables[behind][byte] = crc;
        at += 1;
    }
    tables
};

/// Eight bytes at a time, by tables, as the kernel of the paper does.
fn table(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word) ^ u64::from(crc);
        let of = |behind: usize| TABLES[behind][usize::from((word >> (56 - 8 * behind)) as u8)];
        crc = of(0) ^ of(1) ^ of(2) ^ of(3) ^ of(4) ^ of(5) ^ of(6) ^ of(7);
    }
    let step = |crc: u32, byte: &u8| (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    !rest.iter().fold(crc, step)
}

pub fn print(rows: &mut Rows) -> anyhow::Result<()> {
    rows.head("size  bit-serial     table crc32fast reference")?;
    for size in SIZES {
        let bytes = noise(BUFFER);
        let frames = BUFFER / size;
        let sums = |sum: fn(&[u8]) -> u32| {
            let frames = bytes.chunks_exact(size).take(frames);
            frames.fold(0, |all, frame| all ^ sum(black_box(&frame[..size - 4])))
        };
        assert_eq!(sums(serial), sums(crc::fcs));
        assert_eq!(sums(table), sums(crc::fcs));
        let measure = |sum: fn(&[u8]) -> u32| {
            rate(size, frames, || {
                black_box(sums(sum));
            })
        };
        let rates = [
            measure(serial),
            measure(table),
            measure(crc::fcs),
            reference(size),
        ];
        rows.row(size, &rates)?;
    }
    Ok(())
}
