//! What a program says of itself.

use super::Package;
use super::declarations::{annotation, notes, strings};
use crate::ast::{Annotation, AnnotationBody, ExpressionKind};
use crate::ir::Architecture;
use crate::token::integer;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Of the package's annotations.
pub(super) fn describe(architecture: &Architecture, annotations: &[Annotation]) -> Package {
    let mut package = Package {
        architecture: match architecture {
            Architecture::V1Switch => "v1model".into(),
            Architecture::PsaSwitch => "psa".into(),
            Architecture::PnaNic => "pna".into(),
            other @ (Architecture::Switch | Architecture::Bump | Architecture::Other(_)) => {
                other.name().into()
            }
        },
        ..Package::default()
    };
    for (key, text) in pairs(annotations, "pkginfo") {
        match &*key {
            "name" | "version" | "organization" | "contact" | "url" => {
                package.fields.push((key, text));
            }
            // The program may say it better.
            "arch" => package.architecture = text.into(),
            _ => {}
        }
    }
    for (key, text) in pairs(annotations, "platform_property") {
        if let Some(number) = integer(&text).and_then(|number| i64::try_from(number).ok()) {
            package.platform.push((key, number));
        }
    }
    package.notes = notes(annotations, &["pkginfo", "platform_property"]);
    // What was read above is no note.
    package
        .notes
        .structured
        .retain(|note| !matches!(&*note.name, "pkginfo" | "platform_property"));
    package
}

/// `@name(a = "x", b = 2)` and the same in square brackets; strings without their quotes.
fn pairs(annotations: &[Annotation], name: &str) -> Vec<(Arc<str>, String)> {
    let mut pairs = Vec::new();
    match annotation(annotations, name).map(|annotation| &annotation.body) {
        Some(AnnotationBody::Tokens(tokens)) => {
            for pair in tokens.split(|token| &**token == ",") {
                let [key, equals, value @ ..] = pair else {
                    continue;
                };
                if &**equals != "=" {
                    continue;
                }
                let text = strings(value).or_else(|| value.first().map(ToString::to_string));
                if let Some(text) = text {
                    pairs.push((key.clone(), text));
                }
            }
        }
        Some(AnnotationBody::Pairs(list)) => {
            for (key, value) in list {
                let text = match &value.kind {
                    ExpressionKind::String(text) => text.to_string(),
                    ExpressionKind::Integer { value, .. } => value.to_string(),
                    _ => continue,
                };
                pairs.push((key.text.clone(), text));
            }
        }
        _ => {}
    }
    pairs
}
