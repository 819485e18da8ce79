//! Conditions on values: comparisons with AND, OR, NOT, IN, BETWEEN and IS NULL, as SQL has them.
//!
//! Both sides of a comparison have one class (number, text or blob), so that SQLite's
//! conversions between classes do not matter.

use crate::schema::Kind;
use crate::syntax::{Reader, SyntaxError, Word};
use crate::value::{Owned, Value};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Maximum depth of parentheses and NOT.
const MAX_DEPTH: usize = 32;
/// Maximum comparisons in a condition, and so for each row.
const MAX_COMPARISONS: usize = 100;

/// A condition, with three results: true, false and, where a value is null, unknown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Compare(Operand, Comparison, Operand),
    IsNull(Operand),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// Item by number: a column, or an output of a window.
    Item(usize),
    Literal(Owned),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Values that can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Number,
    Text,
    Blob,
}

impl From<Kind> for Class {
    fn from(kind: Kind) -> Class {
        match kind {
            Kind::Integer | Kind::Real => Class::Number,
            Kind::Text(_) => Class::Text,
            Kind::Blob(_) => Class::Blob,
        }
    }
}

/// Reads an item, such as a column's name.
pub(crate) type ReadItem<'f> =
    dyn FnMut(&mut Reader<'_>) -> Result<(usize, Class), SyntaxError> + 'f;

impl Condition {
    /// Reads a condition whose items `item` reads.
    pub fn read(
        reader: &mut Reader<'_>,
        item: &mut ReadItem<'_>,
    ) -> Result<Condition, SyntaxError> {
        let start = reader.offset();
        let condition = any(reader, item, 0)?;
        match condition.comparisons() {
            count if count > MAX_COMPARISONS => Err(reader.fault_at(
                start,
                format!("{count} comparisons: at most {MAX_COMPARISONS} are made for each row"),
            )),
            _ => Ok(condition),
        }
    }

    fn comparisons(&self) -> usize {
        match self {
            Condition::Compare(..) | Condition::IsNull(_) => 1,
            Condition::Not(inner) => inner.comparisons(),
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().map(Condition::comparisons).sum()
            }
        }
    }

    /// Whether the condition is true of the values of its items.
    pub fn holds<'v>(&'v self, value: &impl Fn(usize) -> Value<'v>) -> bool {
        self.result(value) == Some(true)
    }

    fn result<'v>(&'v self, value: &impl Fn(usize) -> Value<'v>) -> Option<bool> {
        let of = |operand: &'v Operand| match operand {
            Operand::Item(item) => value(*item),
            Operand::Literal(literal) => literal.as_value(),
        };
        match self {
            Condition::Compare(left, comparison, right) => {
                let (left, right) = (of(left), of(right));
                if left == Value::Null || right == Value::Null {
                    return None;
                }
                Some(comparison.admits(left.order(right)))
            }
            Condition::IsNull(operand) => Some(of(operand) == Value::Null),
            Condition::Not(inner) => inner.result(value).map(|result| !result),
            Condition::All(parts) => combine(parts.iter().map(|part| part.result(value)), false),
            Condition::Any(parts) => combine(parts.iter().map(|part| part.result(value)), true),
        }
    }
}

/// `decisive` if any result is; else unknown if any is unknown; else the opposite.
fn combine(results: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut all = Some(!decisive);
    for result in results {
        match result {
            Some(result) if result == decisive => return Some(decisive),
            None => all = None,
            Some(_) => {}
        }
    }
    all
}

impl Comparison {
    fn admits(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

fn any(
    reader: &mut Reader<'_>,
    item: &mut ReadItem<'_>,
    depth: usize,
) -> Result<Condition, SyntaxError> {
    let mut parts = vec![all(reader, item, depth)?];
    while reader.keyword("OR") {
        parts.push(all(reader, item, depth)?);
    }
    Ok(single(parts, Condition::Any))
}

fn all(
    reader: &mut Reader<'_>,
    item: &mut ReadItem<'_>,
    depth: usize,
) -> Result<Condition, SyntaxError> {
    let mut parts = vec![part(reader, item, depth)?];
    while reader.keyword("AND") {
        parts.push(part(reader, item, depth)?);
    }
    Ok(single(parts, Condition::All))
}

fn single(mut parts: Vec<Condition>, of: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => of(parts),
    }
}

fn part(
    reader: &mut Reader<'_>,
    item: &mut ReadItem<'_>,
    depth: usize,
) -> Result<Condition, SyntaxError> {
    if depth == MAX_DEPTH {
        return Err(reader.fault(format!("more than {MAX_DEPTH} levels of parentheses")));
    }
    if reader.keyword("NOT") {
        let inner = part(reader, item, depth + 1)?;
        return Ok(Condition::Not(Box::new(inner)));
    }
    if reader.mark("(") {
        let inner = any(reader, item, depth + 1)?;
        reader.expect_mark(")")?;
        return Ok(inner);
    }
    let (left, class) = operand(reader, item)?;
    if reader.keyword("IS") {
        let negated = reader.keyword("NOT");
        reader.expect("NULL")?;
        return Ok(negate(Condition::IsNull(left), negated));
    }
    let negated = reader.keyword("NOT");
    if reader.keyword("BETWEEN") {
        let low = right(reader, item, class)?;
        reader.expect("AND")?;
        let high = right(reader, item, class)?;
        let both = vec![
            Condition::Compare(left.clone(), Comparison::GreaterOrEqual, low),
            Condition::Compare(left, Comparison::LessOrEqual, high),
        ];
        return Ok(negate(Condition::All(both), negated));
    }
    if reader.keyword("IN") {
        reader.expect_mark("(")?;
        let mut choices = Vec::new();
        loop {
            let choice = right(reader, item, class)?;
            choices.push(Condition::Compare(left.clone(), Comparison::Equal, choice));
            if !reader.mark(",") {
                break;
            }
        }
        reader.expect_mark(")")?;
        return Ok(negate(Condition::Any(choices), negated));
    }
    let comparison = match reader.peek() {
        Some(Word::Mark("=" | "==")) => Comparison::Equal,
        Some(Word::Mark("<>" | "!=")) => Comparison::Unequal,
        Some(Word::Mark("<")) => Comparison::Less,
        Some(Word::Mark("<=")) => Comparison::LessOrEqual,
        Some(Word::Mark(">")) => Comparison::Greater,
        Some(Word::Mark(">=")) => Comparison::GreaterOrEqual,
        _ => {
            let found = reader.found();
            let message = format!("expected a comparison, IS NULL, IN or BETWEEN{found}");
            return Err(reader.fault(message));
        }
    };
    reader.next();
    Ok(Condition::Compare(
        left,
        comparison,
        right(reader, item, class)?,
    ))
}

fn negate(condition: Condition, negated: bool) -> Condition {
    match negated {
        true => Condition::Not(Box::new(condition)),
        false => condition,
    }
}

/// Right side of a comparison, which must have the same class.
fn right(
    reader: &mut Reader<'_>,
    item: &mut ReadItem<'_>,
    class: Class,
) -> Result<Operand, SyntaxError> {
    let start = reader.offset();
    let (operand, other) = operand(reader, item)?;
    match other == class {
        true => Ok(operand),
        false => {
            let message = format!("{class:?} is compared with {other:?}: use values of one type");
            Err(reader.fault_at(start, message))
        }
    }
}

fn operand(
    reader: &mut Reader<'_>,
    item: &mut ReadItem<'_>,
) -> Result<(Operand, Class), SyntaxError> {
    if matches!(reader.peek(), Some(Word::Name(name)) if name.eq_ignore_ascii_case("NULL")) {
        return Err(reader.fault("no comparison with NULL is true: use IS NULL"));
    }
    let start = reader.offset();
    let negative = reader.mark("-");
    let literal = match reader.peek() {
        Some(Word::Text(text)) if !negative => (Owned::Text(text.clone()), Class::Text),
        Some(Word::Number(number)) => match number.parse::<i64>() {
            Ok(value) if negative => (Owned::Integer(-value), Class::Number),
            Ok(value) => (Owned::Integer(value), Class::Number),
            Err(_) => match number.parse::<f64>() {
                Ok(value) if negative => (Owned::Real(-value), Class::Number),
                Ok(value) => (Owned::Real(value), Class::Number),
                Err(_) => return Err(reader.fault(format!("{number} is not a number"))),
            },
        },
        // A blob: x'00ff'.
        Some(Word::Name("x" | "X")) if matches!(reader.peek_second(), Some(Word::Text(_))) => {
            reader.next();
            let bytes = match reader.peek() {
                Some(Word::Text(digits)) => hexadecimal(digits),
                _ => None,
            };
            let Some(bytes) = bytes else {
                return Err(reader.fault_at(start, "a blob has pairs of hexadecimal digits"));
            };
            (Owned::Blob(bytes), Class::Blob)
        }
        _ if negative => return Err(reader.fault("expected a number after -")),
        _ => {
            let (number, class) = item(reader)?;
            return Ok((Operand::Item(number), class));
        }
    };
    reader.next();
    Ok((Operand::Literal(literal.0), literal.1))
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => {
                let digit = |byte: &u8| (*byte as char).to_digit(16);
                Some((digit(high)? << 4 | digit(low)?) as u8)
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Condition, SyntaxError> {
        let mut reader = Reader::new(text)?;
        let condition = Condition::read(&mut reader, &mut |reader| {
            let name = reader.name("column")?;
            match name.as_str() {
                "a" => Ok((0, Class::Number)),
                "s" => Ok((1, Class::Text)),
                _ => Err(reader.fault("no such column")),
            }
        })?;
        reader.end()?;
        Ok(condition)
    }

    fn holds(text: &str, a: Value<'_>, s: Value<'_>) -> bool {
        let condition = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // The values outlive the condition's borrow only as copies.
        let values = [a.to_owned(), s.to_owned()];
        condition.holds(&|item| match &values[item] {
            Owned::Null => Value::Null,
            Owned::Integer(value) => Value::Integer(*value),
            Owned::Real(value) => Value::Real(*value),
            Owned::Text(text) => Value::Text(alloc::boxed::Box::leak(text.clone().into())),
            Owned::Blob(_) => Value::Null,
        })
    }

    #[test]
    fn conditions_have_three_results() {
        let (null, x) = (Value::Null, Value::Text("x"));
        assert!(holds("a = 5 AND s = 'x'", 5.into(), x));
        assert!(holds("a > 4.5 OR s = 'y'", 5.into(), null));
        assert!(!holds("NOT (a = 5)", null, x));
        assert!(!holds("a = 5 OR s = 'y'", null, x));
        assert!(holds("a IS NULL AND s IS NOT NULL", null, x));
        assert!(holds("a NOT IN (1, 2, -3)", 5.into(), x));
        assert!(!holds("a NOT IN (1, 2)", null, x));
        assert!(holds("a BETWEEN -1 AND 5 AND a <> 4", 5.into(), x));
        assert!(holds("NOT a < 5 AND NOT a > 5", Value::Real(5.0), x));
    }

    #[test]
    fn faults_have_a_place() {
        for (text, column) in [
            ("a = 'x'", 5),
            ("s < 5", 5),
            ("a = NULL", 5),
            ("b = 5", 3),
            ("a", 2),
            ("a = 5 AND", 10),
            ("(a = 5", 7),
            ("a IN ()", 7),
            ("a = 5 5", 7),
        ] {
            assert_eq!(read(text).expect_err(text).column, column, "{text}");
        }
        let deep = format!("{}a = 1{}", "(".repeat(100), ")".repeat(100));
        assert!(read(&deep).is_err());
        let long = format!("a IN (1{})", ", 1".repeat(200));
        assert!(read(&long).is_err());
    }
}
