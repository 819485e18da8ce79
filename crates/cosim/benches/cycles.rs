//! Cycles a second of each block in Verilog, driven with what keeps it busy.
#![allow(clippy::disallowed_methods)] // a benchmark reads the clock

use cosim::Module;
use cosim::module::Layout;
use cosim::ports::{pcs10g_rx, pcs10g_tx};
use node::random::Random;
use std::time::Instant;

/// Cycles between two looks at the clock.
const BATCH: usize = 10_000;
/// Looks at the clock for each block.
const BATCHES: usize = 300;

fn main() {
    let mut random = Random::new(1);
    busy(
        "pcs10g_tx, 64 bits of data a cycle",
        pcs10g_tx::LAYOUT,
        |words| {
            words[pcs10g_tx::XGMII_TXD] = random.bits();
        },
    );
    busy(
        "pcs10g_rx, 64 bits of noise a cycle",
        pcs10g_rx::LAYOUT,
        |words| {
            let word = random.bits();
            words[pcs10g_rx::RX_PAYLOAD] = word;
            words[pcs10g_rx::RX_HEADER] = 1 + (word & 1);
        },
    );
}

fn busy(what: &str, layout: Layout, mut fill: impl FnMut(&mut [u64])) {
    let mut module = match Module::new(layout) {
        Ok(module) => module,
        Err(missing) => return println!("{what}: skipped: {missing}"),
    };
    let mut inputs = vec![0; BATCH * layout.inputs];
    let mut outputs = vec![0; BATCH * layout.outputs];
    inputs.chunks_mut(layout.inputs).for_each(&mut fill);
    let mut took: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let began = Instant::now();
            module.run(&inputs, &mut outputs);
            began.elapsed().as_secs_f64()
        })
        .collect();
    took.sort_by(f64::total_cmp);
    let cycles = BATCH as f64 / took[BATCHES / 2] / 1e6;
    println!("{what}: {cycles:.2} M cycles/s (median of {BATCHES} batches of {BATCH})");
}
