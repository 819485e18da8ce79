//! Walks over the tree. The parser bounds its depth, so that recursion does no harm.

use crate::ast::{
    Block, Declaration, DeclarationKind, Expression, ExpressionKind, ForVariable, Statement,
    StatementKind, TablePropertyKind, Transition,
};
use alloc::vec::Vec;

/// All declarations of a program, those in parsers, controls, blocks and instances too, outer ones first.
pub(super) fn declarations<'a>(list: &'a [Declaration], out: &mut Vec<&'a Declaration>) {
    for declaration in list {
        out.push(declaration);
        match &declaration.kind {
            DeclarationKind::Parser(parser) => {
                declarations(&parser.locals, out);
                for state in &parser.states {
                    for statement in &state.statements {
                        in_statement(statement, out);
                    }
                }
            }
            DeclarationKind::Control(control) => {
                declarations(&control.locals, out);
                in_block(&control.apply, out);
            }
            DeclarationKind::Function { body, .. } | DeclarationKind::Action { body, .. } => {
                in_block(body, out);
            }
            DeclarationKind::Instance {
                initializer: Some(list),
                ..
            } => declarations(list, out),
            _ => {}
        }
    }
}

fn in_block<'a>(block: &'a Block, out: &mut Vec<&'a Declaration>) {
    for statement in &block.statements {
        in_statement(statement, out);
    }
}

fn in_statement<'a>(statement: &'a Statement, out: &mut Vec<&'a Declaration>) {
    statements(statement, &mut |statement| match &statement.kind {
        StatementKind::Declaration(declaration) => {
            declarations(core::slice::from_ref(&**declaration), out);
        }
        StatementKind::ForIn {
            variable: ForVariable::Declared(declaration),
            ..
        } => out.push(declaration),
        _ => {}
    });
}

/// A statement and all within it.
pub(super) fn statements<'a>(statement: &'a Statement, visit: &mut impl FnMut(&'a Statement)) {
    visit(statement);
    match &statement.kind {
        StatementKind::Block(block) => {
            for inner in &block.statements {
                statements(inner, visit);
            }
        }
        StatementKind::If {
            branches,
            otherwise,
        } => {
            for branch in branches {
                statements(&branch.body, visit);
            }
            if let Some(otherwise) = otherwise {
                statements(otherwise, visit);
            }
        }
        StatementKind::Switch { cases, .. } => {
            for case in cases {
                for inner in case.body.iter().flat_map(|block| &block.statements) {
                    statements(inner, visit);
                }
            }
        }
        StatementKind::For {
            initial,
            update,
            body,
            ..
        } => {
            for inner in initial.iter().chain(update) {
                statements(inner, visit);
            }
            statements(body, visit);
        }
        StatementKind::ForIn { body, .. } => statements(body, visit),
        _ => {}
    }
}

/// The expressions that a statement has itself, without those of statements within it.
pub(super) fn own_expressions(statement: &Statement) -> Vec<&Expression> {
    match &statement.kind {
        StatementKind::Assign { target, value, .. } => alloc::vec![target, value],
        StatementKind::Call(call) => alloc::vec![call],
        StatementKind::If { branches, .. } => {
            branches.iter().map(|branch| &branch.condition).collect()
        }
        StatementKind::For { condition, .. } => alloc::vec![condition],
        StatementKind::Switch { value, .. } => alloc::vec![value],
        StatementKind::Return(value) => value.iter().collect(),
        StatementKind::ForIn {
            variable,
            collection,
            ..
        } => match variable {
            ForVariable::Existing(place) => alloc::vec![place, collection],
            ForVariable::Declared(_) => alloc::vec![collection],
        },
        StatementKind::Declaration(declaration) => match &declaration.kind {
            DeclarationKind::Constant { value, .. } => alloc::vec![value],
            DeclarationKind::Variable { value, .. } => value.iter().collect(),
            DeclarationKind::Instance { arguments, .. } => {
                arguments.iter().map(|argument| &argument.value).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// An expression and all within it.
pub(super) fn expressions<'a>(e: &'a Expression, visit: &mut impl FnMut(&'a Expression)) {
    visit(e);
    for part in parts(e) {
        expressions(part, visit);
    }
}

/// What an expression is made of.
pub(super) fn parts(e: &Expression) -> Vec<&Expression> {
    match &e.kind {
        ExpressionKind::Member { base, .. } => alloc::vec![base],
        ExpressionKind::Index { base, index } => alloc::vec![base, index],
        ExpressionKind::Slice { base, high, low } => alloc::vec![base, high, low],
        ExpressionKind::PlusSlice { base, low, width } => alloc::vec![base, low, width],
        ExpressionKind::List { elements, .. } => elements.iter().collect(),
        ExpressionKind::Struct { fields, .. } => fields.iter().map(|(_, value)| value).collect(),
        ExpressionKind::Unary { operand, .. } | ExpressionKind::Cast { operand, .. } => {
            alloc::vec![operand]
        }
        ExpressionKind::Binary { left, right, .. } => alloc::vec![left, right],
        ExpressionKind::Conditional { condition, yes, no } => alloc::vec![condition, yes, no],
        ExpressionKind::Call {
            callee, arguments, ..
        } => {
            let mut parts: Vec<&Expression> = alloc::vec![callee];
            parts.extend(arguments.iter().map(|argument| &argument.value));
            parts
        }
        ExpressionKind::Mask { value, mask } => alloc::vec![value, mask],
        ExpressionKind::Range { low, high } => alloc::vec![low, high],
        _ => Vec::new(),
    }
}

/// The outermost expressions below a declaration: initial values, arguments, those of its statements, keys, and so on, but not those of
/// declarations within it.
pub(super) fn of_declaration<'a>(
    declaration: &'a Declaration,
    visit: &mut impl FnMut(&'a Expression),
) {
    match &declaration.kind {
        DeclarationKind::Constant { value, .. } => visit(value),
        DeclarationKind::Variable { value, .. } => value.iter().for_each(visit),
        DeclarationKind::Instance { arguments, .. } => {
            arguments.iter().for_each(|a| visit(&a.value));
        }
        DeclarationKind::Function { body, .. } | DeclarationKind::Action { body, .. } => {
            of_block(body, visit);
        }
        DeclarationKind::Control(control) => of_block(&control.apply, visit),
        DeclarationKind::Parser(parser) => {
            for state in &parser.states {
                for statement in &state.statements {
                    of_statement(statement, visit);
                }
                if let Some(Transition::Select {
                    selectors, cases, ..
                }) = &state.transition
                {
                    selectors.iter().for_each(&mut *visit);
                    cases.iter().for_each(|case| visit(&case.keyset));
                }
            }
        }
        DeclarationKind::ValueSet { size, .. } => visit(size),
        DeclarationKind::Table(table) => {
            for property in &table.properties {
                match &property.kind {
                    TablePropertyKind::Key(keys) => {
                        keys.iter().for_each(|key| visit(&key.expression));
                    }
                    TablePropertyKind::Actions(actions) => {
                        actions.iter().for_each(|action| visit(&action.action));
                    }
                    TablePropertyKind::Entries(entries) => {
                        for entry in entries {
                            visit(&entry.keyset);
                            visit(&entry.action);
                        }
                    }
                    TablePropertyKind::Other { value, .. } => visit(value),
                }
            }
        }
        _ => {}
    }
}

fn of_block<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Expression)) {
    for statement in &block.statements {
        of_statement(statement, visit);
    }
}

fn of_statement<'a>(statement: &'a Statement, visit: &mut impl FnMut(&'a Expression)) {
    statements(statement, &mut |statement| {
        // What is declared among statements is visited as a declaration of its own.
        if !matches!(statement.kind, StatementKind::Declaration(_)) {
            own_expressions(statement).into_iter().for_each(&mut *visit);
        }
        if let StatementKind::Switch { cases, .. } = &statement.kind {
            cases.iter().for_each(|case| visit(&case.label));
        }
    });
}
