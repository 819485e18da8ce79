//! Each fault is told by the type and code that the specification has for it.

use openflow::message::{Version, decode};

/// A message of this type with this body.
fn message(version: u8, kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let length = (8 + body.len()) as u16;
    let mut bytes = vec![version, kind];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0, 9]);
    bytes.extend(body);
    bytes
}

/// Type and code of the error that answers the bytes.
fn told(bytes: &[u8], version: Version) -> (u16, u16) {
    let error = decode(bytes).expect_err("a fault");
    assert_eq!(error.quoted, &bytes[..bytes.len().min(64)]);
    error.fault.wire(version)
}

/// The 40 bytes of a flow-mod of 1.3 before its match: command, flags.
fn flow_head(command: u8, flags: u8) -> Vec<u8> {
    let mut head = vec![0; 40];
    head[17] = command;
    head[24..28].fill(0xff);
    head[28..36].fill(0xff);
    head[37] = flags;
    head
}

/// A match of 1.3 with these TLVs.
fn oxm(fields: &[u8]) -> Vec<u8> {
    let length = 4 + fields.len();
    let mut bytes = vec![0, 1, 0, length as u8];
    bytes.extend(fields);
    bytes.resize(length.next_multiple_of(8), 0);
    bytes
}

fn flow_mod(matching: &[u8], instructions: &[u8]) -> Vec<u8> {
    message(4, 14, &[&flow_head(0, 0), matching, instructions])
}

fn applied(actions: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 4, 0, 8 + actions.len() as u8, 0, 0, 0, 0];
    bytes.extend(actions);
    bytes
}

#[test]
fn requests() {
    let v13 = |bytes: &[u8]| told(bytes, Version::V13);
    assert_eq!(v13(&message(9, 5, &[])), (1, 0), "version");
    assert_eq!(v13(&message(4, 77, &[])), (1, 1), "type");
    assert_eq!(
        v13(&message(4, 5, &[&[0]])),
        (1, 6),
        "features request with a body"
    );
    assert_eq!(v13(&message(4, 14, &[&[0; 20]])), (1, 6), "half a flow-mod");
    assert_eq!(
        v13(&message(4, 18, &[&[0, 99, 0, 0, 0, 0, 0, 0]])),
        (1, 2),
        "multipart"
    );
    assert_eq!(
        told(&message(1, 16, &[&[0, 99, 0, 0]]), Version::V10),
        (1, 2),
        "statistics"
    );
    assert_eq!(
        v13(&message(4, 24, &[&[0, 0, 0, 9], &[0; 12]])),
        (11, 2),
        "role"
    );
    assert_eq!(
        v13(&message(4, 14, &[&flow_head(9, 0), &oxm(&[])])),
        (5, 6),
        "command"
    );
    assert_eq!(
        v13(&message(4, 14, &[&flow_head(0, 0x80), &oxm(&[])])),
        (5, 7),
        "flags"
    );
    let mut ten = vec![0; 64];
    ten[49] = 9;
    assert_eq!(
        told(&message(1, 14, &[&ten]), Version::V10),
        (3, 4),
        "command of 1.0"
    );
}

#[test]
fn matches() {
    let fault = |matching: &[u8]| told(&flow_mod(matching, &[]), Version::V13);
    assert_eq!(fault(&[0, 0, 0, 8, 0, 0, 0, 0]), (4, 0), "the match of 1.1");
    assert_eq!(
        fault(&[0, 1, 0, 2, 0, 0, 0, 0]),
        (4, 1),
        "shorter than its own head"
    );
    assert_eq!(fault(&[0, 1, 0, 99, 0, 0, 0, 0]), (4, 1), "beyond the end");
    assert_eq!(
        fault(&oxm(&[0x80, 0, 10, 4, 8, 0, 0, 0])),
        (4, 1),
        "eth_type of four bytes"
    );
    assert_eq!(
        fault(&oxm(&[0x80, 0, 126, 2, 8, 0])),
        (4, 6),
        "an unknown field"
    );
    assert_eq!(
        fault(&oxm(&[0, 1, 10, 2, 8, 0])),
        (4, 6),
        "a field of Nicira's"
    );
    let eth_type: [u8; 6] = [0x80, 0, 10, 2, 8, 0];
    assert_eq!(
        fault(&oxm(&[eth_type, eth_type].concat())),
        (4, 10),
        "twice"
    );
    assert_eq!(
        fault(&oxm(&[0x80, 0, 22, 4, 10, 0, 0, 1])),
        (4, 9),
        "ipv4_src alone"
    );
    assert_eq!(
        fault(&oxm(&[0x80, 0, 11, 4, 8, 0, 255, 255])),
        (4, 8),
        "a mask on eth_type"
    );
    let wild: &[u8] = &[0x80, 0, 23, 8, 10, 0, 0, 1, 255, 255, 255, 0];
    assert_eq!(
        fault(&oxm(&[&eth_type, wild].concat())),
        (4, 5),
        "bits behind the mask"
    );
    assert_eq!(
        fault(&oxm(&[&eth_type[..], &[0x80, 0, 16, 1, 64]].concat())),
        (4, 7),
        "DSCP 64"
    );
    let untagged: &[u8] = &[0x80, 0, 12, 2, 0, 0, 0x80, 0, 14, 1, 3];
    assert_eq!(fault(&oxm(untagged)), (4, 9), "a priority without a tag");
}

#[test]
fn instructions_and_actions() {
    let fault = |instructions: &[u8]| told(&flow_mod(&oxm(&[]), instructions), Version::V13);
    assert_eq!(
        fault(&[0, 77, 0, 8, 0, 0, 0, 0]),
        (3, 0),
        "an unknown instruction"
    );
    assert_eq!(
        fault(&[0, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (3, 7),
        "too long"
    );
    assert_eq!(fault(&[0, 1, 0, 4]), (3, 7), "too short");
    let goto = [0, 1, 0, 8, 3, 0, 0, 0];
    assert_eq!(fault(&[goto, goto].concat()), (3, 9), "twice");
    let action = |actions: &[u8]| fault(&applied(actions));
    assert_eq!(
        action(&[0, 77, 0, 8, 0, 0, 0, 0]),
        (2, 0),
        "an unknown action"
    );
    assert_eq!(action(&[0, 0, 0, 8, 0, 0, 0, 1]), (2, 1), "a short output");
    assert_eq!(action(&[0, 17, 0, 8, 8, 0, 0, 0]), (2, 5), "a tag of IPv4");
    let set = |field: u8, value: &[u8]| {
        let mut bytes = vec![0, 25, 0, 16, 0x80, 0, field, value.len() as u8];
        bytes.extend(value);
        bytes.resize(16, 0);
        action(&bytes)
    };
    assert_eq!(set(126, &[0, 0]), (2, 13), "set an unknown field");
    assert_eq!(set(0, &[0, 0, 0, 1]), (2, 13), "set in_port");
    assert_eq!(
        set(23, &[1, 2, 3, 4, 255, 255, 255, 255]),
        (2, 13),
        "set with a mask"
    );
    assert_eq!(set(22, &[1, 2]), (2, 14), "set two bytes of an address");
    assert_eq!(set(16, &[64]), (2, 15), "set DSCP to 64");
    let mut ten = vec![0; 64];
    ten[48..50].copy_from_slice(&[0, 0]);
    let with = |actions: &[u8]| told(&message(1, 14, &[&ten, actions]), Version::V10);
    assert_eq!(
        with(&[0, 99, 0, 8, 0, 0, 0, 0]),
        (2, 0),
        "an unknown action of 1.0"
    );
    assert_eq!(
        with(&[0, 0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (2, 1),
        "its length"
    );
    assert_eq!(with(&[0, 1, 0, 8, 0x10, 0, 0, 0]), (2, 5), "VLAN 4096");
}

#[test]
fn groups_meters_and_tables() {
    let v13 = |bytes: &[u8]| told(bytes, Version::V13);
    assert_eq!(
        v13(&message(4, 15, &[&[0, 9, 0, 0, 0, 0, 0, 1]])),
        (6, 11),
        "command"
    );
    assert_eq!(
        v13(&message(4, 15, &[&[0, 0, 9, 0, 0, 0, 0, 1]])),
        (6, 10),
        "type"
    );
    let bucket = [0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0];
    assert_eq!(v13(&message(4, 15, &[&bucket])), (6, 12), "a short bucket");
    assert_eq!(
        v13(&message(4, 29, &[&[0, 9, 0, 1, 0, 0, 0, 1]])),
        (12, 4),
        "command"
    );
    let band = [
        0, 0, 0, 1, 0, 0, 0, 1, 0, 9, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(v13(&message(4, 29, &[&band])), (12, 9), "type of band");
    let mut table = vec![0, 12, 0, 0, 0, 0, 0, 0, 0, 72];
    table.resize(8 + 64, 0);
    table.extend([0, 99, 0, 4, 0, 0, 0, 0]);
    assert_eq!(
        v13(&message(4, 18, &[&table])),
        (13, 2),
        "an unknown property"
    );
    table[9] = 200;
    assert_eq!(v13(&message(4, 18, &[&table])), (13, 3), "its length");
}
