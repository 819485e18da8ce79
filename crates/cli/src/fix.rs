//! Checksums and lengths set right on request, of packets on their way through a command.

use packet::repair::{Counts, Repair};
use std::fmt::Write;

/// What is set right.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Fix {
    /// Set checksums right: IPv4, TCP, UDP, ICMP(v6), IGMP, GRE
    #[arg(long)]
    fix_checksums: bool,
    /// Set lengths of IP, UDP and PPPoE right, to the end of the frame; and checksums
    #[arg(long)]
    fix_lengths: bool,
}

/// Sets packets right, if that was asked for.
#[derive(Default)]
pub struct Fixer {
    repair: Option<Repair>,
    frame: Vec<u8>,
}

impl Fix {
    /// Gets ready.
    pub fn fixer(self) -> Fixer {
        let repair = Repair::new(self.fix_lengths);
        Fixer {
            repair: (self.fix_checksums || self.fix_lengths).then_some(repair),
            frame: Vec::new(),
        }
    }
}

impl Fixer {
    /// The frame as it is to be.
    #[inline]
    pub fn frame<'a>(&'a mut self, frame: &'a [u8]) -> &'a [u8] {
        let Some(repair) = &mut self.repair else {
            return frame;
        };
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        repair.frame(&mut self.frame);
        &self.frame
    }

    /// Says on stderr what was done.
    pub fn tell(&self) {
        if let Some(repair) = &self.repair {
            eprintln!("wire: {}", text(&repair.counts));
        }
    }
}

fn text(counts: &Counts) -> String {
    let Counts {
        ipv4,
        tcp,
        udp,
        icmp,
        icmpv6,
        gre,
        igmp,
        lengths,
        fragments,
        truncated,
        others,
    } = *counts;
    let sums = [
        ("IPv4", ipv4),
        ("TCP", tcp),
        ("UDP", udp),
        ("ICMP", icmp),
        ("ICMPv6", icmpv6),
        ("GRE", gre),
        ("IGMP", igmp),
    ];
    let total: u64 = sums.iter().map(|(_, count)| count).sum();
    let mut text = format!("{total} checksums set right");
    let mut before = " (";
    for (name, count) in sums.iter().filter(|(_, count)| *count > 0) {
        // Writing to a String does not fail.
        let _ = write!(text, "{before}{count} of {name}");
        before = ", ";
    }
    if total > 0 {
        text.push(')');
    }
    for (count, what) in [
        (lengths, "lengths set right"),
        (
            fragments,
            "fragments, whose checksums cannot be known, left as they are",
        ),
        (
            truncated,
            "packets that are not all there, whose checksums cannot be known, left as they are",
        ),
        (
            others,
            "packets of other protocols with a checksum (OSPF, PIM, SCTP, VRRP and the like), left as they are",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, "; {count} {what}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_in_a_line() {
        let mut counts = Counts {
            ipv4: 2,
            tcp: 1,
            ..Counts::default()
        };
        assert_eq!(text(&counts), "3 checksums set right (2 of IPv4, 1 of TCP)");
        counts.fragments = 4;
        assert!(
            text(&counts)
                .ends_with("; 4 fragments, whose checksums cannot be known, left as they are")
        );
        assert_eq!(text(&Counts::default()), "0 checksums set right");
    }
}
