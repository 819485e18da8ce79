//! The parser, the printer, the layout and the pictures: any text is read to its end; what was read without an error is printed, and read as the same.

use p4::ast::Program;
use p4::diagnostic::Diagnostics;
use p4::preprocess::{Options, preprocess};
use p4::source::{IncludeError, Includes, Sources};

struct Nothing;

impl Includes for Nothing {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("there is no such file")?;
        Ok((format!("<{name}>"), text.into()))
    }
}

fn read(text: &str) -> (Program, bool, Sources) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "fuzz",
        text,
        &mut Nothing,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = p4::parse::parse(&tokens, &sources, &mut diagnostics);
    (program, !diagnostics.failed(), sources)
}

pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (program, good, sources) = read(&text);
    if let Ok(laid_out) = p4::fmt::format(&text) {
        // Of what is a program, the layout is one too.
        let (_, still_good, _) = read(&laid_out);
        assert!(!good || still_good, "{laid_out}");
    }
    if !good {
        return;
    }
    let printed = p4::print::program(&program);
    let (again, read_again, _) = read(&printed);
    assert!(read_again, "{printed}");
    assert_eq!(p4::print::program(&again), printed);
    let _ = p4::graph::svg(&p4::graph::graphs(&program, &sources, None));
}
