//! Every rule that is not one of names and types.

use super::Checked;
use crate::diagnostic::Diagnostics;

/// Checks the rules of a program whose names and types are right.
pub(super) fn run(_checked: &Checked, _diagnostics: &mut Diagnostics) {}
