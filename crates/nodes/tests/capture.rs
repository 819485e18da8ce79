use crate::hand::{Hand, frame, mac};
use node::{Frame, Port, Time};
use nodes::capture::{Capture, Config, Recorder};
use std::sync::{Arc, Mutex};

type Taken = Arc<Mutex<Vec<(u16, Time, usize)>>>;

struct Notebook(Taken);

impl Recorder for Notebook {
    fn record(&mut self, _now: Time, port: Port, frame: &Frame) {
        self.0
            .lock()
            .unwrap()
            .push((port.0, frame.arrived(), frame.len()));
    }
}

#[test]
fn a_capture_takes_frames_down_and_lets_none_out() {
    let taken = Taken::default();
    let mut capture = Hand::new(Capture::new(
        Config::default(),
        Box::new(Notebook(taken.clone())),
    ));
    capture.wait(Time::from_ns(67));
    assert_eq!(capture.ports(0, &frame(mac(1), mac(2))), []);
    assert_eq!(*taken.lock().unwrap(), [(0, Time::from_ns(67), 60)]);
}

#[test]
fn a_tap_in_line_changes_nothing() {
    let taken = Taken::default();
    let mut tap = Hand::new(Capture::new(
        Config { tap: true },
        Box::new(Notebook(taken.clone())),
    ));
    assert_eq!(tap.ports(0, &frame(mac(1), mac(2))), [1]);
    assert_eq!(tap.ports(1, &frame(mac(2), mac(1))), [0]);
    let ports: Vec<_> = taken.lock().unwrap().iter().map(|taken| taken.0).collect();
    assert_eq!(ports, [0, 1]);
}
