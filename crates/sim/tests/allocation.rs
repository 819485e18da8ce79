//! In steady state nothing is allocated, however many frames pass.

mod cast;

use node::{Channel, Frame, Graph, Node, Out, Port, Time};
use sim::{Options, run};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Quiet;

impl Node for Quiet {
    fn ports(&self) -> usize {
        1
    }
    fn frame(&mut self, _: Time, _: Port, frame: Frame, out: &mut Out) {
        out.drop(frame, "quiet");
    }
}

fn allocations_of(frames: u32) -> u64 {
    let mut graph = Graph::default();
    let hub = graph.add("hub", Box::new(cast::Hub(4)));
    let slot = Time::from_ps(67_200);
    let a = graph.add("a", cast::source(frames, 60, Time::from_us(1), slot));
    graph.connect((a, 0), (hub, 0), Channel::default());
    for port in 1..4 {
        let quiet = graph.add(format!("quiet{port}"), Box::new(Quiet));
        graph.connect((hub, port), (quiet, 0), Channel::default());
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let outcome = run(graph, Options::default()).unwrap();
    assert_eq!(outcome.frames, 4 * u64::from(frames));
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn ten_times_the_frames_need_no_more_allocations() {
    let few = allocations_of(10_000);
    assert_eq!(allocations_of(100_000), few);
}
