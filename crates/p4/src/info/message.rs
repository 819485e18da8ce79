//! The description as a tree of fields, which can be printed in any way that protocol buffers have.

use super::types::{DataType, NewType};
use super::{AnnotationValue, Array, Direct, Field, Info, Notes, Preamble, Scope, Semantics, Unit};
use crate::ir::MatchKind;
use crate::value::Bits;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A field's value. Values that are as they are without being told are left out when a tree is made.
pub(super) enum Node {
    /// Of 32 bits or less.
    Number(i64),
    /// Of 64 bits: JSON has it as a string.
    Long(i64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    /// A member of an enum.
    Member(&'static str),
    Message(Vec<(&'static str, Node)>),
    List(Vec<Node>),
    /// From keys to messages.
    Map(Vec<(String, Node)>),
}

type Fields = Vec<(&'static str, Node)>;

fn number(fields: &mut Fields, name: &'static str, value: u32) {
    if value != 0 {
        fields.push((name, Node::Number(i64::from(value))));
    }
}

fn long(fields: &mut Fields, name: &'static str, value: u64) {
    if value != 0 {
        fields.push((name, Node::Long(value as i64)));
    }
}

fn text(fields: &mut Fields, name: &'static str, value: &str) {
    if !value.is_empty() {
        fields.push((name, Node::Text(value.to_string())));
    }
}

fn flag(fields: &mut Fields, name: &'static str, value: bool) {
    if value {
        fields.push((name, Node::Bool(true)));
    }
}

fn list(fields: &mut Fields, name: &'static str, values: Vec<Node>) {
    if !values.is_empty() {
        fields.push((name, Node::List(values)));
    }
}

fn named(name: &str) -> Node {
    let mut fields = Fields::new();
    text(&mut fields, "name", name);
    Node::Message(fields)
}

/// A value as p4c writes it: in all the bytes that its width has.
pub(super) fn bytes(value: &Bits) -> Vec<u8> {
    let digits = value.unsigned().to_bytes_be();
    let length = (value.width().div_ceil(8) as usize).max(1);
    let mut bytes = vec![0; length.saturating_sub(digits.len())];
    bytes.extend(&digits[digits.len().saturating_sub(length)..]);
    bytes
}

/// The whole of it: a `p4.config.v1.P4Info`.
pub(super) fn tree(info: &Info) -> Node {
    let mut fields = Fields::new();
    fields.push(("pkg_info", package(info)));
    list(
        &mut fields,
        "tables",
        info.tables.iter().map(table).collect(),
    );
    let actions = info.actions.iter().map(|action| {
        let mut fields = vec![("preamble", preamble(&action.preamble))];
        list(
            &mut fields,
            "params",
            action.parameters.iter().map(field).collect(),
        );
        Node::Message(fields)
    });
    list(&mut fields, "actions", actions.collect());
    let profiles = info.action_profiles.iter().map(|profile| {
        let mut fields = vec![("preamble", preamble(&profile.preamble))];
        let tables = profile.tables.iter().map(|id| Node::Number(i64::from(*id)));
        list(&mut fields, "table_ids", tables.collect());
        flag(&mut fields, "with_selector", profile.with_selector);
        long(&mut fields, "size", profile.size);
        number(&mut fields, "max_group_size", profile.max_group_size as u32);
        match profile.semantics {
            None => {}
            Some(Semantics::Weights) => fields.push(("sum_of_weights", Node::Message(vec![]))),
            Some(Semantics::Members(most)) => {
                let mut inner = Fields::new();
                number(&mut inner, "max_member_weight", most);
                fields.push(("sum_of_members", Node::Message(inner)));
            }
        }
        Node::Message(fields)
    });
    list(&mut fields, "action_profiles", profiles.collect());
    list(
        &mut fields,
        "counters",
        info.counters.iter().map(array).collect(),
    );
    list(
        &mut fields,
        "direct_counters",
        info.direct_counters.iter().map(direct).collect(),
    );
    list(
        &mut fields,
        "meters",
        info.meters.iter().map(array).collect(),
    );
    list(
        &mut fields,
        "direct_meters",
        info.direct_meters.iter().map(direct).collect(),
    );
    let headers = info.controller_headers.iter().map(|header| {
        let mut fields = vec![("preamble", preamble(&header.preamble))];
        list(
            &mut fields,
            "metadata",
            header.fields.iter().map(field).collect(),
        );
        Node::Message(fields)
    });
    list(&mut fields, "controller_packet_metadata", headers.collect());
    let sets = info.value_sets.iter().map(|set| {
        let mut fields = vec![("preamble", preamble(&set.preamble))];
        list(&mut fields, "match", set.fields.iter().map(field).collect());
        number(&mut fields, "size", set.size as u32);
        Node::Message(fields)
    });
    list(&mut fields, "value_sets", sets.collect());
    let registers = info.registers.iter().map(|register| {
        let mut fields = vec![
            ("preamble", preamble(&register.preamble)),
            ("type_spec", data_type(&register.ty)),
        ];
        number(&mut fields, "size", register.size as u32);
        if let Some(name) = &register.index_type {
            fields.push(("index_type_name", named(name)));
        }
        Node::Message(fields)
    });
    list(&mut fields, "registers", registers.collect());
    let digests = info.digests.iter().map(|digest| {
        Node::Message(vec![
            ("preamble", preamble(&digest.preamble)),
            ("type_spec", data_type(&digest.ty)),
        ])
    });
    list(&mut fields, "digests", digests.collect());
    fields.push(("type_info", types(info)));
    Node::Message(fields)
}

fn package(info: &Info) -> Node {
    let package = &info.package;
    let mut fields = Fields::new();
    let field = |wanted: &str| {
        let mut all = package.fields.iter();
        all.find(|(name, _)| &**name == wanted)
            .map_or("", |(_, text)| text)
    };
    text(&mut fields, "name", field("name"));
    text(&mut fields, "version", field("version"));
    documentation(&mut fields, &package.notes);
    annotations(&mut fields, &package.notes);
    text(&mut fields, "arch", &package.architecture);
    text(&mut fields, "organization", field("organization"));
    text(&mut fields, "contact", field("contact"));
    text(&mut fields, "url", field("url"));
    structured(&mut fields, &package.notes);
    if !package.platform.is_empty() {
        let mut platform = Fields::new();
        for name in [
            "multicast_group_table_size",
            "multicast_group_table_total_replicas",
            "multicast_group_table_max_replicas_per_entry",
        ] {
            if let Some((_, value)) = package.platform.iter().find(|(other, _)| &**other == name) {
                platform.push((name, Node::Number(*value)));
            }
        }
        fields.push(("platform_properties", Node::Message(platform)));
    }
    Node::Message(fields)
}

fn annotations(fields: &mut Fields, notes: &Notes) {
    let texts = notes
        .annotations
        .iter()
        .map(|text| Node::Text(text.clone()));
    list(fields, "annotations", texts.collect());
}

fn documentation(fields: &mut Fields, notes: &Notes) {
    if let Some(documentation) = &notes.documentation {
        let mut inner = Fields::new();
        text(&mut inner, "brief", &documentation.brief);
        text(&mut inner, "description", &documentation.description);
        fields.push(("doc", Node::Message(inner)));
    }
}

fn structured(fields: &mut Fields, notes: &Notes) {
    let value = |value: &AnnotationValue| {
        Node::Message(vec![match value {
            AnnotationValue::Text(text) => ("string_value", Node::Text(text.to_string())),
            AnnotationValue::Number(number) => ("int64_value", Node::Long(*number)),
            AnnotationValue::Bool(truth) => ("bool_value", Node::Bool(*truth)),
        }])
    };
    let all = notes.structured.iter().map(|note| {
        let mut fields = Fields::new();
        text(&mut fields, "name", &note.name);
        let mut inner = Fields::new();
        if note.pairs {
            let pairs = note.values.iter().map(|(key, item)| {
                let mut pair = Fields::new();
                text(&mut pair, "key", key.as_deref().unwrap_or(""));
                pair.push(("value", value(item)));
                Node::Message(pair)
            });
            list(&mut inner, "kv_pairs", pairs.collect());
            fields.push(("kv_pair_list", Node::Message(inner)));
        } else if !note.values.is_empty() {
            let values = note.values.iter().map(|(_, item)| value(item));
            list(&mut inner, "expressions", values.collect());
            fields.push(("expression_list", Node::Message(inner)));
        }
        Node::Message(fields)
    });
    list(fields, "structured_annotations", all.collect());
}

fn preamble(preamble: &Preamble) -> Node {
    let mut fields = Fields::new();
    number(&mut fields, "id", preamble.id);
    text(&mut fields, "name", &preamble.name);
    text(&mut fields, "alias", &preamble.alias);
    annotations(&mut fields, &preamble.notes);
    documentation(&mut fields, &preamble.notes);
    structured(&mut fields, &preamble.notes);
    Node::Message(fields)
}

fn field(field: &Field) -> Node {
    let mut fields = Fields::new();
    number(&mut fields, "id", field.id);
    text(&mut fields, "name", &field.name);
    annotations(&mut fields, &field.notes);
    number(&mut fields, "bitwidth", field.width);
    let standard = match &field.match_kind {
        Some(MatchKind::Exact) => Some("EXACT"),
        Some(MatchKind::Lpm) => Some("LPM"),
        Some(MatchKind::Ternary) => Some("TERNARY"),
        Some(MatchKind::Range) => Some("RANGE"),
        Some(MatchKind::Optional) => Some("OPTIONAL"),
        _ => None,
    };
    if let Some(kind) = standard {
        fields.push(("match_type", Node::Member(kind)));
    }
    documentation(&mut fields, &field.notes);
    if let (None, Some(kind)) = (standard, &field.match_kind) {
        text(&mut fields, "other_match_type", kind.name());
    }
    if let Some(name) = &field.type_name {
        fields.push(("type_name", named(name)));
    }
    structured(&mut fields, &field.notes);
    Node::Message(fields)
}

fn table(table: &super::Table) -> Node {
    let mut fields = vec![("preamble", preamble(&table.preamble))];
    list(
        &mut fields,
        "match_fields",
        table.match_fields.iter().map(field).collect(),
    );
    let actions = table.actions.iter().map(|action| {
        let mut fields = Fields::new();
        number(&mut fields, "id", action.id);
        annotations(&mut fields, &action.notes);
        match action.scope {
            Scope::Both => {}
            Scope::TableOnly => fields.push(("scope", Node::Member("TABLE_ONLY"))),
            Scope::DefaultOnly => fields.push(("scope", Node::Member("DEFAULT_ONLY"))),
        }
        structured(&mut fields, &action.notes);
        Node::Message(fields)
    });
    list(&mut fields, "action_refs", actions.collect());
    if let Some((id, arguments)) = &table.default_action {
        if table.const_default {
            number(&mut fields, "const_default_action_id", *id);
        }
        let mut inner = Fields::new();
        number(&mut inner, "action_id", *id);
        let arguments = arguments.iter().map(|(id, value)| {
            let mut fields = Fields::new();
            number(&mut fields, "param_id", *id);
            fields.push(("value", Node::Bytes(bytes(value))));
            Node::Message(fields)
        });
        list(&mut inner, "arguments", arguments.collect());
        fields.push(("initial_default_action", Node::Message(inner)));
    }
    number(
        &mut fields,
        "implementation_id",
        table.implementation.unwrap_or(0),
    );
    let direct = table.direct.iter().map(|id| Node::Number(i64::from(*id)));
    list(&mut fields, "direct_resource_ids", direct.collect());
    long(&mut fields, "size", table.size);
    if table.idle_timeout {
        fields.push(("idle_timeout_behavior", Node::Member("NOTIFY_CONTROL")));
    }
    flag(&mut fields, "is_const_table", table.is_const);
    flag(&mut fields, "has_initial_entries", table.has_entries);
    Node::Message(fields)
}

fn unit(unit: Unit) -> Node {
    Node::Message(vec![(
        "unit",
        Node::Member(match unit {
            Unit::Bytes => "BYTES",
            Unit::Packets => "PACKETS",
            Unit::Both => "BOTH",
        }),
    )])
}

fn array(array: &Array) -> Node {
    let mut fields = vec![
        ("preamble", preamble(&array.preamble)),
        ("spec", unit(array.unit)),
    ];
    long(&mut fields, "size", array.size);
    if let Some(name) = &array.index_type {
        fields.push(("index_type_name", named(name)));
    }
    Node::Message(fields)
}

fn direct(direct: &Direct) -> Node {
    let mut fields = vec![
        ("preamble", preamble(&direct.preamble)),
        ("spec", unit(direct.unit)),
    ];
    number(&mut fields, "direct_table_id", direct.table);
    Node::Message(fields)
}

fn width(name: &'static str, width: u32) -> Node {
    let mut fields = Fields::new();
    number(&mut fields, name, width);
    Node::Message(fields)
}

fn bit_string(ty: &DataType) -> Option<Node> {
    Some(Node::Message(vec![match ty {
        DataType::Bits(bits) => ("bit", width("bitwidth", *bits)),
        DataType::Signed(bits) => ("int", width("bitwidth", *bits)),
        DataType::Varbit(bits) => ("varbit", width("max_bitwidth", *bits)),
        _ => return None,
    }]))
}

fn data_type(ty: &DataType) -> Node {
    let stack = |kind: &'static str, name: &str, size: u32| {
        let mut fields = vec![(kind, named(name))];
        number(&mut fields, "size", size);
        Node::Message(fields)
    };
    Node::Message(vec![match ty {
        DataType::Bits(_) | DataType::Signed(_) | DataType::Varbit(_) => {
            ("bitstring", bit_string(ty).unwrap_or(Node::Message(vec![])))
        }
        DataType::Bool => ("bool", Node::Message(vec![])),
        DataType::Tuple(parts) => {
            let mut fields = Fields::new();
            list(
                &mut fields,
                "members",
                parts.iter().map(data_type).collect(),
            );
            ("tuple", Node::Message(fields))
        }
        DataType::Struct(name) => ("struct", named(name)),
        DataType::Header(name) => ("header", named(name)),
        DataType::Union(name) => ("header_union", named(name)),
        DataType::Stack(name, size) => ("header_stack", stack("header", name, *size)),
        DataType::UnionStack(name, size) => {
            ("header_union_stack", stack("header_union", name, *size))
        }
        DataType::Enum(name) => ("enum", named(name)),
        DataType::Error => ("error", Node::Message(vec![])),
        DataType::SerializableEnum(name) => ("serializable_enum", named(name)),
        DataType::New(name) => ("new_type", named(name)),
    }])
}

fn types(info: &Info) -> Node {
    let types = &info.types;
    let mut fields = Fields::new();
    fn map<'a, T: 'a>(
        fields: &mut Fields,
        name: &'static str,
        entries: impl Iterator<Item = (&'a alloc::sync::Arc<str>, &'a T)>,
        describe: impl Fn(&T) -> Fields,
    ) {
        let entries: Vec<_> = entries
            .map(|(key, value)| (key.to_string(), Node::Message(describe(value))))
            .collect();
        if !entries.is_empty() {
            fields.push((name, Node::Map(entries)));
        }
    }
    map(&mut fields, "structs", types.structs.iter(), |members| {
        members_of(
            members
                .iter()
                .map(|(name, ty)| (&**name, "type_spec", data_type(ty))),
        )
    });
    map(&mut fields, "headers", types.headers.iter(), |members| {
        members_of(members.iter().map(|(name, ty)| {
            let spec = bit_string(ty).unwrap_or(Node::Message(vec![]));
            (&**name, "type_spec", spec)
        }))
    });
    map(
        &mut fields,
        "header_unions",
        types.unions.iter(),
        |members| {
            members_of(
                members
                    .iter()
                    .map(|(name, header)| (&**name, "header", named(header))),
            )
        },
    );
    map(&mut fields, "enums", types.enums.iter(), |members| {
        let mut fields = Fields::new();
        list(
            &mut fields,
            "members",
            members.iter().map(|name| named(name)).collect(),
        );
        fields
    });
    if let Some(members) = &types.error {
        let mut inner = Fields::new();
        let members = members.iter().map(|name| Node::Text(name.to_string()));
        list(&mut inner, "members", members.collect());
        fields.push(("error", Node::Message(inner)));
    }
    map(
        &mut fields,
        "serializable_enums",
        types.serializable_enums.iter(),
        |(bits, members)| {
            let mut fields = vec![("underlying_type", width("bitwidth", *bits))];
            let members = members.iter().map(|(name, value)| {
                let mut member = Fields::new();
                text(&mut member, "name", name);
                member.push(("value", Node::Bytes(bytes(value))));
                Node::Message(member)
            });
            list(&mut fields, "members", members.collect());
            fields
        },
    );
    map(
        &mut fields,
        "new_types",
        types.new_types.iter(),
        |(new, notes)| {
            let mut fields = Fields::new();
            match new {
                NewType::Original(ty) => fields.push(("original_type", data_type(ty))),
                NewType::Translated(uri, bits) => {
                    let mut inner = Fields::new();
                    text(&mut inner, "uri", uri);
                    inner.push(match bits {
                        Some(bits) => ("sdn_bitwidth", Node::Number(i64::from(*bits))),
                        None => ("sdn_string", Node::Message(vec![])),
                    });
                    fields.push(("translated_type", Node::Message(inner)));
                }
            }
            annotations(&mut fields, notes);
            structured(&mut fields, notes);
            fields
        },
    );
    Node::Message(fields)
}

fn members_of<'a>(members: impl Iterator<Item = (&'a str, &'static str, Node)>) -> Fields {
    let members = members.map(|(name, what, ty)| {
        let mut fields = Fields::new();
        text(&mut fields, "name", name);
        fields.push((what, ty));
        Node::Message(fields)
    });
    let mut fields = Fields::new();
    list(&mut fields, "members", members.collect());
    fields
}
