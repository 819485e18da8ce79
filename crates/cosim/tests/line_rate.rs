//! The timing NIC at line rate both ways, its pins looped back, and with a host that does not take what comes.

use cosim::Module;
use cosim::ports::timing_nic::*;
use packet::word::Departure;
use packet::{Packet, Stamp, record};

/// A NIC whose transmitter is its own line.
struct Loop {
    module: Module,
    inputs: [u64; LAYOUT.inputs],
    outputs: [u64; LAYOUT.outputs],
    /// The record that is sent again and again.
    words: Vec<u64>,
    next: usize,
    records: u64,
}

impl Loop {
    fn new() -> Option<Loop> {
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

    fn run(&mut self, cycles: u64, host_takes: bool) {
        let last = self.words.len() - 1;
        for _ in 0..cycles {
            let (inputs, outputs) = (&mut self.inputs, &self.outputs);
            inputs[GMII_RXD] = outputs[GMII_TXD];
            inputs[GMII_RX_DV] = outputs[GMII_TX_EN];
            inputs[S_AXIS_TDATA] = self.words[self.next];
            inputs[S_AXIS_TLAST] = (self.next == last).into();
            inputs[S_AXIS_TKEEP] = if self.next == last { 0x0F } else { 0xFF };
            inputs[S_AXIS_TVALID] = 1;
            inputs[M_AXIS_TREADY] = host_takes.into();
            if outputs[S_AXIS_TREADY] == 1 {
                self.next = if self.next == last { 0 } else { self.next + 1 };
            }
            self.records +=
                u64::from(host_takes && outputs[M_AXIS_TVALID] == 1 && outputs[M_AXIS_TLAST] == 1);
            self.module.run(&self.inputs, &mut self.outputs);
        }
    }

    fn register(&mut self, address: u64) -> u64 {
        self.inputs[S_AXIL_ARADDR] = address;
        (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (1, 0);
        self.run(1, true);
        let word = self.outputs[S_AXIL_RDATA];
        (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (0, 1);
        self.run(1, true);
        word
    }
}

#[test]
fn frames_of_64_bytes_go_at_line_rate_both_ways_for_ten_million_cycles_without_loss() {
    let Some(mut nic) = Loop::new() else { return };
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
    let Some(mut nic) = Loop::new() else { return };
    // 32 KiB are 409 records of 10 words; 1,000 frames come.
    nic.run(84_000, false);
    let overflow = nic.register(0x28);
    assert!((580..=592).contains(&overflow), "{overflow}");
    nic.run(100_000, true);
    // None was lost any more.
    assert!(nic.register(0x28) <= overflow + 1);
    let (received, bad) = (nic.register(0x20), nic.register(0x24));
    assert_eq!(bad, 0);
    assert!(nic.records >= received - 1, "{} of {received}", nic.records);
}
