//! A TCP segment as an ACK filter sees it.

use packet::ip::IpView;
use packet::ipv4::protocol;
use packet::tcp::{TcpOption, TcpView, flag};
use packet::vlan;

/// Maximum number of SACK blocks: 40 bytes of options have space for four (RFC 2018 section 3).
const MAX_SACKS: usize = 4;
/// Kind of the option with an MD5 signature (RFC 2385).
const MD5_SIGNATURE: u8 = 19;

/// Fields of a TCP segment by which CAKE's ACK filter decides. An owner calculates them only for a
/// discipline that [reads them](crate::Discipline::reads_segments).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// TCP flags, as [`packet::tcp::flag`] has them.
    pub flags: u8,
    /// Acknowledgement number: the sequence number that the receiver expects next.
    pub acknowledgement: u32,
    /// Time stamp and time stamp echo reply (RFC 7323 section 3.2); both 0 without this option.
    pub timestamps: [u32; 2],
    /// SACK blocks, each with its first sequence number and that after its last.
    blocks: [[u32; 2]; MAX_SACKS],
    /// Number of blocks.
    sacks: u8,
    /// Whether the segment does nothing but acknowledge: no data, no flag but ACK, ECE and CWR, no
    /// reserved bit, and no option but time stamps, SACK and MD5 signatures, each at most once.
    is_pure: bool,
}

impl Segment {
    /// The segment in an Ethernet frame without FCS. `None` for other protocols, for fragments, for
    /// IPv6 with extension headers, and where the frame ends before the packet does.
    pub fn of(frame: &[u8]) -> Option<Segment> {
        let (kind, packet) = vlan::untagged(frame)?;
        let ip = IpView::new(kind, packet).ok()?;
        if ip.protocol() != protocol::TCP || ip.is_fragment() {
            return None;
        }
        let tcp = TcpView::new(ip.payload()).ok()?;
        let mut segment = Segment {
            flags: tcp.flags(),
            acknowledgement: tcp.acknowledgement(),
            ..Segment::default()
        };
        let (mut known, mut signatures, mut stamps, mut sacks) = (true, 0, 0, 0);
        for option in tcp.options() {
            match option {
                TcpOption::Timestamps(own, echo) => {
                    if stamps == 0 {
                        segment.timestamps = [own, echo];
                    }
                    stamps += 1;
                }
                TcpOption::Sack(blocks) => {
                    if sacks == 0 {
                        segment.take_blocks(blocks);
                    }
                    sacks += 1;
                }
                TcpOption::Other(MD5_SIGNATURE, _) => signatures += 1,
                _ => known = false,
            }
        }
        let flags = segment.flags & !(flag::ECE | flag::CWR);
        segment.is_pure = flags == flag::ACK
            && tcp.reserved() == 0
            && tcp.payload().is_empty()
            && known
            && stamps.max(sacks).max(signatures) <= 1;
        Some(segment)
    }

    fn take_blocks(&mut self, blocks: &[[u8; 8]]) {
        for (own, block) in self.blocks.iter_mut().zip(blocks) {
            let [a, b, c, d, e, f, g, h] = *block;
            *own = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
            self.sacks += 1;
        }
    }

    /// SACK blocks, the first sequence number of each and that after its last.
    pub fn blocks(&self) -> &[[u32; 2]] {
        &self.blocks[..usize::from(self.sacks)]
    }

    /// Whether the segment does nothing but acknowledge, so that a later one can take its place.
    pub const fn is_pure_ack(&self) -> bool {
        self.is_pure
    }

    /// Whether the segment acknowledges data of a connection that is open.
    pub const fn acknowledges(&self) -> bool {
        self.flags & (flag::ACK | flag::SYN) == flag::ACK
    }

    /// The flags of ECN: ECE and CWR.
    pub const fn ecn_flags(&self) -> u8 {
        self.flags & (flag::ECE | flag::CWR)
    }

    /// Whether a later segment of the same connection says all that this one does: this is a pure
    /// ACK, and the later one acknowledges more, by its number or by SACK, and is not older by its
    /// time stamps.
    pub fn is_superseded_by(&self, later: &Segment) -> bool {
        let [own, echo] = self.timestamps;
        let [later_own, later_echo] = later.timestamps;
        if !self.is_pure
            || is_before(later_own, own)
            || is_before(later_echo, echo)
            || is_before(later.acknowledgement, self.acknowledgement)
        {
            return false;
        }
        match self.sacks_of(later) {
            Sacks::Lost => false,
            Sacks::More => true,
            Sacks::Same => self.acknowledgement != later.acknowledgement,
        }
    }

    /// Compares the SACK blocks of a later segment with those of this one.
    fn sacks_of(&self, later: &Segment) -> Sacks {
        // A block below the cumulative number reports a duplicate (RFC 2883), once only.
        let is_duplicate = |block: &[u32; 2]| is_before(block[0], self.acknowledgement);
        let is_covered = |[first, end]: &[u32; 2]| {
            let mut blocks = later.blocks().iter();
            blocks.any(|[from, to]| !is_before(*first, *from) && !is_before(*to, *end))
        };
        let mut own = self.blocks().iter();
        if own.any(|block| is_duplicate(block) || !is_covered(block)) {
            return Sacks::Lost;
        }
        let bytes = |segment: &Segment| {
            let lengths = segment.blocks().iter();
            lengths.fold(0_u32, |sum, [first, end]| {
                sum.wrapping_add(end.wrapping_sub(*first))
            })
        };
        let has_first = !later.blocks().is_empty() && self.blocks().is_empty();
        match has_first || bytes(later) > bytes(self) {
            true => Sacks::More,
            false => Sacks::Same,
        }
    }
}

/// SACK blocks of a later segment, compared with those of an earlier one.
enum Sacks {
    /// A block of the earlier one is in none of the later, or reports a duplicate.
    Lost,
    /// The blocks cover the same bytes.
    Same,
    /// The later one has more bytes.
    More,
}

/// Order of sequence numbers and time stamps, which wrap around.
const fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
