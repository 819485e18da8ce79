//! What follows what in a control.

use super::{Graph, MAX_NODES, Shape, shortened};
use crate::ast::{
    Block, Control, Declaration, DeclarationKind, Expression, ExpressionKind, Statement,
    StatementKind, Table, TablePropertyKind,
};
use crate::print;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// Maximum number of lines of a box for a table's actions, or for a row of statements.
const MAX_LINES: usize = 10;

/// Where control comes from: a box and when.
type Ends = Vec<(usize, String)>;

struct Builder<'p> {
    graph: Graph,
    tables: BTreeMap<&'p str, &'p Table>,
    end: usize,
    /// Of the loops around: where `continue` goes, and where `break` comes from.
    loops: Vec<(usize, Ends)>,
}

pub(super) fn graph(control: &Control) -> Graph {
    let tables = control
        .locals
        .iter()
        .filter_map(|d: &Declaration| match &d.kind {
            DeclarationKind::Table(table) => Some((&*table.name.text, &**table)),
            _ => None,
        });
    let mut builder = Builder {
        graph: Graph {
            name: control.name.text.to_string(),
            kind: "control",
            ..Graph::default()
        },
        tables: tables.collect(),
        end: 1,
        loops: Vec::new(),
    };
    let start = builder
        .graph
        .node(Shape::Start, &*control.name.text, Vec::new());
    builder.end = builder.graph.node(Shape::End, "end", Vec::new());
    let ends = builder.block(&control.apply, vec![(start, String::new())]);
    builder.join(ends, builder.end);
    builder.graph
}

impl<'p> Builder<'p> {
    fn join(&mut self, ends: Ends, to: usize) {
        for (from, label) in ends {
            self.graph.edge(from, to, &label);
        }
    }

    /// A box behind all the ends.
    fn after(&mut self, ends: Ends, shape: Shape, title: String, lines: Vec<String>) -> usize {
        let node = self.graph.node(shape, title, lines);
        self.join(ends, node);
        node
    }

    fn block(&mut self, block: &Block, ends: Ends) -> Ends {
        self.statements(&block.statements, ends)
    }

    fn statements(&mut self, list: &[Statement], mut ends: Ends) -> Ends {
        let mut plain: Vec<String> = Vec::new();
        for statement in list {
            if ends.is_empty() || self.graph.nodes.len() > MAX_NODES {
                // Nothing comes here.
                return ends;
            }
            match self.plain(statement) {
                Some(line) => plain.extend(line),
                None => {
                    ends = self.flush(&mut plain, ends);
                    ends = self.statement(statement, ends);
                }
            }
        }
        self.flush(&mut plain, ends)
    }

    /// A box for statements in a row.
    fn flush(&mut self, plain: &mut Vec<String>, ends: Ends) -> Ends {
        if plain.is_empty() {
            return ends;
        }
        let mut lines = core::mem::take(plain);
        if lines.len() > MAX_LINES {
            let more = lines.len() - (MAX_LINES - 1);
            lines.truncate(MAX_LINES - 1);
            lines.push(format!("… {more} more"));
        }
        let node = self.after(ends, Shape::Action, String::new(), lines);
        vec![(node, String::new())]
    }

    /// The line of a statement that only does something; an empty one of a declaration; `None` for what steers.
    fn plain(&self, statement: &Statement) -> Option<Option<String>> {
        match &statement.kind {
            StatementKind::Empty => Some(None),
            StatementKind::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Variable {
                    name,
                    value: Some(value),
                    ..
                } => {
                    let text = format!("{} = {}", name.text, print::expression(value));
                    Some(Some(shortened(&text)))
                }
                _ => Some(None),
            },
            StatementKind::Assign {
                target,
                operator,
                value,
            } => {
                let operator = operator.map_or("", crate::ast::BinaryOperator::text);
                let (target, value) = (print::expression(target), print::expression(value));
                Some(Some(shortened(&format!("{target} {operator}= {value}"))))
            }
            StatementKind::Call(call) if self.applied(call).is_none() => {
                Some(Some(shortened(&print::expression(call))))
            }
            _ => None,
        }
    }

    /// The table that the expression applies, perhaps with `.hit` or the like behind it.
    fn applied(&self, expression: &Expression) -> Option<(&'p Table, String)> {
        match &expression.kind {
            ExpressionKind::Member { base, member } => {
                let (table, _) = self.applied(base)?;
                Some((table, member.text.to_string()))
            }
            ExpressionKind::Call { callee, .. } => {
                let ExpressionKind::Member { base, member } = &callee.kind else {
                    return None;
                };
                let ExpressionKind::Path { name, .. } = &base.kind else {
                    return None;
                };
                let table = self.tables.get(&*name.text)?;
                (&*member.text == "apply").then(|| (*table, String::new()))
            }
            _ => None,
        }
    }

    fn table(&mut self, table: &Table, ends: Ends) -> usize {
        let (mut keys, mut actions) = (Vec::new(), Vec::new());
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(list) => keys.extend(list.iter().map(|k| {
                    let key = print::expression(&k.expression);
                    shortened(&format!("{key}: {}", k.match_kind.text))
                })),
                TablePropertyKind::Actions(list) => actions.extend(list.iter().map(|a| {
                    let path = match &a.action.kind {
                        ExpressionKind::Call { callee, .. } => callee,
                        _ => &a.action,
                    };
                    shortened(&print::expression(path))
                })),
                _ => {}
            }
        }
        if actions.len() > MAX_LINES {
            let more = actions.len() - (MAX_LINES - 1);
            actions.truncate(MAX_LINES - 1);
            actions.push(format!("… {more} more"));
        }
        let mut lines = keys;
        if !lines.is_empty() && !actions.is_empty() {
            lines.push("-".into());
        }
        lines.extend(actions);
        self.after(ends, Shape::Table, table.name.text.to_string(), lines)
    }

    fn statement(&mut self, statement: &Statement, ends: Ends) -> Ends {
        match &statement.kind {
            StatementKind::Block(block) => self.block(block, ends),
            StatementKind::Call(call) => match self.applied(call) {
                Some((table, _)) => vec![(self.table(table, ends), String::new())],
                None => ends,
            },
            StatementKind::If {
                branches,
                otherwise,
            } => {
                let (mut out, mut ends) = (Ends::new(), ends);
                for branch in branches {
                    let (node, when) = self.condition(&branch.condition, ends);
                    out.extend(self.branch(&branch.body, vec![(node, when.0)]));
                    ends = vec![(node, when.1)];
                }
                match otherwise {
                    Some(otherwise) => out.extend(self.branch(otherwise, ends)),
                    None => out.extend(ends),
                }
                out
            }
            StatementKind::Switch { value, cases } => {
                let node = match self.applied(value) {
                    Some((table, _)) => self.table(table, ends),
                    None => {
                        let text = shortened(&print::expression(value));
                        self.after(ends, Shape::Condition, text, Vec::new())
                    }
                };
                let (mut out, mut labels, mut has_default) = (Ends::new(), Vec::new(), false);
                for case in cases {
                    has_default |= matches!(case.label.kind, ExpressionKind::Default);
                    labels.push(shortened(&print::expression(&case.label)));
                    if let Some(body) = &case.body {
                        let label = core::mem::take(&mut labels).join("\n");
                        out.extend(self.block(body, vec![(node, label)]));
                    }
                }
                if !has_default {
                    out.push((node, "else".into()));
                }
                out
            }
            StatementKind::Return(_) => {
                self.join(ends, self.end);
                Ends::new()
            }
            StatementKind::Exit => {
                self.after(ends, Shape::Stop, "exit".into(), Vec::new());
                Ends::new()
            }
            StatementKind::For {
                initial,
                condition,
                update,
                body,
                ..
            } => {
                let ends = self.statements(initial, ends);
                let text = shortened(&print::expression(condition));
                let node = self.after(ends, Shape::Condition, text, Vec::new());
                self.looped(node, body, update)
            }
            StatementKind::ForIn {
                variable,
                collection,
                body,
                ..
            } => {
                let name = match variable {
                    crate::ast::ForVariable::Declared(declaration) => print::head(declaration),
                    crate::ast::ForVariable::Existing(target) => print::expression(target),
                };
                let text = shortened(&format!("{name} in {}", print::expression(collection)));
                let node = self.after(ends, Shape::Condition, text, Vec::new());
                self.looped(node, body, &[])
            }
            StatementKind::Break => {
                if let Some((_, breaks)) = self.loops.last_mut() {
                    breaks.extend(ends);
                }
                Ends::new()
            }
            StatementKind::Continue => {
                if let Some((node, _)) = self.loops.last() {
                    self.join(ends, *node);
                }
                Ends::new()
            }
            _ => ends,
        }
    }

    fn branch(&mut self, statement: &Statement, ends: Ends) -> Ends {
        self.statements(core::slice::from_ref(statement), ends)
    }

    fn looped(&mut self, node: usize, body: &Statement, update: &[Statement]) -> Ends {
        self.loops.push((node, Ends::new()));
        let ends = self.branch(body, vec![(node, "yes".into())]);
        let ends = self.statements(update, ends);
        self.join(ends, node);
        let mut out = vec![(node, "no".to_string())];
        out.extend(self.loops.pop().map(|l| l.1).unwrap_or_default());
        out
    }

    /// A condition's box, and what its two arrows are called.
    fn condition(&mut self, condition: &Expression, ends: Ends) -> (usize, (String, String)) {
        let names = |a: &str, b: &str| (a.to_string(), b.to_string());
        let (inner, inverted) = match &condition.kind {
            ExpressionKind::Unary {
                operator: crate::ast::UnaryOperator::Not,
                operand,
            } => (&**operand, true),
            _ => (condition, false),
        };
        if let Some((table, member)) = self.applied(inner) {
            let hit = (member == "hit") != inverted;
            let node = self.table(table, ends);
            let when = if hit {
                names("hit", "miss")
            } else {
                names("miss", "hit")
            };
            return (node, when);
        }
        let text = shortened(&print::expression(condition));
        let node = self.after(ends, Shape::Condition, text, Vec::new());
        (node, names("yes", "no"))
    }
}
