//! The lines of ports in Verilog: a GMII, or an XGMII of 64 bits. Both are characters to a port, one or eight an edge.

use crate::module::Layout;
use crate::ports::{timing_nic, timing_nic10g};
use node::Rate;

/// Of the longer port: a word for each of its inputs.
pub(crate) type Inputs = [u64; timing_nic::LAYOUT.inputs];
/// And outputs.
pub(crate) type Outputs = [u64; timing_nic::LAYOUT.outputs];

/// Characters of the XGMII: what is between frames, and at their ends.
const IDLE: u8 = 0x07;
const START: u8 = 0xFB;
const TERMINATE: u8 = 0xFD;

/// How fast a port's line is, and with it the port's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// 1 Gb/s: a GMII at 125 MHz.
    #[default]
    Gigabit,
    /// 10 Gb/s: an XGMII of 64 bits at 156.25 MHz.
    TenGigabit,
}

impl Speed {
    /// The one of a rate, if there is one.
    pub fn of(rate: Rate) -> Option<Speed> {
        match rate.bits_per_second() {
            1_000_000_000 => Some(Speed::Gigabit),
            10_000_000_000 => Some(Speed::TenGigabit),
            _ => None,
        }
    }

    /// A tick, and an edge of the clock, in picoseconds of the port's own time.
    pub const fn tick(self) -> u64 {
        match self {
            Speed::Gigabit => 8_000,
            Speed::TenGigabit => 6_400,
        }
    }

    /// Places in a tick at which a frame may begin: its first byte is in lane 0, or in lane 4 of an XGMII.
    pub const fn slots(self) -> u64 {
        match self {
            Speed::Gigabit => 1,
            Speed::TenGigabit => 2,
        }
    }

    /// From one such place to the next, in picoseconds of the port's own time.
    pub const fn slot(self) -> u64 {
        self.tick() / self.slots()
    }

    /// Characters in a tick.
    pub(crate) const fn lanes(self) -> u64 {
        match self {
            Speed::Gigabit => 1,
            Speed::TenGigabit => 8,
        }
    }

    /// Characters from one place where a frame may begin to the next.
    pub(crate) const fn stride(self) -> u64 {
        self.lanes() / self.slots()
    }

    /// Characters that a frame leaves to the next one on the medium, at least: less than any gap that clocks of 100 ppm make of 12 on
    /// a GMII, and what a receiver has to bear on an XGMII (IEEE 802.3 46.2.1), the terminate character among them.
    pub(crate) const fn gap(self) -> u64 {
        match self {
            Speed::Gigabit => 8,
            Speed::TenGigabit => 5,
        }
    }

    /// Characters behind a frame that tell of its end.
    const fn ending(self) -> u64 {
        match self {
            Speed::Gigabit => 0,
            Speed::TenGigabit => 1,
        }
    }

    pub(crate) const fn pins(self) -> &'static Pins {
        match self {
            Speed::Gigabit => &GIGABIT,
            Speed::TenGigabit => &TEN_GIGABIT,
        }
    }

    /// What a port takes of frames on the medium at an edge.
    pub(crate) fn put<'a>(
        self,
        edge: u64,
        frames: impl Iterator<Item = &'a Coming>,
        inputs: &mut Inputs,
    ) {
        if self == Speed::TenGigabit {
            inputs[timing_nic10g::XGMII_RXD] = u64::from_le_bytes([IDLE; 8]);
            inputs[timing_nic10g::XGMII_RXC] = 0xFF;
        }
        let begin = edge * self.lanes();
        let end = begin + self.lanes();
        for frame in frames.take_while(|frame| frame.start < end) {
            for at in frame.start.max(begin)..frame.over(self).min(end) {
                let character = frame.characters.get((at - frame.start) as usize);
                match self {
                    Speed::Gigabit => {
                        inputs[timing_nic::GMII_RXD] = character.copied().unwrap_or(0).into();
                        inputs[timing_nic::GMII_RX_DV] = character.is_some().into();
                    }
                    Speed::TenGigabit => {
                        let (lane, first) = (at - begin, at == frame.start);
                        let byte = match character {
                            Some(_) if first => START,
                            Some(byte) => *byte,
                            None => TERMINATE,
                        };
                        let control = u64::from(first || character.is_none());
                        let (data, controls) = (
                            inputs[timing_nic10g::XGMII_RXD] & !(0xFF << (8 * lane)),
                            inputs[timing_nic10g::XGMII_RXC] & !(1 << lane),
                        );
                        inputs[timing_nic10g::XGMII_RXD] = data | u64::from(byte) << (8 * lane);
                        inputs[timing_nic10g::XGMII_RXC] = controls | control << lane;
                    }
                }
            }
        }
    }

    /// A character that leaves a port behind an edge: one of a frame with its preamble, or none.
    pub(crate) fn character(self, outputs: &Outputs, lane: u64) -> Option<u8> {
        match self {
            Speed::Gigabit => (outputs[timing_nic::GMII_TX_EN] == 1)
                .then_some(outputs[timing_nic::GMII_TXD] as u8),
            Speed::TenGigabit => {
                let byte = (outputs[timing_nic10g::XGMII_TXD] >> (8 * lane)) as u8;
                match outputs[timing_nic10g::XGMII_TXC] >> lane & 1 {
                    0 => Some(byte),
                    // It stands for the first character of the preamble.
                    _ => (byte == START).then_some(0x55),
                }
            }
        }
    }
}

/// A frame on the medium, towards a port, with its preamble: characters from a place on. Edge `n` takes those from `n` times the
/// lanes on.
pub(crate) struct Coming {
    pub start: u64,
    pub characters: Vec<u8>,
}

impl Coming {
    /// The place behind its last character.
    pub fn end(&self) -> u64 {
        self.start + self.characters.len() as u64
    }

    /// The place behind what tells of its end.
    pub fn over(&self, speed: Speed) -> u64 {
        self.end() + speed.ending()
    }
}

/// Where a port's words are, but for its line.
pub(crate) struct Pins {
    pub layout: Layout,
    pub s_axis_tdata: usize,
    pub s_axis_tkeep: usize,
    pub s_axis_tlast: usize,
    pub s_axis_tvalid: usize,
    pub s_axis_tready: usize,
    pub m_axis_tdata: usize,
    pub m_axis_tkeep: usize,
    pub m_axis_tlast: usize,
    pub m_axis_tvalid: usize,
    pub m_axis_tready: usize,
    pub s_axil_araddr: usize,
    pub s_axil_arvalid: usize,
    pub s_axil_rdata: usize,
    pub s_axil_rready: usize,
    pub s_axil_rvalid: usize,
    pub counter: usize,
    pub idle: usize,
    pub wake_at: usize,
    pub skip: usize,
}

macro_rules! pins {
    ($module:ident) => {
        Pins {
            layout: $module::LAYOUT,
            s_axis_tdata: $module::S_AXIS_TDATA,
            s_axis_tkeep: $module::S_AXIS_TKEEP,
            s_axis_tlast: $module::S_AXIS_TLAST,
            s_axis_tvalid: $module::S_AXIS_TVALID,
            s_axis_tready: $module::S_AXIS_TREADY,
            m_axis_tdata: $module::M_AXIS_TDATA,
            m_axis_tkeep: $module::M_AXIS_TKEEP,
            m_axis_tlast: $module::M_AXIS_TLAST,
            m_axis_tvalid: $module::M_AXIS_TVALID,
            m_axis_tready: $module::M_AXIS_TREADY,
            s_axil_araddr: $module::S_AXIL_ARADDR,
            s_axil_arvalid: $module::S_AXIL_ARVALID,
            s_axil_rdata: $module::S_AXIL_RDATA,
            s_axil_rready: $module::S_AXIL_RREADY,
            s_axil_rvalid: $module::S_AXIL_RVALID,
            counter: $module::COUNTER,
            idle: $module::IDLE,
            wake_at: $module::WAKE_AT,
            skip: $module::SKIP,
        }
    };
}

static GIGABIT: Pins = pins!(timing_nic);
static TEN_GIGABIT: Pins = pins!(timing_nic10g);

// A port's words fit.
const _: () = assert!(timing_nic10g::LAYOUT.inputs <= timing_nic::LAYOUT.inputs);
const _: () = assert!(timing_nic10g::LAYOUT.outputs <= timing_nic::LAYOUT.outputs);
