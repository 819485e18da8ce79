//! What a P4_14 program says, before it is given a meaning.
//!
//! P4_14 has a name space for each kind of declaration and no order among them, so the tree keeps each kind in a list of its own.

use crate::ast::Name;
use crate::source::Span;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// `@pragma name words`, which belongs to the declaration behind it.
#[derive(Clone, Debug)]
pub(super) struct Pragma {
    pub name: Name,
    pub words: Vec<Arc<str>>,
}

/// All declarations of a program, each kind in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub header_types: Vec<HeaderType>,
    pub instances: Vec<Instance>,
    pub field_lists: Vec<FieldList>,
    pub calculations: Vec<Calculation>,
    pub calculated_fields: Vec<CalculatedField>,
    pub value_sets: Vec<ValueSet>,
    pub states: Vec<State>,
    pub exceptions: Vec<State>,
    pub counters: Vec<Stateful>,
    pub meters: Vec<Stateful>,
    pub registers: Vec<Stateful>,
    pub actions: Vec<Action>,
    pub profiles: Vec<Profile>,
    pub selectors: Vec<Selector>,
    pub tables: Vec<Table>,
    pub controls: Vec<Control>,
    pub extern_types: Vec<ExternType>,
    pub externs: Vec<Extern>,
}

/// `header_type T { fields { ... } length : e; max_length : e; }`
#[derive(Debug)]
pub(super) struct HeaderType {
    pub name: Name,
    pub span: Span,
    pub fields: Vec<Field>,
    pub length: Option<Expr>,
    pub max_length: Option<Expr>,
}

/// `f : 8 (signed, saturating);`
#[derive(Debug)]
pub(super) struct Field {
    pub name: Name,
    /// `None` is `*`.
    pub width: Option<Expr>,
    pub signed: bool,
    pub saturating: bool,
}

/// `header T h;`, `header T h[4];`, `metadata T m { f : 1; };`
#[derive(Debug)]
pub(super) struct Instance {
    pub name: Name,
    pub span: Span,
    pub ty: Name,
    pub metadata: bool,
    pub size: Option<Expr>,
    pub initial: Vec<(Name, Expr)>,
}

/// `field_list l { a.b; payload; }`
#[derive(Debug)]
pub(super) struct FieldList {
    pub name: Name,
    pub span: Span,
    pub entries: Vec<ListEntry>,
}

/// An entry of a field list.
#[derive(Debug)]
pub(super) enum ListEntry {
    Value(Expr),
    Payload,
}

/// `field_list_calculation c { input { l; } algorithm : crc16; output_width : 16; }`
#[derive(Debug)]
pub(super) struct Calculation {
    pub name: Name,
    pub span: Span,
    pub input: Vec<Name>,
    pub algorithms: Vec<Name>,
    pub output_width: Option<Expr>,
}

/// `calculated_field h.f { verify c if (e); update c; }`
#[derive(Debug)]
pub(super) struct CalculatedField {
    pub field: Expr,
    pub uses: Vec<CalculationUse>,
}

/// `update c if (e);`
#[derive(Debug)]
pub(super) struct CalculationUse {
    pub update: bool,
    pub calculation: Name,
    pub condition: Option<Expr>,
}

/// `parser_value_set s;`
#[derive(Debug)]
pub(super) struct ValueSet {
    pub name: Name,
    pub span: Span,
    pub pragmas: Vec<Pragma>,
}

/// `parser p { ... }`; an exception's handler has the same form.
#[derive(Debug)]
pub(super) struct State {
    pub name: Name,
    pub span: Span,
    pub pragmas: Vec<Pragma>,
    pub steps: Vec<Step>,
    pub next: Option<Next>,
}

/// A statement of a parser.
#[derive(Debug)]
pub(super) enum Step {
    Extract {
        target: Expr,
        span: Span,
    },
    Set {
        target: Expr,
        value: Expr,
        span: Span,
    },
}

/// How a parser's state ends.
#[derive(Debug)]
pub(super) enum Next {
    /// `return name;`
    Goto(Name),
    /// `parse_error name;`
    Error(Name),
    /// `parser_drop;`
    Drop(Span),
    /// `return select(...) { ... }`
    Select {
        keys: Vec<Expr>,
        cases: Vec<Case>,
        span: Span,
    },
}

/// `1, 2 mask 3, default : name;`
#[derive(Debug)]
pub(super) struct Case {
    pub labels: Vec<Label>,
    pub next: Name,
    /// Whether `next` is an exception: `parse_error name`.
    pub error: bool,
    pub span: Span,
}

/// A value of a case.
#[derive(Debug)]
pub(super) enum Label {
    Default,
    Value { value: Expr, mask: Option<Expr> },
}

/// `counter`, `meter` and `register`.
#[derive(Debug)]
pub(super) struct Stateful {
    pub name: Name,
    pub span: Span,
    /// `packets`, `bytes`, `packets_and_bytes`
    pub unit: Option<Name>,
    /// `direct : table;`
    pub direct: Option<Name>,
    /// `static : table;`
    pub fixed: Option<Name>,
    pub count: Option<Expr>,
    /// A register's width,
    pub width: Option<Expr>,
    /// or the header type of its cells.
    pub layout: Option<Name>,
    pub signed: bool,
    /// Where a direct meter puts the colour.
    pub result: Option<Expr>,
}

/// `action a(x, y) { ... }`
#[derive(Debug)]
pub(super) struct Action {
    pub name: Name,
    pub span: Span,
    pub parameters: Vec<Name>,
    pub body: Vec<Primitive>,
}

/// `name(arguments);` or `object.name(arguments);`
#[derive(Debug)]
pub(super) struct Primitive {
    pub object: Option<Name>,
    pub name: Name,
    pub arguments: Vec<Expr>,
    pub span: Span,
}

/// `action_profile p { ... }`
#[derive(Debug)]
pub(super) struct Profile {
    pub name: Name,
    pub span: Span,
    pub actions: Vec<Name>,
    pub size: Option<Expr>,
    pub selector: Option<Name>,
}

/// `action_selector s { ... }`
#[derive(Debug)]
pub(super) struct Selector {
    pub name: Name,
    pub key: Option<Name>,
    pub mode: Option<Name>,
    pub kind: Option<Name>,
}

/// `table t { ... }`
#[derive(Debug)]
pub(super) struct Table {
    pub name: Name,
    pub span: Span,
    pub pragmas: Vec<Pragma>,
    pub reads: Vec<Read>,
    pub actions: Vec<Name>,
    pub profile: Option<Name>,
    pub size: Option<Expr>,
    pub min_size: Option<Expr>,
    pub max_size: Option<Expr>,
    pub default: Option<DefaultAction>,
    pub other: Vec<(Name, Expr)>,
}

/// `h.f mask 0xff : exact;`
#[derive(Debug)]
pub(super) struct Read {
    pub value: Expr,
    pub mask: Option<Expr>,
    pub kind: Name,
    pub span: Span,
}

/// `default_action : a(1);`
#[derive(Debug)]
pub(super) struct DefaultAction {
    pub action: Name,
    pub arguments: Option<Vec<Expr>>,
    pub is_const: bool,
    pub span: Span,
}

/// `control c { ... }`
#[derive(Debug)]
pub(super) struct Control {
    pub name: Name,
    pub span: Span,
    pub body: Vec<Statement>,
}

/// A statement of a control function.
#[derive(Debug)]
pub(super) enum Statement {
    Apply {
        table: Name,
        cases: Vec<ApplyCase>,
        span: Span,
    },
    /// Conditions in the order of the text, each with what it leads to.
    If {
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
        span: Span,
    },
    Call {
        control: Name,
        span: Span,
    },
}

/// `a, b { ... }`, `hit { ... }`, `default { ... }`
#[derive(Debug)]
pub(super) struct ApplyCase {
    pub labels: Vec<Name>,
    pub body: Vec<Statement>,
    pub span: Span,
}

/// `extern_type T { attribute a { ... } method m (...); }`
#[derive(Debug)]
pub(super) struct ExternType {
    pub name: Name,
    pub span: Span,
    pub methods: Vec<ExternMethod>,
}

/// A method of an extern type.
#[derive(Debug)]
pub(super) struct ExternMethod {
    pub name: Name,
    pub parameters: Vec<ExternParameter>,
    pub span: Span,
}

/// A parameter of such a method.
#[derive(Debug)]
pub(super) struct ExternParameter {
    pub name: Name,
    pub out: bool,
    pub optional: bool,
    /// `None` is a type that values of any type go into.
    pub ty: Option<(u32, bool)>,
}

/// `extern T e { a : 1; }`
#[derive(Debug)]
pub(super) struct Extern {
    pub name: Name,
    pub ty: Name,
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    /// A number; with its width and sign where the program gives them: `8'0`.
    Integer(BigInt, Option<(u32, bool)>),
    Bool(bool),
    Name(Arc<str>),
    Member(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    /// `valid(h)`
    Valid(Box<Expr>),
    /// `current(offset, width)`
    Current(Box<Expr>, Box<Expr>),
    Unary(crate::ast::UnaryOperator, Box<Expr>),
    Binary(crate::ast::BinaryOperator, Box<Expr>, Box<Expr>),
}

/// Declarations by their names.
pub(super) trait Declared {
    fn name(&self) -> &Name;
}

macro_rules! named {
    ($($kind:ident)*) => {
        $(impl Declared for $kind {
            fn name(&self) -> &Name {
                &self.name
            }
        })*
    };
}

named!(ValueSet State Stateful Action Profile Table Control ExternType Extern);
