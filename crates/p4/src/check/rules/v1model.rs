//! What the architecture v1model asks of a program beyond its declarations.

use super::Rules;
use crate::ast::DeclarationKind;
use crate::diagnostic::Diagnostic;
use crate::types::Constant;
use alloc::format;
use num_bigint::BigInt;

/// Versions of v1model that there are.
const VERSIONS: [u32; 4] = [20_180_101, 20_190_102, 20_200_408, 20_250_101];

pub(super) fn run(rules: &mut Rules<'_>) {
    version(rules);
}

/// `V1MODEL_VERSION` is a macro that the user may set before the include.
fn version(rules: &mut Rules<'_>) {
    let found = rules.declarations.iter().find_map(|d| match &d.kind {
        DeclarationKind::Constant { name, value, .. } if &*name.text == "__v1model_version" => {
            Some((d.id, value))
        }
        _ => None,
    });
    let Some((id, value)) = found else { return };
    // As written: the constant's own type has no negative values.
    let written = rules.checked.constants.get(&value.id);
    let Some(Constant::Integer(version)) = written.or(rules.checked.constants.get(&id)) else {
        return;
    };
    let known = VERSIONS
        .iter()
        .any(|known| *version == BigInt::from(*known));
    if !known {
        rules.report(
            Diagnostic::error(
                "v1model-version",
                value.span,
                format!("there is no version {version} of v1model"),
            )
            .help("set `V1MODEL_VERSION` to 20180101, 20190102 or 20200408, or leave it out"),
        );
    }
}
