//! Frames on an XGMII of 64 bits.

use super::RXD;
use cosim::ports::p4_switch4::XGMII_RXC;
use std::collections::VecDeque;

const IDLE: u8 = 0x07;
const START: u8 = 0xFB;
const TERMINATE: u8 = 0xFD;
const PREAMBLE: [u8; 8] = [START, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
const IDLES: u64 = u64::from_le_bytes([IDLE; 8]);
/// The gap of the standard, with the terminate character, and what of it may be left out or put in to begin in lane 0 or 4.
const GAP: usize = 12;

/// Idle lines in.
pub fn idle(inputs: &mut [u64]) {
    for place in RXD {
        inputs[place] = IDLES;
    }
    inputs[XGMII_RXC] = u64::from(u32::MAX);
}

/// A line in: frames become characters, with gaps of 12 on average.
#[derive(Default)]
pub struct Framer {
    line: VecDeque<(u8, bool)>,
    deficit: usize,
}

impl Framer {
    /// Fewer characters than a word are there.
    pub fn is_empty(&self) -> bool {
        self.line.len() < 8
    }

    /// A frame, and the gap after it, `more` characters longer than the least.
    pub fn send(&mut self, frame: &[u8], more: u64, is_bad: bool) {
        let fcs = phy::crc::fcs(frame) ^ u32::from(is_bad);
        self.line.push_back((START, true));
        self.line
            .extend(PREAMBLE[1..].iter().map(|byte| (*byte, false)));
        self.line.extend(frame.iter().map(|byte| (*byte, false)));
        self.line
            .extend(fcs.to_le_bytes().map(|byte| (byte, false)));
        self.line.push_back((TERMINATE, true));
        // To lane 0 or 4: the deficit idle count.
        let length = 8 + frame.len() + 4 + GAP;
        let over = length % 4;
        let shortened = self.deficit + over <= 3;
        let gap = match (over, shortened) {
            (0, _) => GAP,
            (over, true) => {
                self.deficit += over;
                GAP - over
            }
            (over, false) => {
                self.deficit -= 4 - over;
                GAP + 4 - over
            }
        };
        let gap = gap - 1 + 4 * (more as usize / 4);
        self.line.extend(std::iter::repeat_n((IDLE, true), gap));
    }

    /// The characters of a cycle, and which of them are control characters.
    pub fn cycle(&mut self) -> (u64, u64) {
        let (mut data, mut control) = (0, 0);
        for lane in 0..8 {
            let (byte, is_control) = self.line.pop_front().unwrap_or((IDLE, true));
            data |= u64::from(byte) << (8 * lane);
            control |= u64::from(is_control) << lane;
        }
        (data, control)
    }
}

/// A line out: characters become frames.
#[derive(Default)]
pub struct Deframer {
    frame: Option<Vec<u8>>,
}

impl Deframer {
    pub fn in_frame(&self) -> bool {
        self.frame.is_some()
    }

    /// Takes the characters of a cycle. Returns a frame that ends there, without its FCS.
    ///
    /// # Errors
    /// A frame that is not a good one.
    pub fn cycle(&mut self, data: u64, control: u64) -> Result<Option<Vec<u8>>, String> {
        let mut whole = None;
        for lane in 0..8 {
            let byte = (data >> (8 * lane)) as u8;
            let is_control = control >> lane & 1 == 1;
            match (&mut self.frame, byte, is_control) {
                (None, IDLE, true) => {}
                (None, START, true) if lane % 4 == 0 => self.frame = Some(Vec::new()),
                (Some(frame), byte, false) => frame.push(byte),
                (Some(_), TERMINATE, true) => {
                    let frame = self.frame.take().unwrap_or_default();
                    whole = Some(checked(frame)?);
                }
                _ => return Err(format!("character {byte:02X} in lane {lane}")),
            }
        }
        Ok(whole)
    }
}

fn checked(mut frame: Vec<u8>) -> Result<Vec<u8>, String> {
    let length = frame.len();
    if length < 7 + 64 || frame[..7] != PREAMBLE[1..] {
        return Err(format!("a frame of {length} bytes, or a wrong preamble"));
    }
    let fcs = frame.split_off(length - 4);
    let frame = frame.split_off(7);
    match phy::crc::fcs(&frame).to_le_bytes() == fcs[..] {
        true => Ok(frame),
        false => Err(format!("wrong FCS of a frame of {} bytes", frame.len())),
    }
}
