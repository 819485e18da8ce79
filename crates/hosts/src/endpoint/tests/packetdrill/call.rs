//! System calls of a script.

use super::reader::{Reader, Stop};
use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Depth of brackets at most.
const MAX_DEPTH: usize = 16;

/// A call, with the result that it must have.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Value>,
    pub result: Value,
    /// Name of the error that it must end with.
    pub error: Option<String>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `...`: whatever fits.
    Any,
    Number(i64),
    /// Names joined by `|`.
    Names(Vec<String>),
    Text(String),
    List(Vec<Value>),
    Fields(Vec<Value>),
    /// A field of a structure.
    Field(String, Box<Value>),
}

impl Value {
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::List(items) => items.first()?.number(),
            _ => None,
        }
    }

    /// Whether it is or contains this name.
    pub fn has(&self, name: &str) -> bool {
        matches!(self, Value::Names(names) if names.iter().any(|other| other == name))
    }

    /// The value of a field, of a structure.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let Value::Fields(fields) = self else {
            return None;
        };
        fields.iter().find_map(|field| match field {
            Value::Field(other, value) if other == name => Some(&**value),
            _ => None,
        })
    }

    /// The names, as one text.
    pub fn text(&self) -> String {
        match self {
            Value::Names(names) => names.join("|"),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            _ => "...".to_string(),
        }
    }
}

impl Call {
    pub fn read(reader: &mut Reader<'_>) -> Result<Call, Stop> {
        let name = reader.word().to_string();
        if name.is_empty() {
            return Err(reader.stop("neither a packet nor a call"));
        }
        reader.expect("(")?;
        let arguments = list(reader, ")", 0)?;
        reader.expect("=")?;
        let result = value(reader, 0)?;
        reader.skip_spaces();
        // A line feed ends the call: the next line may begin with a name.
        let error = reader.word();
        let error = (!error.is_empty()).then(|| error.to_string());
        reader.skip_spaces();
        if reader.eat("(") {
            reader.take_until(")")?;
        }
        Ok(Call {
            name,
            arguments,
            result,
            error,
        })
    }
}

fn list(reader: &mut Reader<'_>, end: &str, depth: usize) -> Result<Vec<Value>, Stop> {
    let mut items = Vec::new();
    reader.skip();
    if reader.eat(end) {
        return Ok(items);
    }
    loop {
        items.push(value(reader, depth + 1)?);
        reader.skip();
        if reader.eat(end) {
            return Ok(items);
        }
        reader.expect(",")?;
    }
}

fn value(reader: &mut Reader<'_>, depth: usize) -> Result<Value, Stop> {
    if depth > MAX_DEPTH {
        return Err(reader.stop("too many brackets"));
    }
    reader.skip();
    if reader.eat("...") {
        return Ok(Value::Any);
    }
    if reader.eat("[") {
        return Ok(Value::List(list(reader, "]", depth)?));
    }
    if reader.eat("{") {
        return Ok(Value::Fields(list(reader, "}", depth)?));
    }
    if reader.eat("\"") {
        return Ok(Value::Text(reader.take_until("\"")?.to_string()));
    }
    let is_negative = reader.eat("-");
    if reader.rest().starts_with(|c: char| c.is_ascii_digit()) {
        let text = reader.word();
        let parsed = match text.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => text.parse(),
        };
        let number = parsed.map_err(|_| reader.stop(format!("`{text}` is not a number")))?;
        return Ok(Value::Number(if is_negative { -number } else { number }));
    }
    name(reader, depth)
}

/// Names joined by `|`, or a field with its value.
fn name(reader: &mut Reader<'_>, depth: usize) -> Result<Value, Stop> {
    let mut names = Vec::new();
    loop {
        reader.skip();
        let word = reader.word();
        if word.is_empty() {
            return Err(reader.stop("a value is missing"));
        }
        names.push(word.to_string());
        reader.skip_spaces();
        if !reader.eat("|") {
            break;
        }
    }
    // As in `msg_iov(1)=[...]`.
    if reader.eat("(") {
        list(reader, ")", depth)?;
        reader.skip();
    }
    if names.len() == 1 && reader.eat("=") {
        let content = value(reader, depth + 1)?;
        return Ok(Value::Field(names.remove(0), Box::new(content)));
    }
    Ok(Value::Names(names))
}
