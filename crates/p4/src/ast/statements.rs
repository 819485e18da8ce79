//! Statements.

use super::*;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// `{ ... }`
#[derive(Clone, Debug)]
pub struct Block {
    /// In the order of the text.
    pub annotations: Vec<Annotation>,
    /// In order.
    pub statements: Vec<Statement>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub id: NodeId,
    pub span: Span,
    pub kind: StatementKind,
}

#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `;`
    Empty,
    /// `{ ... }`
    Block(Block),
    /// A constant, variable or instance among statements.
    Declaration(Box<Declaration>),
    /// `a = b;`, `a += b;`
    Assign {
        /// What is assigned to.
        target: Expression,
        operator: Option<BinaryOperator>,
        value: Expression,
    },
    /// A call, of whatever kind; always an [`ExpressionKind::Call`].
    Call(Expression),
    /// `if (c) ... else if (c) ... else ...`: a chain is no nesting, however long it is.
    If {
        /// In the order of the text; at least one.
        branches: Vec<Branch>,
        /// When no condition holds.
        otherwise: Option<Box<Statement>>,
    },
    /// `switch (e) { label: { } }`
    Switch {
        value: Expression,
        /// In order.
        cases: Vec<SwitchCase>,
    },
    /// `return e;`
    Return(Option<Expression>),
    /// `exit;`
    Exit,
    /// `for (init; condition; update) body`
    For {
        /// In the order of the text.
        annotations: Vec<Annotation>,
        /// What is done first.
        initial: Vec<Statement>,
        /// What decides.
        condition: Expression,
        /// What is done after each round.
        update: Vec<Statement>,
        /// What it does.
        body: Box<Statement>,
    },
    /// `for (T x in collection) body`; `variable` is a [`DeclarationKind::Variable`], or an l-value. A range is
    /// [`ExpressionKind::Range`].
    ForIn {
        /// In the order of the text.
        annotations: Vec<Annotation>,
        /// What changes from round to round.
        variable: ForVariable,
        /// What it runs over.
        collection: Expression,
        /// What it does.
        body: Box<Statement>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
}

/// The variable of a `for ... in`.
#[derive(Clone, Debug)]
pub enum ForVariable {
    /// `T x`
    Declared(Box<Declaration>),
    /// A variable that is there already.
    Existing(Expression),
}

/// `if (c) ...`
#[derive(Clone, Debug)]
pub struct Branch {
    /// What decides, if no condition before it does.
    pub condition: Expression,
    /// When it holds.
    pub body: Statement,
    /// From its `if` to the end of its statement.
    pub span: Span,
}

/// `label: { }`; without a block the label falls through to the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Which value.
    pub label: Expression,
    /// What it does.
    pub body: Option<Block>,
    pub span: Span,
}
