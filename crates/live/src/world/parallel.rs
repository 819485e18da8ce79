//! Many small things that the kernel does slowly, done side by side.

use crate::kernel::thread::spawn_scoped;
use std::thread::{ScopedJoinHandle, scope};

/// Threads that make namespaces, wires and ports: these take the processor, of which there are few.
const BUILDERS: usize = 8;
/// Threads that close ports: each close waits for a grace period of RCU, some 15 ms, and all of them can wait
/// for the same one.
const CLOSERS: usize = 128;

/// Calls `body` with each number below `count`; the results in order.
pub fn each<T: Send, E: Send>(
    count: usize,
    body: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let body = &body;
    let threads = BUILDERS.min(count);
    let mut all: Vec<(usize, Result<T, E>)> = scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|first| {
                let own = move || {
                    let mine = (first..count).step_by(threads);
                    mine.map(|index| (index, body(index))).collect::<Vec<_>>()
                };
                // Without a thread its share is done here.
                spawn_scoped(scope, "builder", own).map_err(|_| own())
            })
            .collect();
        let shares = threads.into_iter();
        shares
            .flat_map(|share| share.map_or_else(|done| done, join))
            .collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Drops all of them, and returns when they are gone.
pub fn close<T: Send>(all: Vec<T>) {
    if all.len() < 2 {
        return;
    }
    let share = all.len().div_ceil(CLOSERS);
    scope(|scope| {
        let mut all = all.into_iter();
        loop {
            let mine: Vec<T> = all.by_ref().take(share).collect();
            if mine.is_empty() {
                break;
            }
            // Without a thread they are closed here, one by one.
            let _ = spawn_scoped(scope, "closer", move || drop(mine));
        }
    });
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
