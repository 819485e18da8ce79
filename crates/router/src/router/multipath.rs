//! Choice of one of several next hops.

use super::Multipath;
use crate::route::Hop;
use packet::flow::FiveTuple;

/// Chooses one of several hops: by turns, or by a hash of the flow, each with its share (RFC 2992).
pub(super) fn choose(
    multipath: Multipath,
    seed: u64,
    turn: &mut u32,
    hops: &[Hop],
    frame: &[u8],
) -> Hop {
    let [first, _, ..] = hops else {
        return hops[0];
    };
    let total: u32 = hops.iter().map(|hop| u32::from(hop.weight)).sum();
    let mut place = match multipath {
        Multipath::PerPacket => {
            *turn = (*turn + 1) % total;
            *turn
        }
        Multipath::L3 | Multipath::L4 => {
            let tuple = packet::flow::five_tuple(frame).map(|tuple| match multipath {
                Multipath::L3 => FiveTuple {
                    protocol: 0,
                    source_port: 0,
                    destination_port: 0,
                    ..tuple
                },
                _ => tuple,
            });
            let hash = tuple.map_or(0, |tuple| tuple.hash());
            // Routers in a row with one hash would leave paths unused: each mixes it by its seed (the finalizer of SplitMix64).
            let mut mixed = seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(hash.into());
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed = (mixed ^ mixed >> 31) >> 32;
            ((mixed * u64::from(total)) >> 32) as u32
        }
    };
    for hop in hops {
        match place.checked_sub(hop.weight.into()) {
            Some(rest) => place = rest,
            None => return *hop,
        }
    }
    *first
}
