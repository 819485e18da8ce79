//! The preprocessor: any text gives tokens within bounds, each with a place in it, and the tokens of a text without directives are its own.

use p4::diagnostic::Diagnostics;
use p4::preprocess::{MAX_TOKENS, Options, preprocess};
use p4::source::{IncludeError, Includes, Sources};

/// A file can include itself, and the library.
struct Own<'a>(&'a str);

impl Includes for Own<'_> {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        match p4::library::file(name) {
            Some(text) => Ok((format!("<{name}>"), text.into())),
            None if name == "own" => Ok(("own".into(), self.0.into())),
            None => Err("there is no such file".into()),
        }
    }
}

pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "fuzz",
        &text,
        &mut Own(&text),
        &options,
        &mut sources,
        &mut diagnostics,
    );
    assert!(tokens.len() <= MAX_TOKENS * 2 + 1);
    for token in &tokens {
        assert!(token.span.start <= token.span.end);
        assert!(sources.location(token.span.start).is_some());
    }
    for diagnostic in diagnostics.sorted() {
        let _ = diagnostic.render(&sources);
    }
}
