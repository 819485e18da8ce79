/// Methods of [`Node`](node::Node) that a wrapper takes from the node in its field 0.
macro_rules! delegate {
    ($($method:ident)*) => { $(delegate!(@ $method);)* };
    (@ properties) => {
        fn properties(&self) -> Properties {
            self.0.properties()
        }
    };
    (@ frames) => {
        fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
            self.0.frames(now, port, frames, out);
        }
    };
    (@ wake) => {
        fn wake(&mut self, now: Time, out: &mut Out) {
            self.0.wake(now, out);
        }
    };
    (@ next_wake) => {
        fn next_wake(&self) -> Option<Time> {
            self.0.next_wake()
        }
    };
    (@ statistics) => {
        fn statistics(&self) -> Statistics {
            self.0.statistics()
        }
    };
}
