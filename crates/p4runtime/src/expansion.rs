//! Memory that a message takes once it is decoded, known from its wire encoding before anything is allocated.
//!
//! An empty element of a repeated field has two bytes on the wire and some hundred in memory, so a limit of a
//! message's length bounds nothing. [`memory`] walks the encoding by the definitions of the messages and counts what
//! prost will make of it: it is an upper bound for every input, malformed ones included.

use crate::messages::{DEFINITIONS, runtime as pb};
use prost::encoding::{WireType, decode_key, decode_varint};
use prost_reflect::{DescriptorPool, Kind, MessageDescriptor};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A request whose memory is counted.
pub trait Request: prost::Message + Default + Send + 'static {
    /// Its full name in the definitions.
    const NAME: &'static str;
}

macro_rules! requests {
    ($($name:ident),+ $(,)?) => {$(
        impl Request for pb::$name {
            const NAME: &'static str = concat!("p4.v1.", stringify!($name));
        }
    )+};
}

requests! {
    WriteRequest, ReadRequest, SetForwardingPipelineConfigRequest, GetForwardingPipelineConfigRequest,
    StreamMessageRequest, CapabilitiesRequest,
}

/// Element types of repeated fields, with the size of each, bytes.
macro_rules! sizes {
    ($($name:literal => $type:ty),+ $(,)?) => {
        &[$((concat!("p4.v1.", $name), size_of::<$type>())),+]
    };
}

const SIZES: &[(&str, usize)] = sizes! {
    "Update" => pb::Update,
    "Entity" => pb::Entity,
    "FieldMatch" => pb::FieldMatch,
    "Action.Param" => pb::action::Param,
    "ActionProfileAction" => pb::ActionProfileAction,
    "ActionProfileGroup.Member" => pb::action_profile_group::Member,
    "Replica" => pb::Replica,
    "ValueSetMember" => pb::ValueSetMember,
    "PacketMetadata" => pb::PacketMetadata,
    "P4Data" => pb::P4Data,
    "P4StructLike" => pb::P4StructLike,
    "P4Header" => pb::P4Header,
    "P4HeaderUnion" => pb::P4HeaderUnion,
};

/// Size of an element of another type, bytes: those of P4Info, which are few in an honest request.
const OTHER: usize = 1024;
/// A block's head and rounding in the allocator, bytes.
const BLOCK: usize = 32;
/// Memory that carrying out one element takes besides the element: its changes, and its error in the answer, bytes.
const WORK: usize = 256;
/// A number in a list, which grows by doubling, bytes.
const NUMBER: usize = 2 * size_of::<u64>();
/// prost decodes no deeper nesting.
const MAX_DEPTH: u32 = 100;

/// Memory form of a message's field.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A message by its number in [`Shapes`]; its own bytes, if it is one of a list or has a block of its own.
    Message(usize, usize),
    /// A string or bytes, and the size of one in a list.
    Bytes(usize),
    /// A number in a list, which may be packed.
    Numbers,
}

/// All messages of requests, with the fields that allocate memory.
struct Shapes {
    all: Vec<BTreeMap<u32, Part>>,
    numbers: BTreeMap<String, usize>,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DEFINITIONS).expect("the build script wrote it");
    let mut shapes = Shapes {
        all: Vec::new(),
        numbers: BTreeMap::new(),
    };
    for message in pool.all_messages() {
        shapes.add(&message);
    }
    shapes
});

impl Shapes {
    fn add(&mut self, message: &MessageDescriptor) -> usize {
        if let Some(&number) = self.numbers.get(message.full_name()) {
            return number;
        }
        let number = self.all.len();
        self.all.push(BTreeMap::new());
        self.numbers.insert(message.full_name().to_owned(), number);
        for field in message.fields() {
            let part = match field.kind() {
                Kind::Message(of) => Part::Message(
                    self.add(&of),
                    match field.is_list() || field.is_map() {
                        // A vector grows by doubling.
                        true => 2 * size_of_element(of.full_name()) + WORK,
                        // It lies in its parent, or in a block of its own where types contain themselves.
                        false if recursive(&of) => size_of_element(of.full_name()) + BLOCK,
                        false => 0,
                    },
                ),
                Kind::String | Kind::Bytes => Part::Bytes(match field.is_list() {
                    true => 2 * size_of::<Vec<u8>>(),
                    false => 0,
                }),
                _ if field.is_list() => Part::Numbers,
                _ => continue,
            };
            self.all[number].insert(field.number(), part);
        }
        number
    }

    fn memory(&self, shape: usize, mut rest: &[u8], depth: u32) -> usize {
        let (mut total, mut before) = (0usize, 0);
        // prost stops at an encoding error too, and keeps what it has decoded so far.
        while !rest.is_empty()
            && let Ok((field, wire)) = decode_key(&mut rest)
        {
            let known = self.all[shape].get(&field).copied();
            let value = match wire {
                WireType::LengthDelimited => {
                    let Ok(length) = decode_varint(&mut rest) else {
                        break;
                    };
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    // A text that is cut short is refused before there is a block for it.
                    let (value, after) = rest.split_at(length.min(rest.len()));
                    rest = after;
                    value
                }
                WireType::Varint => {
                    if decode_varint(&mut rest).is_err() {
                        break;
                    }
                    &[]
                }
                WireType::ThirtyTwoBit => cut(&mut rest, 4),
                WireType::SixtyFourBit => cut(&mut rest, 8),
                // Groups are skipped by prost; their contents are counted as if they were part of the message.
                WireType::StartGroup | WireType::EndGroup => continue,
            };
            // The first element of a list makes room for four.
            let first = usize::from(std::mem::replace(&mut before, field) != field);
            total = total.saturating_add(match known {
                None => 0,
                Some(Part::Message(of, own)) => {
                    (own + own * first).saturating_add(match depth < MAX_DEPTH {
                        true => self.memory(of, value, depth + 1),
                        false => 0,
                    })
                }
                Some(Part::Bytes(own)) => own + own * first + BLOCK + value.len(),
                // A packed number has one byte at least.
                Some(Part::Numbers) => NUMBER * (value.len().max(1) + first),
            });
        }
        total
    }
}

fn cut<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (value, after) = rest.split_at(length.min(rest.len()));
    *rest = after;
    value
}

fn size_of_element(name: &str) -> usize {
    let known = SIZES.iter().find(|(known, _)| *known == name);
    known.map_or(OTHER, |(_, size)| *size)
}

/// Whether a message may contain one of its own kind, so that it cannot lie in its parent.
fn recursive(message: &MessageDescriptor) -> bool {
    let (mut seen, mut next) = (Vec::new(), vec![message.clone()]);
    while let Some(one) = next.pop() {
        for field in one.fields() {
            if let Kind::Message(of) = field.kind() {
                if of == *message {
                    return true;
                }
                if !seen.contains(&of) {
                    seen.push(of.clone());
                    next.push(of);
                }
            }
        }
    }
    false
}

/// Memory that this request takes once it is decoded and carried out, in bytes; an upper bound.
pub fn memory<R: Request>(encoded: &[u8]) -> usize {
    let shape = SHAPES.numbers[R::NAME];
    size_of::<R>() + SHAPES.memory(shape, encoded, 0)
}

#[cfg(test)]
mod tests;
