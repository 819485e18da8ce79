//! A world of one node, whose clock is moved by hand.

use node::{Frame, Node, Out, Port, Time, When};

/// A node, its output, and the time.
pub struct Hand<N> {
    pub node: N,
    pub now: Time,
    out: Out,
}

/// A frame that came out: by which port, when, and its bytes.
pub type Sent = (u16, When, Vec<u8>);

impl<N: Node> Hand<N> {
    pub fn new(node: N) -> Hand<N> {
        Hand {
            node,
            now: Time::ZERO,
            out: Out::default(),
        }
    }

    /// Lets a frame arrive whose first bit came when the last one did, and returns the frames that leave.
    pub fn frame(&mut self, port: u16, bytes: &[u8]) -> Vec<Sent> {
        let mut frame = Frame::new(bytes);
        frame.set_arrived(self.now);
        self.node
            .frames(self.now, Port(port), &mut vec![frame], &mut self.out);
        let sent = self.out.sends();
        sent.map(|departure| (departure.port.0, departure.when, departure.frame.to_vec()))
            .collect()
    }

    /// The ports by which a frame comes out, unchanged and at once.
    pub fn ports(&mut self, port: u16, bytes: &[u8]) -> Vec<u16> {
        let sent = self.frame(port, bytes);
        let unchanged = |(port, when, sent): Sent| {
            assert_eq!((when, &sent[..]), (When::Now, bytes));
            port
        };
        sent.into_iter().map(unchanged).collect()
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Time) {
        self.now += time;
    }

    pub fn counter(&self, name: &str) -> u64 {
        let found = self.node.statistics().get(name);
        found.unwrap_or_else(|| panic!("there is no counter `{name}`"))
    }

    pub fn drops(&self, reason: &str) -> u64 {
        let drops = self.out.drops().iter();
        drops
            .filter(|(known, _)| *known == reason)
            .map(|(_, count)| count)
            .sum()
    }
}

/// The address of station `n`.
pub fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

/// A frame of 60 bytes from one address to another.
pub fn frame(from: [u8; 6], to: [u8; 6]) -> Vec<u8> {
    let mut frame = [to, from].concat();
    frame.extend([0x88, 0xB5]);
    frame.resize(60, 0);
    frame
}
