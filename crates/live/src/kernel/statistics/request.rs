//! What the kernel is asked, as the bytes of rtnetlink messages.

use super::message::{GETSTATS, ROOT};
use crate::kernel::netlink::Message;

/// linux/if_link.h.
const IFLA_IFNAME: u16 = 3;
const IFLA_EXT_MASK: u16 = 29;
/// RTEXT_FILTER_SKIP_STATS: a link without its counters.
const SKIP_STATS: u32 = 1 << 3;

/// A request by a structure of words, of which the first is the family and the second the number of an interface.
fn ask(kind: u16, flags: i32, words: &[u32], out: &mut Vec<u8>) {
    Message::begin(out, kind, flags, 0).words(words).end();
}

/// The link of this number, or with 0 the one of this name.
pub fn link(index: u32, name: &str, out: &mut Vec<u8>) {
    // struct ifinfomsg: family and type, number, flags and those that change.
    let mut message = Message::begin(out, libc::RTM_GETLINK, 0, 0).words(&[0, index, 0, 0]);
    if index == 0 {
        message = message.with_text(IFLA_IFNAME, name);
    }
    message.with(IFLA_EXT_MASK, &SKIP_STATS.to_ne_bytes()).end();
}

/// The counters of the link of this number.
pub fn stats(index: u32, out: &mut Vec<u8>) {
    // struct if_stats_msg: family, number, which: bit 0 is IFLA_STATS_LINK_64.
    ask(GETSTATS, 0, &[0, index, 1], out);
}

/// One discipline: that of this handle, or with 0 the one at the top.
pub fn discipline(index: u32, handle: u32, out: &mut Vec<u8>) {
    // struct tcmsg: family, number of the link, handle, parent, more.
    let parent = if handle == 0 { ROOT } else { 0 };
    ask(libc::RTM_GETQDISC, 0, &[0, index, handle, parent, 0], out);
}

pub fn class(index: u32, handle: u32, out: &mut Vec<u8>) {
    ask(libc::RTM_GETTCLASS, 0, &[0, index, handle, 0, 0], out);
}

/// All disciplines, of all links.
pub fn disciplines(out: &mut Vec<u8>) {
    ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &[0; 5], out);
}

/// All classes of a link.
pub fn classes(index: u32, out: &mut Vec<u8>) {
    ask(
        libc::RTM_GETTCLASS,
        libc::NLM_F_DUMP,
        &[0, index, 0, 0, 0],
        out,
    );
}

/// All routes of the main table of a family.
pub fn routes(family: i32, out: &mut Vec<u8>) {
    // struct rtmsg: eight bytes of which the family is the first, and flags.
    Message::begin(out, libc::RTM_GETROUTE, libc::NLM_F_DUMP, 0)
        .raw(&[family as u8, 0, 0, 0, 0, 0, 0, 0])
        .words(&[0])
        .with(RTA_TABLE, &u32::from(libc::RT_TABLE_MAIN).to_ne_bytes())
        .end();
}

/// linux/rtnetlink.h.
const RTA_TABLE: u16 = 15;

pub fn neighbours(out: &mut Vec<u8>) {
    // struct ndmsg.
    ask(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &[0; 3], out);
}
