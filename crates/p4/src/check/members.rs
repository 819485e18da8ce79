//! What stands behind a dot.

use super::checker::{Checker, Context};
use crate::ast::{CompositeKind, DeclarationKind, Expression, Name};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// Fields and whatever else stands behind a dot.
    pub(super) fn member(
        &mut self,
        e: &'a Expression,
        base: &'a Expression,
        member: &'a Name,
    ) -> Type {
        let ty = self.expression(base);
        let ty = self.known(&ty);
        match &ty {
            Type::Unknown => Type::Unknown,
            Type::Name(named) => self.member_of_type(e, named, member),
            Type::Composite(id, arguments) => {
                if let Some((field, ty)) = self
                    .fields(*id, arguments)
                    .into_iter()
                    .find(|(f, _)| f.name.text == member.text)
                {
                    self.refer(e.id, field.id);
                    if let Some(Constant::List(values)) = self.constant(base)
                        && let Some(index) = self
                            .composite(*id)
                            .and_then(|c| c.3.iter().position(|f| f.id == field.id))
                        && let Some(value) = values.get(index).cloned()
                    {
                        self.constant_is(e, value);
                    }
                    return ty;
                }
                self.no_such_member(&ty, member)
            }
            Type::Fields(fields) => {
                if let Some(index) = fields.iter().position(|(name, _)| *name == member.text) {
                    if let Some(Constant::List(values)) = self.constant(base)
                        && let Some(value) = values.get(index).cloned()
                    {
                        self.constant_is(e, value);
                    }
                    return fields[index].1.clone();
                }
                self.no_such_member(&ty, member)
            }
            Type::Stack(element, length) => {
                let headers = matches!(&**element, Type::Composite(id, _) if self.composite(*id).is_some_and(|c| c.0 != CompositeKind::Struct))
                    || matches!(&**element, Type::Unknown | Type::Parameter(_));
                let in_parser = matches!(
                    self.context,
                    Context::ParserState | Context::ParserLocals | Context::Top
                );
                match &*member.text {
                    "size" => {
                        self.constant_is(e, Constant::Integer((*length).into()));
                        Type::Bits(32)
                    }
                    "lastIndex" | "next" | "last" if headers => {
                        if !in_parser {
                            self.error(
                                "stack",
                                e.span,
                                format!(
                                    "`{}` of a stack can be used only in a parser",
                                    member.text
                                ),
                            );
                        }
                        if &*member.text == "lastIndex" {
                            Type::Bits(32)
                        } else {
                            (**element).clone()
                        }
                    }
                    _ => self.no_such_member(&ty, member),
                }
            }
            Type::ApplyResult(table) => match &*member.text {
                "hit" | "miss" => Type::Bool,
                "action_run" => Type::ActionRun(*table),
                _ => self.no_such_member(&ty, member),
            },
            _ => self.no_such_member(&ty, member),
        }
    }

    pub(super) fn member_of_type(
        &mut self,
        e: &'a Expression,
        named: &Type,
        member: &'a Name,
    ) -> Type {
        match named {
            Type::Unknown => Type::Unknown,
            Type::Error => match self.errors.get(&*member.text) {
                Some(found) => {
                    let id = found.id;
                    self.refer(e.id, id);
                    self.constant_is(e, Constant::Member(id));
                    Type::Error
                }
                None => {
                    let names: Vec<&str> = self.errors.keys().copied().collect();
                    self.no_member_among(member, "error", &names)
                }
            },
            Type::MatchKind => match self.match_kinds.get(&*member.text) {
                Some(found) => {
                    let id = found.id;
                    self.refer(e.id, id);
                    self.constant_is(e, Constant::Member(id));
                    Type::MatchKind
                }
                None => {
                    let names: Vec<&str> = self.match_kinds.keys().copied().collect();
                    self.no_member_among(member, "match_kind", &names)
                }
            },
            Type::Enum(id) => {
                let Some(DeclarationKind::Enum {
                    members,
                    underlying,
                    ..
                }) = self.declaration(*id).map(|d| &d.kind)
                else {
                    return Type::Unknown;
                };
                match members.iter().find(|m| m.name.text == member.text) {
                    Some(found) => {
                        self.refer(e.id, found.id);
                        let value = if underlying.is_some() {
                            self.out.constants.get(&found.id).cloned()
                        } else {
                            Some(Constant::Member(found.id))
                        };
                        if let Some(value) = value {
                            self.constant_is(e, value);
                        }
                        Type::Enum(*id)
                    }
                    None => {
                        let names: Vec<&str> = members.iter().map(|m| &*m.name.text).collect();
                        let text = self.show(named);
                        self.no_member_among(member, &text, &names)
                    }
                }
            }
            _ => {
                let text = self.show(named);
                self.error(
                    "no-such-member",
                    member.span,
                    format!("the type `{text}` has no member `{}`", member.text),
                );
                Type::Unknown
            }
        }
    }

    pub(super) fn no_member_among(&mut self, member: &Name, of: &str, names: &[&str]) -> Type {
        let mut diagnostic = Diagnostic::error(
            "no-such-member",
            member.span,
            format!("`{of}` has no member `{}`", member.text),
        );
        if let Some(close) = super::scopes::nearest(&member.text, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.report(diagnostic);
        Type::Unknown
    }

    pub(super) fn no_such_member(&mut self, ty: &Type, member: &Name) -> Type {
        let text = self.show(ty);
        let code = if matches!(ty, Type::Composite(..)) {
            "no-such-field"
        } else {
            "no-such-member"
        };
        let what = if matches!(ty, Type::Composite(..)) {
            "field"
        } else {
            "member"
        };
        let mut diagnostic = Diagnostic::error(
            code,
            member.span,
            format!("`{text}` has no {what} `{}`", member.text),
        );
        let names: Vec<&str> = match ty {
            Type::Composite(id, _) => self
                .composite(*id)
                .map(|c| c.3.iter().map(|f| &*f.name.text).collect())
                .unwrap_or_default(),
            Type::Stack(..) => ["size", "next", "last", "lastIndex"].into(),
            Type::ApplyResult(_) => ["hit", "miss", "action_run"].into(),
            _ => Vec::new(),
        };
        if let Some(close) = super::scopes::nearest(&member.text, names.into_iter()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.report(diagnostic);
        Type::Unknown
    }
}
