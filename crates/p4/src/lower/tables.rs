//! Tables and the actions that they call.

use super::calls::Callee;
use super::elaborate::{Made, Naming};
use super::index::Node;
use super::values::{InstanceId, Value};
use super::{Binding, Frame, FrameKind, Lowerer, fold, names};
use crate::ast::{
    self, ActionReference, Argument, DeclarationKind, Direction, Expression, ExpressionKind,
    KeyElement, NodeId, TableProperty, TablePropertyKind,
};
use crate::check::{Bound, Call, Target};
use crate::ir::{
    self, Action, ActionCall, ActionId, Expr, Extern, Key, SlotId, Table, TableAction, TableId,
    Terminator, Ty,
};
use crate::types::Type;
use crate::value::Bits;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Lowerer<'a> {
    /// `t.apply()`: goes on behind it.
    pub fn apply_table(&mut self, expr: &'a Expression, id: NodeId) -> Option<TableId> {
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return None;
        };
        let DeclarationKind::Table(table) = &declaration.kind else {
            return None;
        };
        if !self.deeper(expr.span) {
            return None;
        }
        let span = self.body.span;
        let made = self.table(declaration, table);
        self.body.span = span;
        // Keys that take statements are worked out now.
        let slots = self.key_slots.get(&made).cloned().unwrap_or_default();
        for (element, slot) in keys_of(table).zip(slots) {
            if let Some(slot) = slot
                && let Value::Scalar(value, _) = self.eval(&element.expression)
            {
                self.body.assign(ir::LValue::Slot(slot), value);
            }
        }
        let next = self.body.block();
        let exits = self.program.tables[made.index()]
            .actions
            .iter()
            .any(|action| {
                self.program.actions[action.action.index()]
                    .body
                    .blocks
                    .iter()
                    .any(|block| block.terminator == Terminator::Exit)
            });
        let exit = match self.frames.len().checked_sub(1) {
            Some(at) if exits => self.exit_block(at),
            _ => next,
        };
        self.body.terminate(Terminator::Apply {
            table: made,
            next,
            exit,
        });
        self.body.go(next);
        self.depth -= 1;
        Some(made)
    }

    /// Where a table writes whether there was a hit.
    pub fn hit_slot(&mut self, table: TableId) -> SlotId {
        if let Some(slot) = self.program.tables[table.index()].hit {
            return slot;
        }
        let name = format!("{}.$hit", self.program.tables[table.index()].name);
        let slot = self.slot(&name, Ty::Bool);
        self.program.tables[table.index()].hit = Some(slot);
        slot
    }

    /// Where a table writes which of its actions ran.
    pub fn action_run_slot(&mut self, table: TableId) -> SlotId {
        if let Some(slot) = self.program.tables[table.index()].action_run {
            return slot;
        }
        let name = format!("{}.$action_run", self.program.tables[table.index()].name);
        let slot = self.slot(&name, Ty::Bits(32));
        self.program.tables[table.index()].action_run = Some(slot);
        slot
    }

    fn table(&mut self, declaration: &'a ast::Declaration, table: &'a ast::Table) -> TableId {
        let key = (self.instance, declaration.id);
        if let Some(known) = self.tables.get(&key) {
            return *known;
        }
        let prefix = self.instances[self.instance.0 as usize].name.clone();
        let name = names::external(&prefix, &declaration.annotations, &table.name.text);
        let id = TableId(self.program.tables.len() as u32);
        let annotations = self.annotations(&declaration.annotations);
        self.program.tables.push(Table {
            name: name.as_str().into(),
            keys: Vec::new(),
            actions: Vec::new(),
            default: ActionCall {
                action: 0,
                arguments: Vec::new(),
            },
            const_default: false,
            entries: Vec::new(),
            const_entries: false,
            size: None,
            implementation: None,
            empty_group: None,
            direct: Vec::new(),
            idle_timeout: false,
            properties: Vec::new(),
            hit: None,
            action_run: None,
            annotations,
        });
        self.tables.insert(key, id);
        let slots: Vec<Option<SlotId>> = keys_of(table)
            .map(|element| self.key(id, &name, element))
            .collect();
        self.key_slots.insert(id, slots);
        for property in &table.properties {
            if let TablePropertyKind::Actions(actions) = &property.kind {
                for action in actions {
                    self.table_action(id, action);
                }
            }
        }
        let mut default = None;
        for property in &table.properties {
            if let TablePropertyKind::Other { name, value } = &property.kind {
                if &*name.text == "default_action" {
                    default = Some((value, property.is_const));
                } else {
                    self.property(id, property, &name.text, value);
                }
            }
        }
        self.default_action(id, default);
        self.entries(id, table);
        id
    }

    fn key(&mut self, id: TableId, table: &str, element: &'a KeyElement) -> Option<SlotId> {
        self.body.span = element.span;
        let name = names::string_annotation(&element.annotations, "name")
            .unwrap_or_else(|| self.key_name(&element.expression));
        let ty = self.type_of(element.expression.id);
        let Some(scalar) = self.scalar(&ty) else {
            self.error(
                "key-type",
                element.span,
                "a key must be a number, a bool, an enum or an error",
            );
            return None;
        };
        let (value, slot) = if self.has_effects(&element.expression) {
            let slot = self.slot(&format!("{table}.{name}"), scalar);
            (Expr::Slot(slot), Some(slot))
        } else {
            match self.eval(&element.expression) {
                Value::Scalar(value, _) => (value, None),
                _ => (Expr::Constant(Bits::zero(scalar.width()), scalar), None),
            }
        };
        let annotations = self.annotations(&element.annotations);
        self.program.tables[id.index()].keys.push(Key {
            name: name.into(),
            value,
            ty: scalar,
            match_kind: element.match_kind.text.clone().into(),
            annotations,
        });
        slot
    }

    /// The action that an expression names, called or not.
    pub fn action_of(&self, expr: &Expression) -> Option<NodeId> {
        if let Some(Call {
            target: Target::Action(id),
            ..
        }) = self.checked.calls.get(&expr.id)
        {
            return Some(*id);
        }
        match &expr.kind {
            ExpressionKind::Call { callee, .. } => self.action_of(callee),
            _ => {
                let id = *self.checked.references.get(&expr.id)?;
                match self.index.get(id)? {
                    Node::Declaration(declaration)
                        if matches!(declaration.kind, DeclarationKind::Action { .. }) =>
                    {
                        Some(id)
                    }
                    _ => None,
                }
            }
        }
    }

    fn table_action(&mut self, id: TableId, reference: &'a ActionReference) {
        self.body.span = reference.span;
        let Some(declaration) = self.action_of(&reference.action) else {
            return;
        };
        let call = self
            .checked
            .calls
            .get(&reference.id)
            .or_else(|| self.checked.calls.get(&reference.action.id));
        let arguments = match &reference.action.kind {
            ExpressionKind::Call { arguments, .. } => arguments.as_slice(),
            _ => &[],
        };
        let Some(action) = self.action(declaration, call, arguments) else {
            return;
        };
        let annotations = self.annotations(&reference.annotations);
        self.program.tables[id.index()].actions.push(TableAction {
            action,
            table_only: names::has_annotation(&reference.annotations, "tableonly"),
            default_only: names::has_annotation(&reference.annotations, "defaultonly"),
            annotations,
        });
        self.table_actions.entry(id).or_default().push(declaration);
    }

    /// An action as a table calls it: its parameters without a direction are slots that the table fills, the others are bound to
    /// what the table's list says.
    fn action(
        &mut self,
        id: NodeId,
        call: Option<&'a Call>,
        arguments: &'a [Argument],
    ) -> Option<ActionId> {
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return None;
        };
        let DeclarationKind::Action {
            name,
            parameters,
            body,
        } = &declaration.kind
        else {
            return None;
        };
        let is_bound =
            parameters.iter().any(|p| p.direction != Direction::None) || !arguments.is_empty();
        let is_top = self.index.top.contains(&id);
        // An action at the top is one for all controls.
        let key = (if is_top { InstanceId(0) } else { self.instance }, id);
        if !is_bound && let Some(known) = self.actions.get(&key) {
            return Some(*known);
        }
        let prefix = if is_top {
            String::new()
        } else {
            self.instances[self.instance.0 as usize].name.clone()
        };
        let full = names::external(&prefix, &declaration.annotations, &name.text);
        let label = full.clone();
        let mut slots: Vec<(Arc<str>, SlotId, Vec<ir::Annotation>)> = Vec::new();
        let owner = self.instance;
        let lowered = self.aside(Frame::new(FrameKind::Action, label.clone()), |lowerer| {
            lowerer.body.span = declaration.span;
            let mut rooms = Vec::new();
            let touched = lowerer.touched(id);
            let copies = match call {
                Some(call) => lowerer.pass(
                    call,
                    arguments,
                    Callee {
                        parameters,
                        types: Vec::new(),
                        touched: Some(touched),
                        own: false,
                        label: label.clone(),
                        owner,
                    },
                ),
                None => Vec::new(),
            };
            for (at, parameter) in parameters.iter().enumerate() {
                let given = call.and_then(|call| call.arguments.get(at));
                if parameter.direction != Direction::None
                    || matches!(given, Some(Bound::Argument(_)))
                {
                    continue;
                }
                let ty = lowerer.type_of(parameter.ty.id);
                let storage = lowerer.local(parameter.id, &parameter.name.text, &ty);
                let annotations = lowerer.annotations(&parameter.annotations);
                let mut own = Vec::new();
                storage.slots(&mut own);
                for slot in own {
                    slots.push((
                        lowerer.parameter_name(parameter, &label, slot),
                        slot,
                        annotations.clone(),
                    ));
                }
                rooms.push((parameter.id, storage));
            }
            for (id, storage) in rooms {
                lowerer.bind(id, Binding::Storage(storage));
            }
            lowerer.inline_body(body, label.clone(), copies, &Type::Void);
        });
        let annotations = self.annotations(&declaration.annotations);
        let action = ActionId(self.program.actions.len() as u32);
        self.program.actions.push(Action {
            name: full.into(),
            parameters: slots,
            body: lowered,
            annotations,
        });
        if !is_bound {
            self.actions.insert(key, action);
        }
        Some(action)
    }

    /// A parameter's name for the control plane; of a struct with the path of the field.
    fn parameter_name(
        &self,
        declared: &crate::ast::Parameter,
        label: &str,
        slot: SlotId,
    ) -> Arc<str> {
        let name = &self.program.slots[slot.index()].name;
        let parameter = &*declared.name.text;
        let shown = names::string_annotation(&declared.annotations, "name");
        let shown = shown.as_deref().unwrap_or(parameter);
        let below = name
            .strip_prefix(label)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_prefix(parameter))
            .filter(|rest| rest.starts_with(['.', '[']));
        match below {
            Some(rest) => format!("{shown}{rest}").into(),
            None => shown.into(),
        }
    }

    /// An action call of a property or entry: where in the table's list, and with which arguments for the control plane's parameters.
    pub fn action_call(&mut self, table: TableId, expr: &'a Expression) -> Option<ActionCall> {
        let id = self.action_of(expr)?;
        let place = self
            .table_actions
            .get(&table)
            .and_then(|list| list.iter().position(|a| *a == id))?;
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return None;
        };
        let DeclarationKind::Action { parameters, .. } = &declaration.kind else {
            return None;
        };
        let call = self.checked.calls.get(&expr.id);
        let arguments: &'a [Argument] = match &expr.kind {
            ExpressionKind::Call { arguments, .. } => arguments,
            _ => &[],
        };
        let mut bits = Vec::new();
        let mut positional = arguments.iter();
        let all = parameters.len() == arguments.len();
        for (at, parameter) in parameters.iter().enumerate() {
            let argument = match call.and_then(|call| call.arguments.get(at)) {
                Some(Bound::Argument(argument)) => arguments.get(*argument),
                Some(_) => None,
                None if parameter.direction == Direction::None || all => positional.next(),
                None => None,
            };
            if parameter.direction != Direction::None {
                continue;
            }
            let ty = self.type_of(parameter.ty.id);
            let value = match (argument, &parameter.default) {
                (Some(argument), _) => self.eval_as(&argument.value, &ty),
                (None, Some(default)) => self.eval_as(default, &ty),
                (None, None) => self.default_value(&ty),
            };
            let mut known = true;
            value.leaves(&mut |leaf| match fold::as_constant(leaf) {
                Some(value) => bits.push(value.clone()),
                None => known = false,
            });
            if !known {
                self.error(
                    "not-constant",
                    expr.span,
                    format!(
                        "the argument for {} is not known while compiling",
                        parameter.name.text
                    ),
                );
            }
        }
        // An action whose parameter is bound in the list takes fewer.
        let wanted = self.program.tables[table.index()].actions[place].action;
        let wanted = self.program.actions[wanted.index()].parameters.len();
        bits.truncate(wanted);
        Some(ActionCall {
            action: place as u32,
            arguments: bits,
        })
    }

    fn default_action(&mut self, id: TableId, given: Option<(&'a Expression, bool)>) {
        if let Some((expr, is_const)) = given {
            self.body.span = expr.span;
            self.program.tables[id.index()].const_default = is_const;
            if let Some(call) = self.action_call(id, expr) {
                self.program.tables[id.index()].default = call;
                return;
            }
            // Not in the list: the checker refuses it, but for P4_14's tables.
            if let Some(declaration) = self.action_of(expr) {
                self.add_default(id, declaration);
                if let Some(call) = self.action_call(id, expr) {
                    self.program.tables[id.index()].default = call;
                }
            }
            return;
        }
        // Without one it is NoAction (specification, 14.2.1.3).
        let known = self.table_actions.get(&id).and_then(|list| {
            list.iter()
                .position(|action| match self.index.get(*action) {
                    Some(Node::Declaration(declaration)) => {
                        self.index.top.contains(action)
                            && &*names::declared(declaration) == "NoAction"
                    }
                    _ => false,
                })
        });
        if let Some(at) = known {
            self.program.tables[id.index()].default.action = at as u32;
            return;
        }
        let declared = self.checked.program.declarations.iter().find(|d| {
            matches!(&d.kind, DeclarationKind::Action { name, .. } if &*name.text == "NoAction")
        });
        match declared {
            Some(declaration) => self.add_default(id, declaration.id),
            None => {
                let action = ActionId(self.program.actions.len() as u32);
                self.program.actions.push(Action {
                    name: "NoAction".into(),
                    parameters: Vec::new(),
                    body: ir::Body {
                        blocks: vec![ir::Block {
                            name: None,
                            statements: Vec::new(),
                            terminator: Terminator::Return,
                        }],
                        fail: None,
                    },
                    annotations: Vec::new(),
                });
                self.push_default(id, action, NodeId(u32::MAX));
            }
        }
    }

    fn add_default(&mut self, id: TableId, declaration: NodeId) {
        if let Some(action) = self.action(declaration, None, &[]) {
            self.push_default(id, action, declaration);
        }
    }

    fn push_default(&mut self, id: TableId, action: ActionId, declaration: NodeId) {
        let table = &mut self.program.tables[id.index()];
        table.default.action = table.actions.len() as u32;
        table.actions.push(TableAction {
            action,
            table_only: false,
            default_only: true,
            annotations: vec![ir::Annotation {
                name: "defaultonly".into(),
                body: "".into(),
            }],
        });
        self.table_actions.entry(id).or_default().push(declaration);
    }

    fn property(
        &mut self,
        id: TableId,
        property: &'a TableProperty,
        name: &str,
        value: &'a Expression,
    ) {
        self.body.span = property.span;
        if crate::check::EMPTY_GROUP_ACTIONS.contains(&name) {
            self.program.tables[id.index()].empty_group = self.action_call(id, value);
            return;
        }
        let ty = self.type_of(value.id);
        let known = self.property_value(id, property, name, value);
        match name {
            "size" => {
                self.program.tables[id.index()].size = self.small(&known);
                return;
            }
            "support_timeout" | "idle_timeout" | "psa_idle_timeout" | "pna_idle_timeout" => {
                // A bool, or an enum of which the first member says no.
                let on = match &known {
                    Value::Scalar(expr, _) => fold::truth(expr).unwrap_or(false),
                    _ => false,
                };
                self.program.tables[id.index()].idle_timeout = on;
            }
            _ => {}
        }
        let mut objects = Vec::new();
        self.objects_in(&known, &mut objects);
        if objects.is_empty() {
            if let Some(constant) = self.compile_time(&known, &ty) {
                let properties = &mut self.program.tables[id.index()].properties;
                properties.push((name.into(), constant));
            }
            return;
        }
        for object in objects {
            let kind = &self.program.objects[object.index()].kind;
            let chooses = matches!(kind, Extern::ActionProfile(_) | Extern::ActionSelector(_));
            // Only here is it known which object a control got that has several instances.
            let is_direct = matches!(kind, Extern::DirectCounter(_) | Extern::DirectMeter(_));
            let mut others = self.program.tables.iter();
            if is_direct && let Some(owner) = others.find(|t| t.direct.contains(&object)) {
                let message = format!(
                    "`{}` belongs to the table `{}` already: its values are those of one table's entries",
                    self.program.objects[object.index()].name,
                    owner.name
                );
                self.error("direct-owner", value.span, message);
                continue;
            }
            let table = &mut self.program.tables[id.index()];
            if chooses || name.ends_with("implementation") {
                table.implementation = Some(object);
            } else {
                table.direct.push(object);
            }
        }
    }

    fn property_value(
        &mut self,
        id: TableId,
        property: &'a TableProperty,
        name: &str,
        value: &'a Expression,
    ) -> Value {
        if let ExpressionKind::Call { arguments, .. } = &value.kind
            && let Some(call) = self.checked.calls.get(&value.id)
            && let Target::Constructor(_) = call.target
        {
            // As p4c names it: by the property, without the control. With several such properties
            // the table tells them apart.
            let mut full = names::external("", &property.annotations, name);
            if self.program.objects.iter().any(|o| *o.name == *full) {
                full = format!("{}.{name}", self.program.tables[id.index()].name);
            }
            return self.construct(
                call,
                arguments,
                Naming {
                    name: full,
                    annotations: &property.annotations,
                    span: value.span,
                    sites: 0,
                },
            );
        }
        self.eval(value)
    }

    fn objects_in(&self, value: &Value, into: &mut Vec<ir::ObjectId>) {
        match value {
            Value::Instance(instance) => {
                if let Made::Object(object) = self.made(*instance) {
                    into.push(object);
                }
            }
            Value::List(list, _) => list.iter().for_each(|v| self.objects_in(v, into)),
            Value::Fields(list, _) => list.iter().for_each(|(_, v)| self.objects_in(v, into)),
            _ => {}
        }
    }
}

/// A table's keys in order.
pub(super) fn keys_of(table: &ast::Table) -> impl Iterator<Item = &KeyElement> {
    table.properties.iter().flat_map(|p| match &p.kind {
        TablePropertyKind::Key(list) => list.as_slice(),
        _ => &[],
    })
}
