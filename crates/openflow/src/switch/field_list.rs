//! Fields of a match that is made here, for messages.

use crate::key::{Field, Pattern, VLAN_PRESENT};
use crate::matching::Match;
use crate::oxm::Oxm;
use crate::version::Version;

/// Maximum number of fields of a match.
const MAX_FIELDS: usize = 40;

/// Fields of a match, in a place of their own.
pub(super) struct FieldList {
    fields: [Oxm; MAX_FIELDS],
    count: usize,
}

impl FieldList {
    pub fn new() -> FieldList {
        FieldList {
            fields: [Oxm::new(Field::InPort, 0); MAX_FIELDS],
            count: 0,
        }
    }

    pub fn push(&mut self, oxm: Oxm) {
        if let Some(place) = self.fields.get_mut(self.count) {
            *place = oxm;
            self.count += 1;
        }
    }

    pub fn matching(&self) -> Match<'_> {
        Match::new(&self.fields[..self.count])
    }

    /// The fields that a pattern asks for, in the order of their numbers, as this version may ask for them.
    pub fn of(pattern: &Pattern, version: Version) -> FieldList {
        let mut list = FieldList::new();
        for &field in &Field::ALL {
            let mask = pattern.mask.get(field);
            if mask == 0 || !is_meant(pattern, field, version) {
                continue;
            }
            let value = pattern.value.get(field);
            list.push(match mask == field.max() {
                true => Oxm::new(field, value),
                false => Oxm::masked(field, value, mask),
            });
        }
        list
    }
}

/// Whether bits at the place of a field are that field's: others share it, and the types that a match names tell which.
fn is_meant(pattern: &Pattern, field: Field, version: Version) -> bool {
    use Field::*;
    let eth_type = pattern.value.get(EthType) as u16;
    let proto = pattern.value.get(IpProto) as u8;
    let (v4, v6) = (eth_type == 0x0800, eth_type == 0x86DD);
    match field {
        Ipv4Src | Ipv4Dst => v4,
        IpDscp | IpEcn | IpProto => v4 || v6,
        TcpSrc | TcpDst => (v4 || v6) && proto == 6,
        UdpSrc | UdpDst => (v4 || v6) && proto == 17,
        SctpSrc | SctpDst => (v4 || v6) && proto == 132,
        Icmpv4Type | Icmpv4Code => v4 && proto == 1,
        Icmpv6Type | Icmpv6Code => v6 && proto == 58,
        ArpOp | ArpSpa | ArpTpa | ArpSha | ArpTha => eth_type == 0x0806,
        Ipv6Src | Ipv6Dst | Ipv6Flabel | Ipv6Exthdr => v6,
        PbbIsid => eth_type == 0x88E7,
        // Frames without a tag have none in 1.3.
        VlanPcp => {
            version == Version::V10 || pattern.value.get(VlanVid) & u128::from(VLAN_PRESENT) != 0
        }
        _ => true,
    }
}
