//! Choice of one of several next hops.

use super::Multipath;
use crate::route::Hop;
use core::net::IpAddr;
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
        Multipath::Resilient => return by_rendezvous(mix(seed, hash(multipath, frame)), hops),
        Multipath::L3 | Multipath::L4 => {
            let mixed = mix(seed, hash(multipath, frame)) >> 32;
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

/// A hash of the packet's flow.
fn hash(multipath: Multipath, frame: &[u8]) -> u64 {
    let tuple = packet::flow::five_tuple(frame).map(|tuple| match multipath {
        Multipath::L3 => FiveTuple {
            protocol: 0,
            source_port: 0,
            destination_port: 0,
            ..tuple
        },
        _ => tuple,
    });
    tuple.map_or(0, |tuple| tuple.hash().into())
}

/// Mixes a hash with a seed: routers in a row with one hash would leave paths unused (the finalizer of SplitMix64).
fn mix(seed: u64, hash: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(hash);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The hop with the highest score for a flow. A score depends on the flow and its hop alone, so that other hops do not move it; the
/// score -weight / log(uniform number) wins with a probability proportional to the weight (Thaler and Ravishankar 1998, with weights).
fn by_rendezvous(flow: u64, hops: &[Hop]) -> Hop {
    let score = |hop: &&Hop| {
        let port = hop.port.map_or(0, |port| u64::from(port) + 1);
        let via = match hop.via {
            None => 0,
            Some(IpAddr::V4(via)) => via.to_bits().into(),
            Some(IpAddr::V6(via)) => {
                let bits = via.to_bits();
                (bits >> 64) as u64 ^ bits as u64
            }
        };
        let uniform = mix(port, mix(via, flow)) >> 32;
        (u64::from(hop.weight) << 40) / u64::from(negative_log2(uniform as u32))
    };
    *hops.iter().max_by_key(score).unwrap_or(&hops[0])
}

/// -log2((x + 1) / 2^32) in units of 2^-16, at least 1.
fn negative_log2(x: u32) -> u32 {
    let x = u64::from(x) + 1;
    let whole = x.ilog2();
    // The mantissa, from 1 to 2 in units of 2^-31; squaring it gives a binary digit of its logarithm.
    let mut mantissa = (x << 31 >> whole) & 0xFFFF_FFFF;
    let mut fraction = 0;
    for _ in 0..16 {
        mantissa = (mantissa * mantissa) >> 31;
        let digit = (mantissa >> 32) as u32;
        fraction = fraction << 1 | digit;
        mantissa >>= digit;
    }
    ((32 << 16) - (whole << 16 | fraction)).max(1)
}

#[cfg(test)]
mod tests {
    use super::negative_log2;

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        for x in (0..u32::MAX)
            .step_by(99_991)
            .chain([1, 2, u32::MAX - 1, u32::MAX])
        {
            let wanted = (32.0 - (f64::from(x) + 1.0).log2()) * 65_536.0;
            let got = f64::from(negative_log2(x));
            assert!((got - wanted).abs() <= 2.0, "{x}: {got} {wanted}");
        }
    }
}
