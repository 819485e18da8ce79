//! P4Info as protocol buffers' text and JSON: fields by their numbers, those that say nothing left out.

use crate::messages::DEFINITIONS;
use crate::messages::config::P4Info;
use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value,
};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::LazyLock;

static P4INFO: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DEFINITIONS).expect("the build script wrote it");
    let found = pool.get_message_by_name("p4.config.v1.P4Info");
    found.expect("it is in proto/")
});

/// As protocol buffers' text, in the form that p4c writes and controllers read.
#[must_use]
pub fn text(message: &P4Info) -> String {
    let mut out = String::from(
        "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n",
    );
    fields_as_text(&mut out, &dynamic(message), 0);
    out
}

/// As protocol buffers' JSON, on one line.
#[must_use]
pub fn json(message: &P4Info) -> String {
    let mut out = String::new();
    message_as_json(&mut out, &dynamic(message));
    out
}

fn dynamic(message: &P4Info) -> DynamicMessage {
    let bytes = message.encode_to_vec();
    DynamicMessage::decode(P4INFO.clone(), &*bytes).expect("it was just encoded")
}

/// The fields that say something, by number.
fn fields(message: &DynamicMessage) -> Vec<(FieldDescriptor, &Value)> {
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(|(field, _)| field.number());
    fields
}

/// A map's entries by their keys, which are strings in all of P4Info.
fn entries(map: &HashMap<MapKey, Value>) -> Vec<(&str, &Value)> {
    let entries = map.iter();
    let mut entries: Vec<_> = entries
        .filter_map(|(key, value)| Some((key.as_str()?, value)))
        .collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

fn member(field: &FieldDescriptor, number: i32) -> String {
    let known = match field.kind() {
        Kind::Enum(of) => of.get_value(number).map(|value| value.name().to_owned()),
        _ => None,
    };
    known.unwrap_or_else(|| number.to_string())
}

fn fields_as_text(out: &mut String, message: &DynamicMessage, depth: usize) {
    for (field, value) in fields(message) {
        match value {
            Value::List(values) => values
                .iter()
                .for_each(|value| field_as_text(out, &field, value, depth)),
            Value::Map(map) => {
                let indent = depth * 2;
                for (key, value) in entries(map) {
                    let _ = write!(
                        out,
                        "{:indent$}{} {{\n{:indent$}  key: ",
                        "",
                        field.name(),
                        ""
                    );
                    escape(out, key.as_bytes());
                    let _ = writeln!(out, "\n{:indent$}  value {{", "");
                    if let Value::Message(message) = value {
                        fields_as_text(out, message, depth + 2);
                    }
                    let _ = writeln!(out, "{:indent$}  }}\n{:indent$}}}", "", "");
                }
            }
            value => field_as_text(out, &field, value, depth),
        }
    }
}

fn field_as_text(out: &mut String, field: &FieldDescriptor, value: &Value, depth: usize) {
    let (name, indent) = (field.name(), depth * 2);
    let _ = write!(out, "{:indent$}{name}", "");
    let _ = match value {
        Value::Message(message) => {
            out.push_str(" {\n");
            fields_as_text(out, message, depth + 1);
            writeln!(out, "{:indent$}}}", "")
        }
        Value::String(text) => {
            out.push_str(": ");
            escape(out, text.as_bytes());
            writeln!(out)
        }
        Value::Bytes(bytes) => {
            out.push_str(": ");
            escape(out, bytes);
            writeln!(out)
        }
        Value::EnumNumber(number) => writeln!(out, ": {}", member(field, *number)),
        Value::Bool(value) => writeln!(out, ": {value}"),
        Value::I32(value) => writeln!(out, ": {value}"),
        Value::I64(value) => writeln!(out, ": {value}"),
        Value::U32(value) => writeln!(out, ": {value}"),
        Value::U64(value) => writeln!(out, ": {value}"),
        // Nothing in P4Info is one of these; lists and maps are taken apart above.
        Value::F32(_) | Value::F64(_) | Value::List(_) | Value::Map(_) => writeln!(out),
    };
}

fn escape(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for byte in bytes {
        let _ = match byte {
            b'\n' => write!(out, "\\n"),
            b'\r' => write!(out, "\\r"),
            b'\t' => write!(out, "\\t"),
            b'"' => write!(out, "\\\""),
            b'\'' => write!(out, "\\'"),
            b'\\' => write!(out, "\\\\"),
            b' '..=b'~' => write!(out, "{}", char::from(*byte)),
            _ => write!(out, "\\{byte:03o}"),
        };
    }
    out.push('"');
}

fn message_as_json(out: &mut String, message: &DynamicMessage) {
    out.push('{');
    for (index, (field, value)) in fields(message).into_iter().enumerate() {
        comma(out, index);
        let _ = write!(out, "\"{}\":", field.json_name());
        value_as_json(out, &field, value);
    }
    out.push('}');
}

fn value_as_json(out: &mut String, field: &FieldDescriptor, value: &Value) {
    let _ = match value {
        Value::Message(message) => {
            message_as_json(out, message);
            Ok(())
        }
        Value::List(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                comma(out, index);
                value_as_json(out, field, value);
            }
            write!(out, "]")
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, value)) in entries(map).into_iter().enumerate() {
                comma(out, index);
                quote(out, key);
                out.push(':');
                value_as_json(out, field, value);
            }
            write!(out, "}}")
        }
        Value::String(text) => {
            quote(out, text);
            Ok(())
        }
        Value::Bytes(bytes) => write!(out, "\"{}\"", BASE64.encode(bytes)),
        Value::EnumNumber(number) => write!(out, "\"{}\"", member(field, *number)),
        Value::Bool(value) => write!(out, "{value}"),
        Value::I32(value) => write!(out, "{value}"),
        Value::U32(value) => write!(out, "{value}"),
        // Numbers of 64 bits are strings in this JSON.
        Value::I64(value) => write!(out, "\"{value}\""),
        Value::U64(value) => write!(out, "\"{value}\""),
        Value::F32(value) => write!(out, "{value}"),
        Value::F64(value) => write!(out, "{value}"),
    };
}

fn comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn quote(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::config as pb;

    fn described() -> P4Info {
        use pb::match_field::{Match, MatchType};
        let key = |id, name: &str, compared| pb::MatchField {
            id,
            name: name.into(),
            bitwidth: 9,
            r#match: Some(compared),
            type_name: Some(pb::P4NamedType {
                name: "port_t".into(),
            }),
            ..Default::default()
        };
        let member = |name: &str, value: &[u8]| pb::p4_serializable_enum_type_spec::Member {
            name: name.into(),
            value: value.to_vec(),
            ..Default::default()
        };
        let table = pb::Table {
            match_fields: vec![
                key(1, "in", Match::MatchType(MatchType::Lpm as i32)),
                key(2, "out", Match::OtherMatchType("fuzzy".into())),
            ],
            direct_resource_ids: vec![7, 8],
            size: 1024,
            is_const_table: true,
            ..Default::default()
        };
        let kinds = pb::P4SerializableEnumTypeSpec {
            members: vec![member("a'é", &[0, 0x41, 0xff])],
            ..Default::default()
        };
        // More than a hash would keep in order by chance.
        let structs = (0..9).map(|n| (format!("s{n}"), Default::default()));
        let types = pb::P4TypeInfo {
            structs: structs.collect(),
            serializable_enums: [("kind".to_owned(), kinds)].into(),
            ..Default::default()
        };
        P4Info {
            tables: vec![table],
            type_info: Some(types),
            ..Default::default()
        }
    }

    #[test]
    fn text_has_fields_by_number_and_maps_by_key() {
        let structs = (0..9)
            .map(|n| format!("  structs {{\n    key: \"s{n}\"\n    value {{\n    }}\n  }}\n"));
        let wanted = [
            r#"# proto-file: p4/config/v1/p4info.proto
# proto-message: p4.config.v1.P4Info

tables {
  match_fields {
    id: 1
    name: "in"
    bitwidth: 9
    match_type: LPM
    type_name {
      name: "port_t"
    }
  }
  match_fields {
    id: 2
    name: "out"
    bitwidth: 9
    other_match_type: "fuzzy"
    type_name {
      name: "port_t"
    }
  }
  direct_resource_ids: 7
  direct_resource_ids: 8
  size: 1024
  is_const_table: true
}
type_info {
"#,
            &structs.collect::<String>(),
            r#"  serializable_enums {
    key: "kind"
    value {
      members {
        name: "a\'\303\251"
        value: "\000A\377"
      }
    }
  }
}
"#,
        ];
        assert_eq!(text(&described()), wanted.concat());
    }

    #[test]
    fn json_has_long_numbers_and_bytes_as_strings() {
        let structs: Vec<String> = (0..9).map(|n| format!("\"s{n}\":{{}}")).collect();
        let wanted = [
            r#"{"tables":[{"matchFields":[{"id":1,"name":"in","bitwidth":9,"matchType":"LPM","typeName":{"name":"port_t"}},"#,
            r#"{"id":2,"name":"out","bitwidth":9,"otherMatchType":"fuzzy","typeName":{"name":"port_t"}}],"#,
            r#""directResourceIds":[7,8],"size":"1024","isConstTable":true}],"typeInfo":{"structs":{"#,
            &structs.join(","),
            r#"},"serializableEnums":{"kind":{"members":[{"name":"a'é","value":"AEH/"}]}}}}"#,
        ];
        assert_eq!(json(&described()), wanted.concat());
    }
}
