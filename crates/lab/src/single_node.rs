//! One node by itself, for ports that are there already.

use crate::fault::{Fault, Faults};
use crate::input::InputError;
use crate::kind::{Context, Planned};
use crate::registry::Registry;
use crate::replay::Notes;
use crate::tree::{self, Value, What};
use node::Node;
use std::path::Path;

impl Registry {
    /// Makes the node that a lab file's section with the keys `kind` and those in `keys` (lines of TOML)
    /// would stand for, with `ports` ports where its kind leaves the number open and `keys` do not say.
    /// A meter measures itself and shows that in its counters.
    ///
    /// # Errors
    /// Everything that was found to be wrong with the keys.
    pub fn node(&self, kind: &str, keys: &str, ports: usize) -> Result<Box<dyn Node>, Faults> {
        self.made(kind, keys, ports, Context::default())
    }

    /// The same of one whose process may end and start again: it keeps its memory in a file, if it has any that must outlive it. `notes`
    /// says [why it failed](Notes::failure) when it cannot be kept any more.
    ///
    /// # Errors
    /// As [`node`](Registry::node), and when the stored state cannot be read or used.
    pub fn lasting_node(
        &self,
        kind: &str,
        keys: &str,
        ports: usize,
        notes: &Notes,
    ) -> Result<Box<dyn Node>, Faults> {
        let context = Context {
            keeps: true,
            notes: notes.clone(),
            ..Context::default()
        };
        self.made(kind, keys, ports, context)
    }

    fn made(
        &self,
        kind: &str,
        keys: &str,
        ports: usize,
        context: Context<'_>,
    ) -> Result<Box<dyn Node>, Faults> {
        let text = format!("kind = {kind:?}\n{keys}");
        let planned = self.plan(&text);
        let planned = match &planned {
            Ok(found) if found.properties.ports != ports => {
                let more = self.plan(&format!("{text}\nports = {ports}"));
                more.or(planned)
            }
            _ => planned,
        };
        let context = Context {
            folder: Some(Path::new("")),
            live: true,
            alone: true,
            ..context
        };
        planned?.make(context).map_err(|fault| at(&text, fault))
    }

    /// Whether a kind of node takes these keys (lines of TOML).
    pub fn accepts(&self, kind: &str, keys: &str) -> bool {
        self.plan(&format!("kind = {kind:?}\n{keys}")).is_ok()
    }

    fn plan(&self, text: &str) -> Result<Planned, Faults> {
        let mut faults = Vec::new();
        let entries = tree::parse(text, &mut faults);
        if !faults.is_empty() {
            return Err(Faults::new(text, faults).of_keys());
        }
        let mut config = Value {
            span: 0..text.len(),
            what: What::Table(entries),
        };
        let planned = match config.take("kind") {
            Some(kind) => self
                .find(&kind.value)
                .and_then(|kind| kind.plan(&config, Some(Path::new("")))),
            None => Err(Fault::new(0..0, "`kind` is missing")),
        };
        planned.map_err(|fault| at(text, fault))
    }
}

fn at(text: &str, fault: Fault) -> Faults {
    Faults::new(text, vec![fault]).of_keys()
}

/// What a node of the kind `controller` would be made from, from its keys (lines of TOML).
///
/// # Errors
/// Everything that was found to be wrong with the keys, with places.
pub fn controller(keys: &str) -> Result<openflow::controller::config::Config, Faults> {
    let mut faults = Vec::new();
    let entries = tree::parse(keys, &mut faults);
    if !faults.is_empty() {
        return Err(Faults::new(keys, faults).of_keys());
    }
    let config = Value {
        span: 0..keys.len(),
        what: What::Table(entries),
    };
    let read = crate::kinds::controller(&config);
    read.map_err(|fault| Faults::new(keys, vec![fault]).of_keys())
}

/// The text of a file that a node's keys name.
///
/// # Errors
/// When it cannot be read, or is longer than 64 MiB.
pub fn text(path: &Path) -> Result<String, InputError> {
    crate::input::text_of_user(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, keys: &str, ports: usize) -> Result<Box<dyn Node>, Faults> {
        Registry::standard().node(kind, keys, ports)
    }

    #[test]
    fn a_node_has_as_many_ports_as_there_are() {
        assert_eq!(node("switch", "", 3).unwrap().properties().ports, 3);
        assert_eq!(
            node("delay", "delay = \"5 ms\"", 2)
                .unwrap()
                .properties()
                .ports,
            2
        );
        // A delay box never has three; the world says so.
        assert_eq!(node("delay", "", 3).unwrap().properties().ports, 2);
    }

    #[test]
    fn what_is_wrong_is_told_at_its_place() {
        let wrong = |kind, keys| node(kind, keys, 2).err().unwrap().to_string();
        assert!(wrong("swich", "").contains("switch"));
        assert!(wrong("delay", "dealy = 1").contains("delay"));
        assert!(wrong("delay", "delay = ").contains("delay"));
    }
}
