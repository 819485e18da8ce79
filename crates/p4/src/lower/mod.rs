//! From a checked program to the intermediate representation: elaboration (which instances there are, with which arguments), inlining,
//! and taking apart into scalars.
//!
//! The tree is walked once, as if it were run: constructor calls make instances, an expression gives a `Value` of
//! expressions of the representation, statements append to the block at hand. A call lowers the callee's body in place, so each
//! use has its own types and arguments. There is no recursion in P4, so at any time a declaration means one thing, and
//! what it means stands in one table (`bindings`).

mod builder;
mod builtins;
mod calls;
mod elaborate;
mod entries;
mod expressions;
mod externs;
pub(crate) mod index;
mod names;
mod nic;
mod operators;
mod packets;
mod parsers;
mod sections;
mod statements;
mod storage;
mod tables;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod walk;

use crate::ast::NodeId;
use crate::cancel::{Cancel, stopped};
use crate::check::Checked;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::{self, ActionId, BlockId, EnumId, Enumeration, TableId, fold};
use crate::source::Span;
use crate::types::Type;
use crate::value::Bits;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use builder::Builder;
use elaborate::{Instance, Pending};
use index::Index;
use nic::Nic;
use storage::{Storage, Target};
use values::{InstanceId, Value};

/// Maximum number of slots. No program needs more for a good reason; a header stack of a million
/// elements does.
const MAX_SLOTS: usize = 200_000;
/// Maximum number of statements and blocks after inlining.
const MAX_STATEMENTS: usize = 200_000;
/// Maximum nesting depth of types, and of calls.
const MAX_DEPTH: u32 = 64;

/// The program for the architecture whose package `main` instantiates; `None` when there is no `main`, or when an error was told.
#[must_use]
pub fn lower(
    checked: &Checked,
    stop: Option<&Cancel>,
    diagnostics: &mut Diagnostics,
) -> Option<ir::Program> {
    let main = checked.main?;
    let mut lowerer = Lowerer::new(checked);
    lowerer.stop = stop;
    lowerer.sections(main);
    let failed = !lowerer.errors.is_empty();
    for error in lowerer.errors {
        diagnostics.push(error);
    }
    if failed {
        return None;
    }
    let program = lowerer.program;
    if cfg!(debug_assertions)
        && let Err(fault) = ir::validate(&program)
    {
        diagnostics.push(
            Diagnostic::error(
                "internal",
                Span::default(),
                format!("the compiler made an inconsistent program: {fault}"),
            )
            .help("please report this with the program"),
        );
        return None;
    }
    Some(program)
}

/// What a name means now.
#[derive(Clone, Debug)]
enum Binding {
    Storage(Storage),
    Value(Value),
}

/// How a body that is being lowered ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// A section or method: `exit` is its end.
    Section,
    /// An action that tables call.
    Action,
    /// Inlined into the frame below.
    Inlined,
}

/// A body that is being lowered.
struct Frame {
    kind: FrameKind,
    /// What the names of its variables begin with.
    label: String,
    /// What must be copied out when it ends, in this order.
    copies: Rc<[(Target, Storage)]>,
    /// Where `return` puts its value.
    result: Option<(Storage, Type)>,
    return_to: Option<BlockId>,
    exit: Option<BlockId>,
    /// Where `break` and `continue` go, the innermost loop last.
    loops: Vec<(BlockId, BlockId)>,
}

impl Frame {
    fn new(kind: FrameKind, label: impl Into<String>) -> Self {
        Frame {
            kind,
            label: label.into(),
            copies: Rc::new([]),
            result: None,
            return_to: None,
            exit: None,
            loops: Vec::new(),
        }
    }
}

struct Lowerer<'a> {
    checked: &'a Checked,
    stop: Option<&'a Cancel>,
    index: Index<'a>,
    errors: Vec<Diagnostic>,
    program: ir::Program,
    enumerations: BTreeMap<NodeId, EnumId>,
    /// What type parameters stand for now.
    types: BTreeMap<NodeId, Type>,
    /// What names mean now, by the number of their declaration.
    bindings: Vec<Option<Binding>>,
    /// Names that are taken, and how many were made from them.
    names: BTreeMap<Arc<str>, u32>,
    body: Builder,
    frames: Vec<Frame>,
    instances: Vec<Instance<'a>>,
    /// The instance whose body is being lowered; the first stands for the top level.
    instance: InstanceId,
    /// Variables that were given room: by instance, declaration and type.
    locals: BTreeMap<(InstanceId, NodeId, Type), Storage>,
    /// Instances by where they are declared.
    made: BTreeMap<(InstanceId, NodeId), Value>,
    tables: BTreeMap<(InstanceId, NodeId), TableId>,
    actions: BTreeMap<(InstanceId, NodeId), ActionId>,
    /// Slots for keys that take statements to evaluate: `None` for the others.
    key_slots: BTreeMap<TableId, Vec<Option<ir::SlotId>>>,
    /// The actions of each table by declaration, in the table's order.
    table_actions: BTreeMap<TableId, Vec<NodeId>>,
    touched: BTreeMap<NodeId, Rc<BTreeSet<NodeId>>>,
    applications: BTreeMap<NodeId, u32>,
    pending: Vec<Pending<'a>>,
    /// What `this` is.
    this: Option<InstanceId>,
    /// The names of the sections' parameters.
    roots: BTreeSet<Arc<str>>,
    /// In PNA's main control: where it says what becomes of its packet.
    nic: Option<Nic>,
    /// In the argument of `extract`, where `.next` is not read.
    extracting: bool,
    /// Where the parser that is being lowered puts its error.
    error: Option<ir::SlotId>,
    /// The slot that was made for what the last call of an extern returned.
    returned: Option<ir::SlotId>,
    /// What the bodies that are finished count for the bound on inlining.
    built: usize,
    depth: u32,
}

impl<'a> Lowerer<'a> {
    fn new(checked: &'a Checked) -> Self {
        let index = Index::new(&checked.program);
        let mut lowerer = Lowerer {
            checked,
            stop: None,
            errors: Vec::new(),
            program: ir::Program::default(),
            enumerations: BTreeMap::new(),
            types: BTreeMap::new(),
            bindings: vec![None; checked.program.nodes as usize],
            names: BTreeMap::new(),
            body: Builder::new(),
            frames: Vec::new(),
            instances: vec![Instance::top()],
            instance: InstanceId(0),
            locals: BTreeMap::new(),
            made: BTreeMap::new(),
            tables: BTreeMap::new(),
            actions: BTreeMap::new(),
            key_slots: BTreeMap::new(),
            table_actions: BTreeMap::new(),
            touched: BTreeMap::new(),
            applications: BTreeMap::new(),
            pending: Vec::new(),
            this: None,
            roots: BTreeSet::new(),
            nic: None,
            extracting: false,
            error: None,
            returned: None,
            built: 0,
            depth: 0,
            index,
        };
        let members = lowerer
            .index
            .errors
            .iter()
            .enumerate()
            .filter_map(|(at, id)| match lowerer.index.get(*id) {
                Some(index::Node::Member(member, ..)) => {
                    Some((member.name.text.clone(), Bits::new(32, at as u32)))
                }
                _ => None,
            })
            .collect();
        lowerer.program.enumerations.push(Enumeration {
            name: "error".into(),
            width: 32,
            members,
        });
        lowerer.applications = walk::applications(&lowerer);
        lowerer
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.complain(Diagnostic::error(code, span, message));
    }

    fn complain(&mut self, diagnostic: Diagnostic) {
        if !self.errors.contains(&diagnostic) && self.errors.len() < 100 {
            self.errors.push(diagnostic);
        }
    }

    /// Once: what comes behind it would tell the same.
    fn too_large(&mut self, what: &str) {
        if self.errors.iter().any(|error| error.code == "too-large") {
            return;
        }
        let span = self.body.span;
        self.complain(
            Diagnostic::error(
                "too-large",
                span,
                format!("the program has too many {what} once it is instantiated and inlined"),
            )
            .help("make header stacks smaller, or apply large controls in fewer places"),
        );
    }

    /// Whether too much was built already, or nobody wants the rest, which it tells.
    fn is_full(&mut self) -> bool {
        if self.stop.is_some_and(Cancel::is_requested) {
            self.complain(stopped());
            return true;
        }
        let full = self.built + self.body.size() > MAX_STATEMENTS;
        if full {
            self.too_large("statements");
        }
        full
    }

    /// Goes one call deeper; `false` where that is too deep, or too much was built already.
    fn deeper(&mut self, span: Span) -> bool {
        if self.is_full() {
            return false;
        }
        if self.depth >= MAX_DEPTH {
            self.error(
                "too-deep",
                span,
                format!("calls are nested deeper than {MAX_DEPTH}"),
            );
            return false;
        }
        self.depth += 1;
        true
    }

    fn bind(&mut self, id: NodeId, binding: Binding) {
        if let Some(place) = self.bindings.get_mut(id.0 as usize) {
            *place = Some(binding);
        }
    }

    fn binding(&self, id: NodeId) -> Option<&Binding> {
        self.bindings.get(id.0 as usize)?.as_ref()
    }

    /// A name for a variable of the body that is being lowered.
    fn local_name(&self, name: &str) -> String {
        match self.frames.last() {
            Some(frame) if !frame.label.is_empty() => format!("{}.{name}", frame.label),
            _ => name.into(),
        }
    }

    /// Room for a variable, parameter or the like that is declared in the instance's text: the same each time.
    fn local(&mut self, id: NodeId, name: &str, ty: &Type) -> Storage {
        let key = (self.instance, id, ty.clone());
        if let Some(storage) = self.locals.get(&key) {
            return storage.clone();
        }
        let name = self.local_name(name);
        let storage = self.allocate(&name, ty, &[]);
        self.locals.insert(key, storage.clone());
        storage
    }

    /// Lowers another body beside the one at hand.
    fn aside(&mut self, frame: Frame, build: impl FnOnce(&mut Self)) -> ir::Body {
        let span = self.body.span;
        let outer = core::mem::replace(&mut self.body, Builder::new());
        let frames = core::mem::replace(&mut self.frames, vec![frame]);
        self.body.span = span;
        build(self);
        self.frames = frames;
        let body = core::mem::replace(&mut self.body, outer);
        self.built += body.size();
        body.finish()
    }

    /// Where `exit` goes from a frame: to the copying out of all frames it is inlined into, and to their end.
    fn exit_block(&mut self, at: usize) -> BlockId {
        if let Some(block) = self.frames[at].exit {
            return block;
        }
        let block = match self.frames[at].kind {
            FrameKind::Inlined if at > 0 && self.frames[at].copies.is_empty() => {
                self.exit_block(at - 1)
            }
            kind => {
                let block = self.body.block();
                let here = self.body.suspend();
                self.body.go(block);
                match kind {
                    FrameKind::Inlined if at > 0 => {
                        let copies = self.frames[at].copies.clone();
                        self.copy_out(&copies);
                        let outer = self.exit_block(at - 1);
                        self.body.jump(outer);
                    }
                    FrameKind::Action => self.body.terminate(ir::Terminator::Exit),
                    _ => self.body.terminate(ir::Terminator::Return),
                }
                self.body.resume(here);
                block
            }
        };
        self.frames[at].exit = Some(block);
        block
    }

    fn copy_out(&mut self, copies: &[(Target, Storage)]) {
        for (target, storage) in copies {
            let value = self.read_storage(storage);
            self.store_target(target, &value);
        }
    }
}
