//! What the server answers.

use super::positions::{offset, range, uri_of, whole};
use p4::diagnostic::Severity;
use p4::editor::{Analysis, Kind, Symbol};
use p4::source::Span;
use serde_json::{Value, json};

/// The answer to a question about an open program.
pub fn answer(
    method: &str,
    uri: &str,
    text: &str,
    analysis: &Analysis,
    parameters: &Value,
) -> Value {
    let at = offset(text, &parameters["position"]);
    let place = analysis.place(at);
    // The library's files are nowhere on the disk.
    let location = |span: Span| {
        let (file, range) = range(&analysis.sources, span)?;
        (!file.starts_with('<')).then(|| json!({ "uri": uri_of(&file), "range": range }))
    };
    match method {
        "textDocument/hover" => analysis.hover(place).map_or(Value::Null, |hover| {
            let mut value = format!("```p4\n{}\n```", hover.code);
            if !hover.comment.is_empty() {
                value.push_str(&format!("\n\n{}", hover.comment));
            }
            let range = range(&analysis.sources, hover.span).map(|(_, range)| range);
            json!({ "contents": { "kind": "markdown", "value": value }, "range": range })
        }),
        "textDocument/definition" => analysis
            .definition(place)
            .and_then(location)
            .unwrap_or(Value::Null),
        "textDocument/references" => analysis
            .references(place)
            .into_iter()
            .filter_map(location)
            .collect(),
        "textDocument/completion" => analysis
            .complete(text, at)
            .into_iter()
            .map(|item| json!({ "label": item.name, "kind": completion_kind(item.kind), "detail": item.detail }))
            .collect(),
        "textDocument/documentSymbol" => analysis
            .symbols()
            .iter()
            .map(|symbol| document_symbol(analysis, symbol))
            .collect(),
        "textDocument/formatting" => match p4::fmt::format(text) {
            Ok(new) if new != text => json!([{ "range": whole(text), "newText": new }]),
            Ok(_) => json!([]),
            Err(_) => Value::Null,
        },
        _ => {
            let _ = uri;
            Value::Null
        }
    }
}

/// Errors and warnings of a file as the protocol has them. What is wrong in an included file is told at the top.
pub fn diagnostics(path: &str, analysis: &Analysis) -> Vec<Value> {
    let mut list = Vec::new();
    for diagnostic in analysis.diagnostics.sorted() {
        let place = range(&analysis.sources, diagnostic.span);
        let (file, mut at) = place.unwrap_or_else(|| (path.to_string(), whole("")));
        let mut message = diagnostic.message.clone();
        if file != path {
            let line = at["start"]["line"].as_u64().unwrap_or(0) + 1;
            message = format!("{file}:{line}: {message}");
            at = whole("");
        }
        if let Some(help) = &diagnostic.help {
            message.push_str(&format!("\n{help}"));
        }
        let related = diagnostic.notes.iter().filter_map(|(span, note)| {
            let (file, range) = range(&analysis.sources, *span)?;
            Some(json!({ "location": { "uri": uri_of(&file), "range": range }, "message": note }))
        });
        list.push(json!({
            "range": at,
            "severity": match diagnostic.severity {
                Severity::Error => 1,
                Severity::Warning => 2,
            },
            "code": diagnostic.code,
            "source": "wire p4",
            "message": message,
            "relatedInformation": related.collect::<Vec<_>>(),
        }));
    }
    list
}

fn document_symbol(analysis: &Analysis, symbol: &Symbol) -> Value {
    let at = |span| range(&analysis.sources, span).map(|(_, range)| range);
    let children = symbol
        .children
        .iter()
        .map(|child| document_symbol(analysis, child));
    json!({
        "name": symbol.name,
        "kind": symbol_kind(symbol.kind),
        "range": at(symbol.full),
        "selectionRange": at(symbol.span),
        "children": children.collect::<Vec<_>>(),
    })
}

/// `CompletionItemKind`
fn completion_kind(kind: Kind) -> u8 {
    match kind {
        Kind::Method => 2,
        Kind::Function => 3,
        Kind::Field => 5,
        Kind::Variable => 6,
        Kind::Block => 7,
        Kind::State | Kind::Table => 9,
        Kind::Instance => 10,
        Kind::Enum => 13,
        Kind::Keyword => 14,
        Kind::Member => 20,
        Kind::Constant => 21,
        Kind::Type => 22,
    }
}

/// `SymbolKind`
fn symbol_kind(kind: Kind) -> u8 {
    match kind {
        Kind::Block => 5,
        Kind::Method => 6,
        Kind::Field => 8,
        Kind::Enum => 10,
        Kind::Function => 12,
        Kind::Variable | Kind::Keyword => 13,
        Kind::Constant => 14,
        Kind::Table => 18,
        Kind::Instance => 19,
        Kind::Member => 22,
        Kind::Type => 23,
        Kind::State => 24,
    }
}
