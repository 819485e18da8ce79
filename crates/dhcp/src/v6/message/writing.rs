//! Writing messages.

use super::{Item, Kind, Resource, option};
use alloc::vec::Vec;

/// Appends an option whose value is what `value` appends. One longer than 65,535 bytes is left out.
pub fn write(out: &mut Vec<u8>, number: u16, value: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(number.to_be_bytes());
    out.extend([0; 2]);
    value(out);
    match u16::try_from(out.len() - start - 4) {
        Ok(length) => out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes()),
        Err(_) => out.truncate(start),
    }
}

/// Appends a status code with a text.
pub fn write_status(out: &mut Vec<u8>, code: u16, text: &str) {
    write(out, option::STATUS, |out| {
        out.extend(code.to_be_bytes());
        out.extend(text.as_bytes());
    });
}

/// Begins a message in `out`, whose content is lost.
pub fn begin(out: &mut Vec<u8>, kind: Kind, xid: u32) {
    out.clear();
    let [_, xid @ ..] = xid.to_be_bytes();
    out.push(kind as u8);
    out.extend(xid);
}

/// Appends an identity association with the times T1 and T2, seconds, and what `options` appends.
pub fn write_association(
    out: &mut Vec<u8>,
    resource: Resource,
    iaid: u32,
    times: [u32; 2],
    options: impl FnOnce(&mut Vec<u8>),
) {
    let number = match resource {
        Resource::Address => option::IA_NA,
        Resource::Prefix => option::IA_PD,
    };
    write(out, number, |out| {
        for field in [iaid, times[0], times[1]] {
            out.extend(field.to_be_bytes());
        }
        options(out);
    });
}

/// Appends an address or a prefix of an association.
pub fn write_item(out: &mut Vec<u8>, resource: Resource, item: &Item) {
    let lifetimes = [item.preferred, item.valid].map(u32::to_be_bytes).concat();
    match resource {
        Resource::Address => write(out, option::IA_ADDRESS, |out| {
            out.extend(item.address.octets());
            out.extend(lifetimes);
        }),
        Resource::Prefix => write(out, option::IA_PREFIX, |out| {
            out.extend(lifetimes);
            out.push(item.length);
            out.extend(item.address.octets());
        }),
    }
}
