//! P4Info: a program's description as the message that controllers read, and as text and JSON.

mod print;

pub use print::{json, text};

use crate::messages::config as pb;
use p4::info::{
    AnnotationValue, DataType, Field, Info, NewType, Notes, Preamble, Scope, Semantics, Unit,
};
use p4::ir::MatchKind;
use p4::value::Bits;
use std::collections::BTreeMap;

/// `p4.config.v1.P4Info`
pub fn message(info: &Info) -> pb::P4Info {
    pb::P4Info {
        pkg_info: Some(package(info)),
        tables: list(&info.tables, table),
        actions: list(&info.actions, |action| pb::Action {
            preamble: preamble(&action.preamble),
            params: list(&action.parameters, parameter),
        }),
        action_profiles: list(&info.action_profiles, profile),
        counters: list(&info.counters, |counter| pb::Counter {
            preamble: preamble(&counter.preamble),
            spec: counter_spec(counter.unit),
            size: counter.size as i64,
            index_type_name: counter.index_type.as_deref().map(named),
        }),
        direct_counters: list(&info.direct_counters, |counter| pb::DirectCounter {
            preamble: preamble(&counter.preamble),
            spec: counter_spec(counter.unit),
            direct_table_id: counter.table,
        }),
        meters: list(&info.meters, |meter| pb::Meter {
            preamble: preamble(&meter.preamble),
            spec: meter_spec(meter.unit),
            size: meter.size as i64,
            index_type_name: meter.index_type.as_deref().map(named),
        }),
        direct_meters: list(&info.direct_meters, |meter| pb::DirectMeter {
            preamble: preamble(&meter.preamble),
            spec: meter_spec(meter.unit),
            direct_table_id: meter.table,
        }),
        controller_packet_metadata: list(&info.controller_headers, |header| {
            pb::ControllerPacketMetadata {
                preamble: preamble(&header.preamble),
                metadata: list(&header.fields, metadata),
            }
        }),
        value_sets: list(&info.value_sets, |set| pb::ValueSet {
            preamble: preamble(&set.preamble),
            r#match: list(&set.fields, match_field),
            size: size(set.size),
        }),
        registers: list(&info.registers, |register| pb::Register {
            preamble: preamble(&register.preamble),
            type_spec: Some(data_type(&register.ty)),
            size: size(register.size),
            index_type_name: register.index_type.as_deref().map(named),
        }),
        digests: list(&info.digests, |digest| pb::Digest {
            preamble: preamble(&digest.preamble),
            type_spec: Some(data_type(&digest.ty)),
        }),
        externs: Vec::new(),
        type_info: Some(types(info)),
    }
}

fn list<V, T>(from: &[V], to: impl Fn(&V) -> T) -> Vec<T> {
    from.iter().map(to).collect()
}

fn package(info: &Info) -> pb::PkgInfo {
    let package = &info.package;
    let field = |wanted: &str| {
        let mut fields = package.fields.iter();
        fields
            .find(|(name, _)| &**name == wanted)
            .map_or_else(String::new, |(_, text)| text.clone())
    };
    let platform = |wanted: &str| {
        let mut all = package.platform.iter();
        all.find(|(name, _)| &**name == wanted)
            .map_or(0, |(_, number)| i32::try_from(*number).unwrap_or(i32::MAX))
    };
    let notes = &package.notes;
    pb::PkgInfo {
        name: field("name"),
        version: field("version"),
        doc: documentation(notes),
        annotations: notes.annotations.clone(),
        arch: package.architecture.to_string(),
        organization: field("organization"),
        contact: field("contact"),
        url: field("url"),
        structured_annotations: structured(notes),
        platform_properties: (!package.platform.is_empty()).then(|| pb::PlatformProperties {
            multicast_group_table_size: platform("multicast_group_table_size"),
            multicast_group_table_total_replicas: platform("multicast_group_table_total_replicas"),
            multicast_group_table_max_replicas_per_entry: platform(
                "multicast_group_table_max_replicas_per_entry",
            ),
        }),
        ..Default::default()
    }
}

fn preamble(preamble: &Preamble) -> Option<pb::Preamble> {
    Some(pb::Preamble {
        id: preamble.id,
        name: preamble.name.to_string(),
        alias: preamble.alias.to_string(),
        annotations: preamble.notes.annotations.clone(),
        doc: documentation(&preamble.notes),
        structured_annotations: structured(&preamble.notes),
        ..Default::default()
    })
}

fn documentation(notes: &Notes) -> Option<pb::Documentation> {
    notes
        .documentation
        .as_ref()
        .map(|documentation| pb::Documentation {
            brief: documentation.brief.clone(),
            description: documentation.description.clone(),
        })
}

fn structured(notes: &Notes) -> Vec<pb::StructuredAnnotation> {
    use pb::structured_annotation::Body;
    let value = |value: &AnnotationValue| {
        use pb::expression::Value;
        pb::Expression {
            value: Some(match value {
                AnnotationValue::Text(text) => Value::StringValue(text.to_string()),
                AnnotationValue::Number(number) => Value::Int64Value(*number),
                AnnotationValue::Bool(truth) => Value::BoolValue(*truth),
            }),
        }
    };
    let all = notes
        .structured
        .iter()
        .map(|note| pb::StructuredAnnotation {
            name: note.name.to_string(),
            source_location: None,
            body: if note.pairs {
                let pairs = note.values.iter().map(|(key, item)| pb::KeyValuePair {
                    key: key.as_deref().unwrap_or("").to_owned(),
                    value: Some(value(item)),
                });
                Some(Body::KvPairList(pb::KeyValuePairList {
                    kv_pairs: pairs.collect(),
                }))
            } else if note.values.is_empty() {
                None
            } else {
                let values = note.values.iter().map(|(_, item)| value(item));
                Some(Body::ExpressionList(pb::ExpressionList {
                    expressions: values.collect(),
                }))
            },
        });
    all.collect()
}

/// A size of 32 bits; larger ones are as large as can be said.
fn size(size: u64) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

fn named(name: &str) -> pb::P4NamedType {
    pb::P4NamedType {
        name: name.to_owned(),
    }
}

fn match_field(field: &Field) -> pb::MatchField {
    use pb::match_field::{Match, MatchType};
    let compared = field.match_kind.as_ref().map(|kind| match kind {
        MatchKind::Exact => Match::MatchType(MatchType::Exact as i32),
        MatchKind::Lpm => Match::MatchType(MatchType::Lpm as i32),
        MatchKind::Ternary => Match::MatchType(MatchType::Ternary as i32),
        MatchKind::Range => Match::MatchType(MatchType::Range as i32),
        MatchKind::Optional => Match::MatchType(MatchType::Optional as i32),
        MatchKind::Selector | MatchKind::Other(_) => Match::OtherMatchType(kind.name().to_owned()),
    });
    pb::MatchField {
        id: field.id,
        name: field.name.to_string(),
        annotations: field.notes.annotations.clone(),
        bitwidth: field.width as i32,
        doc: documentation(&field.notes),
        type_name: field.type_name.as_deref().map(named),
        structured_annotations: structured(&field.notes),
        r#match: compared,
        ..Default::default()
    }
}

fn parameter(field: &Field) -> pb::action::Param {
    pb::action::Param {
        id: field.id,
        name: field.name.to_string(),
        annotations: field.notes.annotations.clone(),
        bitwidth: field.width as i32,
        doc: documentation(&field.notes),
        type_name: field.type_name.as_deref().map(named),
        structured_annotations: structured(&field.notes),
        ..Default::default()
    }
}

fn metadata(field: &Field) -> pb::controller_packet_metadata::Metadata {
    pb::controller_packet_metadata::Metadata {
        id: field.id,
        name: field.name.to_string(),
        annotations: field.notes.annotations.clone(),
        bitwidth: field.width as i32,
        type_name: field.type_name.as_deref().map(named),
        structured_annotations: structured(&field.notes),
        ..Default::default()
    }
}

fn table(table: &p4::info::Table) -> pb::Table {
    use pb::action_ref::Scope as To;
    pb::Table {
        preamble: preamble(&table.preamble),
        match_fields: list(&table.match_fields, match_field),
        action_refs: table
            .actions
            .iter()
            .map(|action| pb::ActionRef {
                id: action.id,
                scope: match action.scope {
                    Scope::Both => To::TableAndDefault,
                    Scope::TableOnly => To::TableOnly,
                    Scope::DefaultOnly => To::DefaultOnly,
                } as i32,
                annotations: action.notes.annotations.clone(),
                structured_annotations: structured(&action.notes),
                ..Default::default()
            })
            .collect(),
        const_default_action_id: match (&table.default_action, table.const_default) {
            (Some((id, _)), true) => *id,
            _ => 0,
        },
        initial_default_action: table.default_action.as_ref().map(|(id, arguments)| {
            pb::TableActionCall {
                action_id: *id,
                arguments: arguments
                    .iter()
                    .map(|(id, value)| pb::table_action_call::Argument {
                        param_id: *id,
                        value: padded(value),
                    })
                    .collect(),
            }
        }),
        implementation_id: table.implementation.unwrap_or(0),
        direct_resource_ids: table.direct.clone(),
        size: table.size as i64,
        idle_timeout_behavior: i32::from(table.idle_timeout),
        is_const_table: table.is_const,
        has_initial_entries: table.has_entries,
        other_properties: None,
    }
}

/// In all the bytes of the value's width, and at least one, as p4c writes it.
fn padded(value: &Bits) -> Vec<u8> {
    let digits = value.unsigned().to_bytes_be();
    let length = value.width().div_ceil(8).max(1) as usize;
    let mut bytes = vec![0; length.saturating_sub(digits.len())];
    bytes.extend(digits);
    bytes
}

fn profile(profile: &p4::info::ActionProfile) -> pb::ActionProfile {
    use pb::action_profile::{SelectorSizeSemantics, SumOfMembers, SumOfWeights};
    pb::ActionProfile {
        preamble: preamble(&profile.preamble),
        table_ids: profile.tables.clone(),
        with_selector: profile.with_selector,
        size: profile.size as i64,
        max_group_size: size(profile.max_group_size),
        selector_size_semantics: profile.semantics.map(|semantics| match semantics {
            Semantics::Weights => SelectorSizeSemantics::SumOfWeights(SumOfWeights {}),
            Semantics::Members(most) => SelectorSizeSemantics::SumOfMembers(SumOfMembers {
                max_member_weight: most as i32,
            }),
        }),
    }
}

fn counter_spec(unit: Unit) -> Option<pb::CounterSpec> {
    use pb::counter_spec::Unit as To;
    Some(pb::CounterSpec {
        unit: match unit {
            Unit::Bytes => To::Bytes,
            Unit::Packets => To::Packets,
            Unit::Both => To::Both,
        } as i32,
    })
}

fn meter_spec(unit: Unit) -> Option<pb::MeterSpec> {
    use pb::meter_spec::{Type, Unit as To};
    Some(pb::MeterSpec {
        unit: match unit {
            Unit::Bytes => To::Bytes,
            Unit::Packets | Unit::Both => To::Packets,
        } as i32,
        r#type: Type::TwoRateThreeColor as i32,
    })
}

fn bit_string(ty: &DataType) -> pb::P4BitstringLikeTypeSpec {
    use pb::p4_bitstring_like_type_spec::TypeSpec;
    pb::P4BitstringLikeTypeSpec {
        type_spec: match ty {
            DataType::Bits(width) => Some(TypeSpec::Bit(pb::P4BitTypeSpec {
                bitwidth: *width as i32,
            })),
            DataType::Signed(width) => Some(TypeSpec::Int(pb::P4IntTypeSpec {
                bitwidth: *width as i32,
            })),
            DataType::Varbit(width) => Some(TypeSpec::Varbit(pb::P4VarbitTypeSpec {
                max_bitwidth: *width as i32,
            })),
            _ => None,
        },
        ..Default::default()
    }
}

fn data_type(ty: &DataType) -> pb::P4DataTypeSpec {
    use pb::p4_data_type_spec::TypeSpec;
    pb::P4DataTypeSpec {
        type_spec: Some(match ty {
            DataType::Bits(_) | DataType::Signed(_) | DataType::Varbit(_) => {
                TypeSpec::Bitstring(bit_string(ty))
            }
            DataType::Bool => TypeSpec::Bool(pb::P4BoolType {}),
            DataType::Tuple(parts) => TypeSpec::Tuple(pb::P4TupleTypeSpec {
                members: parts.iter().map(data_type).collect(),
            }),
            DataType::Struct(name) => TypeSpec::Struct(named(name)),
            DataType::Header(name) => TypeSpec::Header(named(name)),
            DataType::Union(name) => TypeSpec::HeaderUnion(named(name)),
            DataType::Stack(name, size) => TypeSpec::HeaderStack(pb::P4HeaderStackTypeSpec {
                header: Some(named(name)),
                size: *size as i32,
            }),
            DataType::UnionStack(name, size) => {
                TypeSpec::HeaderUnionStack(pb::P4HeaderUnionStackTypeSpec {
                    header_union: Some(named(name)),
                    size: *size as i32,
                })
            }
            DataType::Enum(name) => TypeSpec::Enum(named(name)),
            DataType::Error => TypeSpec::Error(pb::P4ErrorType {}),
            DataType::SerializableEnum(name) => TypeSpec::SerializableEnum(named(name)),
            DataType::New(name) => TypeSpec::NewType(named(name)),
        }),
    }
}

fn types(info: &Info) -> pb::P4TypeInfo {
    let types = &info.types;
    fn map<K: ToString, V, T>(from: &BTreeMap<K, V>, to: impl Fn(&V) -> T) -> BTreeMap<String, T> {
        from.iter()
            .map(|(key, value)| (key.to_string(), to(value)))
            .collect()
    }
    pb::P4TypeInfo {
        structs: map(&types.structs, |members| pb::P4StructTypeSpec {
            members: list(members, |(name, ty)| pb::p4_struct_type_spec::Member {
                name: name.to_string(),
                type_spec: Some(data_type(ty)),
            }),
            ..Default::default()
        }),
        headers: map(&types.headers, |members| pb::P4HeaderTypeSpec {
            members: list(members, |(name, ty)| pb::p4_header_type_spec::Member {
                name: name.to_string(),
                type_spec: Some(bit_string(ty)),
            }),
            ..Default::default()
        }),
        header_unions: map(&types.unions, |members| pb::P4HeaderUnionTypeSpec {
            members: list(members, |(name, header)| {
                pb::p4_header_union_type_spec::Member {
                    name: name.to_string(),
                    header: Some(named(header)),
                }
            }),
            ..Default::default()
        }),
        enums: map(&types.enums, |members| pb::P4EnumTypeSpec {
            members: list(members, |name| pb::p4_enum_type_spec::Member {
                name: name.to_string(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        error: types.error.as_ref().map(|members| pb::P4ErrorTypeSpec {
            members: list(members, ToString::to_string),
        }),
        serializable_enums: map(&types.serializable_enums, |(width, members)| {
            pb::P4SerializableEnumTypeSpec {
                underlying_type: Some(pb::P4BitTypeSpec {
                    bitwidth: *width as i32,
                }),
                members: list(members, |(name, value)| {
                    pb::p4_serializable_enum_type_spec::Member {
                        name: name.to_string(),
                        value: padded(value),
                        ..Default::default()
                    }
                }),
                ..Default::default()
            }
        }),
        new_types: map(&types.new_types, |(new, notes)| {
            use pb::p4_new_type_spec::Representation;
            use pb::p4_new_type_translation::{SdnString, SdnType};
            pb::P4NewTypeSpec {
                representation: Some(match new {
                    NewType::Original(ty) => Representation::OriginalType(data_type(ty)),
                    NewType::Translated(uri, width) => {
                        Representation::TranslatedType(pb::P4NewTypeTranslation {
                            uri: uri.to_string(),
                            sdn_type: Some(match width {
                                Some(width) => SdnType::SdnBitwidth(*width as i32),
                                None => SdnType::SdnString(SdnString {}),
                            }),
                        })
                    }
                }),
                annotations: notes.annotations.clone(),
                structured_annotations: structured(notes),
                ..Default::default()
            }
        }),
    }
}
