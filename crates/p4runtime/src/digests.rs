//! Lists of digests: what is gathered, sent, and waited for (specification, section 16.1).

use crate::messages::runtime::DigestList;
use crate::pipeline_state::{Pipeline, data};
use node::Time;
use p4::value::Bits;
use pipeline::control::DigestConfig;
use pipeline::environment::Digest;
use std::collections::BTreeMap;

/// What is gathered of one digest.
#[derive(Default)]
struct Gathered {
    /// Since when.
    since: Time,
    messages: Vec<Vec<Bits>>,
    /// Lists that were sent and are not acknowledged, with the time until which their messages are not sent again.
    unacknowledged: BTreeMap<u64, (Time, Vec<Vec<Bits>>)>,
}

/// All digests of a pipeline.
#[derive(Default)]
pub(crate) struct Digests {
    gathered: BTreeMap<u32, Gathered>,
    next_list: u64,
}

/// Maximum number of unacknowledged lists; older ones are dropped.
const MAX_UNACKNOWLEDGED_LISTS: usize = 1024;
/// Maximum number of messages of a list, whatever its configuration says.
const MAX_LIST_MESSAGES: usize = 4096;

impl Digests {
    /// Takes a message in; whoever has no interest in its digest hears nothing of it.
    pub(crate) fn add(&mut self, pipeline: &Pipeline, message: Digest, now: Time) {
        let digests = pipeline.control.digests();
        let Some(index) = digests.iter().position(|digest| digest.is(&message)) else {
            return;
        };
        let number = pipeline.digests.iter().find(|(_, of)| **of == index as u32);
        let (Some((id, _)), Some(_)) = (number, pipeline.control.digest_config(index as u32))
        else {
            return;
        };
        let values: Vec<Bits> = message.fields.into_iter().map(|(_, value)| value).collect();
        let gathered = self.gathered.entry(*id).or_default();
        gathered.unacknowledged.retain(|_, (until, _)| *until > now);
        let known = gathered.messages.contains(&values)
            || gathered
                .unacknowledged
                .values()
                .any(|(_, sent)| sent.contains(&values));
        if known {
            return;
        }
        if gathered.messages.is_empty() {
            gathered.since = now;
        }
        gathered.messages.push(values);
    }

    /// The lists that are due.
    pub(crate) fn due(&mut self, pipeline: &Pipeline, now: Time) -> Vec<DigestList> {
        let mut lists = Vec::new();
        for (id, gathered) in &mut self.gathered {
            let config = pipeline
                .digests
                .get(id)
                .and_then(|d| pipeline.control.digest_config(*d));
            let Some(config) = config else {
                gathered.messages.clear();
                continue;
            };
            let DigestConfig {
                most_delay,
                most_messages,
                acknowledge_within,
            } = config;
            let most = match most_messages as usize {
                0 => MAX_LIST_MESSAGES,
                most => most.min(MAX_LIST_MESSAGES),
            };
            while gathered.messages.len() >= most
                || !gathered.messages.is_empty() && now >= gathered.since + most_delay
            {
                let count = most.min(gathered.messages.len());
                let sent: Vec<_> = gathered.messages.drain(..count).collect();
                self.next_list += 1;
                let described = pipeline.info.digests.iter().find(|d| d.preamble.id == *id);
                let values = sent.iter().filter_map(|values| {
                    data(pipeline, &described?.ty, &mut values.iter().cloned())
                });
                lists.push(DigestList {
                    digest_id: *id,
                    list_id: self.next_list,
                    data: values.collect(),
                    timestamp: now.as_ns() as i64,
                });
                if acknowledge_within > Time::ZERO {
                    if gathered.unacknowledged.len() >= MAX_UNACKNOWLEDGED_LISTS {
                        gathered.unacknowledged.pop_first();
                    }
                    let until = now + acknowledge_within;
                    gathered
                        .unacknowledged
                        .insert(self.next_list, (until, sent));
                }
            }
        }
        lists
    }

    /// Whether messages wait until their list is due.
    pub(crate) fn gathers(&self) -> bool {
        self.gathered.values().any(|of| !of.messages.is_empty())
    }

    /// A controller has seen a list.
    pub(crate) fn acknowledge(&mut self, digest: u32, list: u64) {
        if let Some(gathered) = self.gathered.get_mut(&digest) {
            gathered.unacknowledged.remove(&list);
        }
    }
}
