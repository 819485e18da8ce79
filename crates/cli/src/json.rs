//! Objects that `--json` writes.

/// An object with its head, `{"schema":"wireline.WHAT/1","type":TYPE,...}`: `json_line!("ping", "answer", { "bytes": 64 })`.
macro_rules! json_line {
    ($what:literal, $kind:expr, {$($rest:tt)*}) => {
        serde_json::json!({ "schema": packet::json::schema($what), "type": $kind, $($rest)* })
    };
}
