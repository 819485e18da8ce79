//! The fast engine agrees with the interpreter on random programs and random packets.

mod random;

use random::{Choices, compare};

#[test]
fn engines_agree_on_random_programs_and_packets() {
    let seeds = std::env::var("JIT_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    let from = std::env::var("JIT_FROM")
        .ok()
        .and_then(|from| from.parse().ok());
    let from: u64 = from.unwrap_or(0);
    for seed in from..from + seeds.unwrap_or(150) {
        let result = std::panic::catch_unwind(|| compare(&mut Choices::new(&[], seed), 12));
        if let Err(panic) = result {
            eprintln!("with seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
