//! The timing NICs at line rate both ways, their pins looped back, and with a host that does not take what comes.

use cosim::Module;
use packet::word::Departure;
use packet::{Packet, Stamp, record};

/// A NIC whose transmitter is its own line, by the pins of its module.
macro_rules! looped {
    ($name:ident, $module:ident, $line:expr) => {
        mod $name {
            use super::*;
            use cosim::ports::$module::*;

            /// A NIC whose transmitter is its own line.
            pub struct Loop {
                module: Module,
                inputs: [u64; LAYOUT.inputs],
                outputs: [u64; LAYOUT.outputs],
                /// The record that is sent again and again.
                words: Vec<u64>,
                next: usize,
                pub records: u64,
            }

            impl Loop {
                pub fn new() -> Option<Loop> {
                    let module = crate::module(LAYOUT)?;
                    let stamp = Some(Stamp::Word(Departure::Now.to_word()));
                    let mut bytes = Vec::new();
                    let packet = Packet {
                        stamp,
                        hash: None,
                        bytes: &[0x5A; 60],
                    };
                    record::encode(&packet, &mut bytes).unwrap();
                    bytes.resize(80, 0);
                    Some(Loop {
                        module,
                        inputs: [0; LAYOUT.inputs],
                        outputs: [0; LAYOUT.outputs],
                        words: bytes
                            .as_chunks::<8>()
                            .0
                            .iter()
                            .map(|word| u64::from_le_bytes(*word))
                            .collect(),
                        next: 0,
                        records: 0,
                    })
                }

                pub fn run(&mut self, cycles: u64, host_takes: bool) {
                    let last = self.words.len() - 1;
                    for _ in 0..cycles {
                        let (inputs, outputs) = (&mut self.inputs, &self.outputs);
                        for (input, output) in $line {
                            inputs[input] = outputs[output];
                        }
                        inputs[S_AXIS_TDATA] = self.words[self.next];
                        inputs[S_AXIS_TLAST] = (self.next == last).into();
                        inputs[S_AXIS_TKEEP] = if self.next == last { 0x0F } else { 0xFF };
                        inputs[S_AXIS_TVALID] = 1;
                        inputs[M_AXIS_TREADY] = host_takes.into();
                        if outputs[S_AXIS_TREADY] == 1 {
                            self.next = if self.next == last { 0 } else { self.next + 1 };
                        }
                        self.records += u64::from(
                            host_takes && outputs[M_AXIS_TVALID] == 1 && outputs[M_AXIS_TLAST] == 1,
                        );
                        self.module.run(&self.inputs, &mut self.outputs);
                    }
                }

                pub fn register(&mut self, address: u64) -> u64 {
                    self.inputs[S_AXIL_ARADDR] = address;
                    (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (1, 0);
                    self.run(1, true);
                    let word = self.outputs[S_AXIL_RDATA];
                    (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (0, 1);
                    self.run(1, true);
                    word
                }
            }
        }
    };
}

looped!(
    gigabit,
    timing_nic,
    [(GMII_RXD, GMII_TXD), (GMII_RX_DV, GMII_TX_EN)]
);
looped!(
    ten_gigabit,
    timing_nic10g,
    [(XGMII_RXD, XGMII_TXD), (XGMII_RXC, XGMII_TXC)]
);

#[test]
fn frames_of_64_bytes_go_at_line_rate_both_ways_for_ten_million_cycles_without_loss() {
    let Some(mut nic) = gigabit::Loop::new() else {
        return;
    };
    nic.run(10_000_000, true);
    // 64 bytes, 8 of preamble, 12 of gap: one in 84 cycles, behind the first one's way into the ring.
    let sent = nic.register(0x10);
    assert!(sent >= 10_000_000 / 84 - 1, "{sent}");
    // Two may be on their way.
    assert!(nic.records >= sent - 2, "{} of {sent}", nic.records);
    assert_eq!((nic.register(0x24), nic.register(0x28)), (0, 0));
}

#[test]
fn what_the_host_leaves_is_counted_as_overflow_and_what_is_there_stays_whole() {
    let Some(mut nic) = gigabit::Loop::new() else {
        return;
    };
    // 32 KiB are 512 frames of 8 words; 1,000 come.
    nic.run(84_000, false);
    let overflow = nic.register(0x28);
    assert!((484..=488).contains(&overflow), "{overflow}");
    nic.run(100_000, true);
    // None was lost any more.
    assert!(nic.register(0x28) <= overflow + 1);
    let (received, bad) = (nic.register(0x20), nic.register(0x24));
    assert_eq!(bad, 0);
    assert!(nic.records >= received - 1, "{} of {received}", nic.records);
}

/// Line rate of the NIC of 10 Gb/s for so many cycles.
fn at_10_gigabits(cycles: u64) {
    let Some(mut nic) = ten_gigabit::Loop::new() else {
        return;
    };
    nic.run(cycles, true);
    // Two of 84 characters in 21 cycles, behind the first one's way into the ring.
    let sent = nic.register(0x10);
    assert!(sent >= cycles * 2 / 21 - 3, "{sent}");
    // What is on its way: in the MAC, and a record in the ring.
    assert!(nic.records >= sent - 4, "{} of {sent}", nic.records);
    assert_eq!((nic.register(0x24), nic.register(0x28)), (0, 0));
}

#[test]
fn at_10_gigabits_frames_of_64_bytes_go_at_line_rate_both_ways_for_two_million_cycles_without_loss()
{
    at_10_gigabits(2_000_000);
}

#[test]
#[ignore = "the long form of the two million cycles"]
fn at_10_gigabits_frames_of_64_bytes_go_at_line_rate_both_ways_for_ten_million_cycles_without_loss()
{
    at_10_gigabits(10_000_000);
}

#[test]
fn at_10_gigabits_what_the_host_leaves_is_counted_as_overflow_and_what_is_there_stays_whole() {
    let Some(mut nic) = ten_gigabit::Loop::new() else {
        return;
    };
    nic.run(10_500, false);
    let overflow = nic.register(0x28);
    assert!((482..=488).contains(&overflow), "{overflow}");
    // The host takes words as fast as they can come, so that it takes a while until it has all.
    nic.run(120_000, true);
    // None was lost any more, but for those that were on their way.
    assert!(nic.register(0x28) <= overflow + 2);
    let (received, bad) = (nic.register(0x20), nic.register(0x24));
    assert_eq!(bad, 0);
    assert!(nic.records >= received - 2, "{} of {received}", nic.records);
}
