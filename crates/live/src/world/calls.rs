//! Calls of other threads for a sleeping node.

use crate::kernel::wake::Wake;
use node::Driver;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Calls for one node.
pub struct Calls {
    /// Whether there was one since the last [`take`](Calls::take).
    called: AtomicBool,
    /// Readable after a call, for a thread that sleeps.
    wake: Wake,
}

impl Calls {
    /// Calls for the node of `driver`; `None` for a node that keeps no waker, or without a free
    /// descriptor, when the node goes on to look by its alarm.
    pub fn of(driver: &mut Driver) -> Option<Arc<Calls>> {
        let calls = Arc::new(Calls {
            called: AtomicBool::new(false),
            wake: Wake::new().ok()?,
        });
        driver.set_waker(&Waker::from(Arc::clone(&calls)));
        (Arc::strong_count(&calls) > 1).then_some(calls)
    }

    /// Takes all calls so far; whether there were any.
    pub fn take(&self) -> bool {
        // Most looks find none: they cost no write to memory that is shared.
        let called =
            self.called.load(Ordering::Acquire) && self.called.swap(false, Ordering::AcqRel);
        if called {
            self.wake.take();
        }
        called
    }
}

impl std::task::Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.called.swap(true, Ordering::AcqRel) {
            self.wake.call();
        }
    }
}

impl AsRawFd for Calls {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::wait;
    use node::{Frame, Member, Node, Out, Port, Properties, Time};
    use std::time::Duration;

    /// Gives its waker to the test, or keeps none.
    struct Called(Option<Arc<std::sync::OnceLock<Waker>>>);

    impl Node for Called {
        fn properties(&self) -> Properties {
            Properties::of(0)
        }

        fn frames(&mut self, _: Time, _: Port, _: &mut Vec<Frame>, _: &mut Out) {}

        fn set_waker(&mut self, waker: &Waker) {
            if let Some(place) = &self.0 {
                let _ = place.set(waker.clone());
            }
        }
    }

    fn driver(node: Called) -> Driver {
        let (name, node) = (String::new(), Box::new(node));
        Driver::new(Member { name, node })
    }

    #[test]
    fn a_call_is_readable_until_it_is_taken() {
        let place = Arc::new(std::sync::OnceLock::new());
        let calls =
            Calls::of(&mut driver(Called(Some(Arc::clone(&place))))).expect("a waker is kept");
        let readable = || {
            let mut polls = [wait::readable(calls.as_raw_fd())];
            wait::for_any(&mut polls, Duration::ZERO).expect("a good descriptor");
            polls[0].revents != 0
        };
        assert!(!readable() && !calls.take());
        let waker = place.get().expect("it was given");
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert!(readable() && calls.take());
        assert!(!readable() && !calls.take());
    }

    #[test]
    fn a_node_that_keeps_no_waker_has_no_calls() {
        assert!(Calls::of(&mut driver(Called(None))).is_none());
    }
}
