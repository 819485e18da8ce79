//! The deparser and the checksums. P4_14 has no deparser: headers leave in the order in which the parser could have met them
//! (specification 5).

use super::build::{annotation, block, name};
use super::scope::{Context, Ty, constant};
use super::translate::Translator;
use super::tree::{Expr, ExprKind, Next, Step};
use crate::ast::{self, Control, DeclarationKind, Direction};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

/// What is written at once: a header, a whole stack, or one element of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    InstanceType(usize),
    Element(usize, u32),
    /// A parser's state that extracts nothing.
    State(usize),
}

impl Translator<'_, '_> {
    pub fn deparser(&mut self) {
        let span = Span::default();
        let units = self.emitted();
        let mut statements = Vec::new();
        for unit in units {
            let (thing, element) = match unit {
                Unit::InstanceType(n) => (n, None),
                Unit::Element(n, index) => (n, Some(index)),
                Unit::State(_) => continue,
            };
            let at = self.scope.tree.instances[thing].name.span;
            let headers = self.build.path("hdr", at);
            let mut header = self
                .build
                .member(headers, self.thing_names[thing].clone(), at);
            if let Some(index) = element {
                let index = self.build.integer(index, at);
                let kind = ast::ExpressionKind::Index {
                    base: Box::new(header),
                    index: Box::new(index),
                };
                header = self.build.expression(at, kind);
            }
            let packet = self.build.path("packet", at);
            let call = self.build.method(packet, "emit", vec![header], at);
            let call = self.build.call_statement(call);
            statements.push(call);
        }
        let packet = self.build.named("packet_out", span);
        let headers = self.build.named("headers", span);
        let parameters = vec![
            self.build
                .parameter(Direction::None, packet, name("packet", span)),
            self.build
                .parameter(Direction::In, headers, name("hdr", span)),
        ];
        self.push_control("DeparserImpl", parameters, Vec::new(), statements, span);
    }

    fn written(&self, target: &Expr, whole: &BTreeSet<usize>) -> Option<Unit> {
        match &target.kind {
            ExprKind::Name(name) => self
                .scope
                .instances
                .get(name)
                .map(|n| Unit::InstanceType(*n)),
            ExprKind::Index(base, index) => {
                let ExprKind::Name(name) = &base.kind else {
                    return None;
                };
                let thing = *self.scope.instances.get(name)?;
                match constant(index).and_then(|i| i.to_u32()) {
                    Some(index) if !whole.contains(&thing) => Some(Unit::Element(thing, index)),
                    _ => Some(Unit::InstanceType(thing)),
                }
            }
            _ => None,
        }
    }

    /// All headers that the parser can meet, in the order of the deparser.
    fn emitted(&mut self) -> Vec<Unit> {
        let tree = self.scope.tree;
        let Some(start) = self.scope.states.get("start").copied() else {
            return Vec::new();
        };
        // Stacks that are extracted by `next` somewhere are written as a whole.
        let mut whole = BTreeSet::new();
        let extracts = |n: usize| {
            tree.states[n].steps.iter().filter_map(|step| match step {
                Step::Extract { target, .. } => Some(target),
                Step::Set { .. } => None,
            })
        };
        for n in 0..tree.states.len() {
            for target in extracts(n) {
                if let ExprKind::Index(base, index) = &target.kind
                    && constant(index).is_none()
                    && let ExprKind::Name(name) = &base.kind
                    && let Some(thing) = self.scope.instances.get(name)
                {
                    whole.insert(*thing);
                }
            }
        }
        let of_state: Vec<Vec<Unit>> = (0..tree.states.len())
            .map(|n| {
                let mut units: Vec<Unit> = extracts(n)
                    .filter_map(|t| self.written(t, &whole))
                    .collect();
                if units.is_empty() {
                    units.push(Unit::State(n));
                }
                units
            })
            .collect();
        let mut edges: BTreeMap<Unit, Vec<Unit>> = BTreeMap::new();
        let mut edge = |from: Unit, to: Unit| {
            let list = edges.entry(from).or_default();
            // A stack may follow itself: that says nothing about the order.
            if from != to && !list.contains(&to) {
                list.push(to);
            }
        };
        for (n, units) in of_state.iter().enumerate() {
            for pair in units.windows(2) {
                edge(pair[0], pair[1]);
            }
            let last = units[units.len() - 1];
            for next in self.successors(n) {
                edge(last, of_state[next][0]);
            }
        }
        let mut roots = vec![of_state[start][0]];
        for (n, state) in tree.states.iter().enumerate() {
            if state
                .pragmas
                .iter()
                .any(|p| *p.name.text == *"packet_entry")
            {
                roots.push(of_state[n][0]);
            }
        }
        let (mut order, loops) = sorted(&roots, &edges);
        let wish = tree.states[start]
            .pragmas
            .iter()
            .find(|p| *p.name.text == *"header_ordering");
        if let Some(wish) = wish {
            let place = |unit: &Unit| match unit {
                Unit::InstanceType(n) | Unit::Element(n, _) => {
                    let text = &tree.instances[*n].name.text;
                    wish.words.iter().position(|w| w == text)
                }
                Unit::State(_) => None,
            };
            // Only those that are named change places among each other.
            let mut named: Vec<Unit> = order
                .iter()
                .copied()
                .filter(|u| place(u).is_some())
                .collect();
            named.sort_by_key(|u| place(u));
            let mut named = named.into_iter();
            for unit in &mut order {
                if place(unit).is_some()
                    && let Some(next) = named.next()
                {
                    *unit = next;
                }
            }
        } else if loops {
            let message = "the parser does not tell in which order headers leave: some can come both before and after others";
            self.diagnostics.push(
                Diagnostic::warning("header-order", tree.states[start].name.span, message)
                    .help("write `@pragma header_ordering NAME NAME ...` on the line before `parser start`"),
            );
        }
        order
    }

    fn successors(&self, n: usize) -> Vec<usize> {
        let state = &self.scope.tree.states[n];
        let names: Vec<_> = match &state.next {
            Some(Next::Goto(name)) => vec![name],
            Some(Next::Select { cases, .. }) => {
                cases.iter().filter(|c| !c.error).map(|c| &c.next).collect()
            }
            _ => Vec::new(),
        };
        names
            .into_iter()
            .filter_map(|name| self.scope.states.get(&name.text).copied())
            .collect()
    }

    pub fn checksums(&mut self) {
        let tree = self.scope.tree;
        let (mut verify, mut update) = (Vec::new(), Vec::new());
        let mut annotations = Vec::new();
        for field in &tree.calculated_fields {
            let context = Context {
                checksum: true,
                ..Context::default()
            };
            let ty = self.ty(&field.field, context);
            if !matches!(ty, Ty::Bits(..) | Ty::Unknown) {
                let message = format!("a field is calculated, not {}", self.describe(ty));
                self.error("type", field.field.span, message);
                continue;
            }
            for uses in &field.uses {
                let Some(calculation) =
                    self.scope.calculations.get(&uses.calculation.text).copied()
                else {
                    self.unknown("field list calculation", &uses.calculation);
                    continue;
                };
                let span = uses.calculation.span;
                let Some((fields, payload)) = self.calculation_fields(calculation) else {
                    continue;
                };
                let Some(algorithm) = self.algorithm(calculation) else {
                    continue;
                };
                let condition = match &uses.condition {
                    Some(condition) => self.condition(condition, context),
                    None => self.build.boolean(true, span),
                };
                let data = self.data(&fields, context, span);
                let (target, _) = self.natural(&field.field, ty, context);
                let function = format!(
                    "{}_checksum{}",
                    if uses.update { "update" } else { "verify" },
                    if payload { "_with_payload" } else { "" }
                );
                let call =
                    self.build
                        .function(&function, vec![condition, data, target, algorithm], span);
                let call = self.build.call_statement(call);
                let udp = tree.calculations[calculation]
                    .algorithms
                    .iter()
                    .any(|a| *a.text == *"csum16_udp");
                match uses.update {
                    true => {
                        if udp {
                            // UDP sends a checksum of 0 as ones, since 0 says that there is none.
                            annotations.push(annotation("zeros_as_ones", Vec::new(), span));
                        }
                        update.push(call);
                    }
                    false => verify.push(call),
                }
            }
        }
        let span = Span::default();
        let parameters = self.control_parameters(false);
        self.push_control("verifyChecksum", parameters, Vec::new(), verify, span);
        let parameters = self.control_parameters(false);
        let mut apply = block(update, span);
        apply.annotations = annotations;
        let control = Control {
            name: name("computeChecksum", span),
            type_parameters: Vec::new(),
            parameters,
            constructor_parameters: Vec::new(),
            locals: Vec::new(),
            apply,
        };
        let declaration = self.build.declaration(
            span,
            Vec::new(),
            DeclarationKind::Control(Box::new(control)),
        );
        self.out.push(declaration);
    }
}

/// The units reachable from the roots, each behind all that can come before it and that it cannot come before itself; and whether
/// some can come both before and after others. (Tarjan's strongly connected components, without recursion.)
fn sorted(roots: &[Unit], edges: &BTreeMap<Unit, Vec<Unit>>) -> (Vec<Unit>, bool) {
    #[derive(Clone, Copy)]
    struct Mark {
        number: usize,
        low: usize,
        open: bool,
    }
    let none = Vec::new();
    let mut marks: BTreeMap<Unit, Mark> = BTreeMap::new();
    let mut groups: Vec<Vec<Unit>> = Vec::new();
    let mut open: Vec<Unit> = Vec::new();
    let mut loops = false;
    for root in roots {
        let mut stack = vec![(*root, 0_usize)];
        while let Some((unit, next)) = stack.pop() {
            let count = marks.len();
            let known = marks.contains_key(&unit);
            if next == 0 && known {
                continue;
            }
            if !known {
                let mark = Mark {
                    number: count,
                    low: count,
                    open: true,
                };
                marks.insert(unit, mark);
                open.push(unit);
            }
            let list = edges.get(&unit).unwrap_or(&none);
            if next > 0 {
                let below = marks[&list[next - 1]];
                if below.open {
                    let low = below.low;
                    if let Some(mark) = marks.get_mut(&unit) {
                        mark.low = mark.low.min(low);
                    }
                }
            }
            if let Some(to) = list.get(next) {
                stack.push((unit, next + 1));
                if !marks.contains_key(to) {
                    stack.push((*to, 0));
                }
                continue;
            }
            let mark = marks[&unit];
            if mark.low == mark.number {
                let mut group = Vec::new();
                while let Some(member) = open.pop() {
                    if let Some(mark) = marks.get_mut(&member) {
                        mark.open = false;
                    }
                    group.push(member);
                    if member == unit {
                        break;
                    }
                }
                // Members came in the order in which they were met.
                group.reverse();
                loops |= group
                    .iter()
                    .filter(|u| !matches!(u, Unit::State(_)))
                    .count()
                    > 1;
                groups.push(group);
            }
        }
    }
    groups.reverse();
    (groups.into_iter().flatten().collect(), loops)
}
