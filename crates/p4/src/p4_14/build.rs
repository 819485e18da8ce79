//! Makes nodes of the P4_16 tree, each with the place in the P4_14 text that it comes from.

use crate::ast::{
    Annotation, AnnotationBody, Argument, BinaryOperator, Block, Branch, CompositeKind,
    Declaration, DeclarationKind, Direction, Expression, ExpressionKind, Field, Name, NodeId,
    Parameter, Statement, StatementKind, TypeExpression, TypeExpressionKind, UnaryOperator,
};
use crate::source::Span;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::Signed;

/// Gives the nodes their numbers.
pub(super) struct Build {
    pub next: u32,
}

impl Build {
    pub fn id(&mut self) -> NodeId {
        let id = NodeId(self.next);
        self.next += 1;
        id
    }

    pub fn expression(&mut self, span: Span, kind: ExpressionKind) -> Expression {
        Expression {
            id: self.id(),
            span,
            kind,
        }
    }

    pub fn path(&mut self, text: impl Into<Arc<str>>, span: Span) -> Expression {
        let name = name(text, span);
        self.expression(
            span,
            ExpressionKind::Path {
                name,
                absolute: false,
            },
        )
    }

    pub fn member(
        &mut self,
        base: Expression,
        text: impl Into<Arc<str>>,
        span: Span,
    ) -> Expression {
        let member = name(text, span);
        let span = base.span.to(span);
        self.expression(
            span,
            ExpressionKind::Member {
                base: Box::new(base),
                member,
            },
        )
    }

    pub fn integer(&mut self, value: impl Into<BigInt>, span: Span) -> Expression {
        let value = value.into();
        if value.is_negative() {
            let positive = self.integer(-value, span);
            return self.unary(UnaryOperator::Negate, positive);
        }
        self.expression(
            span,
            ExpressionKind::Integer {
                value,
                width: None,
                radix: 10,
            },
        )
    }

    /// A number of so many bits; what does not fit is cut.
    pub fn sized(&mut self, value: &BigInt, width: u32, signed: bool, span: Span) -> Expression {
        let bits = crate::value::Bits::from_int(width, value);
        if signed && bits.signed().is_negative() {
            let value = self.integer(bits.signed(), span);
            let ty = self.bits(width, true, span);
            return self.cast(ty, value);
        }
        self.expression(
            span,
            ExpressionKind::Integer {
                value: BigInt::from(bits.unsigned().clone()),
                width: Some((width, signed)),
                radix: 10,
            },
        )
    }

    pub fn boolean(&mut self, value: bool, span: Span) -> Expression {
        self.expression(span, ExpressionKind::Bool(value))
    }

    pub fn unary(&mut self, operator: UnaryOperator, operand: Expression) -> Expression {
        self.expression(
            operand.span,
            ExpressionKind::Unary {
                operator,
                operand: Box::new(operand),
            },
        )
    }

    pub fn binary(
        &mut self,
        operator: BinaryOperator,
        left: Expression,
        right: Expression,
    ) -> Expression {
        let span = left.span.to(right.span);
        self.expression(
            span,
            ExpressionKind::Binary {
                operator,
                left: Box::new(left),
                right: Box::new(right),
            },
        )
    }

    pub fn conditional(
        &mut self,
        condition: Expression,
        yes: Expression,
        no: Expression,
        span: Span,
    ) -> Expression {
        self.expression(
            span,
            ExpressionKind::Conditional {
                condition: Box::new(condition),
                yes: Box::new(yes),
                no: Box::new(no),
            },
        )
    }

    pub fn cast(&mut self, ty: TypeExpression, operand: Expression) -> Expression {
        self.expression(
            operand.span,
            ExpressionKind::Cast {
                ty: Box::new(ty),
                operand: Box::new(operand),
            },
        )
    }

    pub fn slice(&mut self, base: Expression, high: u64, low: u64) -> Expression {
        let span = base.span;
        let (high, low) = (self.integer(high, span), self.integer(low, span));
        self.expression(
            span,
            ExpressionKind::Slice {
                base: Box::new(base),
                high: Box::new(high),
                low: Box::new(low),
            },
        )
    }

    pub fn list(&mut self, elements: Vec<Expression>, span: Span) -> Expression {
        self.expression(
            span,
            ExpressionKind::List {
                elements,
                dots: false,
            },
        )
    }

    pub fn call(
        &mut self,
        callee: Expression,
        type_arguments: Vec<TypeExpression>,
        arguments: Vec<Expression>,
        span: Span,
    ) -> Expression {
        let arguments = arguments.into_iter().map(argument).collect();
        self.expression(
            span,
            ExpressionKind::Call {
                callee: Box::new(callee),
                type_arguments,
                arguments,
            },
        )
    }

    /// `base.method(arguments)`
    pub fn method(
        &mut self,
        base: Expression,
        method: &str,
        arguments: Vec<Expression>,
        span: Span,
    ) -> Expression {
        let callee = self.member(base, method, span);
        self.call(callee, Vec::new(), arguments, span)
    }

    /// `function(arguments)`
    pub fn function(
        &mut self,
        function: &str,
        arguments: Vec<Expression>,
        span: Span,
    ) -> Expression {
        let callee = self.path(function, span);
        self.call(callee, Vec::new(), arguments, span)
    }

    pub fn statement(&mut self, span: Span, kind: StatementKind) -> Statement {
        Statement {
            id: self.id(),
            span,
            kind,
        }
    }

    pub fn assign(&mut self, target: Expression, value: Expression, span: Span) -> Statement {
        self.statement(
            span,
            StatementKind::Assign {
                target,
                operator: None,
                value,
            },
        )
    }

    pub fn call_statement(&mut self, call: Expression) -> Statement {
        self.statement(call.span, StatementKind::Call(call))
    }

    pub fn block_statement(&mut self, statements: Vec<Statement>, span: Span) -> Statement {
        let block = block(statements, span);
        self.statement(span, StatementKind::Block(block))
    }

    pub fn if_else(
        &mut self,
        condition: Expression,
        yes: Statement,
        no: Option<Statement>,
        span: Span,
    ) -> Statement {
        let branch = Branch {
            condition,
            body: yes,
            span,
        };
        let kind = StatementKind::If {
            branches: vec![branch],
            otherwise: no.map(Box::new),
        };
        self.statement(span, kind)
    }

    pub fn ty(&mut self, span: Span, kind: TypeExpressionKind) -> TypeExpression {
        TypeExpression {
            id: self.id(),
            span,
            kind,
        }
    }

    /// `bit<width>` or `int<width>`
    pub fn bits(&mut self, width: u32, signed: bool, span: Span) -> TypeExpression {
        let width = Box::new(self.integer(width, span));
        let kind = match signed {
            true => TypeExpressionKind::Signed(width),
            false => TypeExpressionKind::Bit(Some(width)),
        };
        self.ty(span, kind)
    }

    pub fn varbit(&mut self, width: u32, span: Span) -> TypeExpression {
        let width = Box::new(self.integer(width, span));
        self.ty(span, TypeExpressionKind::Varbit(width))
    }

    pub fn named(&mut self, text: impl Into<Arc<str>>, span: Span) -> TypeExpression {
        let name = name(text, span);
        self.ty(
            span,
            TypeExpressionKind::Named {
                name,
                absolute: false,
            },
        )
    }

    /// `base<arguments>`
    pub fn specialized(
        &mut self,
        base: &str,
        arguments: Vec<TypeExpression>,
        span: Span,
    ) -> TypeExpression {
        let base = Box::new(self.named(base, span));
        self.ty(span, TypeExpressionKind::Specialized { base, arguments })
    }

    pub fn stack(&mut self, base: TypeExpression, size: u32, span: Span) -> TypeExpression {
        let size = Box::new(self.integer(size, span));
        self.ty(
            span,
            TypeExpressionKind::Stack {
                base: Box::new(base),
                size,
            },
        )
    }

    pub fn declaration(
        &mut self,
        span: Span,
        annotations: Vec<Annotation>,
        kind: DeclarationKind,
    ) -> Declaration {
        Declaration {
            id: self.id(),
            span,
            annotations,
            kind,
        }
    }

    pub fn composite(
        &mut self,
        kind: CompositeKind,
        text: impl Into<Arc<str>>,
        annotations: Vec<Annotation>,
        fields: Vec<Field>,
        span: Span,
    ) -> Declaration {
        let name = name(text, span);
        self.declaration(
            span,
            annotations,
            DeclarationKind::Composite {
                kind,
                name,
                type_parameters: Vec::new(),
                fields,
            },
        )
    }

    pub fn field(&mut self, text: Name, annotations: Vec<Annotation>, ty: TypeExpression) -> Field {
        Field {
            id: self.id(),
            annotations,
            ty,
            name: text,
        }
    }

    pub fn parameter(&mut self, direction: Direction, ty: TypeExpression, text: Name) -> Parameter {
        Parameter {
            id: self.id(),
            annotations: Vec::new(),
            direction,
            ty,
            name: text,
            default: None,
        }
    }

    /// `T(arguments) name;`
    pub fn instance(
        &mut self,
        ty: TypeExpression,
        text: impl Into<Arc<str>>,
        arguments: Vec<Expression>,
        annotations: Vec<Annotation>,
        span: Span,
    ) -> Declaration {
        let name = name(text, span);
        let arguments = arguments.into_iter().map(argument).collect();
        self.declaration(
            span,
            annotations,
            DeclarationKind::Instance {
                ty,
                arguments,
                name,
                initializer: None,
            },
        )
    }

    /// `T name;`
    pub fn variable(
        &mut self,
        ty: TypeExpression,
        text: impl Into<Arc<str>>,
        span: Span,
    ) -> Declaration {
        let name = name(text, span);
        self.declaration(
            span,
            Vec::new(),
            DeclarationKind::Variable {
                ty,
                name,
                value: None,
            },
        )
    }
}

pub(super) fn name(text: impl Into<Arc<str>>, span: Span) -> Name {
    Name {
        text: text.into(),
        span,
    }
}

pub(super) fn argument(value: Expression) -> Argument {
    Argument {
        name: None,
        span: value.span,
        value,
    }
}

pub(super) fn block(statements: Vec<Statement>, span: Span) -> Block {
    Block {
        annotations: Vec::new(),
        statements,
        span,
    }
}

/// `@name("...")`; with a dot before it the name stands for itself, without the control's around it.
pub(super) fn name_annotation(text: &str, span: Span) -> Annotation {
    annotation("name", vec![format!("\"{text}\"").into()], span)
}

pub(super) fn annotation(text: &str, tokens: Vec<Arc<str>>, span: Span) -> Annotation {
    Annotation {
        name: name(text, span),
        body: match tokens.is_empty() {
            true => AnnotationBody::Empty,
            false => AnnotationBody::Tokens(tokens),
        },
        span,
    }
}
