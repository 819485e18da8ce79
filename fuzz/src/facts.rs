//! What the kernel says by rtnetlink, as datagrams.

use live::netlink::{HEADER, messages};
use live::statistics::message;

pub fn target(data: &[u8]) {
    let mut bytes = 0;
    for message in messages(data) {
        bytes += HEADER + message.body.len();
        message.code();
        if let Some(link) = message::link(message.body) {
            assert!(!link.name.contains(&0));
        }
        message::stats(message.body);
        message::traffic(message.body);
        let mut ways = 0;
        message::routes(message.body, &mut |_, route| {
            let longest = if route.to.is_ipv4() { 32 } else { 128 };
            assert!(route.there && route.prefix <= longest);
            ways += 1;
        });
        // Each way takes eight bytes, but for the one outside.
        assert!(ways <= 1 + message.body.len() / 8);
        if let Some((_, neighbour)) = message::neighbour(message.body) {
            let family = if neighbour.address.is_ipv4() { 2 } else { 10 };
            assert_eq!(message.body[0], family);
        }
    }
    assert!(bytes <= data.len());
}
