//! The fast engine agrees with the interpreter on random programs and random packets.

use crate::random::{Choices, compare, compare_paths, compare_whole};
use std::sync::atomic::{AtomicUsize, Ordering};

/// As many programs as `JIT_SEEDS` says, from `JIT_FROM` on.
fn each(what: impl Fn(&mut Choices<'_>) + std::panic::RefUnwindSafe) {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let from: u64 = number("JIT_FROM").unwrap_or(0);
    for seed in from..from + number("JIT_SEEDS").unwrap_or(150) {
        let result = std::panic::catch_unwind(|| what(&mut Choices::new(&[], seed)));
        if let Err(panic) = result {
            eprintln!("with seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn engines_agree_on_random_programs_and_packets() {
    each(|choices| compare(choices, 12));
}

#[test]
fn a_path_does_what_its_sections_do_one_by_one() {
    each(|choices| compare_paths(choices, 12));
}

#[test]
fn engines_agree_on_random_source_programs() {
    let (sent, cloned) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each(|choices| {
        let (all, clones) = compare_whole(choices, 8);
        sent.fetch_add(all, Ordering::Relaxed);
        cloned.fetch_add(clones, Ordering::Relaxed);
    });
    // Else nothing was compared.
    let (sent, cloned) = (sent.into_inner(), cloned.into_inner());
    assert!(sent > 100 && cloned > 20, "{sent} sent, {cloned} cloned");
}
