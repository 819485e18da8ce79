//! Datapath ids, by which controllers tell OpenFlow switches apart: no two switches of a lab have the same.

use crate::fault::Fault;
use crate::plan::{Lab, NodePlan};
use crate::tree::{Entry, Value, What};
use std::collections::BTreeMap;

const OWN: &str = "openflow-switch";
const KEY: &str = "datapath_id";

/// Gives each OpenFlow switch without a datapath id its place among these switches, from 1, or the next number that the
/// file names nowhere, and refuses ids that two switches have.
pub(crate) fn settle(lab: &mut Lab, faults: &mut Vec<Fault>) {
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    for plan in &lab.nodes {
        let Some((id, value)) = named(plan) else {
            continue;
        };
        match names.get(&id) {
            Some(first) => {
                let message = format!(
                    "`{first}` and `{}` have the same datapath id, {id}: a controller would take them for one switch",
                    plan.name
                );
                let fault = Fault::new(value.span.clone(), message);
                let help = format!(
                    "give each its own, or leave `{KEY}` out: switches are numbered by their place in the file"
                );
                faults.push(fault.help(help));
            }
            None => drop(names.insert(id, plan.name.clone())),
        }
    }
    let switches = lab.nodes.iter_mut().filter(|plan| plan.kind.name == OWN);
    for (place, plan) in (1..).zip(switches) {
        if plan.config.get(KEY).is_some() {
            continue;
        }
        let free = (place..).find(|id| !names.contains_key(id));
        let id = free.expect("there are fewer switches than numbers");
        names.insert(id, plan.name.clone());
        let span = plan.span.clone();
        if let What::Table(entries) = &mut plan.config.what {
            entries.push(Entry {
                key: KEY.into(),
                key_span: span.clone(),
                value: Value {
                    span,
                    what: What::Integer(id as i64),
                },
            });
        }
    }
}

/// The id that a switch has in the file, if it can be read, and where.
fn named(plan: &NodePlan) -> Option<(u64, &Value)> {
    let (value, id) = match plan.kind.name.as_str() {
        OWN => {
            let value = plan.config.get(KEY)?;
            (value, value.read().ok()?)
        }
        "openvswitch" => {
            let value = plan.config.get("dpid")?;
            let digits: String = value.read().ok()?;
            (value, u64::from_str_radix(&digits, 16).ok()?)
        }
        _ => return None,
    };
    Some((id, value))
}
