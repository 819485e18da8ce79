//! Packets from and to the controller, with the fields of the controller's headers before them.

use crate::bytes;
use crate::messages::runtime::{PacketIn, PacketMetadata, PacketOut};
use crate::translation::Translations;
use p4::info::{ControllerHeader, Info};
use p4::value::Bits;
use tonic::{Code, Status};

fn header<'a>(info: &'a Info, name: &str) -> Option<&'a ControllerHeader> {
    info.controller_headers
        .iter()
        .find(|header| &*header.preamble.name == name)
}

/// What the program sent to the CPU port: the header `packet_in`, if the program has one, and the payload.
pub(crate) fn packet_in(info: &Info, strings: &Translations, bytes: &[u8]) -> PacketIn {
    let Some(header) = header(info, "packet_in") else {
        return PacketIn {
            payload: bytes.to_vec(),
            metadata: Vec::new(),
        };
    };
    let mut position = 0usize;
    let mut metadata = Vec::new();
    for (id, width) in &header.layout {
        let value = take(bytes, position, *width);
        position += *width as usize;
        if let Some(id) = id {
            let field = header.fields.iter().find(|field| field.id == *id);
            let value = match field.and_then(|field| strings.of(field)) {
                Some(ty) => strings.string(ty, &value),
                None => bytes::write(&value),
            };
            metadata.push(PacketMetadata {
                metadata_id: *id,
                value,
            });
        }
    }
    PacketIn {
        payload: bytes.get(position.div_ceil(8)..).unwrap_or(&[]).to_vec(),
        metadata,
    }
}

fn take(bytes: &[u8], position: usize, width: u32) -> Bits {
    let mut limbs = vec![0u64; (width as usize).div_ceil(64).max(1)];
    for index in 0..width as usize {
        let from = position + width as usize - 1 - index;
        let bit = bytes
            .get(from / 8)
            .is_some_and(|byte| byte >> (7 - from % 8) & 1 == 1);
        limbs[index / 64] |= u64::from(bit) << (index % 64);
    }
    Bits::from_limbs(width, &limbs)
}

/// What comes in by the CPU port: the header `packet_out`, if the program has one, and the payload.
pub(crate) fn packet_out(
    info: &Info,
    strings: &Translations,
    packet: &PacketOut,
) -> Result<Vec<u8>, Status> {
    let Some(header) = header(info, "packet_out") else {
        if !packet.metadata.is_empty() {
            return Err(Status::new(
                Code::InvalidArgument,
                "the program has no header `packet_out`, so that there is no metadata",
            ));
        }
        return Ok(packet.payload.clone());
    };
    if let Some(unknown) = packet.metadata.iter().find(|given| {
        !header
            .fields
            .iter()
            .any(|field| field.id == given.metadata_id)
    }) {
        return Err(Status::new(
            Code::InvalidArgument,
            format!(
                "`packet_out` has no metadata with id {}",
                unknown.metadata_id
            ),
        ));
    }
    let total: usize = header.layout.iter().map(|(_, width)| *width as usize).sum();
    let mut bytes = vec![0u8; total.div_ceil(8)];
    let mut position = 0usize;
    for (id, width) in &header.layout {
        if let Some(id) = id {
            let field = header.fields.iter().find(|field| field.id == *id);
            let name = field.map_or("", |field| &field.name);
            let given = packet
                .metadata
                .iter()
                .find(|given| given.metadata_id == *id);
            let given = given.ok_or_else(|| {
                Status::new(
                    Code::InvalidArgument,
                    format!("metadata `{name}` of the packet-out is missing"),
                )
            })?;
            let what = format!("metadata `{name}`");
            let value = match field.and_then(|field| strings.of(field)) {
                Some(ty) => strings.value(ty, &given.value, *width, &what)?,
                None => bytes::read(&given.value, *width, &what)?,
            };
            for index in 0..*width as usize {
                if value.unsigned().bit(*width as u64 - 1 - index as u64) {
                    let to = position + index;
                    bytes[to / 8] |= 0x80 >> (to % 8);
                }
            }
        }
        position += *width as usize;
    }
    bytes.extend_from_slice(&packet.payload);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4::info::{Field, Preamble};

    fn info() -> Info {
        let header = |name: &str| ControllerHeader {
            preamble: Preamble {
                name: name.into(),
                ..Preamble::default()
            },
            fields: vec![Field {
                id: 1,
                name: "port".into(),
                width: 9,
                ..Field::default()
            }],
            layout: vec![(Some(1), 9), (None, 7)],
        };
        Info {
            controller_headers: vec![header("packet_in"), header("packet_out")],
            ..Info::default()
        }
    }

    #[test]
    fn metadata_stands_before_the_payload_in_the_header_s_bits() {
        let metadata = vec![PacketMetadata {
            metadata_id: 1,
            value: vec![1, 5],
        }];
        let packet = PacketOut {
            payload: vec![0xaa, 0xbb],
            metadata: metadata.clone(),
        };
        let bytes = packet_out(&info(), &Translations::default(), &packet).unwrap();
        assert_eq!(bytes, [0x82, 0x80, 0xaa, 0xbb]);
        let back = packet_in(&info(), &Translations::default(), &bytes);
        assert_eq!(back.payload, packet.payload);
        assert_eq!(back.metadata, metadata);
    }

    #[test]
    fn metadata_that_is_missing_or_not_there_is_refused() {
        for metadata in [
            vec![],
            vec![PacketMetadata {
                metadata_id: 9,
                value: vec![1],
            }],
            vec![PacketMetadata {
                metadata_id: 1,
                value: vec![2, 0],
            }],
        ] {
            let packet = PacketOut {
                payload: vec![],
                metadata,
            };
            assert!(packet_out(&info(), &Translations::default(), &packet).is_err());
        }
        assert!(
            packet_in(&info(), &Translations::default(), &[1])
                .payload
                .is_empty()
        );
    }
}
