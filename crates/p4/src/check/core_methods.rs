//! What the core library's methods ask of their arguments beyond their types (specification 13.8 and 15).

use super::checker::{Checker, Context};
use super::substitution::any;
use super::{Bound, Call, Target};
use crate::ast::{
    AnnotationBody, Argument, CompositeKind, DeclarationKind, Direction, Expression, NodeId,
    Parameter,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::format;

/// The argument that a parameter gets, by the parameter's place: named arguments may come in
/// another order.
fn given<'a>(call: &Call, arguments: &'a [Argument], parameter: usize) -> Option<&'a Argument> {
    match call.arguments.get(parameter) {
        Some(Bound::Argument(place)) => arguments.get(*place),
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// Looks at a call whose types fit.
    pub(super) fn core_call(
        &mut self,
        e: &'a Expression,
        call: &Call,
        object: Option<&Type>,
        name: &str,
        arguments: &'a [Argument],
    ) {
        if let Target::ExternFunction(id) = call.target {
            self.deprecated(e, id, name);
        }
        match (call.target, object) {
            (Target::Method(_), Some(Type::Object(id, _))) => {
                let extern_name = match self.declaration(*id).map(|d| &d.kind) {
                    Some(DeclarationKind::Extern { name, .. }) => &*name.text,
                    _ => return,
                };
                self.packet_place(e, extern_name, name);
                match (extern_name, name) {
                    ("packet_in", "extract") => {
                        self.extract(given(call, arguments, 0), arguments.len());
                    }
                    ("packet_in", "lookahead") => self.lookahead(e, call),
                    ("packet_out", "emit") => self.emit(given(call, arguments, 0)),
                    _ => {}
                }
            }
            (Target::ExternFunction(_), _)
                if name == "verify" && self.context != Context::ParserState =>
            {
                self.error(
                    "verify",
                    e.span,
                    "`verify` can be called only in a parser's states",
                );
            }
            (Target::ExternFunction(_), _) if name == "static_assert" => {
                self.static_assert(e, given(call, arguments, 0), given(call, arguments, 1));
            }
            _ => {}
        }
    }

    fn deprecated(&mut self, e: &'a Expression, id: NodeId, name: &str) {
        let Some(declaration) = self.declaration(id) else {
            return;
        };
        let mut annotations = declaration.annotations.iter();
        let Some(annotation) = annotations.find(|a| &*a.name.text == "deprecated") else {
            return;
        };
        let mut diagnostic =
            Diagnostic::warning("deprecated", e.span, format!("this `{name}` is deprecated"));
        if let AnnotationBody::Tokens(tokens) = &annotation.body
            && let [text] = tokens.as_slice()
        {
            diagnostic = diagnostic.help(text.trim_matches('"'));
        }
        self.report(diagnostic);
    }

    /// Packets are read by parsers and written by controls (specification, appendix F).
    fn packet_place(&mut self, e: &'a Expression, extern_name: &str, name: &str) {
        use Context::{Action, ControlApply, ControlLocals, ParserLocals, ParserState};
        let (what, help) = match (extern_name, name, self.context) {
            (
                "packet_in",
                "extract" | "lookahead" | "advance",
                ControlLocals | ControlApply | Action,
            ) => (
                "only in a parser",
                "read what is needed in a state of the parser, and hand it on in a header or in metadata",
            ),
            ("packet_out", "emit", ParserLocals | ParserState) => (
                "only in a control",
                "write packets in the deparser, the control that the architecture gives a `packet_out`",
            ),
            _ => return,
        };
        self.report(
            Diagnostic::error(
                "packet-method",
                e.span,
                format!("`{name}` can be called {what}"),
            )
            .help(help),
        );
    }

    fn argument_type(&self, argument: &Argument) -> Type {
        match self.out.casts.get(&argument.value.id) {
            Some(cast) => self.known(cast),
            None => self.known(&self.type_of(argument.value.id)),
        }
    }

    fn extract(&mut self, argument: Option<&'a Argument>, count: usize) {
        let Some(argument) = argument else {
            return;
        };
        let ty = self.argument_type(argument);
        let Type::Composite(id, given) = &ty else {
            if !matches!(ty, Type::Unknown | Type::Parameter(_) | Type::Variable(_)) {
                let text = self.show(&ty);
                self.error(
                    "extract",
                    argument.span,
                    format!("`extract` fills a header, and this is `{text}`"),
                );
            }
            return;
        };
        if !self.is_kind(&ty, CompositeKind::Header) {
            let text = self.show(&ty);
            let mut diagnostic = Diagnostic::error(
                "extract",
                argument.span,
                format!("`extract` fills a header, and this is `{text}`"),
            );
            if self.is_kind(&ty, CompositeKind::Union) {
                diagnostic = diagnostic.help("extract into a member of the union");
            }
            self.report(diagnostic);
            return;
        }
        let fields = self.fields(*id, given);
        let varbits = fields.iter().filter(|(_, ty)| self.has_varbit(ty)).count();
        let text = self.show(&ty);
        match (count, varbits) {
            (_, 2..) => self.error(
                "varbit",
                argument.span,
                format!("`{text}` has several `varbit` fields, and a header that is extracted has at most one"),
            ),
            (1, 1) => self.report(
                Diagnostic::error(
                    "extract",
                    argument.span,
                    format!("`{text}` has a `varbit` field, whose size must be given too"),
                )
                .help("write `extract(header, size_in_bits)`"),
            ),
            (2, 0) => self.report(
                Diagnostic::error(
                    "extract",
                    argument.span,
                    format!("`{text}` has no `varbit` field whose size could be given"),
                )
                .help("write `extract(header)`"),
            ),
            _ => {}
        }
    }

    fn has_varbit(&self, ty: &Type) -> bool {
        match self.known(ty) {
            Type::Varbit(_) => true,
            Type::New(id) => self.has_varbit(&self.type_of(id)),
            Type::Stack(part, _) => self.has_varbit(&part),
            Type::Tuple(parts) => parts.iter().any(|part| self.has_varbit(part)),
            Type::Composite(id, given) => self
                .fields(id, &given)
                .iter()
                .any(|(_, ty)| self.has_varbit(ty)),
            _ => false,
        }
    }

    fn lookahead(&mut self, e: &'a Expression, call: &Call) {
        let Some(ty) = call.type_arguments.first() else {
            return;
        };
        let ty = self.known(ty);
        if any(&ty, &mut |part| {
            matches!(part, Type::Variable(_) | Type::Unknown | Type::Parameter(_))
        }) {
            return;
        }
        let sizes = self.sizes(&ty);
        let union = any(&ty, &mut |part| self.is_kind(part, CompositeKind::Union));
        if union || sizes.is_none_or(|(least, most)| least != most) {
            let text = self.show(&ty);
            self.error(
                "lookahead",
                e.span,
                format!("`lookahead` reads a type of a fixed size, and `{text}` has none"),
            );
        }
    }

    fn emit(&mut self, argument: Option<&'a Argument>) {
        let Some(argument) = argument else {
            return;
        };
        let ty = self.argument_type(argument);
        if !self.may_be_emitted(&ty) {
            let text = self.show(&ty);
            self.error(
                "emit",
                argument.span,
                format!("`emit` takes headers, stacks, unions, and structs and tuples of them, and this is `{text}`"),
            );
        }
    }

    fn may_be_emitted(&self, ty: &Type) -> bool {
        match self.known(ty) {
            Type::Unknown | Type::Parameter(_) | Type::Variable(_) => true,
            Type::Stack(part, _) => self.may_be_emitted(&part),
            Type::Tuple(parts) => parts.iter().all(|part| self.may_be_emitted(part)),
            Type::Fields(fields) => fields.iter().all(|(_, part)| self.may_be_emitted(part)),
            Type::Composite(id, given) => {
                !self.is_kind(&Type::Composite(id, given.clone()), CompositeKind::Struct)
                    || self
                        .fields(id, &given)
                        .iter()
                        .all(|(_, ty)| self.may_be_emitted(ty))
            }
            _ => false,
        }
    }

    /// `static_assert` is computed while compiling.
    fn static_assert(
        &mut self,
        e: &'a Expression,
        argument: Option<&'a Argument>,
        message: Option<&'a Argument>,
    ) {
        let Some(argument) = argument else {
            return;
        };
        match self.cast_value(&argument.value) {
            Some(Constant::Bool(true)) => {
                self.out.constants.insert(e.id, Constant::Bool(true));
            }
            Some(Constant::Bool(false)) => {
                let text = match message.and_then(|a| self.constant(&a.value)) {
                    Some(Constant::String(text)) => format!("the assertion fails: {text}"),
                    _ => "the assertion fails".into(),
                };
                self.out.constants.insert(e.id, Constant::Bool(true));
                self.error("static-assert", e.span, text);
            }
            _ => {
                if self.argument_type(argument) != Type::Unknown {
                    self.error(
                        "not-constant",
                        argument.span,
                        "what `static_assert` checks must be known while compiling",
                    );
                }
            }
        }
    }

    /// What was inferred for a generic parameter must have a width or a name (8.12.1).
    pub(super) fn inferred_arguments(
        &mut self,
        parameters: &'a [Parameter],
        bound: &[Bound],
        arguments: &'a [Argument],
    ) {
        for (parameter, bound) in parameters.iter().zip(bound) {
            let Bound::Argument(index) = bound else {
                continue;
            };
            let generic = any(&self.type_of(parameter.id), &mut |part| {
                matches!(part, Type::Parameter(_))
            });
            let argument = &arguments[*index].value;
            if !generic {
                continue;
            }
            let have = self.known(&self.type_of(argument.id));
            let want = match self.out.casts.get(&argument.id) {
                Some(cast) => self.known(cast),
                None => have,
            };
            let span = argument.span;
            match &want {
                Type::Integer => self.report(
                    Diagnostic::error("no-width", span, "cannot infer the width of this number")
                        .help("give it a width: `8w1`"),
                ),
                Type::Fields(_) => self.report(
                    Diagnostic::error("cannot-infer", span, "cannot infer which struct this is")
                        .help("name it: `(S) { ... }`"),
                ),
                Type::String if parameter.direction != Direction::None => {
                    self.error(
                        "parameter-type",
                        span,
                        "a `string` cannot be given for a parameter with a direction",
                    );
                }
                Type::Object(id, _) => {
                    let text = self.show(&want);
                    if !self.is_extern(*id) {
                        self.error(
                            "argument",
                            span,
                            format!("`{text}` cannot be an argument here"),
                        );
                    } else if parameter.direction != Direction::None {
                        self.error(
                            "argument",
                            span,
                            format!("`{text}` cannot be given for a parameter with a direction"),
                        );
                    }
                }
                _ => {}
            }
        }
    }
}
