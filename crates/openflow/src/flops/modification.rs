//! The ten packet modifications of OpenFlow 1.0, and the headers that a probe must have after them.

use super::probe::{HEADERS, Stream};
use crate::action::Action;
use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::version::Version;
use alloc::vec::Vec;
use packet::checksum::{Sum, checksum};

/// A modification: its action in each version, and its effect on the headers of a probe.
pub(super) struct Modification {
    v10: Action<'static>,
    v13: Action<'static>,
    apply: fn(&mut Vec<u8>),
}

impl Modification {
    /// The action in this version.
    pub fn action(&self, version: Version) -> Action<'static> {
        match version {
            Version::V10 => self.v10,
            Version::V13 => self.v13,
        }
    }
}

/// An action that both versions have.
const fn both(action: Action<'static>, apply: fn(&mut Vec<u8>)) -> Modification {
    Modification {
        v10: action,
        v13: action,
        apply,
    }
}

const fn set(field: Field, value: u128) -> Action<'static> {
    Action::SetField(Oxm::new(field, value))
}

/// Ethernet destination.
pub(super) const ETH_DST: Modification = both(set(Field::EthDst, 0x0200_0000_0009), |headers| {
    headers[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
});
/// Ethernet source.
pub(super) const ETH_SRC: Modification = both(set(Field::EthSrc, 0x0200_0000_0008), |headers| {
    headers[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 8]);
});
/// IPv4 destination.
pub(super) const IP_DST: Modification = both(set(Field::Ipv4Dst, 0x0a09_0909), |headers| {
    ip(headers)[16..20].copy_from_slice(&[10, 9, 9, 9]);
});
/// IPv4 source.
pub(super) const IP_SRC: Modification = both(set(Field::Ipv4Src, 0x0a08_0808), |headers| {
    ip(headers)[12..16].copy_from_slice(&[10, 8, 8, 8]);
});
/// DSCP, which 1.0 calls ToS.
pub(super) const IP_TOS: Modification = both(set(Field::IpDscp, 10), |headers| {
    ip(headers)[1] = 10 << 2;
});
/// UDP destination port.
pub(super) const L4_DST: Modification = Modification {
    v10: Action::SetTpDst(7777),
    v13: set(Field::UdpDst, 7777),
    apply: |headers| ip(headers)[22..24].copy_from_slice(&7777u16.to_be_bytes()),
};
/// UDP source port.
pub(super) const L4_SRC: Modification = Modification {
    v10: Action::SetTpSrc(6666),
    v13: set(Field::UdpSrc, 6666),
    apply: |headers| ip(headers)[20..22].copy_from_slice(&6666u16.to_be_bytes()),
};
/// VLAN priority.
pub(super) const VLAN_PCP: Modification = Modification {
    v10: Action::SetVlanPcp(5),
    v13: set(Field::VlanPcp, 5),
    apply: |headers| headers[14] = 5 << 5 | headers[14] & 0x1f,
};
/// VLAN id.
pub(super) const VLAN_ID: Modification = Modification {
    v10: Action::SetVlanVid(200),
    v13: set(Field::VlanVid, VLAN_PRESENT as u128 | 200),
    apply: |headers| {
        headers[14] &= 0xf0;
        headers[15] = 200;
    },
};
/// Removal of the VLAN tag.
pub(super) const VLAN_REMOVE: Modification = both(Action::PopVlan, |headers| {
    headers.drain(12..16);
});

/// The order in which modifications are combined: those of the tag last, as its removal ends them.
static SETS: [Modification; 9] = [
    ETH_DST, ETH_SRC, IP_DST, IP_SRC, IP_TOS, L4_DST, L4_SRC, VLAN_PCP, VLAN_ID,
];

/// `number` modifications in one entry, for tagged probes. Up to ten are different ones, the tenth the removal of
/// the tag; beyond that fields are set again, so that a limit above ten shows too.
pub(super) fn combined(number: usize) -> impl Iterator<Item = &'static Modification> {
    let removal = (number > SETS.len()).then_some(&VLAN_REMOVE);
    let sets = number - usize::from(removal.is_some());
    SETS.iter().cycle().take(sets).chain(removal)
}

/// The IPv4 header and what follows.
fn ip(headers: &mut [u8]) -> &mut [u8] {
    let at = if is_tagged(headers) { 18 } else { 14 };
    &mut headers[at..]
}

fn is_tagged(headers: &[u8]) -> bool {
    headers[12..14] == [0x81, 0]
}

/// Headers that the probes of a stream have after modifications.
pub(super) struct Expected {
    headers: Vec<u8>,
    /// Where the IPv4 header begins.
    ip: usize,
}

impl Expected {
    /// The headers of `stream`, which has one flow, after `modifications` in this order.
    pub fn of<'a>(
        stream: &Stream,
        modifications: impl IntoIterator<Item = &'a Modification>,
    ) -> Expected {
        let mut headers = Vec::new();
        stream.write(0, &mut headers);
        headers.truncate(HEADERS + if stream.tagged { 4 } else { 0 });
        for modification in modifications {
            (modification.apply)(&mut headers);
        }
        let at = if is_tagged(&headers) { 18 } else { 14 };
        headers[at + 10..at + 12].fill(0);
        let sum = checksum(&headers[at..at + 20]);
        headers[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        Expected { headers, ip: at }
    }

    /// Whether a frame has these headers. Of a checksum only its validity counts: zero has two forms.
    pub fn is_met_by(&self, frame: &[u8]) -> bool {
        let Some(headers) = frame.get(..self.headers.len()) else {
            return false;
        };
        let checksum = self.ip + 10..self.ip + 12;
        headers[..checksum.start] == self.headers[..checksum.start]
            && headers[checksum.end..] == self.headers[checksum.end..]
            && Sum::default()
                .plus(&headers[self.ip..self.ip + 20])
                .is_valid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flops::probe::MIN_PROBE_LEN;
    use ::node::Time;

    fn stream(tagged: bool) -> Stream {
        Stream {
            number: 1,
            start: Time::ZERO,
            gap: Time::from_us(1),
            count: 1,
            length: MIN_PROBE_LEN,
            flows: (0, 1),
            tagged,
            by_cable: false,
        }
    }

    #[test]
    fn ten_modifications_change_every_field_and_remove_the_tag() {
        let expected = Expected::of(&stream(true), combined(10));
        let untagged = Expected::of(&stream(false), [&ETH_DST, &ETH_SRC, &IP_DST, &IP_SRC]);
        let rest = [&IP_TOS, &L4_DST, &L4_SRC];
        let mut headers = untagged.headers.clone();
        rest.iter().for_each(|one| (one.apply)(&mut headers));
        // The tag takes four bytes of a probe's length.
        headers[16..18].copy_from_slice(&46u16.to_be_bytes());
        headers[38..40].copy_from_slice(&26u16.to_be_bytes());
        assert!(expected.headers[..24] == headers[..24]);
        assert!(expected.headers[26..] == headers[26..]);
    }

    #[test]
    fn a_header_with_any_wrong_bit_is_not_as_expected() {
        for number in 0..14 {
            let stream = stream(true);
            let expected = Expected::of(&stream, combined(number));
            let mut frame = expected.headers.clone();
            frame.extend([0; 20]);
            assert!(expected.is_met_by(&frame), "{number}");
            for bit in 0..8 * expected.headers.len() {
                frame[bit / 8] ^= 1 << (bit % 8);
                assert!(!expected.is_met_by(&frame), "{number} {bit}");
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(!expected.is_met_by(&frame[..30]));
        }
    }

    #[test]
    fn beyond_ten_fields_are_set_again() {
        for number in 0..40 {
            assert_eq!(combined(number).count(), number);
            let removals = combined(number).filter(|one| one.v10 == Action::PopVlan);
            assert_eq!(removals.count(), usize::from(number >= 10));
        }
    }
}
