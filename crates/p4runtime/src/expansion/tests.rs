use super::*;
use prost::Message;
use std::collections::BTreeSet;

/// The messages that a request may contain.
fn reachable(from: &str) -> Vec<MessageDescriptor> {
    let pool = DescriptorPool::decode(DEFINITIONS).unwrap();
    let mut found = vec![pool.get_message_by_name(from).unwrap()];
    let mut at = 0;
    while at < found.len() {
        for field in found[at].clone().fields() {
            if let Kind::Message(of) = field.kind()
                && !found.contains(&of)
            {
                found.push(of);
            }
        }
        at += 1;
    }
    found
}

#[test]
fn every_element_type_of_p4runtime_has_its_size() {
    let requests = [
        pb::WriteRequest::NAME,
        pb::ReadRequest::NAME,
        pb::StreamMessageRequest::NAME,
    ];
    let mut missing = BTreeSet::new();
    for message in requests.into_iter().flat_map(reachable) {
        for field in message.fields() {
            if let Kind::Message(of) = field.kind()
                && (field.is_list() || recursive(&of))
                && of.full_name().starts_with("p4.v1.")
                && !SIZES.iter().any(|(name, _)| *name == of.full_name())
            {
                missing.insert(of.full_name().to_owned());
            }
        }
    }
    assert_eq!(missing, BTreeSet::new());
    assert!(SIZES.iter().all(|(_, size)| *size <= OTHER));
    use crate::messages::config as p4;
    for size in [
        size_of::<p4::P4Info>(),
        size_of::<p4::Table>(),
        size_of::<p4::Action>(),
        size_of::<p4::MatchField>(),
        size_of::<p4::ControllerPacketMetadata>(),
        size_of::<p4::Digest>(),
    ] {
        assert!(size <= OTHER, "{size}");
    }
}

#[test]
fn empty_elements_count_with_the_memory_that_they_take() {
    for (bytes, memory, size) in [
        (
            &[0x22, 0][..],
            memory::<pb::WriteRequest> as fn(&[u8]) -> usize,
            size_of::<pb::Update>(),
        ),
        (
            &[0x12, 0],
            memory::<pb::ReadRequest>,
            size_of::<pb::Entity>(),
        ),
    ] {
        let many = bytes.repeat(1000);
        let counted = memory(&many);
        assert!(counted >= 1000 * 2 * size && counted <= 1001 * (2 * size + WORK) + 4096);
    }
}

/// Heap memory of a decoded request, computed from its fields.
fn held(request: &pb::WriteRequest) -> usize {
    let updates = request.updates.capacity() * size_of::<pb::Update>();
    let entry = |entry: &pb::TableEntry| {
        let matches = entry.r#match.capacity() * size_of::<pb::FieldMatch>();
        let values = entry.r#match.iter().map(|one| match &one.field_match_type {
            Some(pb::field_match::FieldMatchType::Exact(exact)) => exact.value.capacity(),
            Some(pb::field_match::FieldMatchType::Ternary(ternary)) => {
                ternary.value.capacity() + ternary.mask.capacity()
            }
            _ => 0,
        });
        matches + values.sum::<usize>() + entry.metadata.capacity()
    };
    let entries = request.updates.iter().map(|update| match &update.entity {
        Some(pb::Entity {
            entity: Some(pb::entity::Entity::TableEntry(of)),
        }) => entry(of),
        _ => 0,
    });
    updates + entries.sum::<usize>() + request.role.capacity()
}

fn update(random: &mut node::random::Random) -> pb::Update {
    let mut fields = Vec::new();
    for field_id in 0..random.below(9) as u32 {
        let value = vec![1; random.below(40) as usize];
        let field_match_type = Some(match random.chance(0.5) {
            true => pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value }),
            false => pb::field_match::FieldMatchType::Ternary(pb::field_match::Ternary {
                mask: value.clone(),
                value,
            }),
        });
        fields.push(pb::FieldMatch {
            field_id,
            field_match_type,
        });
    }
    let entry = pb::TableEntry {
        r#match: fields,
        metadata: vec![2; random.below(100) as usize],
        ..Default::default()
    };
    pb::Update {
        r#type: 1,
        entity: Some(pb::Entity {
            entity: Some(pb::entity::Entity::TableEntry(entry)),
        }),
    }
}

#[test]
fn the_count_is_above_what_a_decoded_request_holds() {
    let mut random = node::random::Random::new(11);
    for _ in 0..300 {
        let updates: Vec<_> = (0..random.below(60)).map(|_| update(&mut random)).collect();
        let request = pb::WriteRequest {
            role: "r".repeat(random.below(30) as usize),
            updates,
            ..Default::default()
        };
        let mut bytes = request.encode_to_vec();
        // Of one that is cut short the part before is decoded.
        if random.chance(0.3) {
            bytes.truncate(random.below(1 + bytes.len() as u64) as usize);
        }
        let counted = memory::<pb::WriteRequest>(&bytes);
        if let Ok(decoded) = pb::WriteRequest::decode(&bytes[..]) {
            let held = held(&decoded);
            assert!(counted >= held, "{counted} < {held}");
            assert!(counted < 40 * bytes.len() + 2048 * decoded.updates.len() + 4096);
        }
    }
}

#[test]
fn random_bytes_and_deep_nesting_are_counted_without_a_panic() {
    let mut random = node::random::Random::new(3);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.below(200))
            .map(|_| random.bits() as u8)
            .collect();
        let _ = memory::<pb::WriteRequest>(&bytes);
        let _ = memory::<pb::StreamMessageRequest>(&bytes);
        let _ = memory::<pb::SetForwardingPipelineConfigRequest>(&bytes);
    }
    // P4Data in P4StructLike in P4Data, as deep as a message can be.
    let mut nested = Vec::new();
    for _ in 0..5000 {
        let mut outer = vec![0x1A];
        prost::encoding::encode_varint(nested.len() as u64, &mut outer);
        outer.append(&mut nested);
        nested = outer;
    }
    let _ = memory::<pb::WriteRequest>(&nested);
}
