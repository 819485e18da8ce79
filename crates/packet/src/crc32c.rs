//! CRC-32C (Castagnoli), as iSCSI and SCTP have it: RFC 3720 section 12.1, reflected, starting from all ones.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // calls an instruction whose presence has been found
mod sse42;

/// The polynomial 0x1EDC6F41, bits reflected.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// `TABLES[n][b]`: what byte `b` adds to the sum when `n` more bytes follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut follow = 1;
    while follow < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[follow - 1][byte];
            tables[follow][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        follow += 1;
    }
    tables
}

/// The CRC of bytes that come in pieces.
///
/// ```
/// use packet::crc32c::Crc32c;
///
/// assert_eq!(Crc32c::default().plus(b"12345").plus(b"6789").value(), 0xE306_9283);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc32c(u32);

impl Default for Crc32c {
    fn default() -> Crc32c {
        Crc32c(u32::MAX)
    }
}

impl Crc32c {
    /// With these bytes behind those before.
    #[must_use]
    pub fn plus(self, bytes: &[u8]) -> Crc32c {
        let (chunks, rest) = bytes.as_chunks::<8>();
        let sum = chunks.iter().fold(self.0, |sum, &chunk| eight(sum, chunk));
        Crc32c(rest.iter().fold(sum, |sum, &byte| {
            sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)]
        }))
    }

    /// The CRC of all bytes so far.
    pub fn value(self) -> u32 {
        !self.0
    }
}

/// The sum with eight more bytes: their look-ups do not wait for each other.
fn eight(sum: u32, chunk: [u8; 8]) -> u32 {
    let [a, b, c, d, e, f, g, h] = (u64::from_le_bytes(chunk) ^ u64::from(sum))
        .to_le_bytes()
        .map(usize::from);
    let sum = TABLES[7][a] ^ TABLES[6][b] ^ TABLES[5][c] ^ TABLES[4][d];
    sum ^ TABLES[3][e] ^ TABLES[2][f] ^ TABLES[1][g] ^ TABLES[0][h]
}

/// The sum of `8 * N` bytes of addresses, the protocol, and four bytes of ports, which is the
/// layout of every tuple: `N` is 1 for IPv4 and 4 for IPv6.
#[inline]
pub(crate) fn of_tuple<const N: usize>(
    addresses: [[u8; 8]; N],
    protocol: u8,
    ports: [u8; 4],
) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = sse42::of_tuple(addresses, protocol, ports) {
        return sum;
    }
    portable(addresses, protocol, ports)
}

/// A tuple of IPv4 takes two steps.
fn portable<const N: usize>(addresses: [[u8; 8]; N], protocol: u8, ports: [u8; 4]) -> u32 {
    let sum = addresses.into_iter().fold(u32::MAX, eight);
    let [p, q, r, s] = ports;
    let [a, b, c, d] = (u32::from_le_bytes([protocol, p, q, r]) ^ sum)
        .to_le_bytes()
        .map(usize::from);
    !(TABLES[4][a] ^ TABLES[3][b] ^ TABLES[2][c] ^ TABLES[1][d] ^ TABLES[0][usize::from(s)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, a bit at a time.
    fn slow(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| {
                sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 }
            })
        })
    }

    #[test]
    fn the_definition_gives_the_published_sums() {
        // The check value of the CRC catalogue, and RFC 3720 appendix B.4.
        assert_eq!(slow(b"123456789"), 0xE306_9283);
        assert_eq!(slow(&[0; 32]), 0x8A91_36AA);
        assert_eq!(slow(&[0xFF; 32]), 0x62A8_AB43);
    }

    #[test]
    fn sums_by_table_and_by_instruction_are_those_of_the_definition() {
        let mut state = 1u32;
        for _ in 0..500 {
            let mut bytes = [0u8; 37];
            for byte in &mut bytes {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
            let chunk = |at: usize| core::array::from_fn(|i| bytes[at + i]);
            let tail = |at: usize| core::array::from_fn(|i| bytes[at + i]);
            assert_eq!(of_tuple([chunk(0)], bytes[8], tail(9)), slow(&bytes[..13]));
            let addresses = [chunk(0), chunk(8), chunk(16), chunk(24)];
            assert_eq!(of_tuple(addresses, bytes[32], tail(33)), slow(&bytes));
            assert_eq!(portable(addresses, bytes[32], tail(33)), slow(&bytes));
            for cut in [0, 1, 8, 15, 37] {
                let pieces = Crc32c::default().plus(&bytes[..cut]).plus(&bytes[cut..]);
                assert_eq!(pieces.value(), slow(&bytes));
            }
        }
    }
}
