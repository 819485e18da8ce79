//! What a table looks like from outside: its keys, actions and limits.

use crate::layout::limbs;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use p4::ir::{self, ObjectId, Program, TableId, Ty};

/// How many entries a table holds of which the program does not say it: what bmv2 gives.
pub const DEFAULT_SIZE: u32 = 1024;

/// How a key is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// All bits.
    Exact,
    /// The leading bits; the longest prefix wins.
    Lpm,
    /// The bits of a mask; the largest priority wins.
    Ternary,
    /// From and to, both included; the largest priority wins.
    Range,
    /// All bits or none; the largest priority wins.
    Optional,
}

impl MatchKind {
    /// How the tables compare a key of the program; none for one that only chooses among a group's members.
    #[must_use]
    pub fn of(kind: &ir::MatchKind) -> Option<Self> {
        Some(match kind {
            ir::MatchKind::Exact => MatchKind::Exact,
            ir::MatchKind::Lpm => MatchKind::Lpm,
            ir::MatchKind::Range => MatchKind::Range,
            ir::MatchKind::Optional => MatchKind::Optional,
            ir::MatchKind::Ternary | ir::MatchKind::Other(_) => MatchKind::Ternary,
            ir::MatchKind::Selector => return None,
        })
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MatchKind::Exact => "exact",
            MatchKind::Lpm => "lpm",
            MatchKind::Ternary => "ternary",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
        })
    }
}

/// A key that takes part in the match; those of the kind `selector` do not.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyForm {
    /// For the control plane.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Ty,
    /// How it is compared.
    pub kind: MatchKind,
    /// Its index in [`p4::ir::Table::keys`].
    pub index: usize,
    /// The first of its cells in the key given to [`super::Table::lookup`].
    pub at: usize,
}

impl KeyForm {
    /// How many cells it has.
    #[must_use]
    pub fn cells(&self) -> usize {
        limbs(self.ty.width())
    }
}

/// An action that a table may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionForm {
    /// For the control plane.
    pub name: Arc<str>,
    /// Names and types of what the control plane gives.
    pub parameters: Vec<(Arc<str>, Ty)>,
    /// It may not be the default action.
    pub table_only: bool,
    /// It may only be the default action.
    pub default_only: bool,
}

impl ActionForm {
    /// How many cells its arguments have: each in whole cells, one behind the other.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.parameters.iter().map(|(_, ty)| cells_of(*ty)).sum()
    }
}

/// Cells of an argument, as [`crate::layout::Layout`] has them: a varbit has one more for its length.
pub(super) fn cells_of(ty: Ty) -> usize {
    limbs(ty.width()) + usize::from(matches!(ty, Ty::Varbit(_)))
}

/// A table's keys, actions and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// For the control plane.
    pub name: Arc<str>,
    /// Those that are compared, in the program's order.
    pub keys: Vec<KeyForm>,
    /// By the index that [`p4::ir::ActionCall::action`] means.
    pub actions: Vec<ActionForm>,
    /// How many entries it holds.
    pub size: u32,
    /// The control plane must leave the entries alone.
    pub const_entries: bool,
    /// The control plane must leave the default action alone.
    pub const_default: bool,
    /// Entries name members or groups of this action profile or selector, not actions.
    pub implementation: Option<ObjectId>,
    /// Entries may have an idle timeout.
    pub idle_timeout: bool,
    /// An entry whose time has passed is deleted, and only the program starts its time again.
    pub deletes_idle: bool,
}

impl Form {
    /// The form of a program's table.
    #[must_use]
    pub fn new(program: &Program, table: TableId) -> Self {
        let table = &program.tables[table.index()];
        let mut at = 0;
        let mut keys = Vec::new();
        for (index, key) in table.keys.iter().enumerate() {
            let Some(kind) = MatchKind::of(&key.match_kind) else {
                continue;
            };
            keys.push(KeyForm {
                name: key.name.clone(),
                ty: key.ty,
                kind,
                index,
                at,
            });
            at += limbs(key.ty.width());
        }
        let actions = table
            .actions
            .iter()
            .map(|listed| {
                let action = &program.actions[listed.action.index()];
                ActionForm {
                    name: action.name.clone(),
                    parameters: action
                        .parameters
                        .iter()
                        .map(|(name, slot, _)| (name.clone(), program.slots[slot.index()].ty))
                        .collect(),
                    table_only: listed.table_only,
                    default_only: listed.default_only,
                }
            })
            .collect();
        let size = table.size.filter(|s| *s > 0).unwrap_or(DEFAULT_SIZE);
        Form {
            name: table.name.clone(),
            keys,
            actions,
            size: size.max(table.entries.len() as u32),
            const_entries: table.const_entries,
            const_default: table.const_default,
            implementation: table.implementation,
            idle_timeout: table.idle_timeout || table.deletes_idle(),
            deletes_idle: table.deletes_idle(),
        }
    }

    /// How many cells the key given to [`super::Table::lookup`] has.
    #[must_use]
    pub fn key_cells(&self) -> usize {
        self.keys.last().map_or(0, |key| key.at + key.cells())
    }

    /// How many cells the arguments of any of its actions have at most.
    #[must_use]
    pub fn argument_cells(&self) -> usize {
        let most = self.actions.iter().map(ActionForm::cells).max();
        // A member or a group is one cell.
        most.unwrap_or(0).max(1)
    }

    /// Whether entries have priorities: some key is ternary, range or optional, or there is more than one lpm.
    #[must_use]
    pub fn has_priorities(&self) -> bool {
        let prefixes = self.keys.iter().filter(|k| k.kind == MatchKind::Lpm);
        prefixes.count() > 1
            || self
                .keys
                .iter()
                .any(|k| !matches!(k.kind, MatchKind::Exact | MatchKind::Lpm))
    }
}
