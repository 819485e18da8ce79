//! Four ports of 10 Gb/s around a program: `rtl/p4_switch` with the Verilog that the compiler makes.

use super::bus::Bus;
use super::modules;
use super::registers::Registers;
use super::verilate;
use crate::ports::p4_switch4::*;
use crate::shared::{Library, Shared};
use node::Time;
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use verilog::Design;

const SHIM: &str = concat!(
    include_str!(concat!(env!("OUT_DIR"), "/p4_switch4.inc")),
    include_str!("../../shim/words.cpp")
);

/// Idle characters on an XGMII.
const IDLES: u64 = 0x0707_0707_0707_0707;

/// A switch with a P4 program, cycle by cycle.
pub struct Switch {
    library: Library,
    shared: Shared,
    registers: Registers,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
}

impl Switch {
    /// A switch after reset, with the program on its architecture's path, and the tables as they are now.
    ///
    /// # Errors
    /// The part of the program that cannot be hardware, or the reason why Verilog cannot be run here.
    pub fn new(environment: &Environment, path: &Path) -> Result<Switch, Unsupported> {
        let (design, library) = verilate::around(
            environment,
            path,
            &LAYOUT,
            SHIM,
            &modules::SWITCH,
            "P4_SWITCH_PROGRAM",
        )?;
        let mut switch = Switch {
            shared: Shared::new(library.clone()),
            library,
            registers: Registers::new(environment, design),
            inputs: vec![0; LAYOUT.inputs],
            outputs: vec![0; LAYOUT.outputs],
        };
        switch.start(environment);
        Ok(switch)
    }

    /// Begins again after reset, with the tables as they are now.
    pub fn restart(&mut self, environment: &Environment) {
        self.shared = Shared::new(self.library.clone());
        self.registers = Registers::new(environment, self.registers.design.clone());
        self.start(environment);
    }

    fn start(&mut self, environment: &Environment) {
        self.inputs.fill(0);
        for place in [XGMII_RXD_0, XGMII_RXD_1, XGMII_RXD_2, XGMII_RXD_3] {
            self.inputs[place] = IDLES;
        }
        self.inputs[XGMII_RXC] = u64::from(u32::MAX);
        self.inputs[RST] = 1;
        self.wait(4);
        self.inputs[RST] = 0;
        let Switch {
            shared,
            registers,
            inputs,
            outputs,
            ..
        } = self;
        let mut pins = Pins {
            shared,
            inputs,
            outputs,
        };
        registers.tell(&mut pins, environment, Time::ZERO);
    }

    /// The program as hardware.
    #[must_use]
    pub fn design(&self) -> &Design {
        &self.registers.design
    }

    /// Inputs of the next cycle, by the places in [`crate::ports::p4_switch4`].
    pub fn inputs(&mut self) -> &mut [u64] {
        &mut self.inputs
    }

    /// Outputs behind the last rising edge.
    #[must_use]
    pub fn outputs(&self) -> &[u64] {
        &self.outputs
    }

    /// Runs `cycles` clock cycles.
    pub fn wait(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.shared.cycle(&self.inputs, &mut self.outputs);
        }
    }
}

/// The switch at its pins.
struct Pins<'a> {
    shared: &'a mut Shared,
    inputs: &'a mut [u64],
    outputs: &'a mut [u64],
}

impl Bus for Pins<'_> {
    fn write(&mut self, to: u16, data: u32) {
        self.inputs[CTL_WRITE] = 1;
        self.inputs[CTL_ADDRESS] = to.into();
        self.inputs[CTL_DATA] = data.into();
        self.wait(1);
        self.inputs[CTL_WRITE] = 0;
    }

    fn read(&mut self, from: u16) -> u32 {
        self.inputs[CTL_ADDRESS] = from.into();
        self.wait(2);
        self.outputs[CTL_READ] as u32
    }

    fn wait(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.shared.cycle(self.inputs, self.outputs);
        }
    }
}
