//! Pushing and popping tags. After each the frame is to be read again: what was behind has moved.

use super::{pair, word};
use crate::key::{Layers, Network};
use node::Frame;

/// Offset at which tags are inserted: after the Ethernet addresses.
const BEHIND_ADDRESSES: usize = 12;
/// The EtherType of backbone bridging's I-TAG, the I-TAG, and the addresses after it.
const PBB_HEADER: usize = 18;
/// Minimum frame length without FCS, bytes (IEEE 802.3 section 3.2.7).
const MIN_FRAME_LEN: usize = 60;

/// Takes a header out. What was long enough for Ethernet stays so: it is padded with zeros, as a MAC does it.
fn take_out(frame: &mut Frame, at: usize, count: usize) {
    let before = frame.len();
    frame.remove(at, count);
    if before >= MIN_FRAME_LEN && frame.len() < MIN_FRAME_LEN {
        frame.resize(MIN_FRAME_LEN);
    }
}

/// Pushes a VLAN tag of this EtherType; id and priority are those of the outermost tag, or zero.
pub fn push_vlan(frame: &mut Frame, layers: &Layers, ethertype: u16) {
    if frame.len() < 14 {
        return;
    }
    let control = match layers.tags {
        0 => [0, 0],
        _ => pair(frame, 14),
    };
    // DEI is not a field that is copied (1.3.5 table 6).
    let control = [control[0] & 0xEF, control[1]];
    let tag = frame.insert(BEHIND_ADDRESSES, 4);
    tag[..2].copy_from_slice(&ethertype.to_be_bytes());
    tag[2..].copy_from_slice(&control);
}

/// Takes the outermost VLAN tag off.
pub fn pop_vlan(frame: &mut Frame, layers: &Layers) {
    if layers.tags > 0 {
        take_out(frame, BEHIND_ADDRESSES, 4);
    }
}

/// Sets bits of the outermost tag's control word, and pushes a tag if there is none, as the actions of 1.0 do. Says
/// whether a tag was pushed.
pub fn set_vlan(frame: &mut Frame, layers: &Layers, keep: u16, bits: u16) -> bool {
    if frame.len() < 14 {
        return false;
    }
    let pushes = layers.tags == 0;
    if pushes {
        push_vlan(frame, layers, 0x8100);
    }
    let control = u16::from_be_bytes(pair(frame, 14)) & keep | bits;
    frame[14..16].copy_from_slice(&control.to_be_bytes());
    pushes
}

/// Pushes an MPLS entry of this EtherType before any other, behind the VLAN tags. Label and class are those of the
/// outermost entry, or zero; the TTL is that of the outermost entry, else of IP, or zero.
pub fn push_mpls(frame: &mut Frame, layers: &Layers, ethertype: u16) {
    let at = usize::from(layers.network_at);
    if at < 14 || at > frame.len() {
        return;
    }
    let entry = match layers.network {
        Network::Mpls => word(frame, at) & !0x100,
        Network::Ipv4 => 0x100 | u32::from(pair(frame, at + 8)[0]),
        Network::Ipv6 => 0x100 | u32::from(pair(frame, at + 6)[1]),
        _ => 0x100,
    };
    frame.insert(at, 4).copy_from_slice(&entry.to_be_bytes());
    frame[at - 2..at].copy_from_slice(&ethertype.to_be_bytes());
}

/// Takes the outermost MPLS entry off; what is behind it is of this EtherType.
pub fn pop_mpls(frame: &mut Frame, layers: &Layers, ethertype: u16) {
    let at = usize::from(layers.network_at);
    if layers.network == Network::Mpls && frame.len() >= at + 4 {
        take_out(frame, at, 4);
        frame[at - 2..at].copy_from_slice(&ethertype.to_be_bytes());
    }
}

/// Pushes an I-TAG: the frame becomes the customer's, behind a header with the same addresses. The service is that of the
/// outermost I-TAG, or zero; the priority that of the outermost VLAN tag or I-TAG, or zero.
pub fn push_pbb(frame: &mut Frame, layers: &Layers, ethertype: u16) {
    let Some(&addresses) = frame.first_chunk::<12>() else {
        return;
    };
    let at = usize::from(layers.network_at);
    let outer = match layers.network {
        Network::Pbb => word(frame, at),
        _ => 0,
    };
    let priority = match layers.tags {
        0 => outer & 0xE000_0000,
        _ => u32::from(pair(frame, 14)[0] & 0xE0) << 24,
    };
    // The bit of customer addresses is copied with the service.
    let tag = priority | outer & 0x08FF_FFFF;
    let header = frame.insert(0, PBB_HEADER);
    header[..12].copy_from_slice(&addresses);
    header[12..14].copy_from_slice(&ethertype.to_be_bytes());
    header[14..].copy_from_slice(&tag.to_be_bytes());
}

/// Takes the I-TAG off with the header before it: the customer's frame is left.
pub fn pop_pbb(frame: &mut Frame, layers: &Layers) {
    let customer = usize::from(layers.network_at) + 4;
    if layers.network == Network::Pbb && frame.len() >= customer + 14 {
        take_out(frame, 0, customer);
    }
}
