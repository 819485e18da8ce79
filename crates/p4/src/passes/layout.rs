//! Fields and metadata that nobody names: out of the representation that a packet has.
//!
//! P4FPGA "analyzes all match and action stages, and eliminates unused header fields and metadata from the extracted packet
//! representation" (paper 002, section 3.2.3). Here:
//!
//! - a header of which nobody reads or emits anything is not extracted, but skipped;
//! - neighbouring fields of a header that are extracted and emitted, and that nobody names, become one slot of at most 64 bits;
//! - slots without any use are removed, and the others renumbered.
//!
//! What others see by its slot stays: an architecture's own metadata, `@field_list`s, parameters of actions and methods, whatever a call names. An
//! architecture that hands a parameter from section to section does so field by field: fields of the same name of parameters of the same type
//! stay or go together, and so do those of the elements of a stack.

use super::uses::is_architectures;
use crate::ir::*;
use crate::value::Bits;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Maximum width of a slot that is made of fields, bits.
const MAX_SLOT_BITS: u32 = 64;

/// Runs the pass; says whether anything changed. Numbers of slots and headers change: nothing that names them may be kept from before.
pub fn run(program: &mut Program) -> bool {
    let mut alike = Alike::new(program);
    let named = named(program, &mut alike);
    let skipped = skip(program, &mut alike, &named);
    let joined = join(program, &mut alike, &named);
    skipped | joined | sweep(program, &mut alike, &named)
}

/// Slots that must be treated alike, as a forest.
struct Alike(Vec<u32>);

impl Alike {
    fn new(program: &Program) -> Self {
        let mut alike = Alike((0..program.slots.len() as u32).collect());
        let mut first: BTreeMap<(&str, &str), SlotId> = BTreeMap::new();
        for parameter in program.sections.iter().flat_map(|one| &one.parameters) {
            for (path, slot) in &parameter.fields {
                let other = *first.entry((&parameter.ty, path)).or_insert(*slot);
                alike.join(other, *slot);
            }
        }
        for stack in &program.stacks {
            let mut headers = stack.headers.iter().map(|id| &program.headers[id.index()]);
            let Some(one) = headers.next() else { continue };
            for other in headers {
                alike.join(one.valid, other.valid);
                for (one, other) in one.fields.iter().zip(&other.fields) {
                    alike.join(*one, *other);
                }
            }
        }
        alike
    }

    fn of(&mut self, slot: SlotId) -> SlotId {
        let mut at = slot.index();
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        SlotId(at as u32)
    }

    fn join(&mut self, one: SlotId, two: SlotId) {
        let (one, two) = (self.of(one), self.of(two));
        self.0[two.index()] = one.0;
    }
}

/// By the class of a slot, whether anybody names one of it.
struct Named(Vec<bool>);

impl Named {
    fn has(&self, slot: SlotId, alike: &mut Alike) -> bool {
        self.0[alike.of(slot).index()]
    }
}

fn named(program: &mut Program, alike: &mut Alike) -> Named {
    let mut named = Named(vec![false; program.slots.len()]);
    program.used_slots_mut(&mut |slot| named.0[alike.of(*slot).index()] = true);
    for (index, slot) in program.slots.iter().enumerate() {
        if slot.is_kept() {
            named.0[alike.of(SlotId(index as u32)).index()] = true;
        }
    }
    for parameter in program.sections.iter().flat_map(|one| &one.parameters) {
        if is_architectures(&program.architecture, &parameter.ty) {
            for (_, slot) in &parameter.fields {
                named.0[alike.of(*slot).index()] = true;
            }
        }
    }
    named
}

/// Turns extracting a header that nobody looks at into moving on.
fn skip(program: &mut Program, alike: &mut Alike, named: &Named) -> bool {
    let mut wanted = vec![false; program.slots.len()];
    let mut want = |header: HeaderId, alike: &mut Alike| {
        wanted[alike.of(program.headers[header.index()].valid).index()] = true;
    };
    let sections = program.sections.iter().map(|section| &section.body);
    let actions = program.actions.iter().map(|action| &action.body);
    for block in sections.chain(actions).flat_map(|body| &body.blocks) {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Emit { header }
                | StatementKind::Extract {
                    header,
                    size: Some(_),
                } => want(*header, alike),
                StatementKind::ExtractNext { stack, .. } => {
                    let headers = &program.stacks[stack.index()].headers;
                    headers.iter().for_each(|header| want(*header, alike));
                }
                _ => {}
            }
        }
    }
    let widths: Vec<Option<u64>> = (program.headers.iter())
        .map(|header| {
            let mut width = 0;
            let mut seen = named.has(header.valid, alike) || wanted[alike.of(header.valid).index()];
            for field in &header.fields {
                let ty = program.slots[field.index()].ty;
                seen |= named.has(*field, alike) || matches!(ty, Ty::Varbit(_));
                width += u64::from(ty.width());
            }
            (!seen && u32::try_from(width).is_ok()).then_some(width)
        })
        .collect();
    let mut changed = false;
    for section in &mut program.sections {
        let blocks = section.body.blocks.iter_mut();
        for statement in blocks.flat_map(|block| &mut block.statements) {
            if let StatementKind::Extract { header, size: None } = statement.kind
                && let Some(width) = widths[header.index()]
            {
                let bits = Expr::Constant(Bits::new(32, width), Ty::Bits(32));
                statement.kind = StatementKind::Advance { bits };
                changed = true;
            }
        }
    }
    changed
}

/// Joins neighbouring fields that nobody names.
fn join(program: &mut Program, alike: &mut Alike, named: &Named) -> bool {
    // What a slot became a part of. Headers alike have their fields joined alike: whether to depends on their classes and widths alone.
    let mut part_of: BTreeMap<SlotId, SlotId> = BTreeMap::new();
    let mut added: BTreeMap<SlotId, String> = BTreeMap::new();
    for header in &mut program.headers {
        let mut fields: Vec<SlotId> = Vec::new();
        let mut open: Option<SlotId> = None;
        for field in &header.fields {
            let slot = &program.slots[field.index()];
            let width = slot.ty.width();
            if named.has(*field, alike) || matches!(slot.ty, Ty::Varbit(_)) || width > MAX_SLOT_BITS
            {
                open = None;
                fields.push(*field);
                continue;
            }
            let name = Arc::clone(&slot.name);
            match open {
                Some(before)
                    if program.slots[before.index()].ty.width() + width <= MAX_SLOT_BITS =>
                {
                    let last = name.rsplit('.').next().unwrap_or(&name);
                    let whole = &mut program.slots[before.index()];
                    whole.name = format!("{}+{last}", whole.name).into();
                    let more = added.entry(before).or_default();
                    more.push('+');
                    more.push_str(last);
                    whole.ty = Ty::Bits(whole.ty.width() + width);
                    whole.enumeration = None;
                    part_of.insert(*field, before);
                }
                _ => {
                    open = Some(*field);
                    fields.push(*field);
                }
            }
        }
        header.fields = fields;
    }
    for parameter in (program.sections.iter_mut()).flat_map(|section| &mut section.parameters) {
        parameter
            .fields
            .retain(|(_, slot)| !part_of.contains_key(slot));
        for (path, slot) in &mut parameter.fields {
            if let Some(more) = added.get(slot) {
                *path = format!("{path}{more}").into();
            }
        }
    }
    !part_of.is_empty()
}

/// Removes headers that nothing extracts or emits, and slots without uses, and renumbers the others.
fn sweep(program: &mut Program, alike: &mut Alike, named: &Named) -> bool {
    let mut kept = vec![false; program.headers.len()];
    for stack in &program.stacks {
        stack.headers.iter().for_each(|id| kept[id.index()] = true);
    }
    for body in super::bodies(program) {
        for statement in body.blocks.iter().flat_map(|block| &block.statements) {
            if let StatementKind::Extract { header, .. } | StatementKind::Emit { header } =
                statement.kind
            {
                kept[header.index()] = true;
            }
        }
    }
    // What is alike goes together, or an architecture's copies would not fit.
    let mut used = vec![false; program.slots.len()];
    for (header, kept) in program.headers.iter().zip(&kept) {
        if *kept {
            for slot in header.fields.iter().chain([&header.valid]) {
                used[alike.of(*slot).index()] = true;
            }
        }
    }
    // A header of which one slot stays stays whole, and so do those like it.
    loop {
        let mut more = false;
        for (header, kept) in program.headers.iter().zip(&mut kept) {
            let slots = || header.fields.iter().chain([&header.valid]);
            let uses = |slot: &SlotId, alike: &mut Alike| {
                used[alike.of(*slot).index()] || named.has(*slot, alike)
            };
            if *kept || !slots().any(|slot| uses(slot, alike)) {
                continue;
            }
            *kept = true;
            more = true;
            for slot in slots() {
                used[alike.of(*slot).index()] = true;
            }
        }
        if !more {
            break;
        }
    }
    let mut stays = vec![false; program.slots.len()];
    for (index, stays) in stays.iter_mut().enumerate() {
        let slot = SlotId(index as u32);
        *stays = used[alike.of(slot).index()] || named.has(slot, alike);
    }
    // A field that became a part of another is in no list any more.
    let mut listed = vec![false; program.slots.len()];
    program.used_slots_mut(&mut |slot| listed[slot.index()] = true);
    for (header, _) in program.headers.iter().zip(&kept).filter(|(_, kept)| **kept) {
        let slots = header.fields.iter().chain([&header.valid]);
        slots.for_each(|slot| listed[slot.index()] = true);
    }
    for parameter in program.sections.iter().flat_map(|one| &one.parameters) {
        for (_, slot) in &parameter.fields {
            listed[slot.index()] = true;
        }
    }
    for (index, slot) in program.slots.iter().enumerate() {
        listed[index] |= slot.is_kept();
        stays[index] &= listed[index];
    }
    if stays.iter().all(|stays| *stays) && kept.iter().all(|kept| *kept) {
        return false;
    }
    renumber(program, &stays, &kept);
    true
}

/// The new numbers of what stays.
fn numbers(stays: &[bool]) -> Vec<u32> {
    let mut next = 0;
    (stays.iter())
        .map(|stays| {
            next += u32::from(*stays);
            next - u32::from(*stays)
        })
        .collect()
}

fn renumber(program: &mut Program, stays: &[bool], kept: &[bool]) {
    for parameter in (program.sections.iter_mut()).flat_map(|section| &mut section.parameters) {
        parameter.fields.retain(|(_, slot)| stays[slot.index()]);
    }
    let (slots, headers) = (numbers(stays), numbers(kept));
    let mut index = 0..;
    program
        .slots
        .retain(|_| index.next().is_some_and(|index: usize| stays[index]));
    let mut index = 0..;
    program
        .headers
        .retain(|_| index.next().is_some_and(|index: usize| kept[index]));
    let new = |slot: &mut SlotId| slot.0 = slots[slot.index()];
    program.used_slots_mut(&mut |slot| new(slot));
    for header in &mut program.headers {
        header
            .fields
            .iter_mut()
            .chain([&mut header.valid])
            .for_each(new);
    }
    for parameter in (program.sections.iter_mut()).flat_map(|section| &mut section.parameters) {
        parameter.fields.iter_mut().for_each(|(_, slot)| new(slot));
    }
    for header in program
        .stacks
        .iter_mut()
        .flat_map(|stack| &mut stack.headers)
    {
        header.0 = headers[header.index()];
    }
    for body in super::bodies(program) {
        for statement in body
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.statements)
        {
            if let StatementKind::Extract { header, .. } | StatementKind::Emit { header } =
                &mut statement.kind
            {
                header.0 = headers[header.index()];
            }
        }
    }
}
