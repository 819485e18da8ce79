//! Who looks at a run from outside: told how far it has come, asked whether it shall stop.

use node::Time;

#[derive(Default)]
pub(crate) struct Watcher {
    pub stop: Option<Box<dyn Fn() -> bool + Send>>,
    pub progress: Option<fn(Time, Option<Time>)>,
    pub passed: Option<Box<dyn FnMut(Time) + Send>>,
}

impl Watcher {
    /// Tells that all up to a time has happened.
    pub fn report(&mut self, time: Time, until: Time) {
        if let Some(passed) = &mut self.passed {
            passed(time);
        }
        if let Some(progress) = self.progress {
            progress(time, Some(until).filter(|until| *until < Time::MAX));
        }
    }

    /// Whether the run shall stop.
    pub fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }
}
