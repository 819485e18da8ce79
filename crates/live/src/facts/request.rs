//! What the kernel is asked, as the bytes of rtnetlink messages.

use super::message::{GETSTATS, HEADER, ROOT};

/// RTEXT_FILTER_SKIP_STATS: a link without its counters.
const SKIP_STATS: u32 = 1 << 3;

fn start(kind: u16, flags: i32, out: &mut Vec<u8>) -> usize {
    let at = out.len();
    let flags = (libc::NLM_F_REQUEST | flags) as u16;
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    out.extend_from_slice(&[0; HEADER - 8]);
    at
}

fn end(at: usize, out: &mut [u8]) {
    let len = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&len.to_ne_bytes());
}

fn words(words: &[u32], out: &mut Vec<u8>) {
    for word in words {
        out.extend_from_slice(&word.to_ne_bytes());
    }
}

fn attribute(kind: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The link of this number, or with 0 the one of this name.
pub fn link(index: u32, name: &str, out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETLINK, 0, out);
    // struct ifinfomsg: family and type, number, flags and those that change.
    words(&[0, index, 0, 0], out);
    if index == 0 {
        // IFLA_IFNAME.
        attribute(3, &[name.as_bytes(), b"\0"].concat(), out);
    }
    // IFLA_EXT_MASK.
    attribute(29, &SKIP_STATS.to_ne_bytes(), out);
    end(at, out);
}

/// The counters of the link of this number.
pub fn stats(index: u32, out: &mut Vec<u8>) {
    let at = start(GETSTATS, 0, out);
    // struct if_stats_msg: family, number, which: bit 0 is IFLA_STATS_LINK_64.
    words(&[0, index, 1], out);
    end(at, out);
}

/// One discipline: that of this handle, or with 0 the one at the top.
pub fn discipline(index: u32, handle: u32, out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETQDISC, 0, out);
    // struct tcmsg: family, number of the link, handle, parent, more.
    let parent = if handle == 0 { ROOT } else { 0 };
    words(&[0, index, handle, parent, 0], out);
    end(at, out);
}

/// One class.
pub fn class(index: u32, handle: u32, out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETTCLASS, 0, out);
    words(&[0, index, handle, 0, 0], out);
    end(at, out);
}

/// All disciplines, of all links.
pub fn disciplines(out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETQDISC, libc::NLM_F_DUMP, out);
    words(&[0; 5], out);
    end(at, out);
}

/// All classes of a link.
pub fn classes(index: u32, out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETTCLASS, libc::NLM_F_DUMP, out);
    words(&[0, index, 0, 0, 0], out);
    end(at, out);
}

/// All routes of the main table of a family.
pub fn routes(family: i32, out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETROUTE, libc::NLM_F_DUMP, out);
    // struct rtmsg: eight bytes of which the family is the first, and flags.
    out.extend_from_slice(&[family as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // RTA_TABLE.
    attribute(15, &u32::from(libc::RT_TABLE_MAIN).to_ne_bytes(), out);
    end(at, out);
}

/// All neighbours.
pub fn neighbours(out: &mut Vec<u8>) {
    let at = start(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, out);
    // struct ndmsg.
    words(&[0; 3], out);
    end(at, out);
}
