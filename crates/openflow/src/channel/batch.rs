//! What a frame has brought, message by message.

use super::{Channels, Connection, Event, Peer, Reason};
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use node::Frame;

/// The bytes of a message's header.
const HEADER: usize = 8;
/// The type of an echo request and of its reply, in every version.
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;

/// What a frame, or the passing of time, has brought: messages that lie where they arrived.
#[derive(Debug)]
#[must_use = "what is left of a batch is kept by `Channels::finish`"]
pub struct Batch {
    peer: Option<Peer>,
    /// What was kept from before, and how much of it is worked through: all of it goes before the frame's.
    kept: Vec<u8>,
    done: usize,
    pub(super) frame: Option<Frame>,
    /// Of the frame, what is not worked through.
    rest: Range<usize>,
}

impl Batch {
    /// Of a frame without data.
    pub(super) fn of_events(frame: Option<Frame>) -> Batch {
        Batch {
            peer: None,
            kept: Vec::new(),
            done: 0,
            frame,
            rest: 0..0,
        }
    }

    /// Of what was kept from frames before.
    pub(super) fn of_kept(channels: &mut Channels, peer: Peer) -> Batch {
        Batch {
            peer: Some(peer),
            kept: mem::take(&mut channels.connections[peer.index()].inbox),
            ..Batch::of_events(None)
        }
    }

    /// Of a frame with data in this range, which may be empty when what was kept is to be worked through.
    pub(super) fn of_data(
        channels: &mut Channels,
        peer: Peer,
        frame: Frame,
        data: Range<usize>,
    ) -> Batch {
        let connection = &mut channels.connections[peer.index()];
        if connection.held {
            connection.inbox.extend_from_slice(&frame[data]);
            return Batch::of_events(Some(frame));
        }
        let mut kept = mem::take(&mut connection.inbox);
        let mut rest = data;
        // A message that was begun is completed, and no more than that is copied.
        let mut complete = |kept: &mut Vec<u8>, length: usize| {
            let more = length.saturating_sub(kept.len()).min(rest.len());
            kept.extend_from_slice(&frame[rest.start..rest.start + more]);
            rest.start += more;
        };
        if !kept.is_empty() {
            complete(&mut kept, HEADER);
            if kept.len() >= HEADER {
                let length = length(&kept);
                complete(&mut kept, length);
            }
        }
        Batch {
            peer: Some(peer),
            kept,
            done: 0,
            frame: Some(frame),
            rest,
        }
    }

    /// The next thing that has happened; `None` when the batch is worked through, or when nothing more is to be
    /// read because of the far end's backlog.
    pub fn next(&mut self, channels: &mut Channels) -> Option<Event<'_>> {
        loop {
            if let Some(event) = channels.events.pop_front() {
                return Some(event);
            }
            let peer = self.peer?;
            if channels.get(peer).is_none() {
                // Closed meanwhile: what it sent after that is of no interest.
                self.peer = None;
                return None;
            }
            let connection = &mut channels.connections[peer.index()];
            let from_kept = self.done < self.kept.len();
            let bytes = match &self.frame {
                _ if from_kept => &self.kept[self.done..],
                Some(frame) => &frame[self.rest.clone()],
                None => return None,
            };
            if bytes.len() < HEADER {
                return None;
            }
            let length = length(bytes);
            if length < HEADER {
                channels.drop_connection(peer, Reason::Length(length as u16), true);
                continue;
            }
            if bytes.len() < length {
                return None;
            }
            if connection.paused || connection.backlog() >= channels.settings.hold {
                connection.held = true;
                channels.counters.held += 1;
                return None;
            }
            channels.counters.messages += 1;
            let cursor = match from_kept {
                true => &mut self.done,
                false => &mut self.rest.start,
            };
            let at = *cursor;
            *cursor += length;
            let echo = match is_echo(connection, &bytes[..2]) {
                true => bytes[1],
                false => return Some(Event::Message(peer, self.message(from_kept, at, length))),
            };
            if echo == ECHO_REQUEST {
                let outbox = connection.outbox();
                outbox.extend_from_slice(self.message(from_kept, at, length));
                let kind = outbox.len() - length + 1;
                outbox[kind] = ECHO_REPLY;
                channels.mark(peer.slot);
            }
        }
    }

    fn message(&self, from_kept: bool, at: usize, length: usize) -> &[u8] {
        match &self.frame {
            Some(frame) if !from_kept => &frame[at..at + length],
            _ => &self.kept[at..at + length],
        }
    }

    /// Keeps what is not worked through.
    pub(super) fn keep_rest(&mut self, channels: &mut Channels) {
        let Some(peer) = self.peer.filter(|&peer| channels.get(peer).is_some()) else {
            return;
        };
        let mut kept = mem::take(&mut self.kept);
        kept.drain(..self.done);
        if let Some(frame) = &self.frame {
            kept.extend_from_slice(&frame[self.rest.clone()]);
        }
        channels.connections[peer.index()].inbox = kept;
    }
}

/// The length that a message says it has. At least 4 bytes are there.
fn length(bytes: &[u8]) -> usize {
    u16::from_be_bytes([bytes[2], bytes[3]]).into()
}

/// Whether this message is the channel's own matter: an echo, once a version is agreed on and in that version.
fn is_echo(connection: &Connection, bytes: &[u8]) -> bool {
    let of_ours = connection.version == bytes[0] && connection.version != 0;
    of_ours && matches!(bytes[1], ECHO_REQUEST | ECHO_REPLY)
}
