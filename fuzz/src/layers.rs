//! The walk over a frame's headers: whatever the bytes, and whatever header it begins with, it ends, each header begins where
//! the one before it ends, and what is left is within the frame.

use packet::ethernet::ethertype;
use packet::flow::five_tuple;
use packet::ip::IpView;
use packet::layers::{Header, Layers, Next, layers};
use packet::vlan::untagged;

pub fn target(data: &[u8]) {
    let starts = [
        Next::Ethernet,
        Next::Ethertype(ethertype::IPV4),
        Next::Ethertype(ethertype::IPV6),
        Next::Ethertype(ethertype::MPLS),
        Next::Ethertype(ethertype::PPPOE_SESSION),
        Next::Vxlan,
        Next::Geneve,
        Next::Protocol(data.first().copied().unwrap_or(0)),
    ];
    for start in starts {
        let mut walk = Layers::new(start, data);
        let mut behind = 0;
        while let Some(layer) = walk.next() {
            assert!(layer.at == behind && walk.at() >= behind + 4);
            behind = walk.at();
            assert_eq!(&data[behind..][..walk.rest().len()], walk.rest());
        }
        assert!(walk.next().is_none());
    }
    tuple(data);
}

/// A whole packet's five-tuple has the addresses of the first IP header behind the tags.
fn tuple(data: &[u8]) {
    let whole = untagged(data).and_then(|(kind, packet)| IpView::new(kind, packet).ok());
    let found = layers(data).find_map(|layer| match layer.header {
        Header::Ipv4(view) => Some(IpView::V4(view)),
        Header::Ipv6(view) => Some(IpView::V6(view)),
        _ => None,
    });
    if let (Some(whole), Some(tuple)) = (whole, five_tuple(data)) {
        let found = found.expect("the packet that was found before");
        assert_eq!(
            (found.source(), found.destination()),
            (tuple.source, tuple.destination)
        );
        assert_eq!(
            (whole.source(), whole.payload()),
            (found.source(), found.payload())
        );
    }
}
