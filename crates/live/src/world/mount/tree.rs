//! The names in the mount and what stands behind them (FORMATS section 5).

use super::links::Links;
use super::protocol::Attributes;

/// The directory itself.
pub const ROOT: u64 = 1;

/// What a node of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// DIR.
    Root,
    /// `DIR/0`: a port's packets as lines.
    Lines(usize),
    /// `DIR/r0`: a port's packets as records.
    Records(usize),
    /// `DIR/0.d`.
    Folder(usize),
    /// A file in it.
    Text(usize, Text),
    /// A folder of [links](Links), such as `DIR/bin`.
    Directory(usize),
    /// A symbolic link, such as `DIR/bin/ethdump`.
    Link(usize),
}

/// What a mount has to show, besides itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// How many ports.
    pub ports: usize,
    /// Symbolic links, in folders of their own.
    pub links: Links,
}

impl Contents {
    /// The folder or link in this place of the links.
    fn of_links(&self, index: usize) -> Node {
        match self.links.is_folder(index) {
            true => Node::Directory(index),
            false => Node::Link(index),
        }
    }

    /// Whether there is such a node.
    pub fn has(&self, node: Node) -> bool {
        match node {
            Node::Directory(index) => self.links.is_folder(index),
            Node::Link(index) => self.links.target(index).is_some(),
            _ => node.port().is_none_or(|port| port < self.ports),
        }
    }
}

/// The files of a port's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// What came in, went out and was lost, as key=value lines.
    Counters,
    /// The port's counter at this moment, as the 16 digits of a word.
    GlobalTime,
    /// The tick in picoseconds.
    Tick,
    /// The wall-clock time of the counter's zero, ns since 1970.
    Epoch,
    /// Timer 1 to 7, as the 16 digits of a word.
    Timer(u8),
    /// Settings, as key=value lines.
    Ctl,
    /// The port's own name.
    Name,
    /// The last lines that were no packets, and why.
    Error,
    /// Who reads, and what each has lost.
    Readers,
}

/// The files of a port's folder by name.
const TEXTS: [(&str, Text); 15] = [
    ("counters", Text::Counters),
    ("tick", Text::Tick),
    ("epoch", Text::Epoch),
    ("timer1", Text::Timer(1)),
    ("timer2", Text::Timer(2)),
    ("timer3", Text::Timer(3)),
    ("timer4", Text::Timer(4)),
    ("timer5", Text::Timer(5)),
    ("timer6", Text::Timer(6)),
    ("timer7", Text::Timer(7)),
    ("ctl", Text::Ctl),
    ("name", Text::Name),
    ("error", Text::Error),
    ("readers", Text::Readers),
    ("global_time", Text::GlobalTime),
];

/// Codes of the kinds of nodes in a number: the lowest byte. 1 is the root.
const LINES: u64 = 2;
const RECORDS: u64 = 3;
const FOLDER: u64 = 4;
const DIRECTORY: u64 = 5;
const LINK: u64 = 6;
const FIRST_TEXT: u64 = 16;

impl Node {
    /// The node's number. `serial` tells apart what the kernel is to take for different files.
    ///
    /// A port's files get a new number at each lookup: writers of one file would wait for one another
    /// in the kernel where no signal reaches them, and `cat` and `grep` refuse to write to the very
    /// file that they read.
    pub fn number(self, serial: u64) -> u64 {
        let (port, kind, serial) = match self {
            Node::Root => return ROOT,
            Node::Lines(port) => (port, LINES, serial),
            Node::Records(port) => (port, RECORDS, serial),
            Node::Folder(port) => (port, FOLDER, 0),
            Node::Directory(index) => (index, DIRECTORY, 0),
            Node::Link(index) => (index, LINK, 0),
            Node::Text(port, text) => {
                let at = TEXTS.iter().position(|entry| entry.1 == text);
                (
                    port,
                    FIRST_TEXT + at.expect("every text has a name") as u64,
                    0,
                )
            }
        };
        serial << 24 | (port as u64) << 8 | kind
    }

    /// The node with this number, whatever its serial.
    pub fn of_number(number: u64) -> Option<Node> {
        let port = (number >> 8 & 0xFFFF) as usize;
        match number & 0xFF {
            ROOT if number == ROOT => Some(Node::Root),
            LINES => Some(Node::Lines(port)),
            RECORDS => Some(Node::Records(port)),
            FOLDER => Some(Node::Folder(port)),
            DIRECTORY => Some(Node::Directory(port)),
            LINK => Some(Node::Link(port)),
            kind => {
                let at = usize::try_from(kind.checked_sub(FIRST_TEXT)?).ok()?;
                TEXTS.get(at).map(|&(_, text)| Node::Text(port, text))
            }
        }
    }

    /// What `name` is in this directory.
    pub fn child(self, name: &[u8], contents: &Contents) -> Option<Node> {
        let name = std::str::from_utf8(name).ok()?;
        let port = |digits: &str| {
            let port = digits.parse().ok().filter(|&port| port < contents.ports)?;
            // One name for each file: neither `00` nor `+0`.
            (usize::to_string(&port) == digits).then_some(port)
        };
        match self {
            Node::Directory(index) => contents
                .links
                .child(Some(index), name)
                .map(|index| contents.of_links(index)),
            Node::Root => {
                let of_port = match (name.strip_prefix('r'), name.strip_suffix(".d")) {
                    (Some(digits), _) => port(digits).map(Node::Records),
                    (_, Some(digits)) => port(digits).map(Node::Folder),
                    _ => port(name).map(Node::Lines),
                };
                of_port.or_else(|| {
                    contents
                        .links
                        .child(None, name)
                        .map(|index| contents.of_links(index))
                })
            }
            Node::Folder(port) => {
                let found = TEXTS.iter().find(|entry| entry.0 == name)?;
                Some(Node::Text(port, found.1))
            }
            _ => None,
        }
    }

    /// What is in this directory, in order.
    pub fn children(self, contents: &Contents) -> Vec<(String, Node)> {
        let linked = |parent| {
            let children = contents.links.children(parent);
            children.map(|(name, index)| (name, contents.of_links(index)))
        };
        match self {
            Node::Root => (0..contents.ports)
                .flat_map(|port| {
                    [
                        (format!("{port}"), Node::Lines(port)),
                        (format!("r{port}"), Node::Records(port)),
                        (format!("{port}.d"), Node::Folder(port)),
                    ]
                })
                .chain(linked(None))
                .collect(),
            Node::Directory(index) => linked(Some(index)).collect(),
            Node::Folder(port) => TEXTS
                .iter()
                .map(|&(name, text)| (name.to_owned(), Node::Text(port, text)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The port it belongs to.
    pub fn port(self) -> Option<usize> {
        match self {
            Node::Root | Node::Directory(_) | Node::Link(_) => None,
            Node::Lines(port) | Node::Records(port) | Node::Folder(port) | Node::Text(port, _) => {
                Some(port)
            }
        }
    }

    /// Seconds that the kernel may keep the name without asking.
    pub fn seconds(self) -> u64 {
        match self {
            Node::Lines(_) | Node::Records(_) => 0,
            _ => 60,
        }
    }
}

/// Who owns a port's files, and who may read and write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits of the line and the record file.
    pub mode: u32,
}

impl Owner {
    /// The attributes of a node with this number.
    pub fn attributes(&self, node: Node, number: u64, time: u64) -> Attributes {
        let mode = match node {
            Node::Root | Node::Folder(_) | Node::Directory(_) => libc::S_IFDIR | 0o755,
            Node::Link(_) => libc::S_IFLNK | 0o777,
            Node::Lines(_) | Node::Records(_) => libc::S_IFREG | self.mode,
            // Whoever may write packets may write settings; everybody may look.
            Node::Text(_, Text::Ctl) => libc::S_IFREG | 0o444 | self.mode & 0o222,
            Node::Text(..) => libc::S_IFREG | 0o444,
        };
        Attributes {
            inode: number,
            mode,
            uid: self.uid,
            gid: self.gid,
            time,
            block: 4096,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_a_node_that_its_number_leads_back_to() {
        let contents = Contents {
            ports: 12,
            links: Links::new([
                ("bin/ethdump".into(), "/bin/wire".into()),
                ("sys/kernel/time1".into(), "../../0.d/timer1".into()),
            ]),
        };
        for directory in [
            Node::Root,
            Node::Folder(0),
            Node::Folder(11),
            Node::Directory(0),
            Node::Directory(2),
            Node::Directory(3),
        ] {
            for (name, node) in directory.children(&contents) {
                let found = directory.child(name.as_bytes(), &contents);
                assert_eq!(found, Some(node), "{name}");
                assert_eq!(Node::of_number(node.number(0)), Some(node));
                assert_eq!(Node::of_number(node.number(12_345)), Some(node));
            }
        }
    }

    #[test]
    fn other_names_are_not_there() {
        let two = &Contents {
            ports: 2,
            links: Links::default(),
        };
        for name in [
            "", "bin", "2", "00", "+0", "-1", "r2", "r", ".d", "2.d", "0.d.d", "eth0", "\u{661}",
        ] {
            assert_eq!(Node::Root.child(name.as_bytes(), two), None, "{name}");
        }
        assert_eq!(Node::Root.child(b"\xFF", two), None);
        assert_eq!(Node::Folder(0).child(b"timer8", two), None);
        assert_eq!(Node::of_number(0), None);
        assert_eq!(Node::of_number(0xFFFF_FFFF), None);
    }
}
