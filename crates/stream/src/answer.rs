//! Rows of an answer.

use crate::value::Owned;
use alloc::string::String;
use alloc::vec::Vec;

/// Rows that answer a question or a standing window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Owned>>,
    /// Rows of the windows that are not in the answer: they were overwritten between the start of the
    /// question and their turn, or a standing window has too many groups.
    pub missing: u64,
    /// Whether a window reaches beyond the oldest row of its ring, so that rows that were overwritten
    /// may belong to it. A larger ring holds them.
    pub is_cut: bool,
}
