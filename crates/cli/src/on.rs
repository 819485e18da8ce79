//! `--on`: the ports of a command that has two of them, or any number.

use anyhow::Context;
use live::port::PortSpec;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The ports of a command that has any number of them.
#[derive(clap::Args)]
pub struct On {
    /// The ports, in order: --on A B, --on A,B or --on A --on B
    #[arg(long, value_name = "PORT", num_args = 1.., required = true)]
    on: Vec<OsString>,
}

impl On {
    /// The word that stands in front of the ports, or as the last behind them: `--on A B NODE`.
    pub fn word<T: From<OsString>>(&mut self, front: Option<T>) -> anyhow::Result<T> {
        let several = self.on.len() > 1;
        let behind = |on: &mut Vec<OsString>| on.pop().filter(|_| several).map(T::from);
        let word = front.or_else(|| behind(&mut self.on));
        word.context("what runs on the ports is missing; write it in front of --on")
    }

    /// What they are called.
    pub fn names(&self) -> Vec<OsString> {
        names(&self.on)
    }

    /// The ports.
    ///
    /// # Errors
    /// When a name is none of a port.
    pub fn ports(&self) -> anyhow::Result<Vec<PortSpec>> {
        ports(&self.names())
    }
}

/// Words as names of ports, one or several with commas between them in each; a file's name may have commas.
pub fn names(words: &[OsString]) -> Vec<OsString> {
    let split = |word: &OsString| -> Vec<OsString> {
        let bytes = word.as_bytes();
        let path = bytes.strip_prefix(b"pcap:").unwrap_or(bytes);
        if Path::new(OsStr::from_bytes(path)).exists() {
            return vec![word.clone()];
        }
        let parts = bytes.split(|byte| *byte == b',');
        parts.map(|part| OsStr::from_bytes(part).into()).collect()
    };
    words.iter().flat_map(split).collect()
}

/// Names as ports.
///
/// # Errors
/// When one is none of a port.
pub fn ports(names: &[OsString]) -> anyhow::Result<Vec<PortSpec>> {
    let port =
        |name: &OsString| PortSpec::from_os(name).map_err(|error| anyhow::anyhow!("--on: {error}"));
    names.iter().map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(words: &[&str]) -> On {
        On {
            on: words.iter().map(OsString::from).collect(),
        }
    }

    #[test]
    fn ports_are_named_one_by_one_or_with_commas() {
        for words in [&["eth0", "tap:t0"][..], &["eth0,tap:t0"]] {
            let told = |spec: &PortSpec| spec.to_string();
            let ports: Vec<_> = on(words).ports().unwrap().iter().map(told).collect();
            assert_eq!(ports, ["eth0", "tap:t0"]);
        }
        assert!(on(&["eth0,"]).ports().is_err());
    }

    #[test]
    fn a_word_in_front_of_the_ports_may_stand_behind_them() {
        let mut ports = on(&["eth0", "eth1", "switch"]);
        assert_eq!(ports.word(None::<OsString>).unwrap(), "switch");
        assert_eq!(ports.names(), ["eth0", "eth1"]);
        let mut ports = on(&["eth0", "eth1"]);
        assert_eq!(
            ports.word(Some(OsString::from("mirror"))).unwrap(),
            "mirror"
        );
        assert_eq!(ports.names(), ["eth0", "eth1"]);
        assert!(on(&["switch"]).word(None::<OsString>).is_err());
    }

    #[test]
    fn a_file_may_have_a_comma_in_its_name() {
        let folder = std::env::temp_dir().join(format!("wire-on-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a,b.pcap");
        std::fs::write(&path, b"").unwrap();
        let words = [OsString::from(format!("pcap:{}", path.display()))];
        assert_eq!(names(&words), words);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
