//! Header views: no bytes make a view or its methods panic, whatever layer they are taken for; descriptions are bounded.

use packet::checksum::{Pseudo, Sum, update_bytes};
use packet::ipv4::Options;
use packet::{
    arp, describe, ethernet, geneve, gre, icmp, icmpv6, ipv4, ipv6, mpls, pppoe, tcp, udp, vlan,
    vxlan,
};
use std::hint::black_box as see;

pub fn target(data: &[u8]) {
    let pseudo = Pseudo::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 17);
    if let Ok(mut tags) = vlan::Tags::new(data) {
        assert!(tags.by_ref().count() <= data.len() / 4);
        see((tags.ethertype(), tags.payload()));
        see(ethernet::EthernetView::new(data)
            .expect("as long as for its tags")
            .payload());
    }
    if let Ok(packet) = arp::Arp::parse(data) {
        let mut back = Vec::new();
        packet.build(&mut back);
        assert_eq!(back, data[..28]);
    }
    // A total length of 0 is that of a packet for segmentation offload: it ends with the frame.
    let total = |view: &ipv4::Ipv4View<'_>| match view.total_length() {
        0 => data.len(),
        length => length.into(),
    };
    if let Ok(view) = ipv4::Ipv4View::new_cut(data) {
        assert!(view.payload().len() <= total(&view));
        see((
            view.is_checksum_valid(),
            view.pseudo(),
            view.fragment_offset(),
        ));
        see(Options(view.options()).count());
    }
    if let Ok(view) = ipv4::Ipv4View::new(data) {
        assert_eq!(
            20 + view.options().len() + view.payload().len(),
            total(&view)
        );
    }
    if let Ok(view) = ipv6::Ipv6View::new_cut(data) {
        let mut walk = view.extensions();
        let taken: usize = walk.by_ref().map(|extension| extension.bytes.len()).sum();
        assert_eq!(taken + walk.payload().len(), view.payload().len());
        see((
            view.flow_label(),
            view.traffic_class(),
            view.pseudo(walk.protocol()),
        ));
    }
    if let Ok(view) = udp::UdpView::new_cut(data) {
        assert!(8 + view.payload().len() <= usize::from(view.length()));
        see(view.is_checksum_valid(pseudo));
    }
    if let Ok(view) = tcp::TcpView::new(data) {
        assert_eq!(
            20 + view.option_bytes().len() + view.payload().len(),
            data.len()
        );
        assert!(view.options().count() <= 20);
        see(view.is_checksum_valid(pseudo));
    }
    if let Ok(view) = icmp::IcmpView::new(data) {
        let mut back = Vec::new();
        view.message()
            .build(&mut back, |out| out.extend_from_slice(view.payload()));
        assert_eq!(
            icmp::IcmpView::new(&back)
                .expect("what was built")
                .message(),
            view.message()
        );
        see(view.is_checksum_valid());
    }
    if let Ok(view) = icmpv6::Icmpv6View::new(data) {
        let mut back = Vec::new();
        view.message().build(pseudo, &mut back, |out| {
            out.extend_from_slice(view.payload())
        });
        let again = icmpv6::Icmpv6View::new(&back).expect("what was built");
        assert_eq!(
            (again.message(), again.payload()),
            (view.message(), view.payload())
        );
        assert!(again.is_checksum_valid(pseudo));
        see(view.link_layer_address());
    }
    if let Ok(view) = vxlan::VxlanView::new(data) {
        assert_eq!(view.frame().len() + 8, data.len());
        assert!(view.network() < 1 << 24);
    }
    if let Ok(view) = geneve::GeneveView::new(data) {
        assert_eq!(8 + view.options().len() + view.payload().len(), data.len());
        assert!(view.network() < 1 << 24);
    }
    if let Ok(view) = pppoe::PppoeView::new(data) {
        assert!(view.payload().len() <= view.length().into());
        let _ = see((view.discovery(), view.session(), view.packet()));
    }
    if let Ok(view) = gre::GreView::new(data) {
        see((
            view.protocol(),
            view.key(),
            view.sequence(),
            view.payload(),
            view.is_checksum_valid(),
        ));
    }
    if let Ok((_, _, rest)) = mpls::Label::split(data) {
        assert_eq!(rest.len() + 4, data.len());
    }
    sums(data);
    let told = describe::Description(data).to_string();
    assert!(told.len() < 1_000 && !told.contains('\n'), "{told}");
}

/// Replacing a part and updating the sum is the same as summing anew.
fn sums(data: &[u8]) {
    let Some((new, rest)) = data.split_first_chunk::<4>() else {
        return;
    };
    let Some(old) = rest.first_chunk::<4>() else {
        return;
    };
    let mut changed = rest.to_vec();
    changed[..4].copy_from_slice(new);
    let sum = |bytes: &[u8]| Sum::default().plus(&[0x45, 0]).plus(bytes).checksum();
    assert_eq!(update_bytes(sum(rest), old, new), sum(&changed));
}
