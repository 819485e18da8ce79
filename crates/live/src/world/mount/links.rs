//! Symbolic links in a mount, and the folders that they lie in.

use std::path::PathBuf;

/// Links at paths below the directory, such as `bin/ethdump`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The folder that it lies in, as its place in the list; `None` for the directory itself.
    parent: Option<usize>,
    name: String,
    /// Where it leads; `None` for a folder.
    target: Option<PathBuf>,
}

impl Links {
    /// Links by path, each with where it leads. Folders are made as paths name them.
    pub fn new(links: impl IntoIterator<Item = (String, PathBuf)>) -> Links {
        let mut made = Links::default();
        for (path, target) in links {
            let mut parent = None;
            let mut names = path.split('/').peekable();
            while let Some(name) = names.next() {
                let is_last = names.peek().is_none();
                let known = made.child(parent, name).filter(|_| !is_last);
                parent = Some(known.unwrap_or_else(|| {
                    made.0.push(Entry {
                        parent,
                        name: name.to_owned(),
                        target: is_last.then(|| target.clone()),
                    });
                    made.0.len() - 1
                }));
            }
        }
        made
    }

    /// The place of `name` in a folder; `None` is the directory itself.
    pub fn child(&self, parent: Option<usize>, name: &str) -> Option<usize> {
        self.0
            .iter()
            .position(|entry| entry.parent == parent && entry.name == name)
    }

    /// The entries of a folder in the order given: names and places.
    pub fn children(&self, parent: Option<usize>) -> impl Iterator<Item = (String, usize)> {
        let entries = self.0.iter().enumerate();
        entries
            .filter(move |(_, entry)| entry.parent == parent)
            .map(|(index, entry)| (entry.name.clone(), index))
    }

    /// Whether a folder is in this place.
    pub fn is_folder(&self, index: usize) -> bool {
        self.0
            .get(index)
            .is_some_and(|entry| entry.target.is_none())
    }

    /// Where the link in this place leads.
    pub fn target(&self, index: usize) -> Option<&PathBuf> {
        self.0.get(index)?.target.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_their_folders() {
        let links = ["bin/a", "bin/b", "sys/kernel/x"].map(|path| (path.to_owned(), "/t".into()));
        let links = Links::new(links);
        let names = |parent| {
            links
                .children(parent)
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["bin", "sys"]);
        let bin = links.child(None, "bin").unwrap();
        assert!(links.is_folder(bin) && links.target(bin).is_none());
        assert_eq!(names(Some(bin)), ["a", "b"]);
        let b = links.child(Some(bin), "b").unwrap();
        assert_eq!(
            (links.is_folder(b), links.target(b)),
            (false, Some(&"/t".into()))
        );
        assert_eq!(links.child(Some(bin), "x"), None);
        assert!(!links.is_folder(99) && links.target(99).is_none());
    }
}
