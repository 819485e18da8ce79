//! Where variables live: slots, and what they are part of.

use super::Lowerer;
use super::fold;
use super::types::Shape;
use super::values::Value;
use crate::ast;
use crate::ir::{
    Annotation, Expr, Header, HeaderId, LValue, Slot, SlotId, Stack, StackId, StatementKind, Ty,
};
use crate::types::Type;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Where a variable lives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Storage {
    Scalar(SlotId),
    /// Fields in order: a struct or tuple.
    Struct(Rc<[Storage]>),
    Header(Rc<HeaderStorage>),
    /// Members in order, each a header.
    Union(Rc<[Storage]>),
    Stack(Rc<StackStorage>),
    /// Of a type that has no values while a packet is worked on.
    Nothing,
}

/// Where a header lives.
#[derive(Debug, PartialEq)]
pub(super) struct HeaderStorage {
    pub id: HeaderId,
    pub valid: SlotId,
    pub fields: Vec<Storage>,
    /// Whether the other members of its union are valid.
    pub siblings: Vec<SlotId>,
}

/// Where a stack lives.
#[derive(Debug, PartialEq)]
pub(super) struct StackStorage {
    /// One of headers; of unions one for each member; of anything else none.
    pub stacks: Vec<StackId>,
    pub next: SlotId,
    pub elements: Vec<Storage>,
}

/// What an l-value means: a variable or a part of it, perhaps one of several, told by an index.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub choices: Vec<Storage>,
    /// `None` with one choice.
    pub index: Option<Expr>,
    /// Made by `.next` of this stack, and by which member of a union then.
    pub next: Option<(Rc<StackStorage>, usize)>,
}

/// What can stand on the left.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Location(Location),
    Slice(Location, u32, u32),
    /// `_`
    Discard,
}

impl Storage {
    /// What it is made of: fields, members or elements in order.
    fn parts(&self) -> &[Storage] {
        match self {
            Storage::Struct(list) | Storage::Union(list) => list,
            Storage::Header(header) => &header.fields,
            Storage::Stack(stack) => &stack.elements,
            Storage::Scalar(_) | Storage::Nothing => &[],
        }
    }

    /// The slot that is its own and no part's: of a scalar all of it, of a header its validity, of a stack how far it is filled.
    fn own(&self) -> Option<SlotId> {
        match self {
            Storage::Scalar(slot) => Some(*slot),
            Storage::Header(header) => Some(header.valid),
            Storage::Stack(stack) => Some(stack.next),
            Storage::Struct(_) | Storage::Union(_) | Storage::Nothing => None,
        }
    }

    fn part(&self, at: usize) -> &Storage {
        self.parts().get(at).unwrap_or(&Storage::Nothing)
    }

    /// A field or member.
    pub fn field(&self, at: usize) -> Storage {
        self.part(at).clone()
    }

    /// Appends all slots of it.
    pub fn slots(&self, into: &mut Vec<SlotId>) {
        into.extend(self.own());
        self.parts().iter().for_each(|part| part.slots(into));
    }

    /// Appends all headers of it, in order.
    pub fn headers(&self, into: &mut Vec<Rc<HeaderStorage>>) {
        match self {
            Storage::Header(header) => into.push(header.clone()),
            _ => self.parts().iter().for_each(|part| part.headers(into)),
        }
    }

    /// Appends all stacks of it, in order.
    pub fn stacks(&self, into: &mut Vec<Rc<StackStorage>>) {
        if let Storage::Stack(stack) = self {
            into.push(stack.clone());
        }
        self.parts().iter().for_each(|part| part.stacks(into));
    }
}

/// Of each of several storages of one type the slot that is its own.
fn own(choices: &[&Storage]) -> Vec<SlotId> {
    choices.iter().filter_map(|one| one.own()).collect()
}

impl Location {
    pub fn fixed(storage: Storage) -> Self {
        Location {
            choices: vec![storage],
            index: None,
            next: None,
        }
    }

    /// The storage, when there is no index.
    pub fn only(&self) -> Option<&Storage> {
        match (&self.index, self.choices.as_slice()) {
            (None, [only]) => Some(only),
            _ => None,
        }
    }

    pub fn field(&self, at: usize) -> Location {
        Location {
            choices: self.choices.iter().map(|s| s.field(at)).collect(),
            index: self.index.clone(),
            next: self.next.as_ref().map(|(stack, _)| (stack.clone(), at)),
        }
    }

    /// All slots that it may mean.
    pub fn slots(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.choices.iter().for_each(|s| s.slots(&mut slots));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Its scalars and the validity of its headers, as places.
    pub fn lvalues(&self) -> Vec<LValue> {
        let lists = self.choices.iter().map(|choice| {
            let mut slots = Vec::new();
            choice.slots(&mut slots);
            slots
        });
        let lists: Vec<Vec<SlotId>> = lists.collect();
        let count = lists.first().map_or(0, Vec::len);
        let lvalues = (0..count).map(|at| {
            let slots = lists.iter().filter_map(|list| list.get(at).copied());
            lvalue(slots.collect(), self.index.as_ref(), None)
        });
        lvalues.collect()
    }
}

pub(super) fn lvalue(
    slots: Vec<SlotId>,
    index: Option<&Expr>,
    slice: Option<(u32, u32)>,
) -> LValue {
    match (index, slots.as_slice()) {
        (None, [slot, ..]) => match slice {
            None => LValue::Slot(*slot),
            Some((high, low)) => LValue::Slice {
                slot: *slot,
                high,
                low,
            },
        },
        (index, _) => LValue::Element {
            slots,
            index: index.cloned().unwrap_or_else(|| fold::number(0)),
            slice,
        },
    }
}

/// The slots that a place may write.
pub(super) fn written(lvalue: &LValue, into: &mut Vec<SlotId>) {
    match lvalue {
        LValue::Slot(slot) | LValue::Slice { slot, .. } => into.push(*slot),
        LValue::Element { slots, .. } => into.extend(slots),
    }
}

impl<'a> Lowerer<'a> {
    /// A name that no slot, header or stack has.
    pub fn unique(&mut self, name: &str) -> Arc<str> {
        if self.names.insert(name.into(), 0).is_none() {
            return name.into();
        }
        loop {
            let count = self.names.entry(name.into()).or_insert(0);
            *count += 1;
            let other: Arc<str> = format!("{name}_{count}").into();
            if !self.names.contains_key(&other) {
                self.names.insert(other.clone(), 0);
                return other;
            }
        }
    }

    pub fn slot(&mut self, name: &str, ty: Ty) -> SlotId {
        let name = self.unique(name);
        let id = SlotId(self.program.slots.len() as u32);
        self.program.slots.push(Slot {
            name,
            ty,
            enumeration: None,
            annotations: Vec::new(),
        });
        id
    }

    /// Room for a variable. `name` is made unique, its parts have names below it.
    pub fn allocate(&mut self, name: &str, ty: &Type, annotations: &[ast::Annotation]) -> Storage {
        let name = match self.shape(ty) {
            // A scalar's slot has the name.
            Shape::Scalar(..) => name.into(),
            _ => self.unique(name),
        };
        let annotations = self.annotations(annotations);
        self.allocate_at(&name, ty, &annotations, 0)
    }

    fn allocate_at(
        &mut self,
        name: &Arc<str>,
        ty: &Type,
        annotations: &[Annotation],
        depth: u32,
    ) -> Storage {
        if self.program.slots.len() > super::MAX_SLOTS || depth > super::MAX_DEPTH {
            self.too_large("variables");
            return Storage::Nothing;
        }
        match self.shape(ty) {
            Shape::Scalar(scalar, enumeration) => {
                let slot = self.slot(name, scalar);
                let made = &mut self.program.slots[slot.index()];
                made.enumeration = enumeration;
                made.annotations = annotations.to_vec();
                Storage::Scalar(slot)
            }
            Shape::Struct => {
                let fields = self.allocate_fields(name, ty, annotations, depth);
                Storage::Struct(fields.into())
            }
            Shape::Header => self.allocate_header(name, ty, annotations, depth, None),
            Shape::Union => self.allocate_union(name, ty, annotations, depth),
            Shape::Array(base, size) => {
                let Some(elements) = self.allocate_elements(name, &base, size, annotations, depth)
                else {
                    return Storage::Nothing;
                };
                Storage::Struct(elements.into())
            }
            Shape::Stack(base, size) => {
                let next = self.slot(&format!("{name}.$next"), Ty::Bits(32));
                let Some(elements) = self.allocate_elements(name, &base, size, annotations, depth)
                else {
                    return Storage::Nothing;
                };
                let mut stacks = Vec::new();
                match elements.first() {
                    Some(Storage::Header(_)) => stacks.push(self.stack(name, next, &elements)),
                    Some(Storage::Union(members)) => {
                        let members = members.len();
                        let fields = self.fields(&base);
                        for (at, field) in fields.iter().enumerate().take(members) {
                            let members: Vec<Storage> =
                                elements.iter().map(|e| e.field(at)).collect();
                            let name: Arc<str> = format!("{name}.{}", field.name).into();
                            stacks.push(self.stack(&name, next, &members));
                        }
                    }
                    _ => {}
                }
                Storage::Stack(Rc::new(StackStorage {
                    stacks,
                    next,
                    elements,
                }))
            }
            Shape::List(_) | Shape::Other => Storage::Nothing,
        }
    }

    /// Room for each element of an array or a stack, if there is any.
    fn allocate_elements(
        &mut self,
        name: &Arc<str>,
        base: &Type,
        size: u32,
        annotations: &[Annotation],
        depth: u32,
    ) -> Option<Vec<Storage>> {
        let mut elements = Vec::new();
        for at in 0..size {
            if self.program.slots.len() > super::MAX_SLOTS {
                self.too_large("variables");
                return None;
            }
            let name = format!("{name}[{at}]").into();
            elements.push(self.allocate_at(&name, base, annotations, depth + 1));
        }
        Some(elements)
    }

    fn stack(&mut self, name: &Arc<str>, next: SlotId, elements: &[Storage]) -> StackId {
        let headers = elements
            .iter()
            .filter_map(|e| match e {
                Storage::Header(header) => Some(header.id),
                _ => None,
            })
            .collect();
        let id = StackId(self.program.stacks.len() as u32);
        self.program.stacks.push(Stack {
            name: name.clone(),
            headers,
            next,
        });
        id
    }

    fn allocate_union(
        &mut self,
        name: &Arc<str>,
        ty: &Type,
        annotations: &[Annotation],
        depth: u32,
    ) -> Storage {
        let fields = self.fields(ty);
        let names: Vec<Arc<str>> = fields
            .iter()
            .enumerate()
            .map(|(at, field)| part(name, &field.name, at))
            .collect();
        let valid: Vec<SlotId> = names
            .iter()
            .map(|name| self.slot(&format!("{name}.$valid"), Ty::Bool))
            .collect();
        let members: Vec<Storage> = fields
            .iter()
            .zip(&names)
            .enumerate()
            .map(|(at, (field, name))| {
                let siblings = valid
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != at)
                    .map(|(_, slot)| *slot)
                    .collect();
                let given = Some((valid[at], siblings));
                self.allocate_header(name, &field.ty, annotations, depth + 1, given)
            })
            .collect();
        Storage::Union(members.into())
    }

    /// Room for each field of a struct or a header.
    fn allocate_fields(
        &mut self,
        name: &Arc<str>,
        ty: &Type,
        annotations: &[Annotation],
        depth: u32,
    ) -> Vec<Storage> {
        // All of one in a field list means all that is in it.
        let inherited = annotations.iter().filter(|a| &*a.name == "field_list");
        let fields = self.fields(ty);
        let fields = fields.iter().enumerate().map(|(at, field)| {
            let name = part(name, &field.name, at);
            let mut own = self.annotations(field.annotations);
            own.extend(inherited.clone().cloned());
            self.allocate_at(&name, &field.ty, &own, depth + 1)
        });
        fields.collect()
    }

    fn allocate_header(
        &mut self,
        name: &Arc<str>,
        ty: &Type,
        annotations: &[Annotation],
        depth: u32,
        given: Option<(SlotId, Vec<SlotId>)>,
    ) -> Storage {
        let (valid, siblings) = given.unwrap_or_else(|| {
            let valid = self.slot(&format!("{name}.$valid"), Ty::Bool);
            (valid, Vec::new())
        });
        let fields = self.allocate_fields(name, ty, annotations, depth);
        let mut slots = Vec::new();
        fields.iter().for_each(|s| s.slots(&mut slots));
        let ty = self.type_name(ty);
        let id = HeaderId(self.program.headers.len() as u32);
        self.program.headers.push(Header {
            name: name.clone(),
            ty,
            valid,
            fields: slots,
        });
        Storage::Header(Rc::new(HeaderStorage {
            id,
            valid,
            fields,
            siblings,
        }))
    }

    /// A new variable for something in between.
    pub fn temporary(&mut self, name: &str, ty: &Type) -> Storage {
        let name = self.local_name(name);
        self.allocate(&name, ty, &[])
    }

    pub fn temporary_slot(&mut self, name: &str, ty: Ty) -> SlotId {
        if self.program.slots.len() > super::MAX_SLOTS {
            self.too_large("variables");
        }
        let name = self.local_name(name);
        self.slot(&name, ty)
    }

    fn slot_ty(&self, slot: SlotId) -> Ty {
        self.program.slots[slot.index()].ty
    }

    /// The value that stands there.
    pub fn read(&self, location: &Location) -> Value {
        self.read_choices(
            &location.choices.iter().collect::<Vec<_>>(),
            &location.index,
        )
    }

    pub fn read_storage(&self, storage: &Storage) -> Value {
        self.read_choices(&[storage], &None)
    }

    fn read_slots(&self, slots: Vec<SlotId>, index: &Option<Expr>) -> Expr {
        match (index, slots.as_slice()) {
            (None, [slot, ..]) => Expr::Slot(*slot),
            (Some(index), [slot, ..]) => {
                let ty = self.slot_ty(*slot);
                fold::element(slots, index.clone(), ty)
            }
            (_, []) => fold::number(0),
        }
    }

    fn read_parts(&self, choices: &[&Storage], index: &Option<Expr>) -> Vec<Value> {
        let count = choices.first().map_or(0, |first| first.parts().len());
        let parts = (0..count).map(|at| {
            let parts: Vec<&Storage> = choices.iter().map(|one| one.part(at)).collect();
            self.read_choices(&parts, index)
        });
        parts.collect()
    }

    fn read_choices(&self, choices: &[&Storage], index: &Option<Expr>) -> Value {
        let Some(first) = choices.first() else {
            return Value::Nothing;
        };
        let own = || self.read_slots(own(choices), index);
        let parts = || self.read_parts(choices, index);
        match first {
            Storage::Scalar(slot) => Value::Scalar(own(), self.slot_ty(*slot)),
            Storage::Struct(_) => Value::List(parts(), false),
            Storage::Union(_) => Value::Union(parts()),
            Storage::Header(_) => Value::Header {
                valid: own(),
                fields: parts(),
            },
            Storage::Stack(_) => Value::Stack {
                elements: parts(),
                next: own(),
            },
            Storage::Nothing => Value::Nothing,
        }
    }

    /// The places of a location, each with the expression that a value has for it.
    fn pairs(
        &self,
        choices: &[&Storage],
        index: Option<&Expr>,
        value: &Value,
        into: &mut Vec<(LValue, Expr)>,
    ) {
        let Some(first) = choices.first() else {
            return;
        };
        let each = |values: &[Value], into: &mut Vec<(LValue, Expr)>| {
            for (at, value) in values.iter().enumerate() {
                let parts: Vec<&Storage> = choices.iter().map(|one| one.part(at)).collect();
                self.pairs(&parts, index, value, into);
            }
        };
        let own = || lvalue(own(choices), index, None);
        match (first, value) {
            (Storage::Scalar(slot), Value::Scalar(expr, ty)) => {
                let expr = fold::cast(expr.clone(), *ty, self.slot_ty(*slot));
                into.push((own(), expr));
            }
            (Storage::Struct(_), Value::List(values, _))
            | (Storage::Union(_), Value::Union(values)) => each(values, into),
            (Storage::Header(_), Value::Header { valid, fields }) => {
                into.push((own(), valid.clone()));
                // The fields of an invalid header need no values.
                if fold::truth(valid) != Some(false) {
                    each(fields, into);
                }
            }
            (Storage::Stack(_), Value::Stack { elements, next }) => {
                into.push((own(), next.clone()));
                each(elements, into);
            }
            _ => {}
        }
    }

    /// Puts a value, which must have the location's shape, there. All of it is read before anything of it is written.
    pub fn store(&mut self, location: &Location, value: &Value) {
        let mut pairs = Vec::new();
        let choices: Vec<&Storage> = location.choices.iter().collect();
        // A header that is a member of a union: the others are invalid from now on.
        if let Some(Storage::Header(header)) = choices.first() {
            for at in 0..header.siblings.len() {
                let slots = choices
                    .iter()
                    .filter_map(|s| match s {
                        Storage::Header(header) => header.siblings.get(at).copied(),
                        _ => None,
                    })
                    .collect();
                pairs.push((
                    lvalue(slots, location.index.as_ref(), None),
                    fold::boolean(false),
                ));
            }
        }
        self.pairs(&choices, location.index.as_ref(), value, &mut pairs);
        self.store_pairs(pairs);
    }

    /// The places of a storage, each with the expression that a value has for it.
    pub fn storage_pairs(&self, storage: &Storage, value: &Value, into: &mut Vec<(LValue, Expr)>) {
        self.pairs(&[storage], None, value, into);
    }

    /// Assigns each expression as it is before the first assignment.
    pub fn store_pairs(&mut self, mut pairs: Vec<(LValue, Expr)>) {
        if pairs.len() > 1 {
            let mut so_far = BTreeSet::new();
            let mut slots = Vec::new();
            for (lvalue, value) in &mut pairs {
                slots.clear();
                fold::reads(value, &mut slots);
                if slots.iter().any(|slot| so_far.contains(slot)) {
                    *value = self.spill_expr(value.clone());
                }
                if let LValue::Element { index, .. } = lvalue {
                    slots.clear();
                    fold::reads(index, &mut slots);
                    if slots.iter().any(|slot| so_far.contains(slot)) {
                        *index = self.spill_expr(index.clone());
                    }
                }
                slots.clear();
                written(lvalue, &mut slots);
                so_far.extend(slots.iter().copied());
            }
        }
        for (lvalue, value) in pairs {
            self.body.assign(lvalue, value);
        }
    }

    /// Puts a value on the left of an assignment.
    pub fn store_target(&mut self, target: &Target, value: &Value) {
        match target {
            Target::Location(location) => self.store(location, value),
            Target::Slice(..) => {
                if let (Some(lvalue), Value::Scalar(expr, ty)) = (self.target_lvalue(target), value)
                {
                    let to = Ty::Bits(lvalue.ty(&self.program.slots).width());
                    let expr = fold::cast(expr.clone(), *ty, to);
                    self.body.assign(lvalue, expr);
                }
            }
            Target::Discard => {}
        }
    }

    /// The place of a target that is a scalar.
    pub fn target_lvalue(&self, target: &Target) -> Option<LValue> {
        let (location, slice) = match target {
            Target::Location(location) => (location, None),
            Target::Slice(location, high, low) => (location, Some((*high, *low))),
            Target::Discard => return None,
        };
        let Some(Storage::Scalar(_)) = location.choices.first() else {
            return None;
        };
        let slots = location.choices.iter().filter_map(Storage::own).collect();
        Some(lvalue(slots, location.index.as_ref(), slice))
    }

    /// What stands on the left now.
    pub fn read_target(&self, target: &Target) -> Value {
        match target {
            Target::Location(location) => self.read(location),
            Target::Slice(location, high, low) => match self.read(location) {
                Value::Scalar(expr, ty) => Value::Scalar(
                    fold::slice(expr, ty.width(), *high, *low),
                    Ty::Bits(high - low + 1),
                ),
                other => other,
            },
            Target::Discard => Value::Nothing,
        }
    }

    /// An expression's value as it is now, in a slot of its own.
    pub fn spill_expr(&mut self, value: Expr) -> Expr {
        if matches!(value, Expr::Constant(..)) {
            return value;
        }
        let ty = value.ty(&self.program.slots);
        let slot = self.temporary_slot("tmp", ty);
        self.body.push(StatementKind::Assign {
            target: LValue::Slot(slot),
            value,
        });
        Expr::Slot(slot)
    }

    /// A value as it is now, whatever is written afterwards.
    pub fn spill(&mut self, value: Value) -> Value {
        if value.is_constant() {
            return value;
        }
        value.map(&mut |expr, _| self.spill_expr(expr))
    }

    /// Makes headers invalid, as variables and `out` parameters begin (specification, 6.8), and stacks empty.
    pub fn begin(&mut self, storage: &Storage) {
        let mut headers = Vec::new();
        storage.headers(&mut headers);
        for header in headers {
            self.body
                .assign(LValue::Slot(header.valid), fold::boolean(false));
        }
        let mut stacks = Vec::new();
        storage.stacks(&mut stacks);
        for stack in stacks {
            self.body.assign(LValue::Slot(stack.next), fold::number(0));
        }
    }
}

fn part(name: &str, field: &str, at: usize) -> Arc<str> {
    if field.is_empty() {
        format!("{name}.{at}").into()
    } else {
        format!("{name}.{field}").into()
    }
}
