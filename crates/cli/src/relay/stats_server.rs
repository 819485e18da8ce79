//! A running relay shows its counts: a line of JSON to whoever connects to its socket.

use super::report::counts;
use anyhow::{Context, bail};
use listen::{COUNTS, Gate};
use live::statistics::Feed;
use live::world::hook::{Monitor, Snapshot, waits};
use node::event::What;
use node::{Port, Rate, Time};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Sockets of one process number: it may have several in namespaces that do not know of each other.
const SAME: u32 = 64;

/// Where sockets may be: of the system, and of a user who may not write there.
pub fn folders() -> Vec<PathBuf> {
    let user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let bases = std::iter::once(PathBuf::from("/run")).chain(user);
    bases.map(|base| base.join("wireline/relay")).collect()
}

/// What does not change about a relay.
pub struct Description {
    /// The kind of node, or the command.
    pub node: String,
    /// The hook's name.
    pub hook: &'static str,
    /// The interfaces.
    pub on: Vec<String>,
    pub queues: Vec<u16>,
}

/// Counts for whoever asks, as long as this value lives.
pub struct StatsServer {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StatsServer {
    /// Begins to answer.
    ///
    /// # Errors
    /// When there is nowhere to make a socket.
    pub fn start(description: Description, monitor: Monitor) -> anyhow::Result<StatsServer> {
        let (listener, path) = listen(&folders(), std::process::id())?;
        let stop = Arc::new(AtomicBool::new(false));
        let over = stop.clone();
        let gate = Gate::new(path.display().to_string(), COUNTS);
        let body = move || {
            let mut source = Source::new(description, monitor);
            loop {
                let (stream, _permit) = listen::unix::accept(&listener, &gate);
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // Somebody who has gone away is no trouble.
                let _ = source.answer(stream);
            }
        };
        let thread = std::thread::Builder::new().name("stats".into()).spawn(body);
        let thread = Some(thread.context("making a thread")?);
        Ok(StatsServer { path, stop, thread })
    }
}

impl Drop for StatsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // What it waits for is somebody to connect.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// A socket in the first of these folders where one can be made, which only this user may use.
fn listen(folders: &[PathBuf], number: u32) -> anyhow::Result<(UnixListener, PathBuf)> {
    let mut why = None;
    for folder in folders {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        let made = made.and_then(|()| {
            for same in 0..SAME {
                let name = match same {
                    0 => format!("{number}.sock"),
                    _ => format!("{number}-{same}.sock"),
                };
                let path = folder.join(name);
                match listen::unix::listen_at(&path) {
                    Ok(listener) => return Ok((listener, path)),
                    Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                    Err(error) => return Err(error),
                }
            }
            Err(ErrorKind::AddrInUse.into())
        });
        match made {
            Ok(made) => return Ok(made),
            Err(error) => why = Some((folder.clone(), error)),
        }
    }
    match why {
        Some((folder, error)) => {
            Err(error).with_context(|| format!("cannot make a socket in {}", folder.display()))
        }
        None => bail!("there is no folder for a socket"),
    }
}

/// Where the counts come from.
struct Source {
    description: Description,
    monitor: Monitor,
    start: u64,
    feed: Option<Feed>,
    /// What is known of each interface.
    queues: BTreeMap<u16, Map<String, Value>>,
}

impl Source {
    fn new(description: Description, monitor: Monitor) -> Source {
        let names = description.on.iter().enumerate();
        let names: Vec<_> = names
            .map(|(index, name)| (Port(index as u16), name.as_str()))
            .collect();
        Source {
            // Without it there are counts all the same.
            feed: Feed::open(&names).ok(),
            description,
            monitor,
            start: ::capture::clock::now_ns(),
            queues: BTreeMap::new(),
        }
    }

    fn answer(&mut self, mut stream: UnixStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(COUNTS.idle))?;
        let text = format!("{}\n", self.object());
        stream.write_all(text.as_bytes())
    }

    fn object(&mut self) -> Value {
        let snapshot = self.monitor.snapshot();
        let Description {
            node,
            hook,
            on,
            queues,
        } = &self.description;
        let mut object = Map::new();
        let namespace = fs::metadata("/proc/thread-self/ns/net").map_or(0, |data| data.ino());
        for (key, value) in [
            ("schema", json!(packet::json::schema("relay"))),
            ("type", json!("relay-stats")),
            ("pid", json!(std::process::id())),
            ("namespace", json!(namespace)),
            ("node", json!(node)),
            ("hook", json!(hook)),
            ("on", json!(on)),
            ("queues", json!(queues)),
            ("at_ns", json!(snapshot.at_ns)),
            ("ran_ns", json!(snapshot.at_ns.saturating_sub(self.start))),
        ] {
            object.insert(key.into(), value);
        }
        object.extend(counts(&snapshot));
        object.insert("waits".into(), steps(&snapshot));
        object.insert("backlog".into(), self.backlog());
        object.into()
    }

    /// What waits at each interface now.
    fn backlog(&mut self) -> Value {
        let Source {
            feed,
            queues,
            description,
            ..
        } = self;
        if let Some(feed) = feed {
            let now = Time::from_ns(::capture::clock::now_ns());
            // An interface that has gone shows by the age of what is known.
            let _ = feed.read(now, &mut |event| {
                let What::Queue(queue) = event.what else {
                    return;
                };
                if queue.class != 0 {
                    return;
                }
                let name = description.on.get(event.port.index());
                let entry = queues.entry(event.port.0).or_default();
                for (key, value) in [
                    ("interface", json!(name)),
                    ("age_ns", json!((now - event.at).as_ns())),
                    ("packets", json!(queue.packets)),
                    ("bytes", json!(queue.bytes)),
                    ("rate", json!(queue.rate.map(Rate::bits_per_second))),
                    ("dropped", json!(queue.dropped)),
                    ("overlimits", json!(queue.overlimits)),
                ] {
                    entry.insert(key.into(), value);
                }
            });
        }
        queues.values().cloned().map(Value::from).collect()
    }
}

/// How many waited less than so many ns, and more than those before: only steps in which there are any.
fn steps(snapshot: &Snapshot) -> Value {
    let steps = snapshot
        .waits
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0);
    steps
        .map(|(step, count)| json!([waits::end_of(step), count]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use listen::unix::is_left_over;
    use std::io::Read;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wire-offer-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn sockets_are_private_and_those_left_over_are_used_again() {
        let folder = scratch("sockets");
        // A folder that cannot be made is passed over.
        let folders = [PathBuf::from("/proc/no/such/folder"), folder.clone()];
        let (first, path) = listen(&folders, 7).unwrap();
        assert_eq!(path, folder.join("7.sock"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let (_second, other) = listen(&folders, 7).unwrap();
        assert_eq!(other, folder.join("7-1.sock"));
        assert!(!is_left_over(&path));
        drop(first);
        assert!(is_left_over(&path));
        assert_eq!(listen(&folders, 7).unwrap().1, path);
        assert!(listen(&folders[..1], 7).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn who_connects_is_told_in_one_line() {
        let description = Description {
            node: "through".into(),
            hook: "forward",
            on: vec!["lo".into()],
            queues: vec![3],
        };
        let mut source = Source::new(description, Monitor::default());
        let (near, mut far) = UnixStream::pair().unwrap();
        source.answer(near).unwrap();
        let mut text = String::new();
        far.read_to_string(&mut text).unwrap();
        let told: Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!(told["node"], "through");
        assert_eq!(told["packets"], 0);
        assert_eq!(told["backlog"][0]["interface"], "lo");
        assert_eq!(told["waits"], json!([]));
    }
}
