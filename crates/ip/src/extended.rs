//! Extensions of ICMP errors (RFC 4884): objects after the quoted packet, such as the label stack with which it arrived (RFC 4950).

use crate::header::{self, ETHERNET, IPV6_HEADER};
use crate::icmp;
use core::net::IpAddr;
use node::Frame;
use packet::checksum::checksum;
use packet::mpls::Label;

/// Bytes of the quote of an error with extensions: the minimum that receivers without a length field expect (RFC 4884 section 5.5).
const QUOTE: usize = 128;
const ICMP_HEADER: usize = 8;
/// Version 2, and no checksum yet.
const HEADER: [u8; 4] = [0x20, 0, 0, 0];
/// Class and type of an incoming label stack (RFC 4950 section 3).
const INCOMING_STACK: [u8; 2] = [1, 1];
/// Maximum number of entries of a stack that an error shows.
pub const MAX_LABELS: usize = 16;

/// Adds the label stack, top first, with which a packet arrived to the time exceeded or unreachable error about it, which has the
/// frame to itself and no extensions yet. Other errors of IPv6 must have none (RFC 4884 section 4). At most [`MAX_LABELS`] are shown.
pub fn add_labels(frame: &mut Frame, labels: &[Label]) {
    let Some(error) = header::read(frame) else {
        return;
    };
    let labels = &labels[..labels.len().min(MAX_LABELS)];
    let mut stack = [0; 4 + 4 + 4 * MAX_LABELS];
    let length = HEADER.len() + 4 + 4 * labels.len();
    stack[..4].copy_from_slice(&HEADER);
    stack[4..6].copy_from_slice(&((4 + 4 * labels.len()) as u16).to_be_bytes());
    stack[6..8].copy_from_slice(&INCOMING_STACK);
    for (index, label) in labels.iter().enumerate() {
        let is_bottom = index + 1 == labels.len();
        stack[8 + 4 * index..][..4].copy_from_slice(&label.to_bytes(is_bottom));
    }
    let stack = &mut stack[..length];
    let sum = checksum(stack);
    stack[2..4].copy_from_slice(&sum.to_be_bytes());

    let quote = error.payload + ICMP_HEADER;
    // A longer quote is cut, a shorter one is filled with zeros.
    frame.resize(error.end.min(quote + QUOTE));
    frame.resize(quote + QUOTE);
    frame.extend(stack);
    let end = frame.len();
    let message = &mut frame[error.payload..];
    // The length of the quote, in words of 4 bytes, of IPv6 in words of 8.
    match error.source {
        IpAddr::V4(_) => message[5] = (QUOTE / 4) as u8,
        IpAddr::V6(_) => message[4] = (QUOTE / 8) as u8,
    }
    message[2..4].fill(0);
    let ip = &mut frame[ETHERNET..error.payload];
    match error.source {
        IpAddr::V4(_) => {
            ip[2..4].copy_from_slice(&((end - ETHERNET) as u16).to_be_bytes());
            ip[10..12].fill(0);
            let sum = checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        IpAddr::V6(_) => {
            let length = (end - ETHERNET - IPV6_HEADER) as u16;
            ip[4..6].copy_from_slice(&length.to_be_bytes());
        }
    }
    icmp::finish_at(frame, error.payload, error.source, error.destination);
}
