//! A driver with zero copy, played by the test: no interface here has one.

use super::super::program::Sockets;
use super::super::ring::Ring;
use super::super::socket::Area;
use super::*;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;

const FRAME: [u8; 60] = [7; 60];

/// A sender, and where its knocks arrive.
fn sender(patience: Duration) -> (Sender, UnixDatagram) {
    let (socket, driver) = UnixDatagram::pair().unwrap();
    driver.set_nonblocking(true).unwrap();
    let area = Arc::new(Area::fake(socket.into()).unwrap());
    let lane = SendLane {
        area,
        ring: Ring::fake(PLACES),
        completion: Ring::fake(PLACES),
        free: (PLACES..2 * PLACES)
            .map(|place| u64::from(place) * 4096)
            .collect(),
        zero_copy: true,
    };
    let program = Program {
        about: UdpSocket::bind("127.0.0.1:0").unwrap().into(),
        _link: std::fs::File::open("/dev/null").unwrap().into(),
        _map: Sockets::none(),
    };
    let sender = Sender::new("lo", 1500, lane, patience, Arc::new(program));
    (sender, driver)
}

fn knocks(driver: &UnixDatagram) -> usize {
    let mut bytes = [0; 1];
    std::iter::from_fn(|| driver.recv(&mut bytes).ok()).count()
}

/// The driver sends all that is in the ring.
fn drive(sender: &Sender) -> usize {
    let taken = sender.lane.ring.consume();
    let places: Vec<u64> = taken.iter().map(|descriptor| descriptor.at).collect();
    sender.lane.completion.produce(&places);
    places.len()
}

#[test]
fn a_driver_is_woken_once_and_only_when_it_sleeps() {
    let (mut sender, driver) = sender(Duration::from_millis(20));
    sender.lane.ring.want_wakeup(true);
    assert_eq!(sender.send(&[&FRAME[..]; 3]).unwrap(), 3);
    assert_eq!(knocks(&driver), 1);
    // It is at it, and finds what comes by itself.
    sender.lane.ring.want_wakeup(false);
    assert_eq!(sender.send(&[&FRAME[..]; 5]).unwrap(), 5);
    assert_eq!(knocks(&driver), 0);
    assert_eq!(drive(&sender), 8);
    // It sleeps again, and there is nothing for it to do.
    sender.lane.ring.want_wakeup(true);
    sender.finish().unwrap();
    assert_eq!(knocks(&driver), 0);
}

#[test]
fn frames_that_no_driver_takes_fill_the_memory_and_then_are_refused() {
    let (mut sender, driver) = sender(Duration::from_millis(20));
    let frames = [&FRAME[..]; 64];
    let mut sent = 0;
    let error = loop {
        match sender.send(&frames) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
    };
    assert_eq!(sent, PLACES as usize);
    assert!(matches!(error, PortError::Full { .. }), "{error}");
    assert_eq!(sender.counters().full, 1);
    // What cannot leave is told at the end as well.
    assert!(matches!(sender.finish(), Err(PortError::Full { .. })));
    assert_eq!(drive(&sender), PLACES as usize);
    assert_eq!(sender.send(&frames).unwrap(), 64);
    assert_eq!(drive(&sender), 64);
    sender.finish().unwrap();
    assert_eq!(knocks(&driver), 0);
}
