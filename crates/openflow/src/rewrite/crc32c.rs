//! CRC-32C, the checksum of SCTP (RFC 9260 appendix A).

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = rest >> 1 ^ if rest & 1 == 1 { 0x82F6_3B78 } else { 0 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// The CRC of an SCTP packet, as if its own field at byte 8 were zero.
pub(super) fn of_sctp(packet: &[u8]) -> u32 {
    let rest = packet
        .iter()
        .enumerate()
        .fold(u32::MAX, |rest, (at, &byte)| {
            let byte = if (8..12).contains(&at) { 0 } else { byte };
            rest >> 8 ^ TABLE[usize::from(rest as u8 ^ byte)]
        });
    !rest
}
