//! `wire p4 lsp`: the language server, over standard input and output.

mod answers;
mod positions;
mod transport;

use super::source::Reading;
use crate::Verdict;
use confine::Permissions;
use node::budget::{Account, Budget, Held, Limits};
use p4::editor::Analysis;
use p4::source::{IncludeError, Includes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use transport::{read_message, write_message};

/// Answer an editor's questions about programs (Language Server Protocol)
///
/// Errors and warnings while typing, hover, definitions, references, completion, symbols and layout, over standard input and output.
#[derive(clap::Args)]
#[command(after_help = "Example, for Neovim:
  vim.lsp.start({ cmd = { 'wire', 'p4', 'lsp' }, root_dir = vim.fn.getcwd() })")]
pub struct Lsp {
    #[command(flatten)]
    reading: Reading,
    /// As editors call it; standard input and output are the only way
    #[arg(long, hide = true)]
    stdio: bool,
}

/// A program that the editor has open.
struct Document {
    text: String,
    /// As far as the last change was read.
    analysis: Analysis,
    /// The memory of both.
    _held: Held,
}

/// Memory of one message, and of all programs that are open.
const MEMORY: Limits = Limits {
    each: 512 << 20,
    reserved: 0,
    all: 512 << 20,
};
/// Memory of a program that is open, for each of its bytes.
const PROGRAM: usize = 64;

struct Server {
    reading: Reading,
    documents: BTreeMap<String, Document>,
    account: Account,
    shutdown: bool,
}

/// Included files: those that are open in the editor as they are there.
struct Open<'a> {
    folders: lab::program::Folders<'a>,
    documents: &'a BTreeMap<String, Document>,
}

impl Includes for Open<'_> {
    fn read(
        &mut self,
        name: &str,
        system: bool,
        from: &str,
    ) -> Result<(String, String), IncludeError> {
        let (reported, text) = self.folders.read(name, system, from)?;
        let open = self.documents.get(&positions::uri_of(&reported));
        let text = open.map_or(text, |document| document.text.clone());
        Ok((reported, text))
    }
}

impl Lsp {
    /// Serves until the editor says `exit`.
    pub fn run(self) -> anyhow::Result<Verdict> {
        confine::reader(Permissions::default())?;
        let mut server = Server {
            reading: self.reading,
            documents: BTreeMap::new(),
            account: Budget::new(MEMORY).account(),
            shutdown: false,
        };
        let mut input = BufReader::new(io::stdin());
        let mut output = io::stdout().lock();
        while let Some(message) = read_message(&mut input, &server.account)? {
            let message = match message {
                Ok(message) => message,
                Err(bad) => {
                    let error = json!({ "code": bad.code(), "message": bad.to_string() });
                    let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                    write_message(&mut output, &answer)?;
                    continue;
                }
            };
            let method = message["method"].as_str().unwrap_or("").to_string();
            if method == "exit" {
                let good = server.shutdown;
                return Ok(if good { Verdict::Good } else { Verdict::Failed });
            }
            let parameters = &message["params"];
            if let Some(id) = message.get("id").filter(|_| !method.is_empty()) {
                let mut answer = json!({ "jsonrpc": "2.0", "id": id });
                match server.request(&method, parameters) {
                    Some(result) => answer["result"] = result,
                    None => {
                        let message = format!("wire p4 lsp does not know {method}");
                        answer["error"] = json!({ "code": -32601, "message": message });
                    }
                }
                write_message(&mut output, &answer)?;
            } else {
                for notification in server.notification(&method, parameters) {
                    write_message(&mut output, &notification)?;
                }
            }
        }
        Ok(Verdict::Good)
    }
}

impl Server {
    fn request(&mut self, method: &str, parameters: &Value) -> Option<Value> {
        match method {
            "initialize" => Some(json!({
                "capabilities": {
                    "positionEncoding": "utf-16",
                    "textDocumentSync": { "openClose": true, "change": 1 },
                    "hoverProvider": true,
                    "definitionProvider": true,
                    "referencesProvider": true,
                    "documentSymbolProvider": true,
                    "documentFormattingProvider": true,
                    "completionProvider": { "triggerCharacters": ["."] },
                },
                "serverInfo": { "name": "wire p4 lsp", "version": env!("CARGO_PKG_VERSION") },
            })),
            "shutdown" => {
                self.shutdown = true;
                Some(Value::Null)
            }
            "textDocument/hover"
            | "textDocument/definition"
            | "textDocument/references"
            | "textDocument/completion"
            | "textDocument/documentSymbol"
            | "textDocument/formatting" => {
                let uri = parameters["textDocument"]["uri"].as_str().unwrap_or("");
                // Nothing is known of what is not open.
                Some(self.documents.get(uri).map_or(Value::Null, |document| {
                    answers::answer(method, uri, &document.text, &document.analysis, parameters)
                }))
            }
            _ => None,
        }
    }

    /// What the editor is to be told after what it told.
    fn notification(&mut self, method: &str, parameters: &Value) -> Vec<Value> {
        let uri = parameters["textDocument"]["uri"].as_str().unwrap_or("");
        let text = match method {
            "textDocument/didOpen" => parameters["textDocument"]["text"].as_str(),
            "textDocument/didChange" => parameters["contentChanges"]
                .as_array()
                .and_then(|changes| changes.last())
                .and_then(|change| change["text"].as_str()),
            "textDocument/didClose" => {
                self.documents.remove(uri);
                return vec![published(uri, Vec::new())];
            }
            _ => None,
        };
        let Some(text) = text else {
            return Vec::new();
        };
        // Free the state of the program's previous version first.
        self.documents.remove(uri);
        let held = match self.account.hold(PROGRAM * text.len()) {
            Ok(held) => held,
            Err(exhausted) => {
                let message = format!("{uri}: {exhausted}, or close programs");
                let parameters = json!({ "type": 1, "message": message });
                let method = "window/showMessage";
                return vec![json!({ "jsonrpc": "2.0", "method": method, "params": parameters })];
            }
        };
        let path = positions::path_of(uri);
        let mut includes = Open {
            folders: self.reading.includes(),
            documents: &self.documents,
        };
        let analysis = Analysis::new(&path, text, &mut includes, &self.reading.options());
        let told = answers::diagnostics(&path, &analysis);
        let document = Document {
            text: text.to_string(),
            analysis,
            _held: held,
        };
        self.documents.insert(uri.to_string(), document);
        vec![published(uri, told)]
    }
}

fn published(uri: &str, diagnostics: Vec<Value>) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "textDocument/publishDiagnostics",
        "params": { "uri": uri, "diagnostics": diagnostics },
    })
}
