//! In which order raw bits stand in bytes.

/// The order of raw bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// The first bit is the lowest of the first byte
    Lsb,
    /// The first bit is the highest of the first byte
    Msb,
    /// The digits 0 and 1; blanks and line ends mean nothing
    Text,
}

impl Order {
    /// Appends up to 64 bits, the lowest of which is the first. `held` has those that fill no byte yet.
    pub fn append(self, mut bits: u64, mut count: u32, held: &mut (u8, u32), out: &mut Vec<u8>) {
        if self == Order::Text {
            out.extend((0..count).map(|at| b'0' + (bits >> at & 1) as u8));
            return;
        }
        while count > 0 {
            let room = (8 - held.1).min(count);
            held.0 |= ((bits & ((1 << room) - 1)) << held.1) as u8;
            held.1 += room;
            bits = bits.unbounded_shr(room);
            count -= room;
            if held.1 == 8 {
                out.push(self.byte(held.0));
                *held = (0, 0);
            }
        }
    }

    /// How many bytes so many bits take.
    pub fn bytes(self, bits: u64) -> u64 {
        match self {
            Order::Text => bits.saturating_add(1),
            Order::Lsb | Order::Msb => bits.div_ceil(8),
        }
    }

    /// Appends a byte that is not full.
    pub fn finish(self, held: (u8, u32), out: &mut Vec<u8>) {
        match self {
            Order::Text => out.push(b'\n'),
            _ if held.1 > 0 => out.push(self.byte(held.0)),
            _ => {}
        }
    }

    /// A byte as it is in a file, of one whose lowest bit is the first; and the other way round.
    pub fn byte(self, byte: u8) -> u8 {
        match self {
            Order::Msb => byte.reverse_bits(),
            Order::Lsb | Order::Text => byte,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_the_order_says() {
        // 1, 0, 0, 1, 1, 0, 1, 0, 1, 1
        for (order, bytes) in [
            (Order::Lsb, &[0b0101_1001, 0b11][..]),
            (Order::Msb, &[0b1001_1010, 0b1100_0000]),
            (Order::Text, b"1001101011\n"),
        ] {
            let (mut out, mut held) = (Vec::new(), (0, 0));
            order.append(0b1_1001, 5, &mut held, &mut out);
            order.append(0b1_1010, 5, &mut held, &mut out);
            order.finish(held, &mut out);
            assert_eq!(out, bytes, "{order:?}");
        }
    }
}
