//! A lab file as a tree of values that know their places, and reading it into structs.

use crate::fault::{Fault, did_you_mean};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub span: Range<usize>,
    pub what: What,
}

/// A key, its place, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: Value,
}

/// What a value is. Tables are in the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    List(Vec<Value>),
    Table(Vec<Entry>),
}

/// Reads TOML, finding as many faults as it can.
pub(crate) fn parse(text: &str, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        faults.push(Fault::new(error.span().unwrap_or(0..0), error.message()));
    }
    entries(table.get_ref(), faults)
}

fn entries(table: &DeTable<'_>, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .iter()
        .filter_map(|(key, value)| {
            let entry = Entry {
                key: key.get_ref().to_string(),
                key_span: key.span(),
                value: value_of(value, faults)?,
            };
            Some(entry)
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn value_of(value: &Spanned<DeValue<'_>>, faults: &mut Vec<Fault>) -> Option<Value> {
    let span = value.span();
    let what = match value.get_ref() {
        DeValue::String(text) => Some(What::Text(text.to_string())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(What::Integer),
        DeValue::Float(number) => number.as_str().parse().ok().map(What::Float),
        DeValue::Boolean(flag) => Some(What::Flag(*flag)),
        DeValue::Array(list) => {
            let list = list.iter().filter_map(|value| value_of(value, faults));
            Some(What::List(list.collect()))
        }
        DeValue::Table(table) => Some(What::Table(entries(table, faults))),
        DeValue::Datetime(_) => {
            let fault = Fault::new(span, "no key of a lab file is a date");
            faults.push(fault.help("write a length of time as a text, such as \"10 ms\""));
            return None;
        }
    };
    if what.is_none() {
        let fault = Fault::new(span.clone(), "this number does not fit in 64 bits");
        faults.push(fault.help("write a smaller number"));
    }
    what.map(|what| Value { span, what })
}

impl Value {
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.what {
            What::Text(_) => "a text",
            What::Integer(_) => "an integer",
            What::Float(_) => "a number",
            What::Flag(_) => "true or false",
            What::List(_) => "a list",
            What::Table(_) => "a table",
        }
    }

    /// The value of a table's key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let What::Table(entries) = &self.what else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.key == key);
        entry.map(|entry| &entry.value)
    }

    /// Takes a key out of a table.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let What::Table(entries) = &mut self.what else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    }

    /// Reads the value into a struct.
    ///
    /// # Errors
    /// The first fault that was found.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        T::deserialize(self).map_err(|wrong| Fault {
            span: wrong.span.unwrap_or_else(|| self.span.clone()),
            message: wrong.message,
            help: wrong.help,
        })
    }
}

/// A fault whose place the tree adds.
#[derive(Debug)]
pub(crate) struct Wrong {
    span: Option<Range<usize>>,
    message: String,
    help: Option<String>,
}

impl Wrong {
    fn at(mut self, span: &Range<usize>) -> Wrong {
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Wrong {
        Wrong {
            span: None,
            message: message.to_string(),
            help: None,
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Wrong {
        Wrong {
            span: None,
            message: format!("unknown key `{field}`"),
            help: Some(did_you_mean(field, expected)),
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Wrong {
        Wrong {
            span: None,
            message: format!("`{variant}` is not known here"),
            help: Some(did_you_mean(variant, expected)),
        }
    }

    fn missing_field(field: &'static str) -> Wrong {
        Wrong {
            span: None,
            message: format!("the key `{field}` is missing"),
            help: Some(format!("add `{field} = ...`")),
        }
    }
}

impl<'de> Deserializer<'de> for &Value {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let result = match &self.what {
            What::Text(text) => visitor.visit_str(text),
            What::Integer(number) => visitor.visit_i64(*number),
            What::Float(number) => visitor.visit_f64(*number),
            What::Flag(flag) => visitor.visit_bool(*flag),
            What::List(list) => visitor.visit_seq(Items(list.iter())),
            What::Table(entries) => visitor.visit_map(Entries(entries.iter(), None)),
        };
        result.map_err(|wrong| wrong.at(&self.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let result = match &self.what {
            What::Text(text) => {
                let text: StrDeserializer<'_, Wrong> = text.as_str().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            _ => Err(de::Error::custom(format_args!(
                "one of {} is wanted here, not {}",
                variants.join(", "),
                self.kind()
            ))),
        };
        result.map_err(|wrong| wrong.at(&self.span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The values of a list, each of which places what is wrong with it.
struct Items<'a>(std::slice::Iter<'a, Value>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let Some(value) = self.0.next() else {
            return Ok(None);
        };
        let element = seed.deserialize(value).map(Some);
        element.map_err(|wrong| wrong.at(&value.span))
    }
}

/// The keys and values of a table, likewise, and the value that is next.
struct Entries<'a>(std::slice::Iter<'a, Entry>, Option<&'a Value>);

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some(entry) = self.0.next() else {
            return Ok(None);
        };
        self.1 = Some(&entry.value);
        let key: StrDeserializer<'_, Wrong> = entry.key.as_str().into_deserializer();
        let key = seed.deserialize(key).map(Some);
        key.map_err(|wrong| wrong.at(&entry.key_span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let value = self
            .1
            .take()
            .expect("serde asks for a value behind its key");
        let read = seed.deserialize(value);
        read.map_err(|wrong| wrong.at(&value.span))
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        number: u16,
        ratio: Option<f64>,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
    }

    fn read(text: &str) -> Result<Sample, (String, String)> {
        let mut faults = Vec::new();
        let what = What::Table(parse(text, &mut faults));
        assert_eq!(faults, []);
        let span = 0..text.len();
        let value = Value { span, what };
        let placed = |fault: Fault| (text[fault.span].to_string(), fault.message);
        value.read().map_err(placed)
    }

    #[test]
    fn values_are_read_and_faults_have_the_place_of_their_key_or_value() {
        let good = read("number = 3\nratio = 0.5\nkind = 'plain'").unwrap();
        assert_eq!(
            (good.number, good.ratio, good.kind),
            (3, Some(0.5), Some(Kind::Plain))
        );
        let fault = |text| read(text).unwrap_err();
        assert_eq!(fault("number = 70000").0, "70000");
        assert_eq!(
            fault("numbr = 7"),
            ("numbr".into(), "unknown key `numbr`".into())
        );
        assert_eq!(fault("number = 1\nkind = 'plan'").0, "'plan'");
        assert_eq!(fault("number = 1\nkind = 7").0, "7");
        assert_eq!(fault("").1, "the key `number` is missing");
    }
}
