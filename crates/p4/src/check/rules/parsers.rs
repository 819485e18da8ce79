//! Parser states (specification 13): there is a `start`, and from it a way to the end.

use super::Rules;
use crate::ast::{
    DeclarationKind, Expression, ExpressionKind, NodeId, Parser, State, StateRef, Transition,
};
use crate::diagnostic::Diagnostic;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

pub(super) fn run(rules: &mut Rules<'_>) {
    for declaration in rules.declarations.clone() {
        if let DeclarationKind::Parser(parser) = &declaration.kind {
            rules.states(parser);
        }
    }
}

/// Where a state goes; without a transition to `reject`.
pub(super) fn next(state: &State) -> Vec<&StateRef> {
    match &state.transition {
        None => Vec::new(),
        Some(Transition::Direct(state)) => alloc::vec![state],
        Some(Transition::Select { cases, .. }) => cases.iter().map(|case| &case.next).collect(),
    }
}

impl Rules<'_> {
    fn states(&mut self, parser: &Parser) {
        let Some(start) = parser.states.iter().find(|s| &*s.name.text == "start") else {
            self.report(
                Diagnostic::error(
                    "no-start-state",
                    parser.name.span,
                    format!("the parser `{}` has no state `start`", parser.name.text),
                )
                .help("parsing begins in the state `start`; add one"),
            );
            return;
        };
        let by_id: BTreeMap<NodeId, &State> = parser.states.iter().map(|s| (s.id, s)).collect();
        let mut reached = BTreeSet::from([start.id]);
        let mut work = alloc::vec![start];
        let (mut ends, mut accepts) = (false, false);
        while let Some(state) = work.pop() {
            // A select without a match ends in `reject` too, but nobody writes a parser for that alone.
            ends |= state.transition.is_none();
            for next in next(state) {
                ends |= matches!(&*next.name.text, "accept" | "reject");
                accepts |= &*next.name.text == "accept";
                if let Some(id) = self.checked.references.get(&next.id)
                    && let Some(state) = by_id.get(id)
                    && reached.insert(*id)
                {
                    work.push(state);
                }
            }
        }
        if !ends {
            self.report(
                Diagnostic::error(
                    "never-accepts",
                    parser.name.span,
                    format!(
                        "the parser `{}` never reaches `accept` or `reject`",
                        parser.name.text
                    ),
                )
                .help("let a state go on to `accept`"),
            );
        }
        if ends && !accepts {
            self.report(Diagnostic::warning(
                "unreachable",
                parser.name.span,
                format!(
                    "no way leads to `accept` in the parser `{}`",
                    parser.name.text
                ),
            ));
        }
        for state in &parser.states {
            self.cases(state);
            if state.transition.is_none() {
                self.report(
                    Diagnostic::warning(
                        "no-transition",
                        state.name.span,
                        format!(
                            "the state `{}` has no transition, and so rejects the packet",
                            state.name.text
                        ),
                    )
                    .help("end it with `transition accept;` or `transition reject;`"),
                );
            }
            if !reached.contains(&state.id) {
                self.report(Diagnostic::warning(
                    "unreachable",
                    state.name.span,
                    format!(
                        "no way leads from `start` to the state `{}`",
                        state.name.text
                    ),
                ));
            }
        }
    }

    /// Cases behind one that takes whatever comes.
    fn cases(&mut self, state: &State) {
        let Some(Transition::Select { cases, .. }) = &state.transition else {
            return;
        };
        let all = cases.iter().position(|case| is_any(&case.keyset));
        if let Some(all) = all
            && let Some(next) = cases.get(all + 1)
        {
            self.report(
                Diagnostic::warning("unreachable", next.span, "this case is never taken")
                    .note(cases[all].span, "this one takes whatever comes")
                    .help("move it before that one, or remove it"),
            );
        }
    }
}

fn is_any(keyset: &Expression) -> bool {
    match &keyset.kind {
        ExpressionKind::Default | ExpressionKind::DontCare => true,
        ExpressionKind::List { elements, .. } => {
            !elements.is_empty() && elements.iter().all(is_any)
        }
        _ => false,
    }
}
