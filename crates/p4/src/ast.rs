//! The syntax tree of P4_16 (specification 1.2.5). P4_14 programs are read into the same tree.
//!
//! Every node that can be given a meaning later - an expression, a use of a type, a declaration, a parameter, a
//! parser state - has a [`NodeId`], unique in its program; what the checker finds out stands in tables by that id
//! ([`crate::check::Checked`]), so that the tree itself never changes.

mod declarations;
mod expressions;
mod statements;

pub use declarations::*;
pub use expressions::*;
pub use statements::*;

use crate::source::Span;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A node's number, counted from 0 in the order in which the parser made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A name where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The declarations in order.
    pub declarations: Vec<Declaration>,
    /// One more than the largest [`NodeId`] in it.
    pub nodes: u32,
}

/// `@name`, `@name(tokens)`, `@name[expressions]`, `@name[key = value]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Without the `@`.
    pub name: Name,
    /// What stands behind it.
    pub body: AnnotationBody,
    pub span: Span,
}

/// Annotations that take numbers: expressions whose values are known while compiling, not tokens.
pub const NUMBERED: [&str; 5] = [
    "field_list",
    "id",
    "max_group_size",
    "max_member_weight",
    "priority",
];

/// What stands behind an annotation's name.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// The tokens between the brackets, as text with one space between two: `@name("ingress.t")`. A single string literal
    /// has its quotes, and is unescaped by [`Annotation::string`].
    Tokens(Vec<Arc<str>>),
    /// The numbers of [`NUMBERED`] annotations: `@id(5 * 2)`, `@field_list(FIRST, 2)`. The checker works them out.
    Numbers(Vec<Expression>),
    /// A structured list of expressions.
    Expressions(Vec<Expression>),
    /// A structured list of pairs.
    Pairs(Vec<(Name, Expression)>),
}
