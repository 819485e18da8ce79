//! Answers the kernel's requests about the tree. Knows neither threads nor the device: a test can
//! be the kernel.

use super::Kernel;
use super::control;
use super::links::Links;
use super::protocol::{self, Body, Request};
use super::served::File;
use super::served::Served;
use super::stream::Form;
use super::tree::{Contents, Node, Owner, ROOT, Text};
use crate::kernel::thread::lock;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// An open file.
#[derive(Clone)]
enum Handle {
    Port(Arc<File>),
    Text(Arc<TextFile>),
}

/// An open text file of a port.
struct TextFile {
    /// The text as it was when the file was opened.
    content: String,
    port: usize,
    text: Text,
    /// The beginning of a setting whose end has not been written.
    partial: Mutex<Vec<u8>>,
}

/// The file system.
pub struct Server {
    served: Vec<Arc<Served>>,
    contents: Contents,
    /// Of the directory itself.
    owner: Owner,
    /// When the mount was made, seconds since 1970.
    since: u64,
    serial: AtomicU64,
    handles: RwLock<BTreeMap<u64, Handle>>,
}

impl Server {
    /// A file system of these ports, and of symbolic links.
    pub fn new(served: Vec<Arc<Served>>, links: Links, owner: Owner, since: u64) -> Server {
        let ports = served.len();
        Server {
            served,
            contents: Contents { ports, links },
            owner,
            since,
            serial: AtomicU64::new(1),
            handles: RwLock::default(),
        }
    }

    /// Open files, of all kinds.
    pub fn open_files(&self) -> usize {
        self.handles
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Deals with one request; answers it now or later through `kernel`.
    pub fn handle(&self, kernel: &dyn Kernel, request: &Request<'_>) {
        let unique = request.unique;
        let answer = |result: Result<&[u8], i32>| match result {
            Ok(content) => kernel.answer(unique, 0, content),
            Err(error) => kernel.answer(unique, error, &[]),
        };
        match request.body {
            Body::Init { major, flags, .. } if major >= protocol::MAJOR => {
                answer(Ok(&protocol::init_answer(flags)));
            }
            Body::Init { .. } => answer(Err(libc::EPROTO)),
            Body::Forget => {}
            Body::Destroy | Body::OpenDirectory | Body::ReleaseDirectory => {
                answer(Ok(&protocol::open_answer(0, 0)));
            }
            Body::Statistics => answer(Ok(&protocol::statistics_answer())),
            Body::Create => answer(Err(libc::ENOENT)),
            Body::Change => answer(Err(libc::EPERM)),
            Body::Other => answer(Err(libc::ENOSYS)),
            Body::Interrupt { unique } => self.interrupt(kernel, request.unique, unique),
            Body::Lookup { name } => match self.lookup(request.node, name) {
                Ok(entry) => answer(Ok(&entry)),
                Err(error) => answer(Err(error)),
            },
            Body::Attributes => match self.node(request.node) {
                Ok(node) => answer(Ok(&self.attributes(node, request.node))),
                Err(error) => answer(Err(error)),
            },
            Body::SetAttributes { mode, uid, gid } => match self.node(request.node) {
                Ok(node) => {
                    self.change(node, mode, uid, gid);
                    answer(Ok(&self.attributes(node, request.node)));
                }
                Err(error) => answer(Err(error)),
            },
            Body::ReadLink => {
                let target = self.node(request.node).and_then(|node| match node {
                    Node::Link(link) => self.contents.links.target(link).ok_or(libc::ENOENT),
                    _ => Err(libc::EINVAL),
                });
                answer(target.map(|target| target.as_os_str().as_bytes()));
            }
            Body::ReadDirectory { offset, size } => {
                match self.list(request.node, offset, size as usize) {
                    Ok(entries) => answer(Ok(&entries)),
                    Err(error) => answer(Err(error)),
                }
            }
            Body::Open { flags } => match self.open(request, flags) {
                Ok(opened) => answer(Ok(&opened)),
                Err(error) => answer(Err(error)),
            },
            Body::Read {
                handle,
                offset,
                size,
                flags,
            } => match self.find(handle) {
                Some(Handle::Port(file)) => {
                    self.complete_lines(request.pid);
                    file.read(kernel, (unique, offset, size), is_nonblocking(flags));
                }
                Some(Handle::Text(file)) => {
                    let text = file.content.as_bytes();
                    let start = usize::try_from(offset).map_or(text.len(), |at| at.min(text.len()));
                    let end = text.len().min(start.saturating_add(size as usize));
                    answer(Ok(&text[start..end]));
                }
                None => answer(Err(libc::EBADF)),
            },
            Body::Write {
                handle,
                flags,
                data,
            } => match self.find(handle) {
                Some(Handle::Port(file)) => {
                    file.write(kernel, (unique, request.pid), data, is_nonblocking(flags));
                }
                Some(Handle::Text(file)) if file.text == Text::Ctl => {
                    let served = &self.served[file.port];
                    match control::set(served, &mut lock(&file.partial), data) {
                        Ok(()) => kernel.answer_number(unique, data.len()),
                        Err(error) => {
                            served.say(error.to_string());
                            answer(Err(libc::EINVAL));
                        }
                    }
                }
                _ => answer(Err(libc::EBADF)),
            },
            Body::Poll {
                handle,
                wakeup,
                notify,
                events,
            } => match self.find(handle) {
                Some(Handle::Port(file)) => {
                    let ready = file.poll(events, notify.then_some(wakeup));
                    answer(Ok(&protocol::number_answer(ready)));
                }
                Some(Handle::Text(..)) => {
                    let ready = events & (libc::POLLIN | libc::POLLOUT) as u32;
                    answer(Ok(&protocol::number_answer(ready)));
                }
                None => answer(Err(libc::EBADF)),
            },
            Body::Release { handle } => {
                let closed = self
                    .handles
                    .write()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&handle);
                match closed {
                    Some(Handle::Port(file)) => {
                        lock(&file.served.readers).remove(&handle);
                        file.close();
                    }
                    Some(Handle::Text(file)) => {
                        let rest = std::mem::take(&mut *lock(&file.partial));
                        let served = &self.served[file.port];
                        if let Err(error) = control::finish(served, &rest) {
                            served.say(error.to_string());
                        }
                    }
                    None => {}
                }
                answer(Ok(&[]));
            }
        }
    }

    /// Ends a request whose process has got a signal: `cat` goes, whatever is (not) on the wire.
    fn interrupt(&self, kernel: &dyn Kernel, interrupt: u64, unique: u64) {
        for served in &self.served {
            if served
                .streams()
                .iter()
                .any(|stream| stream.interrupt(unique).is_some())
            {
                return kernel.answer(unique, libc::EINTR, &[]);
            }
            if let Some(parked) = served.outbox.interrupt(unique) {
                return match parked.taken {
                    0 => kernel.answer(unique, libc::EINTR, &[]),
                    taken => kernel.answer_number(unique, taken),
                };
            }
        }
        // Another thread has the request in hand, and will answer it or let it wait; in the second
        // case the kernel sends the interrupt again.
        kernel.answer(interrupt, libc::EAGAIN, &[]);
    }

    fn find(&self, handle: u64) -> Option<Handle> {
        self.handles
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&handle)
            .cloned()
    }

    fn node(&self, number: u64) -> Result<Node, i32> {
        let node = Node::of_number(number).ok_or(libc::ENOENT)?;
        self.contents.has(node).then_some(node).ok_or(libc::ENOENT)
    }

    fn owner(&self, node: Node) -> Owner {
        node.port()
            .map_or(self.owner, |port| *lock(&self.served[port].owner))
    }

    fn attributes(&self, node: Node, number: u64) -> [u8; 104] {
        let mut attributes = self.owner(node).attributes(node, number, self.since);
        // Each lookup gives another number, so that the number belongs to one open file.
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        if handles.values().any(|handle| match handle {
            Handle::Port(file) => file.node == number && file.is_line_buffered(),
            Handle::Text(..) => false,
        }) {
            attributes.block = 1;
        }
        protocol::attributes_answer(&attributes)
    }

    /// Sends the lines of this process that are complete but for their line feeds: it waits for packets, and stdio with a buffer
    /// of one byte keeps a line feed back until there is more to write.
    fn complete_lines(&self, pid: u32) {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        for handle in handles.values() {
            if let Handle::Port(file) = handle
                && file.is_written_by(pid)
            {
                file.complete_line();
            }
        }
    }

    fn lookup(&self, parent: u64, name: &[u8]) -> Result<[u8; 128], i32> {
        let node = self
            .node(parent)?
            .child(name, &self.contents)
            .ok_or(libc::ENOENT)?;
        let number = node.number(self.serial.fetch_add(1, Ordering::Relaxed));
        let attributes = self.owner(node).attributes(node, number, self.since);
        Ok(protocol::entry_answer(number, node.seconds(), &attributes))
    }

    /// `chmod` and `chown` on a port's file hold for the port. On others they change nothing.
    fn change(&self, node: Node, mode: Option<u32>, uid: Option<u32>, gid: Option<u32>) {
        let (Node::Lines(port) | Node::Records(port)) = node else {
            return;
        };
        let mut owner = lock(&self.served[port].owner);
        owner.mode = mode.map_or(owner.mode, |mode| mode & 0o777);
        owner.uid = uid.unwrap_or(owner.uid);
        owner.gid = gid.unwrap_or(owner.gid);
    }

    fn list(&self, number: u64, offset: u64, size: usize) -> Result<Vec<u8>, i32> {
        let node = self.node(number)?;
        let mut entries = vec![(".".to_owned(), node), ("..".to_owned(), Node::Root)];
        entries.extend(node.children(&self.contents));
        let (mut out, from) = (Vec::new(), usize::try_from(offset).unwrap_or(usize::MAX));
        for (at, (name, node)) in entries.iter().enumerate().skip(from) {
            let mode = self.owner(*node).attributes(*node, ROOT, 0).mode;
            let entry = (node.number(0), at as u64 + 1, mode, name.as_str());
            if !protocol::push_entry(&mut out, size.min(protocol::MAX_TRANSFER), entry) {
                break;
            }
        }
        Ok(out)
    }

    fn open(&self, request: &Request<'_>, flags: u32) -> Result<[u8; 16], i32> {
        let node = self.node(request.node)?;
        let port = node.port().ok_or(libc::EISDIR)?;
        let served = &self.served[port];
        let open_port = |form| {
            let file = Arc::new(File::open(served.clone(), request, form, flags));
            // Reading alone, the file has a position, so that `bash` and `head` may read ahead and
            // step back. A description that also writes must not: the kernel would hold up its writes
            // while a read waits.
            let stream = if file.is_seekable() {
                0
            } else {
                protocol::OPEN_STREAM
            };
            (Handle::Port(file), protocol::OPEN_DIRECT | stream)
        };
        let (handle, open_flags) = match node {
            Node::Root | Node::Folder(_) | Node::Directory(_) | Node::Link(_) => {
                return Err(libc::EISDIR);
            }
            Node::Lines(_) => open_port(served.form()),
            Node::Records(_) => open_port(Form::Record),
            Node::Text(port, text) => {
                let file = TextFile {
                    content: control::read(served, text),
                    port,
                    text,
                    partial: Mutex::default(),
                };
                (Handle::Text(Arc::new(file)), protocol::OPEN_DIRECT)
            }
        };
        let number = self.serial.fetch_add(1, Ordering::Relaxed);
        if let Handle::Port(file) = &handle {
            lock(&served.readers).insert(number, Arc::downgrade(file));
        }
        self.handles
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, handle);
        Ok(protocol::open_answer(number, open_flags))
    }
}

fn is_nonblocking(flags: u32) -> bool {
    flags as i32 & libc::O_NONBLOCK != 0
}
