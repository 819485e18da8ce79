//! What a command reads: files, and ports.

use anyhow::bail;
use confine::Permissions;
use live::port::PortSpec;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where packets come from.
enum Origin {
    File(PathBuf),
    Port(PortSpec),
}

/// Tells a file from a port: an interface of that name comes first, then a file of that name.
fn origin(text: &OsStr) -> anyhow::Result<Origin> {
    let file = |path: &OsStr| Path::new(path).exists().then(|| Origin::File(path.into()));
    let name = packet::printable::word(&text.to_string_lossy()).into_owned();
    match PortSpec::from_os(text) {
        Ok(PortSpec::Capture(path)) => Ok(Origin::File(path)),
        Ok(PortSpec::Standard) => Ok(Origin::File("-".into())),
        Ok(PortSpec::Path(path)) => Ok(Origin::File(path)),
        Ok(PortSpec::Interface(interface)) => {
            let known = live::interface::find(&interface)?.is_some();
            match file(text).filter(|_| !known) {
                Some(origin) => Ok(origin),
                None if known => Ok(Origin::Port(PortSpec::Interface(interface))),
                None => bail!(
                    "there is no interface and no file `{name}` here; `wire ports` lists the interfaces"
                ),
            }
        }
        Ok(spec) => Ok(Origin::Port(spec)),
        Err(error) => match file(text) {
            Some(origin) => Ok(origin),
            None => Err(error.into()),
        },
    }
}

/// What is read: files, and ports.
pub struct Sources {
    pub files: Vec<PathBuf>,
    pub ports: Vec<PortSpec>,
}

impl Sources {
    /// Tells them apart.
    ///
    /// # Errors
    /// When there is nothing of a name.
    pub fn of(names: &[OsString]) -> anyhow::Result<Sources> {
        let (mut files, mut ports) = (Vec::new(), Vec::new());
        for name in names {
            match origin(name)? {
                Origin::File(path) => files.push(path),
                Origin::Port(spec) => ports.push(spec),
            }
        }
        Ok(Sources { files, ports })
    }

    /// Keeps what a command needs that has opened the ports, and reads the files.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn confine(&self, permissions: Permissions) -> anyhow::Result<()> {
        match self.ports.is_empty() {
            true => confine::reader(permissions),
            false => confine::ports(&self.ports, permissions.writes || !self.files.is_empty()),
        }
    }
}
