//! The intermediate representation: what a program does, with nothing of how an engine does it.
//!
//! All generics are gone, all calls of parsers, controls, functions and actions (but for those by tables) are inlined, all structs, headers and stacks
//! are taken apart into *slots*, each of one scalar. A [`Section`] is one programmable block of the architecture: a graph of
//! [`Block`]s that ends in [`Terminator::Return`] (or [`Terminator::Reject`] in a parser). Without `for` loops and loops of parser states the graph is acyclic.
//!
//! Expressions have no effects; whatever can fail or has effects is a statement. Copy-in and copy-out are assignments.

pub(crate) mod fold;
mod kinds;
mod members;
pub mod text;
mod types;
mod validate;
mod visit;

pub use kinds::{Architecture, Callee, Extern, Function, Library, MatchKind, Method, Role};
pub use members::{Algorithm, ParserError, Unit};
pub use validate::{Invalid, validate};

use crate::source::Span;
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index into the program's list of such things.
            #[must_use]
            pub fn index(self) -> usize { self.0 as usize }
        }
    )*};
}
index! {
    /// A [`Slot`].
    SlotId;
    /// A [`Header`].
    HeaderId;
    /// A [`Stack`].
    StackId;
    /// An [`Object`].
    ObjectId;
    /// A [`ValueSet`].
    ValueSetId;
    /// An [`Action`].
    ActionId;
    /// A [`Table`].
    TableId;
    /// A [`Section`].
    SectionId;
    /// A [`Block`] of one [`Body`].
    BlockId;
    /// An [`Enumeration`].
    EnumId;
}

/// A program for one architecture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The package that `main` instantiates.
    pub architecture: Architecture,
    /// Enumerations, `error` the first of them; values of slots with an [`Slot::enumeration`].
    pub enumerations: Vec<Enumeration>,
    /// All scalars.
    pub slots: Vec<Slot>,
    /// All headers, those of stacks and unions too.
    pub headers: Vec<Header>,
    /// All header stacks.
    pub stacks: Vec<Stack>,
    pub value_sets: Vec<ValueSet>,
    /// Extern instances.
    pub objects: Vec<Object>,
    /// All actions that tables call.
    pub actions: Vec<Action>,
    pub tables: Vec<Table>,
    /// In the order of the package's parameters.
    pub sections: Vec<Section>,
}

/// The scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ty {
    /// One bit, 1 is true.
    Bool,
    /// An unsigned number of so many bits.
    Bits(u32),
    /// Two's complement.
    Signed(u32),
    /// At most so many bits, and how many there are.
    Varbit(u32),
}

impl Ty {
    /// How many bits; of a varbit the most.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Ty::Bool => 1,
            Ty::Bits(width) | Ty::Signed(width) | Ty::Varbit(width) => width,
        }
    }
}

/// Names of values. A value without a name (of a serialisable enum) is legal.
#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    /// `error`, or the enum's name.
    pub name: Arc<str>,
    /// 32 for enums without an underlying type, `error` and `match_kind`, which count their members from 0.
    pub width: u32,
    /// Names and values in order.
    pub members: Vec<(Arc<str>, Bits)>,
}

/// A name and the source text of what stands behind it, without the brackets: `("field_list", "1, 2")`.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Without the `@`.
    pub name: Arc<str>,
    /// The text behind it, without the brackets.
    pub body: Arc<str>,
}

/// A scalar that lives as long as a packet is worked on. All are zero when the packet comes, unless the architecture says more.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// As a programmer would write it: `hdr.ipv4.ttl`, `meta.nhop`, `ingress.tmp`, `hdr.ipv4.$valid`, `hdr.mpls.$next`. Unique.
    pub name: Arc<str>,
    /// What it holds.
    pub ty: Ty,
    /// Of which its value is a member.
    pub enumeration: Option<EnumId>,
    /// Those of the field, among them `field_list`.
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// `hdr.ipv4`, `hdr.mpls[2]`. Unique.
    pub name: Arc<str>,
    /// The name of its type.
    pub ty: Arc<str>,
    /// A [`Ty::Bool`].
    pub valid: SlotId,
    /// In wire order, with no gap. At most one is a varbit.
    pub fields: Vec<SlotId>,
}

/// A header stack (of headers; stacks of unions have one for each member).
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// `hdr.mpls`.
    pub name: Arc<str>,
    /// Its elements in order.
    pub headers: Vec<HeaderId>,
    /// `nextIndex`, 32 bits.
    pub next: SlotId,
}

/// A `parser_value_set`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSet {
    /// Its name for the control plane.
    pub name: Arc<str>,
    /// Of its one value, or of the fields of its struct: name, type, and the `@match` annotation's kind (`exact` without one).
    pub fields: Vec<(Arc<str>, Ty, MatchKind)>,
    /// How many entries it may have.
    pub size: u32,
    /// Those of its declaration.
    pub annotations: Vec<Annotation>,
}

/// An instance of an extern.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its name for the control plane: `ingress.c1`.
    pub name: Arc<str>,
    /// The extern.
    pub kind: Extern,
    /// Each type argument, taken apart into scalars with the names of the fields (one with an empty name when it is a scalar).
    pub types: Vec<Vec<(Arc<str>, Ty)>>,
    /// The constructor's arguments by parameter, default ones too.
    pub arguments: Vec<(Arc<str>, Constant)>,
    /// Implementations of abstract methods: parameters (flattened, all of them), what is returned, body.
    pub methods: Vec<MethodBody>,
    /// Those of its declaration.
    pub annotations: Vec<Annotation>,
}

/// An abstract method's implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodBody {
    /// The method's name.
    pub name: Arc<str>,
    /// Where the caller puts the arguments.
    pub parameters: Vec<SlotId>,
    /// Where the caller finds what comes back: what is returned, then the `out` and `inout` parameters.
    pub results: Vec<SlotId>,
    /// What it does.
    pub body: Body,
}

/// What a constructor can be given.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A number.
    Bits(Bits),
    /// A member of an enumeration.
    Member(EnumId, u32),
    /// A string.
    Text(Arc<str>),
    /// An extern instance.
    Object(ObjectId),
    /// A struct, tuple or list, field by field.
    List(Vec<Constant>),
}

/// An action that tables call. Called directly it is inlined.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its name for the control plane: `ingress.forward`. Not unique: when two tables bind its arguments with a direction differently there are
    /// two.
    pub name: Arc<str>,
    /// What the control plane gives, in order: `(name, slot, annotations)`.
    pub parameters: Vec<(Arc<str>, SlotId, Vec<Annotation>)>,
    /// What it does.
    pub body: Body,
    /// Those of its declaration.
    pub annotations: Vec<Annotation>,
}

/// A match-action table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name for the control plane: `ingress.ipv4_lpm`.
    pub name: Arc<str>,
    /// In order.
    pub keys: Vec<Key>,
    /// In order; entries and [`Table::action_run`] tell them by their place.
    pub actions: Vec<TableAction>,
    /// What runs when no entry matches.
    pub default: ActionCall,
    /// Whether the control plane must leave the default action alone.
    pub const_default: bool,
    /// Those in the program; first the ones that win.
    pub entries: Vec<Entry>,
    /// Whether the control plane must leave the entries alone.
    pub const_entries: bool,
    /// As the program says, if it does.
    pub size: Option<u32>,
    /// Action profile or selector.
    pub implementation: Option<ObjectId>,
    /// What runs when the group of the entry that is hit has no members (PSA: `psa_empty_group_action`).
    pub empty_group: Option<ActionCall>,
    /// Direct objects of the properties `counters`, `meters`, `psa_direct_counter`, ...
    pub direct: Vec<ObjectId>,
    /// Whether entries that nobody uses are reported.
    pub idle_timeout: bool,
    /// Other properties as they were evaluated.
    pub properties: Vec<(Arc<str>, Constant)>,
    /// Where to write whether there was a hit, if somebody asks.
    pub hit: Option<SlotId>,
    /// Where to write the index (in [`Table::actions`]) of the action that ran, if somebody asks; 32 bits.
    pub action_run: Option<SlotId>,
    /// Those of its declaration.
    pub annotations: Vec<Annotation>,
}

impl Table {
    /// Whether packets add entries for keys that they miss: PNA's `add_on_miss`.
    #[must_use]
    pub fn adds_on_miss(&self) -> bool {
        self.has("add_on_miss")
    }

    /// Whether entries are deleted when their time has passed, which only the program starts again:
    /// PNA's `idle_timeout_with_auto_delete`.
    #[must_use]
    pub fn deletes_idle(&self) -> bool {
        self.has("idle_timeout_with_auto_delete")
    }

    /// Whether a property is there, and is true.
    fn has(&self, name: &str) -> bool {
        let mut properties = self.properties.iter();
        let found = properties.find(|(known, _)| &**known == name);
        matches!(found, Some((_, Constant::Bits(value))) if value.is_true())
    }
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// For the control plane: by `@name`, or the expression as written.
    pub name: Arc<str>,
    /// What is looked up.
    pub value: Expr,
    /// The type of the value.
    pub ty: Ty,
    /// How it is compared.
    pub match_kind: MatchKind,
    /// Those behind the key.
    pub annotations: Vec<Annotation>,
}

/// An action that a table may call.
#[derive(Clone, Debug, PartialEq)]
pub struct TableAction {
    pub action: ActionId,
    /// Only entries may call it.
    pub table_only: bool,
    /// Only the default may be it.
    pub default_only: bool,
    /// Those before it in the table's list.
    pub annotations: Vec<Annotation>,
}

/// An action of a table with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionCall {
    /// Index in [`Table::actions`].
    pub action: u32,
    /// What its parameters are, in order.
    pub arguments: Vec<Bits>,
}

/// An entry that the program gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The larger wins. Used where a key is ternary, range or optional.
    pub priority: u32,
    /// One for each key of the table.
    pub keys: Vec<KeyMatch>,
    /// What it does.
    pub call: ActionCall,
    /// Whether the control plane must leave this entry alone.
    pub is_const: bool,
    /// Those behind the entry.
    pub annotations: Vec<Annotation>,
}

/// What a key of an entry must be.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyMatch {
    /// Anything.
    Any,
    /// Just this value.
    Exact(Bits),
    /// The value, and how many leading bits count.
    Prefix(Bits, u32),
    /// Value and mask.
    Mask(Bits, Bits),
    /// From and to, both included.
    Range(Bits, Bits),
}

/// What kind of block a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// Reads the packet.
    Parser,
    /// Anything else: match-action, checksums, deparser.
    Control,
}

/// A programmable block of the architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The parser's or control's name in the program.
    pub name: Arc<str>,
    pub role: Role,
    /// Parser or control.
    pub kind: SectionKind,
    /// The parameters, without packet_in and packet_out.
    pub parameters: Vec<SectionParameter>,
    /// What it does.
    pub body: Body,
    /// In a parser: where a failed `extract`, `advance`, `lookahead` writes its error before it goes on at [`Body::fail`].
    pub error: Option<SlotId>,
}

/// A parameter of a section. Sections may share slots: where the architecture hands one block's result to the next unchanged, as v1model does with headers,
/// metadata and standard metadata, they are the same slots.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionParameter {
    /// The name in the program.
    pub name: Arc<str>,
    /// The name of its type, without arguments.
    pub ty: Arc<str>,
    /// The direction in the program.
    pub direction: crate::ast::Direction,
    /// Its scalars by path (`ipv4.ttl`, `ipv4.$valid`, `mpls.$next`; empty for a scalar itself).
    pub fields: Vec<(Arc<str>, SlotId)>,
}

/// A graph of blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The first is where it begins.
    pub blocks: Vec<Block>,
    /// Where parsing goes on after an error.
    pub fail: Option<BlockId>,
}

/// Statements that run one after the other. The first block of a body is its entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The parser state that begins here (with the names of the instances round it: `sub.start`), `accept`, `reject`, or nothing.
    pub name: Option<Arc<str>>,
    /// In order.
    pub statements: Vec<Statement>,
    /// Where it goes then.
    pub terminator: Terminator,
}

/// A statement and the place in the program that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Puts a value in a place; of one type.
    Assign { target: LValue, value: Expr },
    /// Reads a header from the packet, makes it valid, and moves on; may fail with PacketTooShort, HeaderTooShort, ParserInvalidArgument.
    /// `size` is the length of its varbit in bits.
    Extract {
        /// What is read.
        header: HeaderId,
        /// The varbit's length in bits, 32 bits wide.
        size: Option<Expr>,
    },
    /// The same into the stack's next element; may fail with StackOutOfBounds too.
    ExtractNext {
        /// Into which stack.
        stack: StackId,
        /// The varbit's length in bits, 32 bits wide.
        size: Option<Expr>,
    },
    /// Reads as many bits as the slot has, and does not move; may fail with PacketTooShort.
    Lookahead { into: SlotId },
    /// Moves on by so many bits (32 bits wide); may fail with PacketTooShort.
    Advance { bits: Expr },
    /// The packet's length in bytes (32 bits wide).
    Length { into: SlotId },
    /// Appends the header to the packet if it is valid.
    Emit {
        /// What is appended.
        header: HeaderId,
    },
    /// Appends a scalar.
    EmitValue {
        /// What is appended.
        value: Expr,
    },
    /// A method of an extern or an extern function. An asynchronous extern is one whose results are not
    /// used before the next block. The results are the scalars of the `out` and `inout` parameters in order, and then those of what is
    /// returned. `digest` has a further argument, the name of its data's type, if it has one.
    Call {
        /// What is called.
        callee: Callee,
        /// In order.
        arguments: Vec<Argument>,
        /// Where the results go.
        results: Vec<LValue>,
    },
}

/// What an extern is given for one parameter with direction `in`, `inout` or none.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A scalar.
    Value(Expr),
    /// The scalars of a struct, tuple, list or header (a header's fields only, and nothing at all of an invalid one when `valid` says so).
    List(Vec<ListItem>),
    /// A string.
    Text(Arc<str>),
    /// An extern instance.
    Object(ObjectId),
    /// A member of an enum, as its value: `HashAlgorithm.crc16`.
    Member(EnumId, u32),
}

/// A scalar of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListItem {
    /// The name of the field, where it comes from a struct.
    pub name: Arc<str>,
    /// The scalar.
    pub value: Expr,
    /// The validity of the header that it belongs to.
    pub valid: Option<SlotId>,
}

/// Where a value is put.
#[derive(Clone, Debug, PartialEq)]
pub enum LValue {
    /// A whole slot.
    Slot(SlotId),
    /// Bits `high` to `low` of a slot.
    Slice {
        slot: SlotId,
        /// The highest bit.
        high: u32,
        /// The lowest bit.
        low: u32,
    },
    /// `slots[index]`, all of one type; nothing happens when the index is beyond.
    Element {
        /// What may be meant.
        slots: Vec<SlotId>,
        /// Which of them is.
        index: Expr,
        /// Only these bits of it, from high to low.
        slice: Option<(u32, u32)>,
    },
}

/// An expression, without effects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A value and its type.
    Constant(Bits, Ty),
    /// What the slot holds.
    Slot(SlotId),
    /// `slots[index]`, zero when the index is beyond.
    Element {
        /// What may be meant.
        slots: Vec<SlotId>,
        /// Which of them is.
        index: Box<Expr>,
    },
    /// An operator with one operand.
    Unary(Unary, Box<Expr>),
    /// An operator with two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Bits `high` to `low`; unsigned.
    Slice {
        value: Box<Expr>,
        /// The highest bit.
        high: u32,
        /// The lowest bit.
        low: u32,
    },
    /// To another width: cut, or extended by the sign if the operand is signed. Bits are kept when only signedness changes.
    Cast {
        value: Box<Expr>,
        /// To which type.
        ty: Ty,
    },
    /// Either is evaluated as far as it is used: neither has effects.
    Conditional {
        /// What decides.
        condition: Box<Expr>,
        /// The value when it holds.
        yes: Box<Expr>,
        /// The value when it does not.
        no: Box<Expr>,
    },
    /// How many bits a varbit has now (32 bits wide).
    VarbitLength(SlotId),
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-a`
    Negate,
    /// `~a`
    Complement,
    /// `!a`
    Not,
}

/// An operator with two operands; both have one type, but for shifts (the right is unsigned, of any width) and `Concat`. Signedness is that of the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// Only of unsigned values; by zero gives zero.
    Divide,
    Modulo,
    /// `|+|`
    SaturatingAdd,
    /// `|-|`
    SaturatingSubtract,
    /// `<<`
    ShiftLeft,
    /// Arithmetic if the left is signed.
    ShiftRight,
    /// `&`, and `&&` of bools.
    And,
    /// `|`, and `||` of bools.
    Or,
    /// `^`
    Xor,
    /// `++`
    Concat,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// To another block.
    Jump(BlockId),
    /// To one of two blocks.
    Branch {
        /// What decides.
        condition: Expr,
        /// Where it goes when it holds.
        yes: BlockId,
        /// Where it goes when it does not.
        no: BlockId,
    },
    /// The first case of which all patterns match.
    Select {
        /// What is compared.
        keys: Vec<Expr>,
        /// In order.
        cases: Vec<Case>,
        /// Where it goes when no case matches.
        default: BlockId,
    },
    /// Looks up, runs the action, and goes to `next`, or to `exit` if the action ended in [`Terminator::Exit`].
    Apply {
        table: TableId,
        /// Where it goes then.
        next: BlockId,
        /// Where it goes when the action ended in `exit`.
        exit: BlockId,
    },
    /// The normal end of a section, action or method; in a parser, accept.
    Return,
    /// The end of an action by `exit`.
    Exit,
    /// The end of a parser in `reject`.
    Reject,
}

/// A case of a select.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// One for each key.
    pub patterns: Vec<Pattern>,
    /// Where it goes.
    pub next: BlockId,
}

/// What a key of a select must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Anything.
    Any,
    /// Just this value.
    Equal(Expr),
    /// The value where the mask has ones.
    Mask(Expr, Expr),
    /// From and to, both included.
    Range(Expr, Expr),
    /// In the value set, together with the keys behind this one, one for each of its fields; their patterns are `Any`.
    ValueSet(ValueSetId),
}
