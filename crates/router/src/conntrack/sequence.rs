//! Sequence numbers of connections whose data the router has changed, as Linux's nf_conntrack_seqadj counts them.
//!
//! An announcement of another length moves all sequence numbers of its side after it. Each side keeps the place of the last change,
//! and the differences before and after it: a retransmission of what was before that place has the former.

use packet::checksum::update_bytes;
use packet::tcp::flag;

/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Offset of the checksum in a TCP header, bytes.
const CHECKSUM: usize = 16;
/// Number of the option with selective acknowledgements, and bytes of one of its blocks (RFC 2018).
const SACK: u8 = 5;
const SACK_BLOCK: usize = 8;

/// Change of the sequence numbers of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shift {
    /// Sequence number of the segment with the last change, as its sender wrote it.
    position: u32,
    before: u32,
    after: u32,
}

/// Whether a sequence number is after another.
fn is_after(first: u32, second: u32) -> bool {
    (second.wrapping_sub(first) as i32) < 0
}

impl Shift {
    /// Notes that the data of a segment is longer by `by`, a number in two's complement, than its sender wrote it.
    pub fn note(&mut self, sequence: u32, by: u32) {
        // A retransmitted segment is rewritten again, but recorded once.
        if by != 0 && (self.before == self.after || is_after(sequence, self.position)) {
            self.position = sequence;
            self.before = self.after;
            self.after = self.after.wrapping_add(by);
        }
    }

    /// Whether no number changes.
    pub fn is_none(&self) -> bool {
        self.before == 0 && self.after == 0
    }

    /// Difference that is added to a sequence number of the sender.
    pub fn of(&self, sequence: u32) -> u32 {
        match is_after(sequence, self.position) {
            true => self.after,
            false => self.before,
        }
    }

    /// Difference that is subtracted from a number that the receiver acknowledges.
    fn of_acknowledged(&self, number: u32) -> u32 {
        self.of(number.wrapping_sub(self.before))
    }
}

/// Changes the sequence numbers of a segment, of which the sender's side has the `own` shift; `false` when its options are broken, so
/// that it must be dropped.
#[must_use]
pub(super) fn translate(tcp: &mut [u8], own: &Shift, other: &Shift) -> bool {
    let (Some(sequence), Some(acknowledged)) = (number(tcp, 4), number(tcp, 8)) else {
        return false;
    };
    let Some(&[offset, flags]) = tcp.get(12..14) else {
        return false;
    };
    shift(tcp, 4, own.of(sequence));
    if flags & flag::ACK == 0 {
        return true;
    }
    shift(tcp, 8, other.of_acknowledged(acknowledged).wrapping_neg());
    let end = (usize::from(offset >> 4) * 4).min(tcp.len());
    let mut at = TCP_HEADER;
    while at < end {
        let length = match (tcp[at], tcp.get(at + 1)) {
            (0, _) => return true,
            (1, _) => 1,
            (_, Some(length)) if at + 1 < end => usize::from(*length),
            _ => return false,
        };
        if at + length > end || (tcp[at] != 1 && length < 2) {
            return false;
        }
        if tcp[at] == SACK && length > 2 && (length - 2).is_multiple_of(SACK_BLOCK) {
            for edge in (at + 2..at + length).step_by(4) {
                let by = number(tcp, edge).map_or(0, |edge| other.of_acknowledged(edge));
                shift(tcp, edge, by.wrapping_neg());
            }
        }
        at += length;
    }
    true
}

fn number(tcp: &[u8], at: usize) -> Option<u32> {
    let field = tcp.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*field))
}

/// Changes four bytes by a number, and the checksum with them.
pub(crate) fn shift(tcp: &mut [u8], at: usize, by: u32) {
    let Some(field) = tcp.get_mut(at..at + 4) else {
        return;
    };
    let old = [field[0], field[1], field[2], field[3]];
    let new = u32::from_be_bytes(old).wrapping_add(by).to_be_bytes();
    field.copy_from_slice(&new);
    // A field at an odd offset is covered with its bytes in the other order.
    let order = |bytes: [u8; 4]| match at % 2 {
        0 => [0, 0, bytes[0], bytes[1], bytes[2], bytes[3]],
        _ => [0, bytes[0], bytes[1], bytes[2], bytes[3], 0],
    };
    let sum = u16::from_be_bytes([tcp[CHECKSUM], tcp[CHECKSUM + 1]]);
    let sum = update_bytes(sum, &order(old), &order(new));
    tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_after_a_change_move_and_those_before_it_do_not() {
        let mut shift = Shift::default();
        assert!(shift.is_none());
        shift.note(u32::MAX - 2, 3);
        shift.note(u32::MAX - 2, 3);
        assert_eq!(
            [shift.of(u32::MAX - 2), shift.of(u32::MAX - 1), shift.of(9)],
            [0, 3, 3]
        );
        // The next change makes the data shorter.
        shift.note(40, 0_u32.wrapping_sub(5));
        assert_eq!([shift.of(40), shift.of(41)], [3, 0_u32.wrapping_sub(2)]);
        assert_eq!(shift.of_acknowledged(43), 3);
        assert_eq!(shift.of_acknowledged(44), 0_u32.wrapping_sub(2));
        // A retransmission is not a new change.
        shift.note(10, 7);
        assert_eq!(shift.of(41), 0_u32.wrapping_sub(2));
    }

    #[test]
    fn acknowledgements_follow_also_selective_ones_and_broken_options_are_refused() {
        let mut other = Shift::default();
        other.note(1_000, 4);
        let mut tcp = [0; 32];
        tcp[4..8].copy_from_slice(&7_u32.to_be_bytes());
        tcp[8..12].copy_from_slice(&1_104_u32.to_be_bytes());
        tcp[12..14].copy_from_slice(&[0x80, flag::ACK]);
        tcp[20..24].copy_from_slice(&[1, 1, SACK, 10]);
        tcp[24..28].copy_from_slice(&1_204_u32.to_be_bytes());
        tcp[28..32].copy_from_slice(&1_304_u32.to_be_bytes());
        let mut changed = tcp;
        assert!(translate(&mut changed, &Shift::default(), &other));
        assert_eq!(
            [4, 8, 24, 28].map(|at| number(&changed, at)),
            [7, 1_100, 1_200, 1_300].map(Some)
        );
        for broken in [[SACK, 20], [2, 1], [2, 0]] {
            tcp[20..22].copy_from_slice(&broken);
            assert!(!translate(&mut tcp.clone(), &Shift::default(), &other));
        }
    }
}
