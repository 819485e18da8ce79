//! Names of the program as names of Verilog.

use alloc::format;
use alloc::string::{String, ToString};

/// A name of the program as one of Verilog.
pub(crate) fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    while text.contains("__") {
        text = text.replace("__", "_");
    }
    let text = text.trim_matches('_');
    let text = match text.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => text.to_string(),
        _ => format!("n_{text}"),
    };
    // What ends like a delayed value, or is a word of the language, gets an end of its own.
    let delayed = text.rsplit_once("_s").is_some_and(|(_, digits)| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    });
    match delayed || WORDS.binary_search(&&*text).is_ok() || text.contains("unused") {
        true => format!("{}_p4", text.replace("unused", "unusd")),
        false => text,
    }
}

/// Words of Verilog and SystemVerilog, and names that the pipeline has itself.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "accept_on", "alias", "always", "and", "assert", "assign", "assume", "automatic", "before", "begin", "bind", "bit", "break", "buf", "byte",
    "case", "cell", "chandle", "checker", "class", "clk", "clocking", "config", "const", "constraint", "context", "continue", "cover",
    "cross", "ctl_address", "ctl_data", "ctl_read", "ctl_write", "deassign", "default", "defparam", "design", "disable", "dist", "do", "edge",
    "else", "end", "endcase", "endmodule", "enum", "event", "expect", "export", "extends", "extern", "final", "first_match", "for",
    "force", "foreach", "forever", "fork", "forkjoin", "function", "generate", "genvar", "global", "highz0", "if", "iff", "ifnone", "implements",
    "implies", "import", "in_valid", "incdir", "include", "initial", "inout", "input", "inside", "instance", "int", "integer", "interface",
    "intersect", "join", "large", "length", "let", "liblist", "library", "local", "localparam", "logic", "longint", "macromodule", "matches",
    "medium", "modport", "module", "nand", "negedge", "new", "nor", "not", "null", "or", "out_valid", "output", "package", "packed", "packet_sum",
    "parameter", "pmos", "port", "posedge", "primitive", "priority", "program", "property", "protected", "pull0", "pull1", "pure", "rand",
    "real", "realtime", "ref", "reg", "reject_on", "release", "repeat", "restrict", "return", "rst", "scalared", "sequence", "shortint",
    "shortreal", "signed", "small", "soft", "solve", "specify", "static", "string", "strong", "struct", "super", "supply0", "supply1",
    "table", "tagged", "task", "this", "throughout", "time", "time_ns", "time_us", "tran", "tri", "type", "typedef", "union", "unique",
    "unsigned", "until", "untyped", "use", "var", "vectored", "virtual", "void", "wait", "wand", "weak", "while", "wildcard", "window",
    "window_bytes", "wire", "with", "within", "wor", "xnor", "xor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted());
    }

    #[test]
    fn names_of_the_program_are_names_of_verilog() {
        assert_eq!(identifier("hdr.ipv4.$valid"), "hdr_ipv4_valid");
        assert_eq!(identifier("hdr.mpls[2].label"), "hdr_mpls_2_label");
        assert_eq!(identifier("wire"), "wire_p4");
        assert_eq!(identifier("v_s3"), "v_s3_p4");
        assert_eq!(identifier("2x"), "n_2x");
    }
}
