//! Covert bits: any bits at all do no harm, and what is said is heard, behind any noise and either way up.

use node::Time;
use nodes::covert::code::{CHUNK, MAX_MESSAGE_LEN, Receiver, Sender};
use nodes::covert::{Config, Demodulator};

/// The first byte says how many of the rest are noise; behind them is a message.
pub fn target(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let (noise, message) = rest.split_at(usize::from(first).min(rest.len()));
    let mut receiver = Receiver::default();
    let bits = noise
        .iter()
        .flat_map(|byte| (0..8).map(move |n| byte >> n & 1 == 1));
    let mut taken = 0;
    for bit in bits {
        taken += 1;
        receiver.take(bit);
    }
    let found = receiver.found();
    assert!(found.messages <= found.chunks && found.chunks <= taken);

    if let Some(mut sender) = Sender::new(message, 2) {
        assert!((1..=MAX_MESSAGE_LEN).contains(&message.len()));
        let mut heard = 0;
        while let Some(bit) = sender.next() {
            sender.sent();
            // Noise may have begun a message of its own, or end in the middle of this one's marker.
            heard += u32::from(receiver.take(bit) == Some(message));
        }
        assert!(heard >= 1);
        assert!(receiver.found().bit_errors <= CHUNK as u64 * receiver.found().chunks);
    }

    let mut demodulator = Demodulator::new(&Config::default()).expect("defaults are good");
    for frame in rest.chunks_exact(10) {
        let time = frame[..8]
            .iter()
            .fold(0, |time, &byte| time << 8 | u64::from(byte));
        let len = usize::from(frame[8]) << 8 | usize::from(frame[9]);
        demodulator.frame(Time::from_ps(time), len);
    }
}
