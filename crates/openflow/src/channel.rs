//! Control channels as a node has them: messages out of [segments](packet::segment), and into them.
//!
//! [`Channels`] is all that a switch or a controller needs to speak over its control ports: it opens and
//! accepts connections, cuts the streams into whole messages, keeps the window, answers echo requests and
//! sends its own when the far end falls silent, and dials again when a connection is lost.
//!
//! Messages lie where they arrived: a segment with a hundred of them is walked in place, and only a message
//! that two segments share is put together first. Answers are appended to one buffer for each connection,
//! and leave in as few segments as there can be.
//!
//! ```
//! use node::{Out, Port, Time};
//! use openflow::channel::{Channels, Event, Settings};
//!
//! fn frame(channels: &mut Channels, now: Time, port: Port, frame: node::Frame, out: &mut Out) {
//!     let mut batch = channels.frame(now, port, frame);
//!     while let Some(event) = batch.next(channels) {
//!         match event {
//!             Event::Opened(peer) => channels.send(peer, &[4, 0, 0, 8, 0, 0, 0, 1]),
//!             Event::Message(peer, bytes) => channels.send(peer, bytes),
//!             Event::Closed(_, _) => {}
//!         }
//!     }
//!     channels.finish(batch, out);
//! }
//! # let mut channels = Channels::new(Settings::default());
//! # frame(&mut channels, Time::ZERO, Port(0), node::Frame::new(&[0; 60]), &mut Out::default());
//! ```
//!
//! What happens to a far end that does not behave:
//!
//! - it does not read: its [backlog](Channels::backlog) grows, up to [`Settings::hold`], from where on nothing
//!   more is read from it, and at most to [`Settings::limit`], where the connection is closed;
//! - it falls silent: an echo request after [`Settings::idle`], the end after [`Settings::patience`] more;
//! - it sends what cannot be a message, loses a segment, or sends past the window: the end, with the reason.

mod batch;
mod connection;
#[cfg(test)]
mod tests;
mod timers;

pub use batch::Batch;
use connection::{Connection, Stage};
pub use timers::MAX_DIALLED;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use node::{Frame, Out, Port, Time};
use packet::segment::{ANSWER, Kind, Segment, WINDOW};

/// Why a node with channels goes on without end: it opens them again, and asks for echoes.
pub(crate) const ENDLESS: &str = "keeps its channels up";

/// The longest text of an open or a close that is kept, bytes.
const TEXT: usize = 200;

/// How channels behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most connections at a time, over all ports. Default 1024.
    pub connections: usize,
    /// From this [backlog](Channels::backlog) on, in bytes, no further message is read from the far end.
    /// Default 256 KiB. For who asks, and must always be ready to read the answers: `usize::MAX`.
    pub hold: usize,
    /// A connection with a larger backlog than this is closed, bytes. Default 64 MiB.
    pub limit: usize,
    /// Silence before an echo request is sent. Default 5 s.
    pub idle: Time,
    /// How long an open, the first hello or an echo request may go without an answer. Default 5 s.
    pub patience: Time,
    /// How long to wait before dialling again, for the first time; each further time twice as long, up to
    /// eight times this. Default 1 s.
    pub redial: Time,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            connections: 1024,
            hold: WINDOW as usize,
            limit: 64 << 20,
            idle: Time::from_secs(5),
            patience: Time::from_secs(5),
            redial: Time::from_secs(1),
        }
    }
}

/// A connection, as long as it lasts; no later one has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    slot: u32,
    life: u32,
}

impl Peer {
    /// A small number, below [`Settings::connections`], that no other connection has at the same time: an index
    /// for tables.
    pub fn index(self) -> usize {
        self.slot as usize
    }
}

/// What has happened on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// There is a connection; a hello is due.
    Opened(Peer),
    /// A whole message by its own length field, 8 bytes at least; nothing else of it was looked at.
    Message(Peer, &'a [u8]),
    /// The connection is over, and its buffers are gone. Also for one that was dialled and never came about.
    Closed(Peer, Reason),
}

/// Why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The far end closed it, and says why.
    #[error("closed by the far end: {0}")]
    Far(String),
    /// The far end began again.
    #[error("opened anew by the far end")]
    Anew,
    /// A length that no message has.
    #[error("a message of {0} bytes by its length field; the header alone has 8")]
    Length(u16),
    /// A segment does not follow on the one before it.
    #[error("a segment was lost on the way: byte {due} was due, byte {came} came")]
    Gap {
        /// The byte that was due, modulo 2^32.
        due: u32,
        /// The first one that came.
        came: u32,
    },
    /// Data past the window.
    #[error("data past the window of {WINDOW} bytes")]
    Window,
    /// Bytes acknowledged that were never sent.
    #[error("an acknowledgement of bytes that were not sent")]
    Acknowledgement,
    /// No answer in time.
    #[error("no answer to {0} in time")]
    Silent(&'static str),
    /// The far end does not read.
    #[error("the far end does not read: {0} bytes wait for it")]
    Backlog(usize),
    /// This side wanted it so.
    #[error("{0}")]
    Wanted(&'static str),
}

/// What the channels have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages read, echoes included.
    pub messages: u64,
    /// Connections that came about.
    pub opened: u64,
    /// Connections that ended, or were refused.
    pub closed: u64,
    /// Frames that are no segment, or of no connection.
    pub strays: u64,
    /// Times that reading was held up by a backlog.
    pub held: u64,
    /// [Followed](Channels::follow) messages that the far end had not acknowledged when their connection ended.
    pub unacknowledged: u64,
}

/// All control channels of a node.
#[derive(Debug)]
pub struct Channels {
    settings: Settings,
    connections: Vec<Connection>,
    free: Vec<u32>,
    by_id: BTreeMap<(Port, u32), u32>,
    events: VecDeque<Event<'static>>,
    /// Connections with something to send, or to acknowledge.
    dirty: Vec<u32>,
    /// Opens and closes that are to leave.
    notes: Vec<Note>,
    /// Connections to dial when there is time.
    dialled: Vec<timers::Dialled>,
    /// The number of the last open that asked for a connection.
    attempts: u32,
    /// Nothing is due earlier.
    due: Time,
    counters: Counters,
    /// The latest time that was told.
    now: Time,
}

/// An open or a close on its way.
#[derive(Debug)]
struct Note {
    port: Port,
    connection: u32,
    kind: Kind,
    count: u32,
    text: String,
    /// What of the stream leaves before it, and from which byte on.
    before: (u32, Vec<u8>),
}

impl Channels {
    /// No connections yet.
    pub fn new(settings: Settings) -> Channels {
        Channels {
            settings,
            connections: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            events: VecDeque::new(),
            dirty: Vec::new(),
            notes: Vec::new(),
            dialled: Vec::new(),
            attempts: 0,
            due: Time::MAX,
            counters: Counters::default(),
            now: Time::ZERO,
        }
    }

    /// Takes a frame that came in by a control port. The caller walks the batch with [`Batch::next`] and gives it
    /// to [`finish`](Channels::finish).
    pub fn frame(&mut self, now: Time, port: Port, frame: Frame) -> Batch {
        self.now = self.now.max(now);
        let Ok(segment) = Segment::read(&frame) else {
            self.counters.strays += 1;
            return Batch::of_events(Some(frame));
        };
        let (id, count) = (segment.connection, segment.count);
        let known = self.by_id.get(&(port, id)).copied();
        let Some(slot) = known else {
            match segment.kind {
                Kind::Open if count & ANSWER == 0 => {
                    self.accept(port, id, count, text(segment.bytes));
                }
                // The far end does not know that the connection has ended. A close has no answer.
                Kind::Open | Kind::Data => {
                    self.counters.strays += 1;
                    self.note(port, Kind::Close, id, 0, "no such connection");
                }
                Kind::Acknowledge | Kind::Close => self.counters.strays += 1,
            }
            return Batch::of_events(Some(frame));
        };
        let peer = self.peer(slot);
        let connection = &mut self.connections[slot as usize];
        match segment.kind {
            // The answer to an attempt that was given up: the one to this attempt follows.
            Kind::Open if count & ANSWER != 0 && count != connection.attempt | ANSWER => {
                self.counters.strays += 1;
            }
            Kind::Open if connection.stage == Stage::Dialled => {
                connection.stage = Stage::Greeting;
                connection.began = self.now;
                connection.name = text(segment.bytes);
                self.counters.opened += 1;
                self.redialled(port, id);
                self.events.push_back(Event::Opened(peer));
            }
            // Both ends had asked at the same time. To take an answer for a request, and answer it,
            // would have the far end do the same, without end.
            Kind::Open if count & ANSWER != 0 => self.counters.strays += 1,
            Kind::Open => {
                self.drop_connection(peer, Reason::Anew, false);
                self.accept(port, id, count, text(segment.bytes));
            }
            Kind::Close => {
                let reason = Reason::Far(text(segment.bytes));
                self.drop_connection(peer, reason, false);
            }
            // Of the connection before this attempt.
            Kind::Acknowledge | Kind::Data if connection.stage == Stage::Dialled => {
                self.counters.strays += 1;
            }
            Kind::Acknowledge => {
                let Err(reason) = connection.acknowledged(count) else {
                    // Who takes some of much is alive; the last bytes of all, a carrier takes too.
                    if connection.backlog() > 0 {
                        connection.heard(self.now);
                    }
                    if !connection.outbox().is_empty() {
                        self.mark(slot);
                    }
                    return self.resume(slot, frame);
                };
                self.drop_connection(peer, reason, true);
            }
            Kind::Data => {
                let data = packet::segment::HEADER..packet::segment::HEADER + segment.bytes.len();
                let Err(reason) = connection.arrived(count, data.len()) else {
                    connection.heard(self.now);
                    self.mark(slot);
                    return Batch::of_data(self, peer, frame, data);
                };
                self.drop_connection(peer, reason, true);
            }
        }
        Batch::of_events(Some(frame))
    }

    /// Goes on with what was held up, if the backlog has gone down.
    fn resume(&mut self, slot: u32, frame: Frame) -> Batch {
        let peer = self.peer(slot);
        let connection = &mut self.connections[slot as usize];
        if !connection.held || connection.paused || connection.backlog() > self.settings.hold / 2 {
            return Batch::of_events(Some(frame));
        }
        connection.held = false;
        self.mark(slot);
        Batch::of_data(self, peer, frame, 0..0)
    }

    /// Reads no further message of this connection, until [`go_on`](Channels::go_on): what is to be answered first is not
    /// yet answered. Echo requests wait as well.
    pub fn pause(&mut self, peer: Peer) {
        if self.get(peer).is_some() {
            self.connections[peer.index()].paused = true;
        }
    }

    /// Reads on. The batch is what has come meanwhile, to be walked and finished as one of a [`frame`](Channels::frame).
    pub fn go_on(&mut self, peer: Peer) -> Batch {
        if self.get(peer).is_none() {
            return Batch::of_events(None);
        }
        let connection = &mut self.connections[peer.index()];
        connection.paused = false;
        if !core::mem::take(&mut connection.held) {
            return Batch::of_events(None);
        }
        self.mark(peer.slot);
        Batch::of_kept(self, peer)
    }

    /// Ends the work on a batch: what is left of it is kept, what was taken is acknowledged, and what was
    /// written since leaves as far as the windows allow.
    pub fn finish(&mut self, mut batch: Batch, out: &mut Out) {
        batch.keep_rest(self);
        if let Some(frame) = batch.frame.take() {
            out.done(frame);
        }
        self.flush(out);
    }

    /// Sends what was written, acknowledged and decided since, as far as the windows allow. Needed after sending
    /// outside a batch.
    pub fn flush(&mut self, out: &mut Out) {
        self.flush_notes(out);
        let mut dirty = core::mem::take(&mut self.dirty);
        for slot in dirty.drain(..) {
            let connection = &mut self.connections[slot as usize];
            connection.dirty = false;
            if connection.stage == Stage::Free {
                continue;
            }
            connection.flush(out);
            let backlog = connection.backlog();
            if backlog > self.settings.limit {
                let peer = self.peer(slot);
                self.drop_connection(peer, Reason::Backlog(backlog), true);
                // The next batch tells of it.
                self.due = Time::ZERO;
            }
        }
        self.dirty = dirty;
        self.flush_notes(out);
    }

    fn flush_notes(&mut self, out: &mut Out) {
        for note in self.notes.drain(..) {
            let (port, id) = (note.port, note.connection);
            let (mut count, bytes) = note.before;
            connection::put_data(port, id, &mut count, &bytes, out);
            let segment = Segment {
                kind: note.kind,
                connection: id,
                count: note.count,
                bytes: note.text.as_bytes(),
            };
            connection::put(port, &segment, out);
        }
    }

    /// Sends whole messages; of no effect when the connection is over.
    pub fn send(&mut self, peer: Peer, messages: &[u8]) {
        if let Some(buffer) = self.buffer(peer) {
            buffer.extend_from_slice(messages);
        }
    }

    /// What to append whole messages to, so that they are sent; `None` when the connection is over.
    ///
    /// What is in it already must stay.
    pub fn buffer(&mut self, peer: Peer) -> Option<&mut Vec<u8>> {
        self.get(peer)?;
        self.mark(peer.slot);
        Some(self.connections[peer.index()].outbox())
    }

    /// Counts the message that was written last in [`Counters::unacknowledged`] if the connection ends before the
    /// far end has taken it.
    pub fn follow(&mut self, peer: Peer) {
        if self.get(peer).is_some() {
            self.connections[peer.index()].follow();
        }
    }

    /// Bytes that the far end has not acknowledged, sent or not; zero when the connection is over.
    pub fn backlog(&self, peer: Peer) -> usize {
        self.get(peer).map_or(0, Connection::backlog)
    }

    /// Whether the connection lasts.
    pub fn is_open(&self, peer: Peer) -> bool {
        self.get(peer).is_some()
    }

    /// Who is at the far end, as the carrier of the stream has it: `tcp:192.0.2.1:45120`. May be empty.
    pub fn name(&self, peer: Peer) -> &str {
        self.get(peer).map_or("", |connection| &connection.name)
    }

    /// The port that the connection crosses.
    pub fn port(&self, peer: Peer) -> Option<Port> {
        self.get(peer).map(|connection| connection.port)
    }

    /// The connection's number on its port.
    pub fn number(&self, peer: Peer) -> Option<u32> {
        self.get(peer).map(|connection| connection.id)
    }

    /// The connections there are.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + '_ {
        let up = |slot: &u32| self.connections[*slot as usize].stage > Stage::Dialled;
        let slots = self.by_id.values().copied().filter(up);
        slots.map(|slot| self.peer(slot))
    }

    /// Both sides have said hello, and speak this version (its number on the wire). Echo requests are answered
    /// and sent from now on.
    pub fn agreed(&mut self, peer: Peer, version: u8) {
        if self.get(peer).is_some() {
            let connection = &mut self.connections[peer.index()];
            connection.stage = Stage::Up;
            connection.version = version;
        }
    }

    /// Ends a connection; what was written for it before leaves first, as far as the window allows. There is
    /// an [`Event::Closed`] in the batch at hand, or the next one.
    pub fn close(&mut self, peer: Peer, why: &'static str) {
        self.drop_connection(peer, Reason::Wanted(why), true);
        self.due = Time::ZERO;
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn get(&self, peer: Peer) -> Option<&Connection> {
        let connection = self.connections.get(peer.index())?;
        let there = connection.life == peer.life && connection.stage != Stage::Free;
        there.then_some(connection)
    }

    fn peer(&self, slot: u32) -> Peer {
        let life = self.connections[slot as usize].life;
        Peer { slot, life }
    }

    /// The connection is looked at by the next flush.
    fn mark(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(slot);
        }
    }

    fn note(&mut self, port: Port, kind: Kind, connection: u32, count: u32, text: &str) {
        // This does not grow: the answers to one frame are one or two.
        self.notes.push(Note {
            port,
            connection,
            kind,
            count,
            text: text.into(),
            before: Default::default(),
        });
    }

    /// Accepts a connection that the far end asks for by its open number `attempt`.
    fn accept(&mut self, port: Port, id: u32, attempt: u32, name: String) {
        let Some(slot) = self.enter(port, id, Stage::Greeting) else {
            self.counters.closed += 1;
            return self.note(port, Kind::Close, id, 0, "too many connections");
        };
        self.connections[slot as usize].name = name;
        self.counters.opened += 1;
        // A carrier of real connections numbers no attempts.
        let answer = if attempt == 0 { 0 } else { attempt | ANSWER };
        self.note(port, Kind::Open, id, answer, "");
        self.events.push_back(Event::Opened(self.peer(slot)));
    }

    /// A place for a connection; `None` when there are too many.
    fn enter(&mut self, port: Port, id: u32, stage: Stage) -> Option<u32> {
        if self.by_id.len() >= self.settings.connections {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(Connection::free());
            self.connections.len() as u32 - 1
        });
        self.by_id.insert((port, id), slot);
        self.connections[slot as usize].begin(port, id, stage, self.now);
        self.due = self.due.min(self.now + self.settings.patience);
        Some(slot)
    }

    /// Ends a connection, and tells both sides.
    fn drop_connection(&mut self, peer: Peer, reason: Reason, tell: bool) {
        if self.get(peer).is_none() {
            return;
        }
        let connection = &mut self.connections[peer.index()];
        let (port, id) = (connection.port, connection.id);
        if tell {
            let mut text = String::new();
            // Writing to a String does not fail.
            let _ = write!(text, "{reason}");
            // What was written before is to be read: it leaves first.
            self.notes.push(Note {
                port,
                connection: id,
                kind: Kind::Close,
                count: 0,
                text,
                before: connection.last_words(),
            });
        }
        self.counters.unacknowledged += connection.unacknowledged();
        connection.end();
        self.by_id.remove(&(port, id));
        self.counters.closed += 1;
        self.lost(port, id);
        self.events.push_back(Event::Closed(peer, reason));
        self.free.push(peer.slot);
    }
}

/// A text that came over the wire, of bounded length.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT)]).into_owned()
}
