//! `@entry_restriction` of tables and `@action_restriction` of actions: what a controller may write
//! beyond what the program's types say.
//!
//! The language is that of p4-constraints: comparisons of keys, their parts (`key::mask`) and
//! parameters with numbers, joined by `!`, `&&`,
//! `||`, `->` and `;`.

mod parse;

use crate::table::{ActionForm, Entry, Form, MatchKind};
use crate::unsupported::Unsupported;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use num_bigint::{BigInt, BigUint};
use num_traits::Zero;
use p4::ir::{ActionCall, ActionId, Annotation, KeyMatch, Program};
use p4::value::{Bits, mask};

/// Restrictions of entries and actions of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restrictions {
    /// By table.
    entries: Vec<Vec<Constraint>>,
    /// By action.
    actions: Vec<Vec<Constraint>>,
}

/// A constraint, and how it is written.
#[derive(Clone, Debug, PartialEq)]
struct Constraint {
    text: String,
    holds: Truth,
}

/// Something that holds or not.
#[derive(Clone, Debug, PartialEq)]
enum Truth {
    Constant(bool),
    Not(Box<Truth>),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    /// Both hold or none does.
    Same(Box<Truth>, Box<Truth>),
    Compare(Relation, Number, Number),
    /// Both keys match the same.
    Equal(Whole, Whole),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    LessEqual,
}

/// A number without bound, or of a fixed width.
#[derive(Clone, Debug, PartialEq)]
enum Number {
    Constant(BigInt),
    Negative(Box<Number>),
    /// A part of a key by its index in the entry.
    Part(usize, Part, u32),
    /// A parameter by its index in the action.
    Parameter(usize),
    Priority,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Value,
    Mask,
    PrefixLength,
    Low,
    High,
}

/// All that a key matches.
#[derive(Clone, Debug, PartialEq)]
enum Whole {
    /// A key by its index in the entry, and how wide it is.
    Key(usize, u32),
    /// Just this number.
    Number(Number),
    /// Just this one, of this width.
    Exactly(BigUint, u32),
}

/// Meaning of names in a constraint.
enum Scope<'a> {
    Entry(&'a Form),
    Action(&'a ActionForm),
}

/// Subject of a constraint.
enum Given<'a> {
    Entry(&'a Entry),
    Action(&'a [Bits]),
}

impl Restrictions {
    /// Those of a program's annotations.
    ///
    /// # Errors
    /// The first that is not understood, with its place in its text.
    pub(crate) fn new(program: &Program, forms: &[Form]) -> Result<Self, Unsupported> {
        let entries = program.tables.iter().zip(forms).map(|(table, form)| {
            let read = |text: &str| parse::constraints(text, &Scope::Entry(form));
            all(&table.annotations, "entry_restriction", read)
                .map_err(|why| Unsupported::new(format!("table `{}`: {why}", table.name)))
        });
        let entries = entries.collect::<Result<_, _>>()?;
        let actions = program.actions.iter().map(|action| {
            let form = ActionForm {
                name: action.name.clone(),
                parameters: action
                    .parameters
                    .iter()
                    .map(|(name, slot, _)| (name.clone(), program.slots[slot.index()].ty))
                    .collect(),
                table_only: false,
                default_only: false,
            };
            let read = |text: &str| parse::constraints(text, &Scope::Action(&form));
            all(&action.annotations, "action_restriction", read)
                .map_err(|why| Unsupported::new(format!("action `{}`: {why}", action.name)))
        });
        let actions = actions.collect::<Result<_, _>>()?;
        Ok(Restrictions { entries, actions })
    }

    /// Refuses an entry that its table does not allow.
    pub(crate) fn check_entry(
        &self,
        table: usize,
        form: &Form,
        entry: &Entry,
    ) -> Result<(), String> {
        let Some(constraints) = self.entries.get(table) else {
            return Ok(());
        };
        let given = Given::Entry(entry);
        let fits = form.keys.len() == entry.keys.len();
        match constraints
            .iter()
            .find(|one| fits && !one.holds.eval(&given))
        {
            None => Ok(()),
            Some(broken) => Err(format!(
                "the entry breaks @entry_restriction of table `{}`: {}",
                form.name, broken.text
            )),
        }
    }

    /// Refuses an action whose parameters it does not allow.
    pub(crate) fn check_action(
        &self,
        action: ActionId,
        name: &str,
        call: &ActionCall,
    ) -> Result<(), String> {
        let Some(constraints) = self.actions.get(action.index()) else {
            return Ok(());
        };
        let given = Given::Action(&call.arguments);
        match constraints.iter().find(|one| !one.holds.eval(&given)) {
            None => Ok(()),
            Some(broken) => Err(format!(
                "the action breaks @action_restriction of `{name}`: {}",
                broken.text
            )),
        }
    }
}

/// The constraints of all annotations of a name.
fn all(
    annotations: &[Annotation],
    name: &str,
    read: impl Fn(&str) -> Result<Vec<Constraint>, String>,
) -> Result<Vec<Constraint>, String> {
    let mut constraints = Vec::new();
    for annotation in annotations.iter().filter(|one| &*one.name == name) {
        let found = literals(&annotation.body).and_then(|text| read(&text));
        constraints.extend(found.map_err(|why| format!("`@{name}` is not understood: {why}"))?);
    }
    Ok(constraints)
}

/// The text of string literals, one behind the other.
fn literals(body: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut characters = body.trim().chars();
    while let Some(c) = characters.next() {
        if c.is_whitespace() {
            continue;
        }
        if c != '"' {
            return Err("it is not a string".to_string());
        }
        loop {
            match characters.next() {
                Some('"') => break,
                Some('\\') => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => return Err("its string has no end".to_string()),
                },
                Some(other) => text.push(other),
                None => return Err("its string has no end".to_string()),
            }
        }
    }
    Ok(text)
}

impl Truth {
    fn eval(&self, given: &Given<'_>) -> bool {
        match self {
            Truth::Constant(value) => *value,
            Truth::Not(of) => !of.eval(given),
            Truth::And(a, b) => a.eval(given) && b.eval(given),
            Truth::Or(a, b) => a.eval(given) || b.eval(given),
            Truth::Same(a, b) => a.eval(given) == b.eval(given),
            Truth::Compare(relation, a, b) => {
                let (a, b) = (a.eval(given), b.eval(given));
                match relation {
                    Relation::Equal => a == b,
                    Relation::Less => a < b,
                    Relation::LessEqual => a <= b,
                }
            }
            Truth::Equal(a, b) => a.range(given) == b.range(given),
        }
    }
}

impl Number {
    fn eval(&self, given: &Given<'_>) -> BigInt {
        match (self, given) {
            (Number::Constant(value), _) => value.clone(),
            (Number::Negative(of), _) => -of.eval(given),
            (Number::Part(key, part, width), Given::Entry(entry)) => {
                part.of(&entry.keys[*key], *width).into()
            }
            (Number::Parameter(index), Given::Action(arguments)) => {
                let value = arguments.get(*index);
                value.map_or_else(BigInt::zero, |value| value.unsigned().clone().into())
            }
            (Number::Priority, Given::Entry(entry)) => entry.priority.into(),
            // Names are found in the scope of what is checked.
            (Number::Part(..) | Number::Priority, Given::Action(_))
            | (Number::Parameter(_), Given::Entry(_)) => BigInt::zero(),
        }
    }
}

impl Whole {
    /// A value and a mask, or a first and a last value: the same for all forms that match the same.
    fn range(&self, given: &Given<'_>) -> KeyMatch {
        let exact = |value: BigUint, width: u32| {
            KeyMatch::Mask(Bits::new(width, value), Bits::new(width, mask(width)))
        };
        match (self, given) {
            (Whole::Key(key, width), Given::Entry(entry)) => match &entry.keys[*key] {
                KeyMatch::Exact(value) => exact(value.unsigned().clone(), *width),
                KeyMatch::Range(low, high) if low == high => exact(low.unsigned().clone(), *width),
                KeyMatch::Range(low, high) => KeyMatch::Range(low.clone(), high.clone()),
                other => KeyMatch::Mask(
                    Bits::new(*width, Part::Value.of(other, *width)),
                    Bits::new(*width, Part::Mask.of(other, *width)),
                ),
            },
            (Whole::Number(number), _) => {
                let value = number.eval(given).to_biguint().unwrap_or_default();
                exact(value.clone(), number.width().unwrap_or(value.bits() as u32))
            }
            (Whole::Exactly(value, width), _) => exact(value.clone(), *width),
            (Whole::Key(..), Given::Action(_)) => KeyMatch::Any,
        }
    }
}

impl Number {
    /// How many bits it has; none of one without bound.
    fn width(&self) -> Option<u32> {
        match self {
            Number::Part(_, Part::PrefixLength, _) => None,
            Number::Part(_, _, width) => Some(*width),
            _ => None,
        }
    }
}

impl Part {
    fn of(self, key: &KeyMatch, width: u32) -> BigUint {
        let prefix = |length: u32| mask(length.min(width)) << width.saturating_sub(length);
        match (self, key) {
            (
                Part::Value,
                KeyMatch::Exact(value) | KeyMatch::Mask(value, _) | KeyMatch::Prefix(value, _),
            )
            | (Part::Low, KeyMatch::Exact(value) | KeyMatch::Range(value, _))
            | (Part::High, KeyMatch::Exact(value) | KeyMatch::Range(_, value))
            | (Part::Mask, KeyMatch::Mask(_, value))
            | (Part::Value, KeyMatch::Range(value, _)) => value.unsigned().clone(),
            (Part::Mask, KeyMatch::Exact(_)) | (Part::High, KeyMatch::Any) => mask(width),
            (Part::Mask, KeyMatch::Prefix(_, length)) => prefix(*length),
            (Part::PrefixLength, KeyMatch::Exact(_)) => width.into(),
            (Part::PrefixLength, KeyMatch::Prefix(_, length)) => (*length).into(),
            (Part::PrefixLength, KeyMatch::Mask(_, mask)) => mask.unsigned().count_ones().into(),
            _ => BigUint::zero(),
        }
    }

    /// The parts that a key of a kind has.
    fn find(kind: MatchKind, name: &str) -> Option<Self> {
        Some(match (kind, name) {
            (MatchKind::Lpm, "prefix_length") => Part::PrefixLength,
            (MatchKind::Range, "low") => Part::Low,
            (MatchKind::Range, "high") => Part::High,
            (MatchKind::Range, _) => return None,
            (_, "value") => Part::Value,
            (MatchKind::Ternary | MatchKind::Optional, "mask") => Part::Mask,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
