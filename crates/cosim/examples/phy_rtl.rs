//! MAC and PCS in Verilog as two ends of a pipe of bits, for figures 4.6 to 4.9 of paper 002 (sections 4.2.1 and 4.3).
//!
//! ```sh
//! phy_rtl transmit 1518 20000 1356800 | wire phy decode --table    # bytes a frame, frames, picoseconds between them (0: the line's rate)
//! wire gen ... | wire phy encode --idles 170 --raw lsb | phy_rtl receive
//! ```
//!
//! Bits are those of `--raw lsb`, aligned to blocks. `receive` tells a line for each frame: the cycle, picoseconds since the first block, bytes
//! without FCS, and whether it is good. Both tell on stderr what share of the line it was.

use cosim::Module;
use cosim::ports::mac_pcs10g::{
    LAYOUT, M_AXIS_TKEEP, M_AXIS_TLAST, M_AXIS_TUSER, M_AXIS_TVALID, RX_BEGINS, RX_BEGINS_HIGH,
    RX_FRAGMENT, RX_HEADER, RX_PAYLOAD, RX_RST, S_AXIS_TDATA, S_AXIS_TKEEP, S_AXIS_TLAST,
    S_AXIS_TREADY, S_AXIS_TVALID, TX_HEADER, TX_PAYLOAD,
};
use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufWriter, Read, Write};

/// A cycle of 156.25 MHz, picoseconds.
const CYCLE: u64 = 6_400;
/// A block on the line: header and payload.
const BLOCK_BITS: u32 = 66;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["transmit", size, count, period] => {
            transmit(size.parse()?, count.parse()?, period.parse()?)
        }
        ["receive"] => receive(),
        _ => Err("usage: phy_rtl transmit BYTES FRAMES PICOSECONDS | phy_rtl receive".into()),
    }
}

fn tell(what: &str, frames: u64, bytes: u64, cycles: u64) {
    let share = (bytes + 24 * frames) as f64 / (8 * cycles) as f64;
    eprintln!(
        "{what} {frames} frames in {cycles} cycles: {:.3} % of the line with preambles, FCS and least gaps",
        100.0 * share
    );
}

/// Sends frames that are due so many picoseconds after each other: each is handed over at the first edge at which it is due.
fn transmit(size: usize, count: u64, period: u64) -> Result<(), Box<dyn Error>> {
    let mut module = Module::new(LAYOUT)?;
    let (mut inputs, mut outputs) = ([0; LAYOUT.inputs], [0; LAYOUT.outputs]);
    let mut line = Bits::new(BufWriter::new(std::io::stdout().lock()));
    let frame: Vec<u8> = (0..size).map(|place| place as u8).collect();
    let words: Vec<&[u8]> = frame.chunks(8).collect();
    let (mut cycle, mut number, mut place) = (0, 0, 0);
    // What is under way when the last word has been taken.
    let mut rest = 16;
    module.run(&inputs, &mut outputs);
    while number < count || rest > 0 {
        rest -= u64::from(number == count);
        let here = number < count && (place > 0 || cycle * CYCLE >= number * period);
        inputs[S_AXIS_TVALID] = u64::from(here);
        if here {
            let mut word = [0; 8];
            word[..words[place].len()].copy_from_slice(words[place]);
            let last = place + 1 == words.len();
            inputs[S_AXIS_TDATA] = u64::from_le_bytes(word);
            inputs[S_AXIS_TKEEP] = (1 << words[place].len()) - 1;
            inputs[S_AXIS_TLAST] = u64::from(last);
            if outputs[S_AXIS_TREADY] == 1 {
                place = if last { 0 } else { place + 1 };
                number += u64::from(last);
            }
        }
        module.run(&inputs, &mut outputs);
        line.push(outputs[TX_HEADER], outputs[TX_PAYLOAD])?;
        cycle += 1;
    }
    line.finish()?;
    tell("sent", count, count * size as u64, cycle);
    Ok(())
}

/// Tells of each frame when it came.
fn receive() -> Result<(), Box<dyn Error>> {
    let mut module = Module::new(LAYOUT)?;
    let (mut inputs, mut outputs) = ([0; LAYOUT.inputs], [0; LAYOUT.outputs]);
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "# cycle ps bytes fcs")?;
    let mut bits = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bits)?;
    let (mut frames, mut all, mut bytes) = (0, 0, 0);
    // A frame may begin before the last word of the one before it is out.
    let mut began = VecDeque::new();
    let blocks = 8 * bits.len() as u64 / u64::from(BLOCK_BITS);
    for cycle in 0..blocks + 8 {
        // Behind the last block the line is idle characters, not scrambled any more: what was under way is out by then.
        inputs[RX_RST] = u64::from(cycle == 0 || cycle >= blocks + 7);
        (inputs[RX_HEADER], inputs[RX_PAYLOAD]) = block(&bits, cycle).unwrap_or((1, 0));
        module.run(&inputs, &mut outputs);
        if outputs[RX_BEGINS] == 1 {
            began.push_back((cycle, outputs[RX_BEGINS_HIGH]));
        }
        if outputs[RX_FRAGMENT] == 1 {
            began.pop_back();
        }
        if outputs[M_AXIS_TVALID] == 1 {
            bytes += u64::from(outputs[M_AXIS_TKEEP].count_ones());
            if outputs[M_AXIS_TLAST] == 1 {
                let fcs = ["good", "bad"][outputs[M_AXIS_TUSER] as usize];
                let (cycle, half) = began.pop_front().ok_or("a frame that has not begun")?;
                let ps = cycle * CYCLE + half * CYCLE / 2;
                writeln!(out, "{cycle} {ps} {bytes} {fcs}")?;
                (frames, all, bytes) = (frames + 1, all + bytes, 0);
            }
        }
    }
    tell("received", frames, all, blocks);
    Ok(())
}

/// The header and the payload of a block.
fn block(bits: &[u8], number: u64) -> Option<(u64, u64)> {
    let first = number * u64::from(BLOCK_BITS);
    let at = (first / 8) as usize;
    let mut bytes = [0; 16];
    let here = bits.get(at..(at + 10).min(bits.len()))?;
    (8 * here.len() as u64 >= first % 8 + u64::from(BLOCK_BITS)).then_some(())?;
    bytes[..here.len()].copy_from_slice(here);
    let word = u128::from_le_bytes(bytes) >> (first % 8);
    Some(((word & 3) as u64, (word >> 2) as u64))
}

/// Blocks as bits, the first one lowest.
struct Bits<W> {
    out: W,
    held: u128,
    count: u32,
}

impl<W: Write> Bits<W> {
    fn new(out: W) -> Bits<W> {
        Bits {
            out,
            held: 0,
            count: 0,
        }
    }

    fn push(&mut self, header: u64, payload: u64) -> std::io::Result<()> {
        self.held |= (u128::from(payload) << 2 | u128::from(header & 3)) << self.count;
        self.count += BLOCK_BITS;
        let whole = (self.count / 8) as usize;
        self.out.write_all(&self.held.to_le_bytes()[..whole])?;
        self.held >>= 8 * whole;
        self.count %= 8;
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<()> {
        if self.count > 0 {
            self.out.write_all(&self.held.to_le_bytes()[..1])?;
        }
        self.out.flush()
    }
}
