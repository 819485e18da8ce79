//! Which names can stand as they are.

/// Words that mean something; as names they are quoted where they could be taken for it.
const KEYWORDS: [&str; 61] = [
    "program",
    "enum",
    "slot",
    "header",
    "stack",
    "value_set",
    "object",
    "action",
    "table",
    "parser",
    "control",
    "is",
    "valid",
    "next",
    "size",
    "types",
    "method",
    "key",
    "default",
    "const",
    "entry",
    "implementation",
    "empty_group",
    "direct",
    "idle_timeout",
    "hit",
    "action_run",
    "property",
    "const_entries",
    "table_only",
    "default_only",
    "role",
    "error_in",
    "parameter",
    "fail",
    "extract",
    "extract_next",
    "lookahead",
    "advance",
    "length",
    "emit",
    "emit_value",
    "call",
    "of",
    "jump",
    "branch",
    "select",
    "apply",
    "return",
    "exit",
    "reject",
    "text",
    "member",
    "any",
    "at",
    "cast",
    "if",
    "varbit_length",
    "true",
    "false",
    "typed",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether all of a text is a plain name: `hdr.mpls[2].$valid`, or with a dot before it.
pub(super) fn is_plain(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    // What stands in brackets is a number.
    let index = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let part = |part: &str| {
        let mut pieces = part.split('[');
        part.starts_with(word)
            && pieces.next().is_some_and(|first| first.chars().all(word))
            && pieces.all(|piece| {
                let split = piece.split_once(']');
                split.is_some_and(|(digits, rest)| index(digits) && rest.chars().all(word))
            })
    };
    let text = text.strip_prefix('.').unwrap_or(text);
    !text.starts_with(|c: char| c.is_ascii_digit()) && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn names_of_slots_stand_as_they_are_and_source_text_does_not() {
        for name in ["a", "_", ".f", "hdr.mpls[2].$valid", "a[0][1]b.3", "$next"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "", ".", "1", ".1", "a.", "a..b", "a b", "a[]", "a[1", "a]", "a[x]", "a[7:0]", "..a",
            "[1]",
        ] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
