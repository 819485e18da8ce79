//! Properties of tables (specification 14.2.1), and the actions that the control plane gives arguments to.

use super::super::EMPTY_GROUP_ACTIONS;
use super::Rules;
use crate::ast::{
    Declaration, DeclarationKind, Direction, Expression, ExpressionKind, KeyElement, Table,
    TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::ir::Architecture;
use crate::types::Type;
use alloc::format;

pub(super) fn run(rules: &mut Rules<'_>) {
    for declaration in rules.declarations.clone() {
        if let DeclarationKind::Table(table) = &declaration.kind {
            rules.table(table);
        }
    }
}

impl<'a> Rules<'a> {
    fn table(&mut self, table: &'a Table) {
        let mut listed = false;
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(keys) => {
                    keys.iter().for_each(|key| self.key(key));
                    let mut lpm = keys.iter().filter(|key| &*key.match_kind.text == "lpm");
                    if let (Some(first), Some(second)) = (lpm.next(), lpm.next()) {
                        self.report(
                            Diagnostic::warning(
                                "lpm-keys",
                                second.span,
                                "this table has more than one `lpm` key: which of two entries is the longer is not defined",
                            )
                            .note(first.span, "the first one")
                            .help("make all of them but one `ternary`, and give the entries priorities"),
                        );
                    }
                }
                TablePropertyKind::Actions(actions) => {
                    listed = true;
                    for action in actions {
                        if self.architecture() == Some(Architecture::V1Switch)
                            && let Some(declaration) = self.action(&action.action)
                        {
                            self.parameters(declaration);
                        }
                    }
                }
                TablePropertyKind::Entries(entries) => {
                    for entry in entries {
                        self.usable(table, &entry.action, "defaultonly", "an entry");
                    }
                }
                TablePropertyKind::Other { name, value } => {
                    if &*name.text == "default_action" {
                        self.usable(table, value, "tableonly", "the default action");
                    }
                    if EMPTY_GROUP_ACTIONS.contains(&&*name.text) && !self.selects(table) {
                        self.report(
                            Diagnostic::warning(
                                "unused-property",
                                name.span,
                                format!("`{}` means nothing here: the table has no action selector", name.text),
                            )
                            .help("give the table an `ActionSelector` by `psa_implementation`, or take the property away"),
                        );
                    }
                }
            }
        }
        if !listed {
            self.report(
                Diagnostic::error(
                    "no-actions",
                    table.name.span,
                    format!("the table `{}` has no list of actions", table.name.text),
                )
                .help("add `actions = { ... }`; `NoAction` can be in it"),
            );
        }
    }

    /// Whether a table has an action selector.
    fn selects(&self, table: &Table) -> bool {
        table.properties.iter().any(|property| {
            let TablePropertyKind::Other { name, value } = &property.kind else {
                return false;
            };
            let Some(Type::Object(id, _)) = self.checked.types.get(&value.id) else {
                return false;
            };
            let kind = self.by_id.get(id).and_then(|d| match &d.kind {
                DeclarationKind::Extern { name, .. } => Some(&*name.text),
                _ => None,
            });
            name.text.ends_with("implementation") && kind == Some("ActionSelector")
        })
    }

    /// The control plane knows a key by what is written: a path, perhaps with indices, slices and calls without arguments, has a name;
    /// anything else needs `@name` (specification 18.2).
    fn key(&mut self, key: &KeyElement) {
        let named = key.annotations.iter().any(|a| &*a.name.text == "name");
        if !named && !self.has_name(&key.expression) {
            self.report(
                Diagnostic::error(
                    "key-name",
                    key.expression.span,
                    "the control plane has no name for a key that is computed",
                )
                .help("give it one: `... : exact @name(\"...\")`"),
            );
        }
    }

    fn has_name(&self, e: &Expression) -> bool {
        match &e.kind {
            ExpressionKind::Path { .. }
            | ExpressionKind::Integer { .. }
            | ExpressionKind::Bool(_)
            | ExpressionKind::This
            | ExpressionKind::Type(_) => true,
            ExpressionKind::Member { base, .. } => self.has_name(base),
            ExpressionKind::Index { base, .. }
            | ExpressionKind::Slice { base, .. }
            | ExpressionKind::PlusSlice { base, .. } => self.has_name(base),
            ExpressionKind::Call {
                callee, arguments, ..
            } => arguments.is_empty() && self.has_name(callee),
            // A mask of a field is how P4_14 programs come to be ternary keys of some bits.
            ExpressionKind::Binary {
                operator: crate::ast::BinaryOperator::BitAnd,
                left,
                right,
            } => {
                self.has_name(left) && self.checked.constants.contains_key(&right.id)
                    || self.has_name(right) && self.checked.constants.contains_key(&left.id)
            }
            _ => self.checked.constants.contains_key(&e.id),
        }
    }

    /// The action that a path or a call of it means.
    pub(super) fn action(&self, e: &Expression) -> Option<&'a Declaration> {
        match &e.kind {
            ExpressionKind::Call { callee, .. } => self.action(callee),
            _ => self.meant(e.id),
        }
    }

    /// `@defaultonly` actions are in no entry, `@tableonly` ones not the default (specification 20.1.2).
    fn usable(&mut self, table: &'a Table, action: &Expression, annotation: &str, place: &str) {
        let Some(declaration) = self.action(action) else {
            return;
        };
        let lists = table.properties.iter().filter_map(|p| match &p.kind {
            TablePropertyKind::Actions(list) => Some(list),
            _ => None,
        });
        for listed in lists.flatten() {
            let same = self.action(&listed.action).map(|d| d.id) == Some(declaration.id);
            let marked = listed
                .annotations
                .iter()
                .find(|a| &*a.name.text == annotation);
            if same && let Some(marked) = marked {
                self.report(
                    Diagnostic::error(
                        "action-use",
                        action.span,
                        format!("an action that is `@{annotation}` cannot be that of {place}"),
                    )
                    .note(marked.span, "it is marked here"),
                );
            }
        }
    }

    /// What the control plane gives is `bit<>`, `int<>`, `bool`, a `type` of such, or an enum with an underlying type: what P4Runtime can
    /// carry. The language itself asks for less.
    fn parameters(&mut self, declaration: &'a Declaration) {
        let DeclarationKind::Action { parameters, .. } = &declaration.kind else {
            return;
        };
        for parameter in parameters.iter().filter(|p| p.direction == Direction::None) {
            let good = match self.checked.types.get(&parameter.id) {
                Some(Type::Enum(id)) => self.by_id.get(id).is_none_or(|declaration| {
                    matches!(
                        declaration.kind,
                        DeclarationKind::Enum {
                            underlying: Some(_),
                            ..
                        }
                    )
                }),
                Some(Type::Composite(..) | Type::Stack(..) | Type::Tuple(_)) => false,
                _ => true,
            };
            if !good {
                self.report(
                    Diagnostic::error(
                        "action-parameter",
                        parameter.ty.span,
                        format!(
                            "the control plane gives `{}`, and can only give numbers with a width, `bool`, and enums with an underlying type",
                            parameter.name.text
                        ),
                    )
                    .help("give the fields one by one, or the parameter a direction"),
                );
            }
        }
    }
}
