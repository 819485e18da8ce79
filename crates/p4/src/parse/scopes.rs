//! Which names are types.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The names of types that are in scope; other names are not listed, unless they hide a type.
#[derive(Default)]
pub(super) struct Scopes {
    types: BTreeMap<Arc<str>, bool>,
    /// What a name was before the scope it is declared in.
    before: Vec<(Arc<str>, Option<bool>)>,
    starts: Vec<usize>,
}

impl Scopes {
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.types.get(name).copied().unwrap_or(false)
    }

    /// As it is outside of all scopes: what `.name` means.
    pub(super) fn is_global_type(&self, name: &str) -> bool {
        match self.before.iter().find(|(n, _)| **n == *name) {
            Some((_, before)) => before.unwrap_or(false),
            None => self.is_type(name),
        }
    }

    pub(super) fn declare_type(&mut self, name: &Arc<str>) {
        self.set(name, true);
    }

    pub(super) fn declare_object(&mut self, name: &Arc<str>) {
        if self.types.contains_key(name) {
            self.set(name, false);
        }
    }

    fn set(&mut self, name: &Arc<str>, is_type: bool) {
        let before = self.types.insert(name.clone(), is_type);
        if !self.starts.is_empty() {
            self.before.push((name.clone(), before));
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn push(&mut self) {
        self.starts.push(self.before.len());
    }

    pub(super) fn pop(&mut self) {
        if let Some(start) = self.starts.pop() {
            while self.before.len() > start
                && let Some((name, before)) = self.before.pop()
            {
                match before {
                    Some(is_type) => self.types.insert(name, is_type),
                    None => self.types.remove(&name),
                };
            }
        }
    }

    /// Ends scopes until there are `depth`.
    pub(super) fn cut(&mut self, depth: usize) {
        while self.starts.len() > depth {
            self.pop();
        }
    }
}
