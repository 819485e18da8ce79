//! DTP: any 56 bits are a message that writes back the same, or damaged; a device with any messages at any ticks stays sound, and its
//! counter never goes back.

use node::{Port, Sublayer};
use nodes::dtp::message::Message;
use nodes::dtp::{BITS, Config, Device, Rule};

pub fn target(data: &[u8]) {
    let config = Config {
        rule: [Rule::Maximum, Rule::Gradient, Rule::Average][data.len() % 3],
        log: Some(50),
        ..Config::default()
    };
    let mut device = Device::new(&config, 2).expect("good keys");
    let mut tick = 0u64;
    for port in [0, 1] {
        device.link(0, Port(port), true);
    }
    let mut shown = device.counter(0);
    for words in data.chunks_exact(9) {
        let (head, bits) = (words[0], &words[1..]);
        let bits = u64::from_le_bytes(bits.try_into().expect("eight bytes")) >> 8;
        if let Ok(Some(message)) = Message::decode(bits) {
            assert_eq!(message.encode(), bits);
        }
        tick += u64::from(head >> 2) * 7;
        let port = Port(u16::from(head & 1));
        match head & 2 {
            0 => device.take(tick, port, bits),
            _ if device.due(port).is_some_and(|due| due <= tick) => {
                let said = device.fill(tick, port);
                assert!(Message::decode(said).is_ok() && said < 1 << 56);
            }
            _ => {}
        }
        let now = device.counter(tick);
        let forward = now.wrapping_sub(shown) & ((1 << BITS) - 1);
        assert!(forward < 1 << (BITS - 1), "the counter has gone back");
        shown = now;
    }
    let _ = device.statistics();
}
