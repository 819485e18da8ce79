//! What the names of a P4_14 program stand for, and the widths of its fields.

use super::MAX_WIDTH;
use super::tree::{Expr, ExprKind, HeaderType, Tree};
use crate::ast::{BinaryOperator, Name, UnaryOperator};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// A value's type in P4_14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// Not known, or wrong and told.
    Unknown,
    /// A number without a width.
    Int,
    Bool,
    Bits(u32, bool),
    Varbit(u32),
    /// A header or an element of a stack, by its header type.
    Header(usize),
    Stack(usize),
    /// A metadata instance, by its header type.
    Metadata(usize),
}

/// What stands around an expression.
#[derive(Clone, Copy, Default)]
pub(super) struct Context<'a> {
    /// The parameters of the action: name in P4_14, type, name in P4_16.
    pub parameters: &'a [(Arc<str>, Ty, Arc<str>)],
    /// In a parser: what was extracted last.
    pub latest: Option<&'a Expr>,
    pub parser: bool,
    /// In the controls for checksums, which know nothing of `standard_metadata`.
    pub checksum: bool,
}

/// A parameter of an action.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub ty: Ty,
    /// Whether the action assigns to it.
    pub written: bool,
    /// Its name in P4_16.
    pub output: Arc<str>,
}

/// A header type with widths.
#[derive(Debug)]
pub(super) struct Shape {
    pub fields: Vec<ShapeField>,
    /// Bits of all fields of fixed width.
    pub fixed: u32,
}

#[derive(Debug)]
pub(super) struct ShapeField {
    pub name: Name,
    pub ty: Ty,
    pub saturating: bool,
}

impl Shape {
    pub fn field(&self, name: &str) -> Option<&ShapeField> {
        self.fields.iter().find(|f| *f.name.text == *name)
    }

    /// The field of variable width.
    pub fn varbit(&self) -> Option<usize> {
        self.fields
            .iter()
            .position(|f| matches!(f.ty, Ty::Varbit(_)))
    }
}

/// A header, stack or metadata instance.
#[derive(Clone, Debug)]
pub(super) struct InstanceType {
    pub shape: usize,
    pub metadata: bool,
    /// The elements of a stack.
    pub size: Option<u32>,
}

/// Names by kind, each to an index into the tree's list.
type Index = BTreeMap<Arc<str>, usize>;

/// What the names of a program stand for.
pub(super) struct Scope<'t> {
    pub tree: &'t Tree,
    pub header_types: Index,
    pub shapes: Vec<Shape>,
    /// By the index of the instance in the tree.
    pub instance_types: Vec<InstanceType>,
    pub instances: Index,
    pub field_lists: Index,
    pub calculations: Index,
    pub value_sets: Index,
    pub states: Index,
    pub exceptions: Index,
    pub counters: Index,
    pub meters: Index,
    pub registers: Index,
    pub actions: Index,
    pub profiles: Index,
    pub selectors: Index,
    pub tables: Index,
    pub controls: Index,
    pub extern_types: Index,
    pub externs: Index,
}

/// Names that have a meaning of their own: the one kind of declaration that may have them.
const RESERVED: [(&str, &str); 3] = [
    ("standard_metadata_t", "header type"),
    ("standard_metadata", "metadata"),
    ("egress", "control"),
];

fn index<'n>(
    kind: &str,
    names: impl Iterator<Item = &'n Name>,
    diagnostics: &mut Diagnostics,
) -> Index {
    let mut index = Index::new();
    let mut first: BTreeMap<Arc<str>, Span> = BTreeMap::new();
    for (n, name) in names.enumerate() {
        let reserved = RESERVED.iter().find(|(word, _)| *word == &*name.text);
        if let Some((word, only)) = reserved
            && (kind != *only || *word != "egress")
        {
            let message = match kind == *only {
                true => format!("`{word}` is declared already, by the switch"),
                false => format!("`{word}` cannot be the name of a {kind}: it is that of a {only}"),
            };
            diagnostics.push(
                Diagnostic::error("reserved-name", name.span, message).help("choose another name"),
            );
        }
        if let Some(other) = first.get(&name.text) {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate",
                    name.span,
                    format!("there is another {kind} `{}`", name.text),
                )
                .note(*other, "declared first here"),
            );
            continue;
        }
        first.insert(name.text.clone(), name.span);
        index.insert(name.text.clone(), n);
    }
    index
}

/// Headers and metadata. Where one of each has the same name, the first is meant.
fn instances(tree: &Tree, diagnostics: &mut Diagnostics) -> Index {
    let mut all = Index::new();
    for (metadata, kind) in [(false, "header"), (true, "metadata")] {
        let of_kind = || {
            tree.instances
                .iter()
                .enumerate()
                .filter(|(_, i)| i.metadata == metadata)
        };
        let found = index(kind, of_kind().map(|(_, i)| &i.name), diagnostics);
        for (name, nth) in found {
            let Some((n, instance)) = of_kind().nth(nth) else {
                continue;
            };
            let first = all.entry(name).or_insert(n);
            if *first != n {
                let earlier = (*first).min(n);
                let other = tree.instances[*first].name.span;
                diagnostics.push(
                    Diagnostic::warning(
                        "duplicate",
                        instance.name.span,
                        format!(
                            "a header and metadata are both called `{}`",
                            instance.name.text
                        ),
                    )
                    .note(other, "the other one"),
                );
                *first = earlier;
            }
        }
    }
    all
}

impl<'t> Scope<'t> {
    pub fn new(tree: &'t Tree, diagnostics: &mut Diagnostics) -> Self {
        macro_rules! kind {
            ($list:ident, $name:literal) => {
                index($name, tree.$list.iter().map(|d| &d.name), diagnostics)
            };
        }
        let mut scope = Scope {
            tree,
            header_types: kind!(header_types, "header type"),
            shapes: Vec::new(),
            instance_types: Vec::new(),
            instances: instances(tree, diagnostics),
            field_lists: kind!(field_lists, "field list"),
            calculations: kind!(calculations, "field list calculation"),
            value_sets: kind!(value_sets, "value set"),
            states: kind!(states, "parser"),
            exceptions: kind!(exceptions, "parser exception"),
            counters: kind!(counters, "counter"),
            meters: kind!(meters, "meter"),
            registers: kind!(registers, "register"),
            actions: kind!(actions, "action"),
            profiles: kind!(profiles, "action profile"),
            selectors: kind!(selectors, "action selector"),
            tables: kind!(tables, "table"),
            controls: kind!(controls, "control"),
            extern_types: kind!(extern_types, "extern type"),
            externs: kind!(externs, "extern"),
        };
        for header in &tree.header_types {
            let shape = shape(header, diagnostics);
            scope.shapes.push(shape);
        }
        scope.shapes.push(standard_shape());
        for instance in &tree.instances {
            let thing = scope.thing(instance, diagnostics);
            scope.instance_types.push(thing);
        }
        scope
    }

    /// The shape of `standard_metadata`.
    pub fn standard(&self) -> usize {
        self.shapes.len() - 1
    }

    fn thing(
        &self,
        instance: &super::tree::Instance,
        diagnostics: &mut Diagnostics,
    ) -> InstanceType {
        let shape = match self.header_types.get(&instance.ty.text) {
            Some(shape) => *shape,
            None => {
                let message = format!("there is no header type `{}`", instance.ty.text);
                diagnostics.push(Diagnostic::error("unknown-name", instance.ty.span, message));
                self.standard()
            }
        };
        if instance.metadata && self.shapes[shape].varbit().is_some() {
            let message = format!(
                "metadata `{}` has a field of variable width, which only headers may have",
                instance.name.text
            );
            diagnostics.push(Diagnostic::error("varbit", instance.span, message));
        }
        let size = instance.size.as_ref().map(|size| {
            let value = constant(size).and_then(|v| v.to_u32());
            match value.filter(|v| (1..=4096).contains(v)) {
                Some(value) => value,
                None => {
                    diagnostics.push(Diagnostic::error(
                        "stack-size",
                        size.span,
                        "a header stack has 1 to 4096 elements",
                    ));
                    1
                }
            }
        });
        InstanceType {
            shape,
            metadata: instance.metadata,
            size,
        }
    }
}

fn shape(header: &HeaderType, diagnostics: &mut Diagnostics) -> Shape {
    let mut fields: Vec<ShapeField> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut fixed = 0_u32;
    let mut varbit = None;
    for field in &header.fields {
        if !seen.insert(field.name.text.clone()) {
            let message = format!(
                "there is another field `{}` in this header type",
                field.name.text
            );
            diagnostics.push(Diagnostic::error("duplicate", field.name.span, message));
            continue;
        }
        let ty = match &field.width {
            Some(width) => match constant(width).and_then(|w| w.to_u32()) {
                Some(width) if (1..=MAX_WIDTH).contains(&width) => {
                    fixed = fixed.saturating_add(width);
                    Ty::Bits(width, field.signed)
                }
                _ => {
                    let message = format!("a field has 1 to {MAX_WIDTH} bits");
                    diagnostics.push(Diagnostic::error("width", width.span, message));
                    Ty::Bits(1, false)
                }
            },
            None => {
                if varbit.replace(field.name.span).is_some() {
                    diagnostics.push(Diagnostic::error(
                        "varbit",
                        field.name.span,
                        "a header type has at most one field of variable width",
                    ));
                    continue;
                }
                Ty::Varbit(0)
            }
        };
        fields.push(ShapeField {
            name: field.name.clone(),
            ty,
            saturating: field.saturating,
        });
    }
    if fixed > 8 * MAX_WIDTH {
        let message = format!(
            "`{}` has more than {} bits",
            header.name.text,
            8 * MAX_WIDTH
        );
        diagnostics.push(Diagnostic::error("width", header.span, message));
    }
    if let Some(span) = varbit {
        let most = max_varbit(header, fixed, span, diagnostics);
        for field in &mut fields {
            if field.ty == Ty::Varbit(0) {
                field.ty = Ty::Varbit(most);
            }
        }
    }
    Shape { fields, fixed }
}

/// A field `*` gets what `max_length` leaves of the header (specification 2.1).
fn max_varbit(header: &HeaderType, fixed: u32, span: Span, diagnostics: &mut Diagnostics) -> u32 {
    if header.length.is_none() {
        diagnostics.push(
            Diagnostic::error(
                "varbit",
                span,
                "the header type does not say how long this field is",
            )
            .help("give it a `length`, an expression in bytes of the fields before this one"),
        );
    }
    let Some(most) = &header.max_length else {
        diagnostics.push(
            Diagnostic::error(
                "varbit",
                span,
                "the header type does not say how long this field can be",
            )
            .help("give it a `max_length` in bytes"),
        );
        return 8;
    };
    let bits = constant(most)
        .and_then(|m| m.to_u32())
        .and_then(|m| m.checked_mul(8))
        .and_then(|m| m.checked_sub(fixed));
    match bits.filter(|b| (1..=MAX_WIDTH).contains(b)) {
        Some(bits) => bits,
        None => {
            let message = format!(
                "`max_length` must leave 1 to {MAX_WIDTH} bits besides the {fixed} of the other fields"
            );
            diagnostics.push(Diagnostic::error("varbit", most.span, message));
            8
        }
    }
}

/// Specification 6, as P4_14 programs may name it; what v1model calls otherwise is translated where it is used.
fn standard_shape() -> Shape {
    let fields = [
        ("ingress_port", 9),
        ("packet_length", 32),
        ("egress_spec", 9),
        ("egress_port", 9),
        ("egress_instance", 16),
        ("instance_type", 32),
        ("parser_status", 8),
        ("parser_error_location", 8),
    ];
    Shape {
        fields: fields
            .map(|(name, width)| standard_field(name, width))
            .into(),
        fixed: 0,
    }
}

fn standard_field(name: &str, width: u32) -> ShapeField {
    ShapeField {
        name: super::build::name(name, Span::default()),
        ty: Ty::Bits(width, false),
        saturating: false,
    }
}

/// What v1model has in `standard_metadata`, and P4_14 programs in metadata instances of these names.
pub(super) fn intrinsic(instance: &str, field: &str) -> Option<u32> {
    Some(match (instance, field) {
        ("intrinsic_metadata", "ingress_global_timestamp" | "egress_global_timestamp") => 48,
        ("intrinsic_metadata", "mcast_grp" | "egress_rid") => 16,
        ("intrinsic_metadata", "priority") => 3,
        ("queueing_metadata", "enq_timestamp" | "deq_timedelta") => 32,
        ("queueing_metadata", "enq_qdepth" | "deq_qdepth") => 19,
        _ => return None,
    })
}

/// The value of an expression of numbers.
pub(super) fn constant(expr: &Expr) -> Option<BigInt> {
    match &expr.kind {
        ExprKind::Integer(value, _) => Some(value.clone()),
        ExprKind::Unary(operator, operand) => {
            let value = constant(operand)?;
            match operator {
                UnaryOperator::Negate => Some(-value),
                UnaryOperator::Plus => Some(value),
                UnaryOperator::Complement => Some(-value - 1),
                UnaryOperator::Not => None,
            }
        }
        ExprKind::Binary(operator, left, right) => {
            fold(*operator, constant(left)?, &constant(right)?)
        }
        _ => None,
    }
}

fn fold(operator: BinaryOperator, left: BigInt, right: &BigInt) -> Option<BigInt> {
    use BinaryOperator as B;
    let shift = || right.to_u32().filter(|n| *n <= MAX_WIDTH);
    let value = match operator {
        B::Add => left + right,
        B::Subtract => left - right,
        B::Multiply => left * right,
        B::Divide if !right.is_zero() => left / right,
        B::Modulo if right.is_positive() && !left.is_negative() => left % right,
        B::ShiftLeft => left << shift()?,
        B::ShiftRight => left >> shift()?,
        B::BitAnd => left & right,
        B::BitOr => left | right,
        B::BitXor => left ^ right,
        _ => return None,
    };
    (value.bits() <= 8 * u64::from(MAX_WIDTH)).then_some(value)
}

/// The value of a comparison of numbers.
pub(super) fn compare(operator: BinaryOperator, left: &BigInt, right: &BigInt) -> Option<bool> {
    use BinaryOperator as B;
    Some(match operator {
        B::Equal => left == right,
        B::NotEqual => left != right,
        B::Less => left < right,
        B::LessEqual => left <= right,
        B::Greater => left > right,
        B::GreaterEqual => left >= right,
        _ => return None,
    })
}

/// Names that are given, so that each new one is another.
#[derive(Default)]
pub(super) struct UsedNames {
    names: BTreeSet<Arc<str>>,
    /// Where to look on for a free number.
    last: BTreeMap<Arc<str>, u32>,
}

impl UsedNames {
    pub fn take(&mut self, name: &str) {
        self.names.insert(name.into());
    }

    /// The name itself, or with a number behind it.
    pub fn unique(&mut self, base: &str) -> Arc<str> {
        if self.names.insert(base.into()) {
            return base.into();
        }
        loop {
            let number = self.last.entry(base.into()).or_default();
            let name: String = format!("{base}_{number}");
            *number += 1;
            let name: Arc<str> = name.into();
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}
