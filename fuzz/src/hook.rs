//! What the kernel says by netlink of packets in its queues; and packets that are cut, or whose senders are told.

use live::nfqueue::message::{self, Incoming};
use live::nfqueue::packets;

pub fn target(data: &[u8]) {
    if let Some(Incoming::Packet(packet)) = message::read(data) {
        assert!(packet.start <= packet.end && packet.end <= data.len());
        ip(packet.protocol, &data[packet.start..packet.end]);
    }
    for protocol in [packets::IPV4, packets::IPV6] {
        ip(protocol, data);
    }
    packets::packet_of(data);
}

fn ip(protocol: u16, bytes: &[u8]) {
    let mut message = Vec::new();
    if packets::may_be_answered(protocol, bytes) {
        packets::too_big(protocol, bytes, 1400, &mut message);
        assert!(message.len() <= 1240);
    }
    let Some(len) = packets::length(protocol, bytes) else {
        return;
    };
    let packet = &bytes[..len];
    if protocol == packets::IPV4 && packets::may_be_cut(packet) {
        let header = usize::from(packet[0] & 15) * 4;
        for mtu in [0, 68, 576] {
            let mut payload = Vec::new();
            let cut = packets::cut(packet, mtu, 1, &mut message, |piece| {
                assert!(piece.len() <= mtu);
                assert_eq!(packets::length(protocol, piece), Some(piece.len()));
                payload.extend_from_slice(&piece[header..]);
            });
            assert!(!cut || payload == packet[header..]);
        }
    }
}
