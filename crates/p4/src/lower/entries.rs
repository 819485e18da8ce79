//! Entries that the program gives.

use super::values::Value;
use super::{Lowerer, fold, tables};
use crate::ast::{self, Entry, Expression, ExpressionKind, TablePropertyKind};
use crate::ir::{self, ActionCall, KeyMatch, MatchKind, TableId, Ty};
use crate::types::Type;
use crate::value::{Bits, mask};
use alloc::vec::Vec;
use num_traits::Zero;

impl<'a> Lowerer<'a> {
    pub fn entries(&mut self, id: TableId, table: &'a ast::Table) {
        let mut list: Vec<&'a Entry> = Vec::new();
        for property in &table.properties {
            if let TablePropertyKind::Entries(entries) = &property.kind {
                self.program.tables[id.index()].const_entries |= property.is_const;
                list.extend(entries);
            }
        }
        if list.is_empty() {
            return;
        }
        let is_const = self.program.tables[id.index()].const_entries;
        let types: Vec<(Type, Ty, MatchKind)> = tables::keys_of(table)
            .zip(self.program.tables[id.index()].keys.clone())
            .map(|(element, key)| {
                let ty = self.type_of(element.expression.id);
                (ty, key.ty, key.match_kind)
            })
            .collect();
        let priorities = self.priorities(table, &list);
        let mut entries = Vec::new();
        for (entry, priority) in list.iter().zip(priorities) {
            self.body.span = entry.span;
            let keys = self.entry_keys(&entry.keyset, &types);
            let call = self.action_call(id, &entry.action);
            let annotations = self.annotations(&entry.annotations);
            entries.push(ir::Entry {
                priority,
                keys,
                call: call.unwrap_or(ActionCall {
                    action: 0,
                    arguments: Vec::new(),
                }),
                is_const: is_const || entry.is_const,
                annotations,
            });
        }
        entries.sort_by_key(|entry| core::cmp::Reverse(entry.priority));
        self.program.tables[id.index()].entries = entries;
    }

    /// The priority of each entry, the larger winning (specification, 14.2.1.4).
    fn priorities(&mut self, table: &'a ast::Table, list: &[&'a Entry]) -> Vec<u32> {
        let mut largest_wins = true;
        let mut delta: i64 = 1;
        for property in &table.properties {
            if let TablePropertyKind::Other { name, value } = &property.kind {
                match &*name.text {
                    "largest_priority_wins" => {
                        if let Value::Scalar(expr, _) = self.eval(value) {
                            largest_wins = fold::truth(&expr).unwrap_or(true);
                        }
                    }
                    "priority_delta" => {
                        let value = self.eval(value);
                        delta = i64::from(self.small(&value).unwrap_or(1));
                    }
                    _ => {}
                }
            }
        }
        let count = list.len() as i64;
        let checked = self.checked;
        let noted = |entry: &Entry| {
            let number = checked.annotation_number(&entry.annotations, "priority");
            number.map(|n| n as i64)
        };
        let given: Vec<Option<i64>> = list
            .iter()
            .map(|entry| match &entry.priority {
                Some(priority) => {
                    let value = self.eval(priority);
                    self.small(&value).map(i64::from)
                }
                None => None,
            })
            .collect();
        let mut values = Vec::new();
        if given.iter().all(Option::is_none) && list.iter().any(|e| noted(e).is_some()) {
            // p4c's older `@priority`, of which the smaller wins; without one the place in the list counts, from 1.
            values = list
                .iter()
                .enumerate()
                .map(|(at, entry)| noted(entry).unwrap_or(at as i64 + 1))
                .collect();
            largest_wins = false;
        } else {
            let step = if largest_wins { -delta } else { delta };
            let mut next = if largest_wins {
                (count - 1).saturating_mul(delta).saturating_add(1)
            } else {
                1
            };
            for priority in given {
                let value = priority.unwrap_or(next);
                values.push(value);
                next = value.saturating_add(step);
            }
        }
        let most = values.iter().copied().max().unwrap_or(0);
        values
            .into_iter()
            .map(|value| {
                let value = if largest_wins {
                    value
                } else {
                    most.saturating_add(1).saturating_sub(value)
                };
                value.clamp(1, i64::from(i32::MAX)) as u32
            })
            .collect()
    }

    fn entry_keys(
        &mut self,
        keyset: &'a Expression,
        types: &[(Type, Ty, MatchKind)],
    ) -> Vec<KeyMatch> {
        let elements: Vec<&'a Expression> = match &keyset.kind {
            ExpressionKind::List { elements, .. } => elements.iter().collect(),
            _ => alloc::vec![keyset],
        };
        types
            .iter()
            .enumerate()
            .map(|(at, (ty, scalar, kind))| match elements.get(at) {
                Some(element) => self.key_match(element, ty, *scalar, kind),
                None => KeyMatch::Any,
            })
            .collect()
    }

    fn known_bits(&mut self, expr: &'a Expression, ty: &Type, scalar: Ty) -> Bits {
        let value = self.scalar_as(expr, ty, scalar);
        match fold::as_constant(&value) {
            Some(bits) => bits.clone(),
            None => {
                self.error(
                    "not-constant",
                    expr.span,
                    "an entry's key is not known while compiling",
                );
                Bits::zero(scalar.width())
            }
        }
    }

    fn key_match(
        &mut self,
        expr: &'a Expression,
        ty: &Type,
        scalar: Ty,
        kind: &MatchKind,
    ) -> KeyMatch {
        let width = scalar.width();
        match &expr.kind {
            ExpressionKind::DontCare | ExpressionKind::Default => KeyMatch::Any,
            ExpressionKind::Mask { value, mask: given } => {
                let value = self.known_bits(value, ty, scalar);
                let given = self.known_bits(given, ty, scalar);
                let value = Bits::new(width, value.unsigned() & given.unsigned());
                if given.unsigned().is_zero() {
                    return KeyMatch::Any;
                }
                match kind {
                    MatchKind::Lpm => {
                        // As many leading bits as are set.
                        let length = (0..width)
                            .take_while(|at| given.unsigned().bit(u64::from(width - 1 - at)))
                            .count() as u32;
                        KeyMatch::Prefix(value, length)
                    }
                    _ => KeyMatch::Mask(value, given),
                }
            }
            ExpressionKind::Range { low, high } => {
                let low = self.known_bits(low, ty, scalar);
                let high = self.known_bits(high, ty, scalar);
                KeyMatch::Range(low, high)
            }
            _ => {
                let value = self.known_bits(expr, ty, scalar);
                match kind {
                    MatchKind::Lpm => KeyMatch::Prefix(value, width),
                    MatchKind::Ternary => KeyMatch::Mask(value, Bits::new(width, mask(width))),
                    MatchKind::Range => KeyMatch::Range(value.clone(), value),
                    _ => KeyMatch::Exact(value),
                }
            }
        }
    }
}
