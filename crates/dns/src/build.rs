//! Building a response from records.

use crate::message::{OwnedRecord, Question};
use alloc::vec::Vec;
use domain::base::iana::Rcode;
use domain::base::{MessageBuilder, StaticCompressor};

/// Writes a response without an OPT record. Truncated: without records.
pub fn response(
    question: &Question<'_>,
    code: Rcode,
    is_truncated: bool,
    answer: &[OwnedRecord],
    authority: &[OwnedRecord],
    out: &mut Vec<u8>,
) {
    out.clear();
    let target = StaticCompressor::new(core::mem::take(out));
    let builder = MessageBuilder::from_target(target);
    let mut builder = builder
        .unwrap_or_else(|_| unreachable!("a vector grows"))
        .question();
    let header = builder.header_mut();
    header.set_qr(true);
    header.set_ra(true);
    header.set_tc(is_truncated);
    header.set_rcode(code);
    // The records come from a few messages, and fit into one.
    let _ = builder.push((question.name, question.rtype, question.class));
    let mut builder = builder.answer();
    for record in answer {
        let _ = builder.push(record);
    }
    let mut builder = builder.authority();
    for record in authority {
        let _ = builder.push(record);
    }
    *out = builder.finish().into_target();
}
