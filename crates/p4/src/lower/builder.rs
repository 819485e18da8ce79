//! Builds the graph of blocks of one body, and tidies it.

use crate::ir::{
    Argument, Block, BlockId, Body, Expr, LValue, SlotId, Statement, StatementKind, Terminator,
};
use crate::source::Span;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

struct Open {
    name: Option<Arc<str>>,
    statements: Vec<Statement>,
    terminator: Option<Terminator>,
}

/// A body in the making. Statements go to the current block; where there is none, the text is unreachable and its statements are
/// dropped.
pub(super) struct Builder {
    blocks: Vec<Open>,
    current: Option<usize>,
    pub fail: Option<BlockId>,
    /// Where the statement that is being lowered stands.
    pub span: Span,
    statements: usize,
}

impl Builder {
    pub fn new() -> Self {
        let mut builder = Builder {
            blocks: Vec::new(),
            current: None,
            fail: None,
            span: Span::default(),
            statements: 0,
        };
        let entry = builder.block();
        builder.go(entry);
        builder
    }

    /// How much was built, for the bound on inlining.
    pub fn size(&self) -> usize {
        self.statements + self.blocks.len()
    }

    /// A new block, not yet begun.
    pub fn block(&mut self) -> BlockId {
        self.blocks.push(Open {
            name: None,
            statements: Vec::new(),
            terminator: None,
        });
        BlockId(self.blocks.len() as u32 - 1)
    }

    pub fn named(&mut self, name: &str) -> BlockId {
        let block = self.block();
        self.blocks[block.index()].name = Some(name.into());
        block
    }

    /// Goes on in a block.
    pub fn go(&mut self, block: BlockId) {
        self.current = Some(block.index());
    }

    /// Leaves the current block to work on another; [`Builder::resume`] comes back.
    pub fn suspend(&mut self) -> Option<usize> {
        self.current.take()
    }

    pub fn resume(&mut self, block: Option<usize>) {
        self.current = block;
    }

    /// Whether what comes next can be reached.
    pub fn reachable(&self) -> bool {
        self.current.is_some()
    }

    pub fn push(&mut self, kind: StatementKind) {
        if let Some(current) = self.current {
            self.statements += 1 + elements(&kind) / ELEMENTS;
            self.blocks[current].statements.push(Statement {
                kind,
                span: self.span,
            });
        }
    }

    pub fn assign(&mut self, target: LValue, value: Expr) {
        if let (LValue::Slot(slot), Expr::Slot(from)) = (&target, &value)
            && slot == from
        {
            return;
        }
        self.push(StatementKind::Assign { target, value });
    }

    pub fn terminate(&mut self, terminator: Terminator) {
        if let Some(current) = self.current.take() {
            self.blocks[current].terminator = Some(terminator);
        }
    }

    pub fn jump(&mut self, to: BlockId) {
        self.terminate(Terminator::Jump(to));
    }

    pub fn branch(&mut self, condition: Expr, yes: BlockId, no: BlockId) {
        match super::fold::truth(&condition) {
            Some(true) => self.jump(yes),
            Some(false) => self.jump(no),
            None => self.terminate(Terminator::Branch { condition, yes, no }),
        }
    }

    /// Lets the call that was just made put what it returns into another place than the slot made for it.
    pub fn redirect(&mut self, from: SlotId, to: &LValue) -> bool {
        let Some(current) = self.current else {
            return false;
        };
        let last = self.blocks[current].statements.last_mut();
        let Some(Statement {
            kind: StatementKind::Call { results, .. },
            ..
        }) = last
        else {
            return false;
        };
        match results.last_mut() {
            Some(last) if *last == LValue::Slot(from) => {
                *last = to.clone();
                true
            }
            _ => false,
        }
    }

    /// The body: no block that cannot be reached, none that only jumps on, and none that could be the end of the one before it.
    pub fn finish(mut self) -> Body {
        if self.current.is_some() {
            self.terminate(Terminator::Return);
        }
        let mut blocks: Vec<Block> = self
            .blocks
            .into_iter()
            .map(|open| Block {
                name: open.name,
                statements: open.statements,
                // A block that nothing goes to was never begun; it is dropped below.
                terminator: open.terminator.unwrap_or(Terminator::Return),
            })
            .collect();
        thread(&mut blocks, &mut self.fail);
        merge(&mut blocks, self.fail);
        order(blocks, self.fail)
    }
}

/// A list of so many slots, behind an index that is known only when the packet comes, counts as much as a statement.
const ELEMENTS: usize = 16;

/// How many slots the lists of a statement have.
fn elements(kind: &StatementKind) -> usize {
    fn of(expression: &Expr) -> usize {
        match expression {
            Expr::Constant(..) | Expr::Slot(_) | Expr::VarbitLength(_) => 0,
            Expr::Element { slots, index } => slots.len() + of(index),
            Expr::Unary(_, value) | Expr::Slice { value, .. } | Expr::Cast { value, .. } => {
                of(value)
            }
            Expr::Binary(_, left, right) => of(left) + of(right),
            Expr::Conditional { condition, yes, no } => of(condition) + of(yes) + of(no),
        }
    }
    match kind {
        StatementKind::Assign { target, value } => {
            let target = match target {
                LValue::Element { slots, index, .. } => slots.len() + of(index),
                _ => 0,
            };
            target + of(value)
        }
        StatementKind::Call { arguments, .. } => {
            let lists = arguments.iter().map(|argument| match argument {
                Argument::Value(value) => of(value),
                Argument::List(items) => items.len(),
                Argument::Text(_) | Argument::Object(_) | Argument::Member(..) => 0,
            });
            lists.sum()
        }
        _ => 0,
    }
}

fn retarget(terminator: &mut Terminator, map: impl Fn(BlockId) -> BlockId) {
    match terminator {
        Terminator::Jump(to) => *to = map(*to),
        Terminator::Branch { yes, no, .. } => {
            *yes = map(*yes);
            *no = map(*no);
        }
        Terminator::Select { cases, default, .. } => {
            for case in cases {
                case.next = map(case.next);
            }
            *default = map(*default);
        }
        Terminator::Apply { next, exit, .. } => {
            *next = map(*next);
            *exit = map(*exit);
        }
        Terminator::Return | Terminator::Exit | Terminator::Reject => {}
    }
}

/// Goes past blocks that only jump on.
fn thread(blocks: &mut [Block], fail: &mut Option<BlockId>) {
    let mut ends: Vec<BlockId> = (0..blocks.len() as u32).map(BlockId).collect();
    for start in 0..blocks.len() {
        let mut at = start;
        // As many steps as there are blocks: a loop of empty blocks stays one.
        for _ in 0..blocks.len() {
            let block = &blocks[at];
            match &block.terminator {
                Terminator::Jump(to) if block.statements.is_empty() && block.name.is_none() => {
                    at = to.index();
                    // What is known of an earlier block need not be walked again.
                    if at < start {
                        at = ends[at].index();
                        break;
                    }
                }
                _ => break,
            }
        }
        ends[start] = BlockId(at as u32);
    }
    for block in blocks.iter_mut() {
        retarget(&mut block.terminator, |to| ends[to.index()]);
        match &block.terminator {
            Terminator::Branch { yes, no, .. } if yes == no => {
                block.terminator = Terminator::Jump(*yes);
            }
            Terminator::Select { cases, default, .. }
                if cases.iter().all(|case| case.next == *default) =>
            {
                block.terminator = Terminator::Jump(*default);
            }
            _ => {}
        }
    }
    if let Some(fail) = fail {
        *fail = ends[fail.index()];
    }
}

/// Joins a block with the one behind it where nothing else leads there.
fn merge(blocks: &mut [Block], fail: Option<BlockId>) {
    let mut reachable = vec![false; blocks.len()];
    let mut open = vec![0];
    open.extend(fail.map(BlockId::index));
    while let Some(at) = open.pop() {
        if core::mem::replace(&mut reachable[at], true) {
            continue;
        }
        blocks[at].terminator.successors(|to| open.push(to.index()));
    }
    let mut entries = vec![0u32; blocks.len()];
    entries[0] = 1;
    if let Some(fail) = fail {
        entries[fail.index()] += 1;
    }
    for (block, _) in blocks.iter().zip(&reachable).filter(|(_, r)| **r) {
        block.terminator.successors(|to| entries[to.index()] += 1);
    }
    for at in 0..blocks.len() {
        if !reachable[at] {
            continue;
        }
        while let Terminator::Jump(to) = blocks[at].terminator {
            let to = to.index();
            if to == at || entries[to] != 1 || blocks[to].name.is_some() {
                break;
            }
            let statements = core::mem::take(&mut blocks[to].statements);
            let terminator = core::mem::replace(&mut blocks[to].terminator, Terminator::Return);
            blocks[at].statements.extend(statements);
            blocks[at].terminator = terminator;
            reachable[to] = false;
        }
    }
}

/// Puts the blocks that can be reached in an order in which each stands behind those that lead to it, loops aside.
fn order(blocks: Vec<Block>, fail: Option<BlockId>) -> Body {
    let mut order = Vec::new();
    let mut seen = vec![false; blocks.len()];
    let following = |at: usize| {
        let mut list = Vec::new();
        blocks[at].terminator.successors(|to| list.push(to.index()));
        list
    };
    // Post-order, turned round; the failing end last.
    for root in fail.map(BlockId::index).into_iter().chain([0]) {
        if core::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, following(root))];
        while let Some((at, left)) = stack.last_mut() {
            match left.pop() {
                Some(next) => {
                    if !core::mem::replace(&mut seen[next], true) {
                        stack.push((next, following(next)));
                    }
                }
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
    }
    order.reverse();
    // The entry is first even where the failing end leads to it.
    if let Some(place) = order.iter().position(|at| *at == 0) {
        order[..=place].rotate_right(1);
    }
    let mut numbers = vec![BlockId(0); blocks.len()];
    for (number, at) in order.iter().enumerate() {
        numbers[*at] = BlockId(number as u32);
    }
    let mut blocks: Vec<Option<Block>> = blocks.into_iter().map(Some).collect();
    let blocks = order
        .iter()
        .filter_map(|at| {
            let mut block = blocks[*at].take()?;
            retarget(&mut block.terminator, |to| numbers[to.index()]);
            Some(block)
        })
        .collect();
    Body {
        blocks,
        fail: fail.map(|fail| numbers[fail.index()]),
    }
}
