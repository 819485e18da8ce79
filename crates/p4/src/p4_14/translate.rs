//! A P4_14 program as one of P4_16 for v1model.
//!
//! Everything keeps its name for the control plane by an annotation `@name(".t")`; in P4_16, where all kinds of declarations share name
//! spaces, it may be called otherwise.

use super::build::{Build, annotation, block, name, name_annotation};
use super::scope::{Context, Parameter, Scope, Ty, UsedNames, constant, intrinsic};
use super::tree::{Declared, ListEntry, Stateful, Tree};
use crate::ast::{
    self, Annotation, CompositeKind, Control, Declaration, DeclarationKind, Direction, Expression,
    Name, Program, Statement,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::Keyword;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

/// Works on one program.
pub(super) struct Translator<'t, 'd> {
    pub scope: Scope<'t>,
    pub build: Build,
    pub given: UsedNames,
    pub diagnostics: &'d mut Diagnostics,
    pub out: Vec<Declaration>,
    /// By header type: its name as a header, when it is one.
    pub header_names: Vec<Option<Arc<str>>>,
    /// By instance: its field in `headers` or `metadata`.
    pub thing_names: Vec<Arc<str>>,
    /// By action.
    pub parameters: Vec<Vec<Parameter>>,
    pub names: Outputs,
    /// The field lists that packets keep over clones, resubmission and recirculation, in the order of their numbers from 1.
    pub kept: Vec<usize>,
    /// Header types as far as their field of variable width.
    pub fixed: BTreeMap<usize, Arc<str>>,
    /// Header types as the structs of registers' cells.
    pub layouts: BTreeMap<usize, Arc<str>>,
    /// The control that parsers end in.
    pub ingress: Option<usize>,
    /// The actions that other actions carry out.
    pub called: BTreeSet<usize>,
}

/// What things are called in P4_16, by their index in the tree.
#[derive(Default)]
pub(super) struct Outputs {
    pub controls: Vec<Arc<str>>,
    pub tables: Vec<Arc<str>>,
    pub actions: Vec<Arc<str>>,
    pub counters: Vec<Arc<str>>,
    pub meters: Vec<Arc<str>>,
    pub registers: Vec<Arc<str>>,
    pub profiles: Vec<Arc<str>>,
    pub value_sets: Vec<Arc<str>>,
    pub states: Vec<Arc<str>>,
    pub exceptions: Vec<Arc<str>>,
    pub extern_types: Vec<Arc<str>>,
    pub externs: Vec<Arc<str>>,
}

/// Names that the translation itself gives.
const OWN: [&str; 14] = [
    "main",
    "headers",
    "metadata",
    "hdr",
    "meta",
    "packet",
    "standard_metadata",
    "ParserImpl",
    "DeparserImpl",
    "verifyChecksum",
    "computeChecksum",
    "start",
    "accept",
    "reject",
];

/// A field's name in P4_16: its own, unless that is a keyword there.
pub(super) fn field_name(text: &Arc<str>) -> Arc<str> {
    match Keyword::of(text) {
        Some(keyword) if !keyword.is_name() => format!("{text}_").into(),
        _ => text.clone(),
    }
}

/// The whole program: the library's declarations and those that the tree becomes.
pub(super) fn translate(tree: &Tree, library: Program, diagnostics: &mut Diagnostics) -> Program {
    let scope = Scope::new(tree, diagnostics);
    let mut translator = Translator {
        header_names: vec![None; scope.shapes.len()],
        thing_names: tree
            .instances
            .iter()
            .map(|i| field_name(&i.name.text))
            .collect(),
        scope,
        build: Build {
            next: library.nodes,
        },
        given: UsedNames::default(),
        diagnostics,
        out: library.declarations,
        parameters: Vec::new(),
        names: Outputs::default(),
        kept: Vec::new(),
        fixed: BTreeMap::new(),
        layouts: BTreeMap::new(),
        ingress: None,
        called: BTreeSet::new(),
    };
    translator.run();
    Program {
        nodes: translator.build.next,
        declarations: translator.out,
    }
}

impl<'t> Translator<'t, '_> {
    fn run(&mut self) {
        self.give_names();
        self.infer();
        self.name_parameters();
        self.find_kept();
        self.types();
        self.structures();
        self.parser();
        self.stateful();
        self.profiles();
        self.controls();
        self.deparser();
        self.checksums();
        self.main();
    }

    pub fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<alloc::string::String>,
    ) {
        self.diagnostics
            .push(Diagnostic::error(code, span, message));
    }

    /// Says that a name means nothing, and what it may have been meant for.
    pub fn unknown(&mut self, kind: &str, name: &Name) {
        let message = format!("there is no {kind} `{}`", name.text);
        self.error("unknown-name", name.span, message);
    }

    fn give_names(&mut self) {
        for keyword in Keyword::ALL {
            self.given.take(keyword.text());
        }
        for name in OWN {
            self.given.take(name);
        }
        for declaration in &self.out {
            if let Some(name) = top_name(declaration) {
                self.given.take(&name.text);
            }
        }
        let tree = self.scope.tree;
        let given = &mut self.given;
        fn all<'n, T: Declared + 'n>(given: &mut UsedNames, list: &'n [T]) -> Vec<Arc<str>> {
            list.iter().map(|d| given.unique(&d.name().text)).collect()
        }
        self.names = Outputs {
            controls: all(given, &tree.controls),
            tables: all(given, &tree.tables),
            actions: all(given, &tree.actions),
            counters: all(given, &tree.counters),
            meters: all(given, &tree.meters),
            registers: all(given, &tree.registers),
            profiles: all(given, &tree.profiles),
            value_sets: all(given, &tree.value_sets),
            states: Vec::new(),
            exceptions: tree
                .exceptions
                .iter()
                .map(|e| given.unique(&format!("exception_{}", e.name.text)))
                .collect(),
            extern_types: all(given, &tree.extern_types),
            externs: all(given, &tree.externs),
        };
    }

    /// Parameters must hide nothing that an action can use; tables, types and parsers it cannot.
    fn name_parameters(&mut self) {
        let names = &self.names;
        let of_program = [
            &names.actions,
            &names.counters,
            &names.meters,
            &names.registers,
            &names.externs,
        ];
        let mut used: BTreeSet<Arc<str>> = of_program.into_iter().flatten().cloned().collect();
        used.extend(OWN.map(Arc::from));
        used.extend(Keyword::ALL.iter().map(|k| Arc::from(k.text())));
        used.extend(self.out.iter().filter_map(top_name).map(|n| n.text.clone()));
        for (n, action) in self.scope.tree.actions.iter().enumerate() {
            for (p, parameter) in action.parameters.iter().enumerate() {
                let output = match used.contains(&parameter.text) {
                    true => self.given.unique(&parameter.text),
                    false => parameter.text.clone(),
                };
                self.parameters[n][p].output = output;
            }
        }
    }

    /// The field lists that `clone`, `resubmit` and `recirculate` name.
    fn find_kept(&mut self) {
        let tree = self.scope.tree;
        let mut kept = BTreeSet::new();
        for primitive in tree.actions.iter().flat_map(|a| &a.body) {
            let operand = match &*primitive.name.text {
                "recirculate" | "resubmit" => 0,
                "clone_egress_pkt_to_egress"
                | "clone_ingress_pkt_to_egress"
                | "clone_e2e"
                | "clone_i2e" => 1,
                _ => continue,
            };
            if let Some(super::tree::ExprKind::Name(name)) =
                primitive.arguments.get(operand).map(|e| &e.kind)
                && let Some(list) = self.scope.field_lists.get(name)
            {
                kept.insert(*list);
            }
        }
        self.kept = kept.into_iter().collect();
        if self.kept.len() > 255 {
            let span = tree.field_lists[self.kept[255]].span;
            self.error(
                "too-many",
                span,
                "at most 255 field lists can be kept with packets",
            );
        }
    }

    /// The fields of a list, those of lists and headers in it one by one; and whether the payload belongs to it.
    pub fn list_fields(&mut self, list: usize) -> (Vec<super::tree::Expr>, bool) {
        let mut fields = Vec::new();
        let mut payload = false;
        let mut open = Vec::new();
        self.list_into(list, &mut fields, &mut payload, &mut open);
        (fields, payload)
    }

    fn list_into(
        &mut self,
        list: usize,
        fields: &mut Vec<super::tree::Expr>,
        payload: &mut bool,
        open: &mut Vec<usize>,
    ) {
        use super::tree::{Expr, ExprKind};
        let tree = self.scope.tree;
        let declaration = &tree.field_lists[list];
        if open.contains(&list) || open.len() > 64 || fields.len() > 4096 {
            let message = format!(
                "field list `{}` contains itself, or too much",
                declaration.name.text
            );
            return self.error("field-list", declaration.span, message);
        }
        open.push(list);
        for entry in &declaration.entries {
            let expr = match entry {
                ListEntry::Payload => {
                    *payload = true;
                    continue;
                }
                ListEntry::Value(expr) => expr,
            };
            if let ExprKind::Name(name) = &expr.kind
                && !self.scope.instances.contains_key(name)
                && let Some(inner) = self.scope.field_lists.get(name).copied()
            {
                self.list_into(inner, fields, payload, open);
                continue;
            }
            match self.ty(expr, Context::default()) {
                Ty::Header(shape) | Ty::Metadata(shape) => {
                    for field in &self.scope.shapes[shape].fields {
                        fields.push(Expr {
                            span: expr.span,
                            kind: ExprKind::Member(
                                Box::new(expr.clone()),
                                name(field.name.text.clone(), expr.span),
                            ),
                        });
                    }
                }
                _ => fields.push(expr.clone()),
            }
        }
        open.pop();
    }

    fn types(&mut self) {
        let tree = self.scope.tree;
        let used: BTreeSet<usize> = self
            .scope
            .instance_types
            .iter()
            .filter(|t| !t.metadata && t.shape != self.scope.standard())
            .map(|t| t.shape)
            .collect();
        for shape in used {
            let ty = &tree.header_types[shape];
            let output = self.given.unique(&ty.name.text);
            self.header_names[shape] = Some(output.clone());
            let mut fields = Vec::new();
            for n in 0..self.scope.shapes[shape].fields.len() {
                fields.push(self.shape_field(shape, n, Vec::new()));
            }
            let annotations = renamed(&output, &ty.name);
            let declaration =
                self.build
                    .composite(CompositeKind::Header, output, annotations, fields, ty.span);
            self.out.push(declaration);
            if let Some(varbit) = self.scope.shapes[shape].varbit() {
                self.fixed_part(shape, varbit);
            }
        }
    }

    /// A header of what stands before the field of variable width: its length depends on that.
    fn fixed_part(&mut self, shape: usize, varbit: usize) {
        if varbit == 0 {
            return;
        }
        let ty = &self.scope.tree.header_types[shape];
        let output = self.given.unique(&ty.name.text);
        let mut fields = Vec::new();
        for n in 0..varbit {
            fields.push(self.shape_field(shape, n, Vec::new()));
        }
        let declaration = self.build.composite(
            CompositeKind::Header,
            output.clone(),
            Vec::new(),
            fields,
            ty.span,
        );
        self.out.push(declaration);
        self.fixed.insert(shape, output);
    }

    fn shape_field(&mut self, shape: usize, n: usize, annotations: Vec<Annotation>) -> ast::Field {
        let field = &self.scope.shapes[shape].fields[n];
        let (ty, text, span) = (field.ty, field_name(&field.name.text), field.name.span);
        let ty = self.type_of(ty, span);
        self.build.field(name(text, span), annotations, ty)
    }

    fn structures(&mut self) {
        let tree = self.scope.tree;
        let kept = self.kept_fields();
        let (mut headers, mut metadata) = (Vec::new(), Vec::new());
        for (n, instance) in tree.instances.iter().enumerate() {
            let thing = self.scope.instance_types[n].clone();
            if thing.shape == self.scope.standard() {
                continue;
            }
            let span = instance.span;
            let annotations = vec![name_annotation(
                &format!(".{}", instance.name.text),
                instance.name.span,
            )];
            let ty = match thing.metadata {
                true => match self.metadata_type(n, thing.shape, &kept) {
                    Some(output) => self.build.named(output, instance.ty.span),
                    None => continue,
                },
                false => {
                    let output = self.header_names[thing.shape]
                        .clone()
                        .unwrap_or_else(|| "headers".into());
                    let element = self.build.named(output, instance.ty.span);
                    match thing.size {
                        Some(size) => self.build.stack(element, size, span),
                        None => element,
                    }
                }
            };
            let text = name(self.thing_names[n].clone(), instance.name.span);
            let field = self.build.field(text, annotations, ty);
            match thing.metadata {
                true => metadata.push(field),
                false => headers.push(field),
            }
        }
        let span = Span::default();
        for (text, fields) in [("metadata", metadata), ("headers", headers)] {
            let declaration =
                self.build
                    .composite(CompositeKind::Struct, text, Vec::new(), fields, span);
            self.out.push(declaration);
        }
    }

    /// For each metadata instance and field the numbers of the lists that keep it.
    fn kept_fields(&mut self) -> BTreeMap<(usize, Arc<str>), Vec<usize>> {
        let mut kept: BTreeMap<(usize, Arc<str>), Vec<usize>> = BTreeMap::new();
        for (number, list) in self.kept.clone().into_iter().enumerate() {
            for field in self.list_fields(list).0 {
                let super::tree::ExprKind::Member(base, member) = field.kind else {
                    continue;
                };
                let super::tree::ExprKind::Name(instance) = &base.kind else {
                    continue;
                };
                if let Some(instance) = self.scope.instances.get(instance) {
                    let lists = kept.entry((*instance, member.text)).or_default();
                    if lists.last() != Some(&(number + 1)) {
                        lists.push(number + 1);
                    }
                }
            }
        }
        kept
    }

    /// The struct of a metadata instance; `None` when v1model has all of its fields elsewhere.
    fn metadata_type(
        &mut self,
        n: usize,
        shape: usize,
        kept: &BTreeMap<(usize, Arc<str>), Vec<usize>>,
    ) -> Option<Arc<str>> {
        let tree = self.scope.tree;
        let instance = &tree.instances[n];
        let special = matches!(
            &*instance.name.text,
            "intrinsic_metadata" | "queueing_metadata"
        );
        let mut fields = Vec::new();
        for f in 0..self.scope.shapes[shape].fields.len() {
            let field = self.scope.shapes[shape].fields[f].name.clone();
            if intrinsic(&instance.name.text, &field.text).is_some() {
                continue;
            }
            if special {
                let message = format!(
                    "the switch knows no `{}` in `{}`: it is a field like any other",
                    field.text, instance.name.text
                );
                self.diagnostics.push(Diagnostic::warning(
                    "unknown-intrinsic",
                    field.span,
                    message,
                ));
            }
            let annotations = match kept.get(&(n, field.text.clone())) {
                Some(lists) => {
                    let mut tokens: Vec<Arc<str>> = Vec::new();
                    for list in lists {
                        if !tokens.is_empty() {
                            tokens.push(",".into());
                        }
                        tokens.push(list.to_string().into());
                    }
                    vec![annotation("field_list", tokens, field.span)]
                }
                None => Vec::new(),
            };
            fields.push(self.shape_field(shape, f, annotations));
        }
        if special && fields.is_empty() {
            return None;
        }
        let ty = &tree.header_types[shape];
        let output = self.given.unique(&ty.name.text);
        let annotations = renamed(&output, &ty.name);
        let declaration = self.build.composite(
            CompositeKind::Struct,
            output.clone(),
            annotations,
            fields,
            ty.span,
        );
        self.out.push(declaration);
        Some(output)
    }

    /// The type of a register's cells.
    pub fn register_ty(&self, register: usize) -> Ty {
        let declaration = &self.scope.tree.registers[register];
        if let Some(layout) = &declaration.layout {
            return match self.scope.header_types.get(&layout.text) {
                Some(shape) => Ty::Metadata(*shape),
                None => Ty::Unknown,
            };
        }
        let width = declaration
            .width
            .as_ref()
            .and_then(constant)
            .and_then(|w| w.to_u32());
        Ty::Bits(
            width
                .filter(|w| (1..=super::MAX_WIDTH).contains(w))
                .unwrap_or(32),
            declaration.signed,
        )
    }

    /// How many cells, as an argument of the constructor.
    fn count(&mut self, object: &Stateful) -> Expression {
        let span = object.count.as_ref().map_or(object.name.span, |c| c.span);
        let count = match &object.count {
            Some(count) => constant(count).and_then(|c| c.to_u32()).filter(|c| *c > 0),
            None => {
                let message = format!(
                    "`{}` has no `instance_count`: it gets 1024",
                    object.name.text
                );
                self.diagnostics
                    .push(Diagnostic::warning("instance-count", span, message));
                Some(1024)
            }
        };
        if count.is_none() {
            let message = format!("`instance_count` is a number from 1 to {}", u32::MAX);
            self.error("instance-count", span, message);
        }
        self.build
            .sized(&count.unwrap_or(1).into(), 32, false, span)
    }

    /// `CounterType.packets` and its like.
    pub fn unit(&mut self, object: &Stateful, meter: bool) -> Expression {
        let span = object.unit.as_ref().map_or(object.name.span, |u| u.span);
        let text = object.unit.as_ref().map_or("", |u| &*u.text);
        let known = match meter {
            true => matches!(text, "packets" | "bytes"),
            false => matches!(text, "packets" | "bytes" | "packets_and_bytes"),
        };
        if !known {
            let message = match meter {
                true => format!(
                    "the type of meter `{}` is `packets` or `bytes`",
                    object.name.text
                ),
                false => format!(
                    "the type of counter `{}` is `packets`, `bytes` or `packets_and_bytes`",
                    object.name.text
                ),
            };
            self.error("counter-type", span, message);
        }
        let ty = self
            .build
            .path(if meter { "MeterType" } else { "CounterType" }, span);
        self.build
            .member(ty, if known { text } else { "packets" }, span)
    }

    /// Counters, meters and registers that belong to no table.
    fn stateful(&mut self) {
        let tree = self.scope.tree;
        for (n, counter) in tree.counters.iter().enumerate() {
            if counter.direct.is_some() {
                continue;
            }
            let arguments = vec![self.count(counter), self.unit(counter, false)];
            self.global(
                "counter",
                Vec::new(),
                self.names.counters[n].clone(),
                arguments,
                counter,
            );
        }
        for (n, meter) in tree.meters.iter().enumerate() {
            if meter.direct.is_some() {
                continue;
            }
            let arguments = vec![self.count(meter), self.unit(meter, true)];
            self.global(
                "meter",
                Vec::new(),
                self.names.meters[n].clone(),
                arguments,
                meter,
            );
        }
        for (n, register) in tree.registers.iter().enumerate() {
            let span = register.name.span;
            let ty = match (self.register_ty(n), &register.layout) {
                (Ty::Metadata(shape), Some(layout)) => self.layout_type(shape, layout),
                (Ty::Unknown, Some(layout)) => {
                    self.unknown("header type", layout);
                    continue;
                }
                (ty, _) => {
                    if let Some(width) = &register.width
                        && constant(width)
                            .and_then(|w| w.to_u32())
                            .is_none_or(|w| w == 0 || w > super::MAX_WIDTH)
                    {
                        let message =
                            format!("a register has cells of 1 to {} bits", super::MAX_WIDTH);
                        self.error("width", width.span, message);
                    }
                    self.type_of(ty, span)
                }
            };
            let count = match register.direct {
                // No primitive reaches the cell of an entry, so a direct register is never used.
                Some(_) => self.build.sized(&1.into(), 32, false, span),
                None => self.count(register),
            };
            self.global(
                "register",
                vec![ty],
                self.names.registers[n].clone(),
                vec![count],
                register,
            );
        }
    }

    /// The struct of a register's cells.
    fn layout_type(&mut self, shape: usize, layout: &Name) -> ast::TypeExpression {
        if let Some(output) = self.layouts.get(&shape).cloned() {
            return self.build.named(output, layout.span);
        }
        let mut fields = Vec::new();
        for n in 0..self.scope.shapes[shape].fields.len() {
            fields.push(self.shape_field(shape, n, Vec::new()));
        }
        let output = self.given.unique(&layout.text);
        let declaration = self.build.composite(
            CompositeKind::Struct,
            output.clone(),
            renamed(&output, layout),
            fields,
            layout.span,
        );
        self.out.push(declaration);
        self.layouts.insert(shape, output.clone());
        self.build.named(output, layout.span)
    }

    fn global(
        &mut self,
        kind: &str,
        mut types: Vec<ast::TypeExpression>,
        output: Arc<str>,
        arguments: Vec<Expression>,
        object: &Stateful,
    ) {
        let span = object.span;
        let index = self.build.bits(32, false, span);
        types.push(index);
        let ty = self.build.specialized(kind, types, span);
        let annotations = vec![name_annotation(
            &format!(".{}", object.name.text),
            object.name.span,
        )];
        let declaration = self
            .build
            .instance(ty, output, arguments, annotations, span);
        self.out.push(declaration);
    }

    /// The parameters that every control has.
    pub fn control_parameters(&mut self, standard: bool) -> Vec<ast::Parameter> {
        let span = Span::default();
        let mut parameters = vec![("headers", "hdr"), ("metadata", "meta")];
        if standard {
            parameters.push(("standard_metadata_t", "standard_metadata"));
        }
        let mut list = Vec::new();
        for (ty, text) in parameters {
            let ty = self.build.named(ty, span);
            list.push(self.build.parameter(Direction::InOut, ty, name(text, span)));
        }
        list
    }

    pub fn push_control(
        &mut self,
        output: &str,
        parameters: Vec<ast::Parameter>,
        locals: Vec<Declaration>,
        statements: Vec<Statement>,
        span: Span,
    ) {
        let control = Control {
            name: name(output, span),
            type_parameters: Vec::new(),
            parameters,
            constructor_parameters: Vec::new(),
            locals,
            apply: block(statements, span),
        };
        let declaration = self.build.declaration(
            span,
            Vec::new(),
            DeclarationKind::Control(Box::new(control)),
        );
        self.out.push(declaration);
    }

    fn main(&mut self) {
        let span = Span::default();
        let ingress = self.ingress.map(|n| self.names.controls[n].clone());
        let egress = self
            .scope
            .controls
            .get("egress")
            .map(|n| self.names.controls[*n].clone());
        let parts: [Arc<str>; 6] = [
            "ParserImpl".into(),
            "verifyChecksum".into(),
            ingress.unwrap_or_else(|| "ingress".into()),
            egress.unwrap_or_else(|| "egress".into()),
            "computeChecksum".into(),
            "DeparserImpl".into(),
        ];
        let mut arguments = Vec::new();
        for part in parts {
            arguments.push(self.build.function(&part, Vec::new(), span));
        }
        let ty = self.build.named("V1Switch", span);
        let main = self.build.instance(ty, "main", arguments, Vec::new(), span);
        self.out.push(main);
    }
}

/// `@name` for a type that is called otherwise here.
pub(super) fn renamed(output: &str, name: &Name) -> Vec<Annotation> {
    match *name.text == *output {
        true => Vec::new(),
        false => vec![name_annotation(&name.text, name.span)],
    }
}

/// The name of a declaration at the top.
fn top_name(declaration: &Declaration) -> Option<&Name> {
    match &declaration.kind {
        DeclarationKind::Constant { name, .. }
        | DeclarationKind::Extern { name, .. }
        | DeclarationKind::Action { name, .. }
        | DeclarationKind::Composite { name, .. }
        | DeclarationKind::Enum { name, .. }
        | DeclarationKind::Typedef { name, .. }
        | DeclarationKind::NewType { name, .. }
        | DeclarationKind::ParserType { name, .. }
        | DeclarationKind::ControlType { name, .. }
        | DeclarationKind::PackageType { name, .. } => Some(name),
        DeclarationKind::ExternFunction(prototype)
        | DeclarationKind::Function { prototype, .. } => Some(&prototype.name),
        _ => None,
    }
}
