//! Direct counters and meters belong to one table (PSA 7.7 and 7.8, v1model.p4): one property names
//! each, and only that table's actions call its methods. A table has one action profile or
//! selector.

use super::Rules;
use super::reach::TableCalls;
use crate::ast::{
    Declaration, DeclarationKind, Expression, ExpressionKind, NodeId, TablePropertyKind,
};
use crate::check::Target;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::Type;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const COUNTERS: [&str; 2] = ["direct_counter", "DirectCounter"];
const METERS: [&str; 2] = ["direct_meter", "DirectMeter"];
const PROFILES: [&str; 4] = [
    "action_profile",
    "action_selector",
    "ActionProfile",
    "ActionSelector",
];
/// Arrays, which no table owns.
const ARRAYS: [&str; 6] = [
    "counter", "Counter", "meter", "Meter", "register", "Register",
];

/// The objects that a property of a table takes.
fn taken(property: &str) -> Option<(&'static [&'static str], &'static str)> {
    Some(match property {
        "counters" | "psa_direct_counter" | "pna_direct_counter" => (&COUNTERS, "direct counter"),
        "meters" | "psa_direct_meter" | "pna_direct_meter" => (&METERS, "direct meter"),
        "implementation" | "psa_implementation" | "pna_implementation" => {
            (&PROFILES, "action profile or selector")
        }
        _ => return None,
    })
}

/// The table that owns a direct counter or meter.
struct Owner<'a> {
    table: &'a Declaration,
    name: &'a str,
    span: Span,
}

pub(super) fn run(rules: &mut Rules<'_>) {
    let tables = rules.table_calls();
    let mut owners = BTreeMap::new();
    for table in &tables {
        rules.direct_properties(table, &mut owners);
    }
    let mut seen = BTreeSet::new();
    for table in &tables {
        for (_, calls) in &table.actions {
            for call in calls {
                rules.direct_call(table, call, &owners, &mut seen);
            }
        }
    }
    for declaration in rules.declarations.clone() {
        if let DeclarationKind::Control(_) | DeclarationKind::Parser(_) = &declaration.kind {
            for call in rules.calls(declaration) {
                rules.direct_call_outside(call, &mut seen);
            }
        }
    }
}

impl<'a> Rules<'a> {
    /// The name of the extern of which an expression is an instance.
    fn extern_name(&self, e: &Expression) -> Option<&'a str> {
        let Some(Type::Object(id, _)) = self.checked.types.get(&e.id) else {
            return None;
        };
        match &self.by_id.get(id)?.kind {
            DeclarationKind::Extern { name, .. } => Some(&name.text),
            _ => None,
        }
    }

    /// The direct counter or meter that a path means: its declaration, or the parameter that stands
    /// for it.
    fn direct(&self, e: &Expression) -> Option<NodeId> {
        let kind = self.extern_name(e)?;
        let is_direct = COUNTERS.contains(&kind) || METERS.contains(&kind);
        let is_path = matches!(e.kind, ExpressionKind::Path { .. });
        let id = self.checked.references.get(&e.id)?;
        (is_direct && is_path).then_some(*id)
    }

    fn direct_properties(
        &mut self,
        table: &TableCalls<'a>,
        owners: &mut BTreeMap<NodeId, Owner<'a>>,
    ) {
        for property in &table.table.properties {
            let TablePropertyKind::Other { name, value } = &property.kind else {
                continue;
            };
            let wanted = taken(&name.text);
            let values: Vec<&'a Expression> = match &value.kind {
                ExpressionKind::List { elements, .. } => {
                    if let Some((_, what)) = wanted {
                        self.report(
                            Diagnostic::error(
                                "table-property",
                                value.span,
                                format!("`{}` takes one {what}, not a list", name.text),
                            )
                            .help("a table has one of a kind: name it without the braces"),
                        );
                    }
                    elements.iter().collect()
                }
                _ => alloc::vec![value],
            };
            for value in values {
                let Some(kind) = self.extern_name(value) else {
                    continue;
                };
                let known = [&COUNTERS[..], &METERS, &PROFILES, &ARRAYS];
                if let Some((kinds, what)) = wanted
                    && !kinds.contains(&kind)
                    && known.iter().any(|list| list.contains(&kind))
                {
                    self.report(Diagnostic::error(
                        "table-property",
                        value.span,
                        format!("`{}` takes a {what}, and this is a `{kind}`", name.text),
                    ));
                    continue;
                }
                if let Some(id) = self.direct(value) {
                    self.own(table, id, value, owners);
                }
            }
        }
    }

    fn own(
        &mut self,
        table: &TableCalls<'a>,
        id: NodeId,
        value: &'a Expression,
        owners: &mut BTreeMap<NodeId, Owner<'a>>,
    ) {
        let owner = Owner {
            table: table.declaration,
            name: &table.table.name.text,
            span: value.span,
        };
        let Some(first) = owners.get(&id) else {
            owners.insert(id, owner);
            return;
        };
        if first.table.id == owner.table.id {
            return;
        }
        let object = path(value);
        let (table, span) = (first.name, first.span);
        self.report(
            Diagnostic::error(
                "direct-owner",
                value.span,
                format!("`{object}` belongs to the table `{table}` already: its values are those of one table's entries"),
            )
            .note(span, "the first table")
            .help("declare another one for this table"),
        );
    }

    /// A method of a direct counter or meter: the object, and what the call is shown as.
    fn direct_method(&self, call: &'a Expression) -> Option<(NodeId, &'a Expression, &'a str)> {
        let ExpressionKind::Call { callee, .. } = &call.kind else {
            return None;
        };
        let ExpressionKind::Member { base, member } = &callee.kind else {
            return None;
        };
        let target = self.checked.calls.get(&call.id)?.target;
        let id = self.direct(base)?;
        matches!(target, Target::Method(_)).then_some((id, base, &*member.text))
    }

    fn direct_call(
        &mut self,
        table: &TableCalls<'a>,
        call: &'a Expression,
        owners: &BTreeMap<NodeId, Owner<'a>>,
        seen: &mut BTreeSet<NodeId>,
    ) {
        let Some((id, base, method)) = self.direct_method(call) else {
            return;
        };
        let owner = owners.get(&id);
        if owner.is_some_and(|owner| owner.table.id == table.declaration.id)
            || !seen.insert(call.id)
        {
            return;
        }
        let (object, name) = (path(base), &table.table.name.text);
        // v1model does not say it, and programs share such actions between tables: SAI's do.
        let kind = self.extern_name(base);
        let tell: fn(&'static str, Span, String) -> Diagnostic = match kind {
            Some("direct_counter" | "direct_meter") => Diagnostic::warning,
            _ => Diagnostic::error,
        };
        let diagnostic = match owner {
            Some(owner) => tell(
                "direct-owner",
                call.span,
                format!(
                    "the table `{name}` runs this `{object}.{method}()`, and `{object}` belongs to the table `{}`",
                    owner.name
                ),
            )
            .note(owner.span, "its table"),
            // No table has its count, and nothing else depends on it: p4c accepts this.
            None if kind == Some("direct_counter") => Diagnostic::warning(
                "direct-owner",
                call.span,
                format!("`{object}` belongs to no table, so that `{object}.{method}()` counts nothing"),
            )
            .help(format!("name it in a property of the table `{name}`")),
            None => Diagnostic::error(
                "direct-owner",
                call.span,
                format!("`{object}` belongs to no table, so that `{object}.{method}()` has no entry to work on"),
            )
            .help(format!("name it in a property of the table `{name}`")),
        };
        self.report(diagnostic.note(table.table.name.span, "the table with this action"));
    }

    fn direct_call_outside(&mut self, call: &'a Expression, seen: &mut BTreeSet<NodeId>) {
        let Some((_, base, method)) = self.direct_method(call) else {
            return;
        };
        if !seen.insert(call.id) {
            return;
        }
        let object = path(base);
        self.report(
            Diagnostic::error(
                "direct-owner",
                call.span,
                format!(
                    "`{object}.{method}()` runs outside of a table here, where no entry was hit"
                ),
            )
            .help("call it in an action that only the table of this object runs"),
        );
    }
}

/// How messages show the path to an object.
fn path(e: &Expression) -> &str {
    match &e.kind {
        ExpressionKind::Path { name, .. } => &name.text,
        _ => "",
    }
}
