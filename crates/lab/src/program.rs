//! P4 programs from files.

use ::capture::file::text_named;
use p4::compile::{Compiled, Options, compile};
use p4::source::{IncludeError, Includes};
use std::io;
use std::path::{Path, PathBuf};

/// Compiles the program in a file; what it includes is looked for beside the including file, then in the folders, then among the files
/// that come with the compiler.
///
/// # Errors
/// When the file cannot be read, with its name. What is wrong with the program is in [`Compiled::diagnostics`].
pub fn load(path: &Path, folders: &[PathBuf], options: &Options) -> io::Result<Compiled> {
    compiled(path, ::capture::file::text(path), folders, options)
}

/// The same of a file that another file names, as a lab does: a regular file only.
///
/// # Errors
/// Those of [`load`].
pub fn load_named(path: &Path, folders: &[PathBuf], options: &Options) -> io::Result<Compiled> {
    compiled(path, text_named(path), folders, options)
}

fn compiled(
    path: &Path,
    text: io::Result<String>,
    folders: &[PathBuf],
    options: &Options,
) -> io::Result<Compiled> {
    let name = path.display().to_string();
    let text = text.map_err(|error| match ::capture::signal::is_stop(&error) {
        true => error,
        false => io::Error::new(error.kind(), format!("{name}: {error}")),
    })?;
    Ok(compile(&name, &text, &mut Folders { folders }, options))
}

/// Finds included files in folders.
pub struct Folders<'a> {
    /// Where to look after the including file's own folder.
    pub folders: &'a [PathBuf],
}

impl Includes for Folders<'_> {
    fn read(
        &mut self,
        name: &str,
        system: bool,
        from: &str,
    ) -> Result<(String, String), IncludeError> {
        let own = Path::new(from).parent().unwrap_or(Path::new(""));
        let own = (!system).then_some(own);
        let places = own
            .into_iter()
            .chain(self.folders.iter().map(PathBuf::as_path));
        for place in places {
            let path = place.join(name);
            match text_named(&path) {
                Ok(text) => return Ok((path.display().to_string(), text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: {error}", path.display()).into()),
            }
        }
        if let Some(text) = p4::library::file(name) {
            return Ok((format!("<{name}>"), text.into()));
        }
        let folders: Vec<String> = self
            .folders
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        let message = match folders.is_empty() {
            true => format!("there is no file {name} here; name its folder with -I"),
            false => format!(
                "there is no file {name} here, nor in {}",
                folders.join(", ")
            ),
        };
        Err(message.into())
    }
}
