//! Where PNA's extern functions can be called (pna.p4): forwarding in the main control, entries in
//! the actions of tables that learn or age.

use super::Rules;
use super::reach::TableCalls;
use crate::ast::{
    DeclarationKind, Expression, ExpressionKind, KeyElement, NodeId, Table, TablePropertyKind,
};
use crate::check::{Bound, Target};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::BTreeSet;
use alloc::format;

/// Properties of tables whose entries age.
const AGEING: [&str; 3] = [
    "pna_idle_timeout",
    "idle_timeout",
    "idle_timeout_with_auto_delete",
];
/// Functions that say where the packet goes.
const FORWARDING: [&str; 3] = ["drop_packet", "send_to_port", "mirror_packet"];

pub(super) fn run(rules: &mut Rules<'_>) {
    if rules.package_name() != Some("PNA_NIC") {
        return;
    }
    let mut seen = BTreeSet::new();
    for table in rules.table_calls() {
        rules.learning_keys(table.table);
        for (action, calls) in &table.actions {
            for call in calls {
                rules.entry_call(&table, action.id, call, &mut seen);
            }
        }
    }
    for declaration in rules.declarations.clone() {
        if let DeclarationKind::Control(_) | DeclarationKind::Parser(_) = &declaration.kind {
            for call in rules.calls(declaration) {
                rules.entry_call_outside(call, &mut seen);
            }
        }
    }
    rules.forwarding();
}

impl<'a> Rules<'a> {
    /// The name of the package that `main` instantiates.
    fn package_name(&self) -> Option<&'a str> {
        let Some(Type::Object(package, _)) = self.checked.types.get(&self.checked.main?) else {
            return None;
        };
        match &self.by_id.get(package)?.kind {
            DeclarationKind::PackageType { name, .. } => Some(&name.text),
            _ => None,
        }
    }

    fn extern_function(&self, call: &Expression) -> Option<&'a str> {
        let Target::ExternFunction(id) = self.checked.calls.get(&call.id)?.target else {
            return None;
        };
        match &self.by_id.get(&id)?.kind {
            DeclarationKind::ExternFunction(prototype) => Some(&prototype.name.text),
            _ => None,
        }
    }

    /// Whether a property is there and does not say no.
    fn is_on(&self, table: &Table, names: &[&str]) -> bool {
        table
            .properties
            .iter()
            .any(|property| match &property.kind {
                TablePropertyKind::Other { name, value } if names.contains(&&*name.text) => {
                    match self.checked.constants.get(&value.id) {
                        Some(Constant::Bool(on)) => *on,
                        // The first member of an enum says no.
                        _ => !matches!(&value.kind, ExpressionKind::Member { member, .. }
                        if &*member.text == "NO_TIMEOUT"),
                    }
                }
                _ => false,
            })
    }

    /// An entry that a packet adds has the values of its keys, so that a table that learns matches
    /// exactly.
    fn learning_keys(&mut self, table: &'a Table) {
        if !self.is_on(table, &["add_on_miss"]) {
            return;
        }
        let keys = table.properties.iter().filter_map(|p| match &p.kind {
            TablePropertyKind::Key(keys) => Some(keys),
            _ => None,
        });
        let inexact = |key: &&'a KeyElement| &*key.match_kind.text != "exact";
        if let Some(key) = keys.flatten().find(inexact) {
            self.report(
                Diagnostic::error(
                    "add-on-miss",
                    key.match_kind.span,
                    format!(
                        "the table `{}` has `add_on_miss`, and takes only `exact` keys",
                        table.name.text
                    ),
                )
                .help("match exactly, or take `add_on_miss` away"),
            );
        }
    }

    fn entry_call(
        &mut self,
        table: &TableCalls<'a>,
        action: NodeId,
        call: &'a Expression,
        seen: &mut BTreeSet<NodeId>,
    ) {
        let name = &table.table.name.text;
        let message = match self.extern_function(call) {
            Some("add_entry") => match self.adds(table, action, call) {
                Some(why) => why,
                None => return,
            },
            Some(function @ ("set_entry_expire_time" | "restart_expire_timer"))
                if !self.is_on(table.table, &AGEING) =>
            {
                format!(
                    "`{function}` works on entries that age, and the table `{name}` has no idle timeout"
                )
            }
            _ => return,
        };
        if seen.insert(call.id) {
            self.report(
                Diagnostic::error("entry-call", call.span, message)
                    .note(table.table.name.span, "the table with this action"),
            );
        }
    }

    /// Why an action of a table cannot add an entry, if it cannot.
    fn adds(
        &self,
        table: &TableCalls<'a>,
        action: NodeId,
        call: &'a Expression,
    ) -> Option<alloc::string::String> {
        let name = &table.table.name.text;
        if !self.is_on(table.table, &["add_on_miss"]) {
            return Some(format!(
                "`add_entry` needs `add_on_miss = true` in the table `{name}`"
            ));
        }
        let default = table.table.properties.iter().find_map(|p| match &p.kind {
            TablePropertyKind::Other { name, value } if &*name.text == "default_action" => {
                self.action(value)
            }
            _ => None,
        });
        if default.map(|d| d.id) != Some(action) {
            return Some(format!(
                "`add_entry` can run only in the default action of the table `{name}`: it adds the key that missed"
            ));
        }
        let ExpressionKind::Call { arguments, .. } = &call.kind else {
            return None;
        };
        let added = match self.checked.calls.get(&call.id)?.arguments.first()? {
            Bound::Argument(place) => &arguments.get(*place)?.value,
            _ => return None,
        };
        let Some(Constant::String(added)) = self.checked.constants.get(&added.id) else {
            return None;
        };
        let is_added = |declaration: &crate::ast::Declaration| matches!(&declaration.kind, DeclarationKind::Action { name, .. } if name.text == *added);
        let Some((found, _)) = table.actions.iter().find(|(a, _)| is_added(a)) else {
            return Some(format!(
                "the table `{name}` has no action `{added}` for the entry that `add_entry` adds"
            ));
        };
        let mut lists = table.table.properties.iter().filter_map(|p| match &p.kind {
            TablePropertyKind::Actions(list) => Some(list),
            _ => None,
        });
        let default_only = lists.any(|list| {
            list.iter().any(|reference| {
                self.action(&reference.action).map(|d| d.id) == Some(found.id)
                    && reference
                        .annotations
                        .iter()
                        .any(|a| &*a.name.text == "defaultonly")
            })
        });
        default_only.then(|| {
            format!("`add_entry` adds an entry with `{added}`, which is `@defaultonly` in the table `{name}`")
        })
    }

    fn entry_call_outside(&mut self, call: &'a Expression, seen: &mut BTreeSet<NodeId>) {
        if let Some(function @ ("add_entry" | "set_entry_expire_time" | "restart_expire_timer")) =
            self.extern_function(call)
            && seen.insert(call.id)
        {
            self.report(
                Diagnostic::error(
                    "entry-call",
                    call.span,
                    format!(
                        "`{function}` runs outside of a table here, where no entry is looked up"
                    ),
                )
                .help("call it in an action that a table runs"),
            );
        }
    }

    /// Forwarding is for the main control: the pre control decides about decryption, parsers and
    /// deparsers about headers.
    fn forwarding(&mut self) {
        let Some(main) = self
            .checked
            .main
            .and_then(|id| self.by_id.get(&id).copied())
        else {
            return;
        };
        let DeclarationKind::Instance { arguments, .. } = &main.kind else {
            return;
        };
        let Some(call) = self.checked.calls.get(&main.id) else {
            return;
        };
        let mut seen = BTreeSet::new();
        for (bound, block) in call.arguments.iter().zip([
            Some("the main parser"),
            Some("the pre control"),
            None,
            Some("the main deparser"),
        ]) {
            let (Bound::Argument(place), Some(block)) = (bound, block) else {
                continue;
            };
            let given = arguments.get(*place).map(|a| &a.value);
            let Some(Type::Object(id, _)) = given.and_then(|e| self.checked.types.get(&e.id))
            else {
                continue;
            };
            let Some(declaration) = self.by_id.get(id).copied() else {
                continue;
            };
            let mut calls = self.calls(declaration);
            if let DeclarationKind::Control(control) = &declaration.kind {
                let actions = control.locals.iter();
                let actions = actions.filter(|d| matches!(d.kind, DeclarationKind::Action { .. }));
                calls.extend(actions.flat_map(|action| self.calls(action)));
            }
            for call in calls {
                if let Some(function) = self.extern_function(call)
                    && FORWARDING.contains(&function)
                    && seen.insert(call.id)
                {
                    self.report(Diagnostic::error(
                        "forwarding",
                        call.span,
                        format!("`{function}` can be called only in the main control, and this is {block}"),
                    ));
                }
            }
        }
    }
}
