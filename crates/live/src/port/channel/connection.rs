//! One connection: what lies between the socket and the node.

use super::error::ConnectionError;
use super::socket::{Socket, Transport, is_pause};
use listen::{Busy, Permit};
use packet::segment::{HEADER, Kind, MAX_DATA_LEN, Segment, WINDOW};
use std::io::{self, IoSliceMut, Read, Write};

/// Segments that one read fills at most.
const SEGMENTS: usize = 5;
/// A segment and its header.
const SLOT: usize = HEADER + MAX_DATA_LEN;
/// Maximum capacity of an empty buffer, bytes; the rest is freed.
const MAX_IDLE_CAPACITY: usize = 1 << 20;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The system is connecting.
    Connecting,
    /// The keys of TLS are agreed on.
    Handshake,
    /// There; the node was told, and has not answered.
    Offered,
    /// At work.
    Up,
    /// The node has closed it: what it wrote is still to leave.
    Leaving,
}

/// Segments read from a socket, with their headers before them: one call fills all.
pub struct Buffer {
    bytes: Box<[u8]>,
    /// The frames' lengths, one a slot.
    lengths: [usize; SEGMENTS],
    used: usize,
}

impl Buffer {
    /// An empty one.
    pub fn new() -> Buffer {
        Buffer {
            bytes: vec![0; SEGMENTS * SLOT].into(),
            lengths: [0; SEGMENTS],
            used: 0,
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Puts a segment in, as long as there is room.
    pub fn put(&mut self, segment: &Segment<'_>) {
        if self.used == SEGMENTS {
            return;
        }
        let (header, carried) = (segment.header(), segment.carried());
        let slot = &mut self.bytes[self.used * SLOT..];
        slot[..HEADER].copy_from_slice(&header);
        slot[HEADER..HEADER + carried.len()].copy_from_slice(carried);
        self.lengths[self.used] = HEADER + carried.len();
        self.used += 1;
    }

    /// Whether there is room for data and a close behind it.
    pub fn has_room(&self) -> bool {
        self.used + 1 < SEGMENTS
    }

    /// Shows each frame.
    pub fn each(&self, mut see: impl FnMut(&[u8])) {
        for (slot, &length) in self.bytes.chunks(SLOT).zip(&self.lengths[..self.used]) {
            see(&slot[..length]);
        }
    }

    /// Reads `room` bytes at most straight to where they are to be, leaving one slot for what may follow.
    fn read(&mut self, from: &mut impl Read, room: usize) -> io::Result<usize> {
        let mut slices = [(); SEGMENTS].map(|()| IoSliceMut::new(&mut []));
        let mut left = room;
        let slots = self.bytes.chunks_mut(SLOT).skip(self.used);
        for (slice, slot) in slices.iter_mut().zip(slots.take(SEGMENTS - 1 - self.used)) {
            let share = left.min(MAX_DATA_LEN);
            left -= share;
            *slice = IoSliceMut::new(&mut slot[HEADER..HEADER + share]);
        }
        from.read_vectored(&mut slices)
    }

    /// The first piece of the data that was read.
    fn next(&self, length: usize) -> &[u8] {
        &self.bytes[self.used * SLOT + HEADER..][..length.min(MAX_DATA_LEN)]
    }

    /// Makes segments of what was read.
    fn cut(&mut self, connection: u32, received: &mut u32, mut length: usize) {
        while length > 0 {
            let share = length.min(MAX_DATA_LEN);
            length -= share;
            let slot = &mut self.bytes[self.used * SLOT..][..HEADER + share];
            let (header, bytes) = slot.split_at_mut(HEADER);
            let segment = Segment {
                kind: Kind::Data,
                connection,
                count: *received,
                bytes,
            };
            header.copy_from_slice(&segment.header());
            *received = received.wrapping_add(share as u32);
            self.lengths[self.used] = HEADER + share;
            self.used += 1;
        }
    }
}

/// Why there is nothing to read.
pub enum Dry {
    /// More may come.
    Later,
    /// The node leaves no room.
    NoRoom,
    /// It is over, and why.
    Over(ConnectionError),
}

pub struct Connection<T = Socket> {
    pub id: u32,
    pub socket: T,
    pub tls: Option<Box<rustls::Connection>>,
    pub stage: Stage,
    pub peer: String,
    /// What epoll looks for; `None` when the socket is not in its set.
    pub interest: Option<u32>,
    /// When to give up connecting, or leaving, ns.
    pub until: u64,
    /// What the node gave and the system has not; the first `gone` bytes of it have left.
    out: Vec<u8>,
    gone: usize,
    /// Bytes that TLS has taken off `out` and has not given to the system as a whole.
    sealed: usize,
    /// Bytes that the node gave, modulo 2^32, and of these acknowledged to it.
    pub given: u32,
    pub told: u32,
    /// Bytes given to the node, and of these acknowledged by it, modulo 2^32.
    received: u32,
    acknowledged: u32,
    /// Whether it is in the list of those that have bytes to acknowledge.
    pub telling: bool,
    /// Which of the addresses it is tried with.
    pub attempt: usize,
    /// The place of one that was accepted.
    pub permit: Option<Permit>,
    /// It keeps the place: the far end has sent more than a hello.
    pub busy: Option<Busy>,
    /// Bytes of the first message by its length field, once that has come.
    hello: Option<u32>,
}

impl<T: Transport> Connection<T> {
    pub fn new(id: u32, socket: T, stage: Stage, peer: String, until: u64) -> Connection<T> {
        Connection {
            id,
            socket,
            tls: None,
            stage,
            peer,
            interest: None,
            until,
            out: Vec::new(),
            gone: 0,
            sealed: 0,
            given: 0,
            told: 0,
            received: 0,
            acknowledged: 0,
            telling: false,
            attempt: 0,
            permit: None,
            busy: None,
            hello: None,
        }
    }

    /// Takes data from the node.
    pub fn take(&mut self, segment: &Segment<'_>) -> Result<(), &'static str> {
        if segment.count != self.given {
            return Err("a segment was lost before the socket");
        }
        if self.waiting() + segment.bytes.len() > WINDOW as usize {
            return Err("data past the window");
        }
        self.given = self.given.wrapping_add(segment.bytes.len() as u32);
        self.out.extend_from_slice(segment.bytes);
        Ok(())
    }

    /// The node has taken what went before `count`.
    pub fn acknowledged(&mut self, count: u32) {
        // Nonsense leaves the room as it is.
        if self.received.wrapping_sub(count) <= self.received.wrapping_sub(self.acknowledged) {
            self.acknowledged = count;
        }
    }

    /// Bytes of the node that the system has not taken.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.gone + self.sealed
    }

    /// How many bytes the node has room for.
    pub fn room(&self) -> usize {
        (WINDOW - self.received.wrapping_sub(self.acknowledged)) as usize
    }

    /// Whether there is something for the socket.
    pub fn wants_write(&self) -> bool {
        self.waiting() > 0 || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Writes as much as the system takes.
    pub fn write(&mut self) -> Result<(), ConnectionError> {
        let done = loop {
            match self.write_some() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) if is_pause(&error) => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WriteZero => {
                    break Err(ConnectionError::Stuck);
                }
                Err(error) => break Err(error.into()),
            }
        };
        if self.gone == self.out.len() {
            self.out.clear();
            self.out.shrink_to(MAX_IDLE_CAPACITY);
            self.gone = 0;
        } else if self.gone > WINDOW as usize / 2 {
            self.out.drain(..self.gone);
            self.gone = 0;
        }
        done
    }

    /// Takes one step of writing; `false` when nothing is left to write. TLS gets new bytes only after
    /// its own buffer is empty, so that `sealed` counts exactly what the system has not taken.
    fn write_some(&mut self) -> io::Result<bool> {
        let rest = &self.out[self.gone..];
        match &mut self.tls {
            Some(tls) if tls.wants_write() => {
                some(tls.write_tls(&mut self.socket)?)?;
                if !tls.wants_write() {
                    self.sealed = 0;
                }
            }
            _ if rest.is_empty() => return Ok(false),
            Some(tls) => {
                self.sealed = some(tls.writer().write(rest)?)?;
                self.gone += self.sealed;
            }
            None => self.gone += some(self.socket.write(rest)?)?,
        }
        Ok(true)
    }

    /// Reads once, into the buffer.
    pub fn read(&mut self, buffer: &mut Buffer) -> Result<(), Dry> {
        let room = self.room();
        if room == 0 {
            return Err(Dry::NoRoom);
        }
        let result = match &mut self.tls {
            Some(tls) => read_tls(tls, &mut self.socket, buffer, room),
            None => buffer.read(&mut self.socket, room),
        };
        match result {
            Ok(0) => Err(Dry::Over(ConnectionError::Gone)),
            Ok(length) => {
                if self.busy.is_none() {
                    self.heard(buffer.next(length));
                }
                buffer.cut(self.id, &mut self.received, length);
                Ok(())
            }
            Err(error) if is_pause(&error) => Err(Dry::Later),
            Err(error) => Err(Dry::Over(error.into())),
        }
    }

    /// Notes received bytes. A peer that sends more than its hello message is identified; any program
    /// can send a hello and wait.
    fn heard(&mut self, bytes: &[u8]) {
        if self.received == 0
            && let [_, _, high, low, ..] = *bytes
        {
            self.hello = Some(u16::from_be_bytes([high, low]).into());
        }
        let came = self.received as usize + bytes.len();
        let hello = self
            .hello
            .map_or(usize::from(u16::MAX), |length| length as usize);
        if came > hello {
            self.busy = self.permit.as_ref().map(|permit| permit.visitor().busy());
        }
    }

    /// Goes on with the handshake of TLS; whether it is done. Its last message may still have to be
    /// [written](Connection::write).
    pub fn handshake(&mut self) -> Result<bool, ConnectionError> {
        loop {
            // Both ends may write more than the system takes: each reads meanwhile.
            self.write()?;
            let Some(tls) = &mut self.tls else {
                return Ok(true);
            };
            if !tls.is_handshaking() {
                return Ok(true);
            }
            match tls.read_tls(&mut self.socket) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(_) => {}
                Err(error) if is_pause(&error) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if let Err(error) = tls.process_new_packets() {
                // The far end reads why, if the system takes it.
                let _ = tls.write_tls(&mut self.socket);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error).into());
            }
        }
    }

    /// Ends the stream to the far end. With TLS this takes further calls of
    /// [`write`](Connection::write) and of this while [`wants_write`](Connection::wants_write).
    pub fn end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // A far end that cannot receive it sees the end of the stream.
            if self.write().is_ok() && self.wants_write() {
                return;
            }
        }
        self.socket.end();
    }

    /// Whether TLS holds decrypted data or an error. The kernel does not report it, as the socket is empty.
    pub fn has_read_ahead(&mut self) -> bool {
        let Some(tls) = &mut self.tls else {
            return false;
        };
        // The caller reads an error, too.
        tls.process_new_packets()
            .map_or(true, |state| is_readable(&state))
    }
}

/// A count of written bytes, which is never 0.
fn some(count: usize) -> io::Result<usize> {
    match count {
        0 => Err(io::ErrorKind::WriteZero.into()),
        count => Ok(count),
    }
}

fn is_readable(state: &rustls::IoState) -> bool {
    state.plaintext_bytes_to_read() > 0 || state.peer_has_closed()
}

fn read_tls(
    tls: &mut rustls::Connection,
    socket: &mut impl Read,
    buffer: &mut Buffer,
    room: usize,
) -> io::Result<usize> {
    loop {
        match buffer.read(&mut tls.reader(), room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
        // Also where the socket has nothing: an error that came behind data is kept until here.
        let state = tls.process_new_packets().map_err(io::Error::other)?;
        if !is_readable(&state) && tls.read_tls(socket)? == 0 {
            return Ok(0);
        }
    }
}

#[cfg(test)]
mod tests;
