//! Result rows.

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
    /// Number of rows in the windows that the answer lacks: they were overwritten while the question
    /// read the ring, or a standing window has too many groups.
    pub missing: u64,
    /// Whether a window reaches beyond the oldest row of its ring, so that overwritten rows may belong
    /// to it. A larger ring avoids this.
    pub is_cut: bool,
}
