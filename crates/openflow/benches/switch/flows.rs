//! Flows, and the packets that belong to them.

use node::random::Random;
use openflow::key::{Field, Pattern};
use openflow::oxm::Oxm;

/// splitmix64: so that a flow's number is enough to make its packets, without a table in the caches.
fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// What the entries match.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// Five-tuples, all of one priority.
    Exact,
    /// Twenty masks, each with a priority of its own.
    Mixed,
}

/// Which ports of TCP an entry matches.
#[derive(Clone, Copy, PartialEq)]
enum Ports {
    None,
    To,
    Both,
}

/// Lengths of the source's and the destination's prefix; the more specific, the higher the priority.
const MASKS: [(u32, u32, Ports); 20] = [
    (32, 32, Ports::Both),
    (32, 32, Ports::To),
    (32, 32, Ports::None),
    (32, 24, Ports::To),
    (24, 32, Ports::To),
    (24, 24, Ports::To),
    (32, 24, Ports::None),
    (24, 32, Ports::None),
    (24, 24, Ports::None),
    (28, 28, Ports::To),
    (16, 32, Ports::To),
    (16, 24, Ports::To),
    (32, 16, Ports::None),
    (16, 32, Ports::None),
    (0, 32, Ports::To),
    (0, 28, Ports::None),
    (32, 0, Ports::None),
    (20, 20, Ports::None),
    (0, 24, Ports::None),
    (0, 16, Ports::To),
];

/// The five-tuple of a flow: addresses, and ports of TCP.
#[derive(Clone, Copy)]
pub struct Five {
    pub addresses: u64,
    pub ports: u32,
}

impl Five {
    pub fn of(number: u32) -> Five {
        Five {
            addresses: scramble(u64::from(number)),
            ports: scramble(u64::from(number) | 1 << 40) as u32,
        }
    }
}

/// The fields that a flow's entry matches, and its priority.
pub fn entry(shape: Shape, number: u32) -> (Vec<Oxm>, u16) {
    let five = Five::of(number);
    let (source, destination) = ((five.addresses >> 32) as u32, five.addresses as u32);
    let kind = match shape {
        Shape::Exact => 0,
        Shape::Mixed => number as usize % MASKS.len(),
    };
    let (source_bits, destination_bits, ports) = MASKS[kind];
    let mut fields = vec![Oxm::new(Field::EthType, 0x0800)];
    if ports != Ports::None {
        fields.push(Oxm::new(Field::IpProto, 6));
    }
    for (field, address, bits) in [
        (Field::Ipv4Src, source, source_bits),
        (Field::Ipv4Dst, destination, destination_bits),
    ] {
        let mask = (u64::MAX << (32 - bits)) as u32;
        match bits {
            0 => {}
            32 => fields.push(Oxm::new(field, address.into())),
            _ => fields.push(Oxm::masked(field, (address & mask).into(), mask.into())),
        }
    }
    if ports == Ports::Both {
        fields.push(Oxm::new(Field::TcpSrc, (five.ports >> 16).into()));
    }
    if ports != Ports::None {
        fields.push(Oxm::new(Field::TcpDst, (five.ports & 0xFFFF).into()));
    }
    (fields, 1000 - kind as u16)
}

/// The same for a table.
pub fn pattern(fields: &[Oxm]) -> Pattern {
    fields.iter().fold(Pattern::default(), |pattern, oxm| {
        pattern.with_masked(oxm.field, oxm.value, oxm.significant())
    })
}

/// A frame of 60 bytes - 64 on the wire - of a flow.
pub fn fill(frame: &mut [u8; 60], number: u32) {
    let five = Five::of(number);
    frame[26..34].copy_from_slice(&five.addresses.to_be_bytes());
    frame[34..38].copy_from_slice(&five.ports.to_be_bytes());
}

/// What all frames have.
pub fn template() -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0");
    frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6]);
    frame[46] = 0x50;
    frame
}

/// Which flows the packets belong to.
#[derive(Clone, Copy)]
pub enum Traffic {
    /// All alike.
    Uniform,
    /// The n-th with 1/n of the first one's share.
    Zipf,
}

/// The flows of so many packets, one after the other.
pub fn sequence(traffic: Traffic, flows: u32, packets: usize) -> Vec<u32> {
    let mut random = Random::new(0x1234_5678_9ABC_DEF1);
    match traffic {
        Traffic::Uniform => (0..packets)
            .map(|_| (((random.bits() >> 32) * u64::from(flows)) >> 32) as u32)
            .collect(),
        Traffic::Zipf => {
            let mut sum = 0.0;
            let shares = (1..=flows).map(|rank| {
                sum += 1.0 / f64::from(rank);
                sum
            });
            let shares: Vec<f64> = shares.collect();
            let draw = || {
                let at = (random.bits() >> 11) as f64 / (1u64 << 53) as f64 * sum;
                let rank = shares.partition_point(|&share| share < at) as u64;
                // The large flows are not neighbours in the table.
                (rank * 7919 % u64::from(flows)) as u32
            };
            core::iter::repeat_with(draw).take(packets).collect()
        }
    }
}
