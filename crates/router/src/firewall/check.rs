//! Checks of a whole program: jumps end, and their number is bounded.

use super::Hook;
use super::program::{MAX_DEPTH, Program, Step};
use super::sets::{Data, Verdict};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

/// Maximum number of rules that a packet may come by in one base chain.
const MAX_COST: u64 = 1_000_000;

#[derive(Clone, Copy)]
struct Cost {
    rules: u64,
    depth: usize,
    has_proxy: bool,
}

/// Checks the chains that packets can reach.
pub(super) fn check(program: &Program) -> Result<(), String> {
    let mut known = BTreeMap::new();
    for (number, chain) in program.chains.iter().enumerate() {
        let cost = cost(program, number as u32, 0, &mut known)?;
        let Some(base) = chain.base else {
            continue;
        };
        if cost.has_proxy && base.hook != Hook::Forward {
            let reason = "`synproxy` is for the hook forward";
            return Err(format!("chain `{}`: {reason}", chain.name));
        }
    }
    Ok(())
}

fn cost(
    program: &Program,
    number: u32,
    above: usize,
    known: &mut BTreeMap<u32, Option<Cost>>,
) -> Result<Cost, String> {
    let chain = &program.chains[number as usize];
    match known.get(&number) {
        Some(Some(cost)) => return Ok(*cost),
        Some(None) => return Err(format!("chain `{}` jumps to itself", chain.name)),
        None => {}
    }
    let deep = || {
        format!(
            "chain `{}`: more than {MAX_DEPTH} jumps in each other",
            chain.name
        )
    };
    // Of a chain that jumps to itself the depth would not end.
    if above > MAX_DEPTH {
        return Err(deep());
    }
    known.insert(number, None);
    let mut own = Cost {
        rules: 1,
        depth: 0,
        has_proxy: false,
    };
    own.rules += chain.rules.len() as u64;
    let rules = chain.rules.clone();
    let steps = rules.flat_map(|rule| &program.steps[program.steps_of(rule as usize)]);
    for step in steps {
        let mut most = 0;
        let mut visit = |verdict: Verdict| {
            let (Verdict::Jump(next) | Verdict::Goto(next)) = verdict else {
                return Ok::<(), String>(());
            };
            let cost = cost(program, next, above + 1, known)?;
            most = cost.rules.max(most);
            own.depth = own.depth.max(cost.depth + 1);
            own.has_proxy |= cost.has_proxy;
            Ok(())
        };
        match step {
            Step::Verdict(verdict) => visit(*verdict)?,
            Step::Choose(_, map) => {
                for data in program.sets[*map as usize].data() {
                    if let Data::Verdict(verdict) = data {
                        visit(verdict)?;
                    }
                }
            }
            Step::SynProxy(_) => own.has_proxy = true,
            _ => {}
        }
        own.rules = own.rules.saturating_add(most);
    }
    if own.depth >= MAX_DEPTH {
        return Err(deep());
    }
    if own.rules > MAX_COST {
        let name = &chain.name;
        return Err(format!(
            "chain `{name}`: a packet may come by more than {MAX_COST} rules"
        ));
    }
    known.insert(number, Some(own));
    Ok(own)
}
