//! Entries of tables (specification 14.2.1.4): keysets that the match kinds take, priorities, duplicates.

use super::Rules;
use crate::ast::{
    DeclarationKind, Entry, Expression, ExpressionKind, KeyElement, Table, TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Constant, Type};
use crate::value::mask;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Zero};

/// Maximum number of pairs of entries that are compared with each other.
const MAX_COMPARED_PAIRS: usize = 4_000_000;

/// Set of values that a keyset's element matches, in the width of its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Matches {
    /// `value` where `mask` has ones.
    Mask(BigUint, BigUint),
    Range(BigUint, BigUint),
    /// Not known here.
    Other,
}

pub(super) fn run(rules: &mut Rules<'_>) {
    for declaration in rules.declarations.clone() {
        if let DeclarationKind::Table(table) = &declaration.kind {
            rules.entries(table);
        }
    }
}

impl Rules<'_> {
    fn entries(&mut self, table: &Table) {
        let (mut keys, mut entries): (&[KeyElement], &[Entry]) = (&[], &[]);
        let mut is_const = false;
        let mut properties = BTreeMap::new();
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(elements) => keys = elements,
                TablePropertyKind::Entries(list) => {
                    entries = list;
                    is_const = property.is_const;
                }
                TablePropertyKind::Other { name, value } => {
                    properties.insert(&*name.text, self.checked.constants.get(&value.id));
                }
                TablePropertyKind::Actions(_) => {}
            }
        }
        if entries.is_empty() || keys.is_empty() {
            return;
        }
        let mut lines = Vec::new();
        for entry in entries {
            let elements = match &entry.keyset.kind {
                ExpressionKind::List { elements, .. } if elements.len() == keys.len() => {
                    elements.iter().collect()
                }
                _ => alloc::vec![&entry.keyset],
            };
            let line: Vec<_> = if elements.len() == keys.len() {
                let pairs = elements.iter().zip(keys);
                pairs.map(|(e, key)| self.element(e, key)).collect()
            } else {
                // `_` alone is all keys.
                keys.iter()
                    .map(|_| Matches::Mask(BigUint::zero(), BigUint::zero()))
                    .collect()
            };
            lines.push(line);
        }
        let prioritized = keys
            .iter()
            .any(|key| matches!(&*key.match_kind.text, "ternary" | "range" | "optional"));
        self.priorities(table, entries, prioritized, is_const, &properties);
        self.overlaps(entries, &lines, keys, prioritized);
    }

    /// What an element matches, and whether the key's match kind takes such.
    fn element(&mut self, e: &Expression, key: &KeyElement) -> Matches {
        let Some(width) = self.width(key) else {
            return Matches::Other;
        };
        let kind = &*key.match_kind.text;
        // The language leaves it to the architecture what a match kind takes.
        let runs = self.architecture().is_some();
        let all = mask(width);
        let wrong = |rules: &mut Self, what: &str| {
            rules.report(
                Diagnostic::error(
                    "keyset",
                    e.span,
                    format!("a key that is `{kind}` cannot be matched with {what}"),
                )
                .note(key.span, "the key"),
            );
            Matches::Other
        };
        match &e.kind {
            ExpressionKind::Default | ExpressionKind::DontCare => {
                Matches::Mask(BigUint::zero(), BigUint::zero())
            }
            ExpressionKind::Mask { value, mask: bits } => {
                let (Some(value), Some(bits)) = (self.value(value, width), self.value(bits, width))
                else {
                    return Matches::Other;
                };
                let prefix = (&bits ^ &all) & ((&bits ^ &all) + 1u8) == BigUint::zero();
                match kind {
                    "exact" | "optional" if bits != all && runs => wrong(self, "a mask"),
                    "range" if runs => wrong(self, "a mask"),
                    "lpm" if !prefix => {
                        wrong(self, "this mask: its ones must stand together at the left")
                    }
                    _ => Matches::Mask(value & &bits, bits),
                }
            }
            ExpressionKind::Range { low, high } => {
                let (Some(from), Some(to)) = (self.value(low, width), self.value(high, width))
                else {
                    return Matches::Other;
                };
                if runs && matches!(kind, "exact" | "lpm" | "ternary" | "optional") {
                    return wrong(self, "a range");
                }
                if from > to && !self.is_signed(key) {
                    self.report(
                        Diagnostic::warning("empty-range", e.span, "this range holds nothing")
                            .help("write the smaller value first"),
                    );
                }
                Matches::Range(from, to)
            }
            _ => match self.value(e, width) {
                Some(value) => Matches::Mask(value, all),
                None => Matches::Other,
            },
        }
    }

    fn is_signed(&self, key: &KeyElement) -> bool {
        matches!(
            self.checked.types.get(&key.expression.id),
            Some(Type::Signed(_))
        )
    }

    fn width(&self, key: &KeyElement) -> Option<u32> {
        let mut ty = self.checked.types.get(&key.expression.id)?;
        for _ in 0..32 {
            ty = match ty {
                Type::Bits(width) | Type::Signed(width) => return Some(*width),
                Type::Bool => return Some(1),
                Type::New(id) | Type::Enum(id) => match self.checked.types.get(id) {
                    Some(inner) if inner != ty => inner,
                    _ => return Some(32),
                },
                Type::Error => return Some(32),
                _ => return None,
            };
        }
        None
    }

    /// A constant in so many bits.
    fn value(&self, e: &Expression, width: u32) -> Option<BigUint> {
        match self.checked.constants.get(&e.id)? {
            Constant::Integer(value) => {
                let modulus = BigInt::from(BigUint::one() << width);
                let wrapped = ((value % &modulus) + &modulus) % &modulus;
                Some(wrapped.magnitude().clone())
            }
            Constant::Bool(value) => Some(BigUint::from(u8::from(*value))),
            Constant::Member(id) => Some(BigUint::from(id.0)),
            _ => None,
        }
    }

    fn priorities(
        &mut self,
        table: &Table,
        entries: &[Entry],
        prioritized: bool,
        is_const: bool,
        properties: &BTreeMap<&str, Option<&Constant>>,
    ) {
        let explicit = entries.iter().find_map(|entry| entry.priority.as_ref());
        if let Some(priority) = explicit {
            let refused = if is_const {
                "entries that are all `const` have the priority of their order"
            } else if !prioritized {
                "entries have no priorities where all keys are `exact` or `lpm`"
            } else {
                ""
            };
            if !refused.is_empty() {
                self.report(
                    Diagnostic::error("priority", priority.span, refused)
                        .help("leave the priority out"),
                );
                return;
            }
        }
        if !prioritized || is_const {
            return;
        }
        if let Some(later) = explicit
            && entries
                .first()
                .is_some_and(|first| first.priority.is_none())
        {
            self.report(
                Diagnostic::error(
                    "priority",
                    entries[0].span,
                    "the first entry needs a priority, since a later one has one",
                )
                .note(later.span, "this one"),
            );
            return;
        }
        let number = |name: &str| match properties.get(name) {
            Some(Some(Constant::Integer(value))) => Some(value.clone()),
            _ => None,
        };
        let largest_wins = !matches!(
            properties.get("largest_priority_wins"),
            Some(Some(Constant::Bool(false)))
        );
        let delta = number("priority_delta").unwrap_or_else(BigInt::one);
        if delta.sign() != Sign::Plus {
            self.report(Diagnostic::error(
                "priority",
                table.name.span,
                format!("`priority_delta` must be at least 1, and is {delta}"),
            ));
            return;
        }
        let mut last = if largest_wins {
            // So that the last one has priority 1.
            BigInt::from(entries.len()) * &delta + 1
        } else {
            BigInt::one() - &delta
        };
        let mut before: Option<(BigInt, Span)> = None;
        for entry in entries {
            let given = entry.priority.as_ref();
            let given = given.and_then(|p| match self.checked.constants.get(&p.id) {
                Some(Constant::Integer(value)) => Some(value.clone()),
                _ => None,
            });
            let implied = given.is_none();
            last = given.unwrap_or(if largest_wins {
                last - &delta
            } else {
                last + &delta
            });
            if last.sign() == Sign::Minus || last.bits() > 32 {
                let how = if implied { "would be" } else { "is" };
                self.report(
                    Diagnostic::error(
                        "priority",
                        entry.span,
                        format!("the priority of this entry {how} {last}, and priorities are from 0 to 4294967295"),
                    )
                    .help("give the first entry another priority, or the table a smaller `priority_delta`"),
                );
                return;
            }
            if let Some((earlier, span)) = &before
                && (if largest_wins {
                    last > *earlier
                } else {
                    last < *earlier
                })
            {
                self.report(
                    Diagnostic::warning(
                        "priority",
                        entry.span,
                        "this entry wins over one that stands before it",
                    )
                    .note(*span, "the one before"),
                );
            }
            before = Some((last.clone(), entry.span));
        }
    }

    /// Entries that can never match, since one that stands before matches all that they do.
    fn overlaps(
        &mut self,
        entries: &[Entry],
        lines: &[Vec<Matches>],
        keys: &[KeyElement],
        prioritized: bool,
    ) {
        if !prioritized {
            let mut seen: BTreeMap<&Vec<Matches>, Span> = BTreeMap::new();
            for (entry, line) in entries.iter().zip(lines) {
                if line.contains(&Matches::Other) {
                    continue;
                }
                if let Some(first) = seen.get(line) {
                    self.report(
                        Diagnostic::error(
                            "duplicate-entry",
                            entry.keyset.span,
                            "there is an entry with this key already",
                        )
                        .note(*first, "the first one"),
                    );
                } else {
                    seen.insert(line, entry.keyset.span);
                }
            }
            return;
        }
        // Then it is not the first that wins.
        let explicit = entries.iter().any(|entry| {
            let mut annotations = entry.annotations.iter();
            entry.priority.is_some() || annotations.any(|a| &*a.name.text == "priority")
        });
        if explicit || entries.len() * entries.len() * keys.len() > MAX_COMPARED_PAIRS {
            return;
        }
        for (number, (entry, line)) in entries.iter().zip(lines).enumerate() {
            let covering = lines[..number].iter().position(|earlier| {
                let pairs = earlier.iter().zip(line);
                pairs.clone().all(|(earlier, later)| covers(earlier, later))
            });
            if let Some(covering) = covering {
                self.report(
                    Diagnostic::warning(
                        "covered-entry",
                        entry.keyset.span,
                        "this entry never matches: one before it matches all that it does",
                    )
                    .note(entries[covering].keyset.span, "that one"),
                );
            }
        }
    }
}

/// Whether all that the second matches is matched by the first.
fn covers(first: &Matches, second: &Matches) -> bool {
    match (first, second) {
        (Matches::Other, _) | (_, Matches::Other) => false,
        (Matches::Mask(_, bits), _) if bits.is_zero() => true,
        (Matches::Mask(value, bits), Matches::Mask(other, more)) => {
            (bits & more) == *bits && (other & bits) == *value
        }
        (Matches::Range(low, high), Matches::Range(from, to)) => low <= from && to <= high,
        _ => first == second,
    }
}
