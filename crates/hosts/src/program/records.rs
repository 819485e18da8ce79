//! What is kept of conversations that are over.

use alloc::vec::Vec;
use node::Flow;

/// Conversations that are told one by one; what is beyond goes into one more line.
const LISTED: usize = 10_000;

/// A bounded list of them.
#[derive(Default)]
pub(crate) struct Records {
    listed: Vec<Flow>,
    others: Option<(u64, Flow)>,
}

impl Records {
    pub fn add(&mut self, flow: Flow) {
        if self.listed.len() < LISTED {
            self.listed.push(flow);
            return;
        }
        match &mut self.others {
            None => self.others = Some((1, flow)),
            Some((count, sum)) => {
                *count += 1;
                sum.ended = sum.ended.max(flow.ended);
                sum.done &= flow.done;
                sum.bytes += flow.bytes;
                sum.packets += flow.packets;
                sum.lost += flow.lost;
                sum.resent += flow.resent;
            }
        }
    }

    pub fn show(&self, visit: &mut dyn FnMut(Flow)) {
        for flow in &self.listed {
            visit(flow.clone());
        }
        if let Some((count, flow)) = &self.others {
            visit(Flow {
                to: alloc::format!("{count} more"),
                ..flow.clone()
            });
        }
    }
}
