//! The server: a shell whose commands print as many bytes as their last word says.

use super::{BUFFER, LOGIN, MAX_DATA, PORT, PROMPT, Piece, Reader, Writer, number};
use crate::connections::{Id, SocketOptions};
use crate::endpoint::Endpoint;
use crate::net::{Context, Net};
use crate::program::{BUFFERS, Binding, Program, send};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use measure::distribution::{Distribution, Sampler};
use node::{Flow, Time};

/// Maximum unsent output of a session, bytes; its input is not read above that.
const MAX_WAITING: usize = 1 << 16;
/// Maximum length of a command, bytes; a longer one prints nothing.
const MAX_LINE: usize = 4096;

/// Parameters of a server.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct ServerConfig {
    /// The TCP port that it listens on.
    pub port: u16,
    /// Time from the enter key to the output.
    pub think: Distribution,
    /// Bytes of a connection's buffer in each direction.
    pub buffer: usize,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            port: PORT,
            think: Distribution::Constant(Time::ZERO),
            buffer: BUFFER,
        }
    }
}

pub(crate) struct Server {
    config: ServerConfig,
    think: Sampler<Time>,
    sessions: BTreeMap<Id, Session>,
    flow: Flow,
}

/// The command of a session.
#[derive(Default)]
enum Command {
    /// None runs: keys are echoed.
    #[default]
    None,
    /// Works until this time, then prints this number of bytes.
    Works(Time, u64),
    /// Prints: bytes that are left.
    Prints(u64),
}

#[derive(Default)]
struct Session {
    reader: Reader,
    writer: Writer,
    /// Steps of the login that are answered, and messages of the next one that have come.
    step: usize,
    asked: usize,
    line: Vec<u8>,
    command: Command,
    over: bool,
}

impl Server {
    pub fn new(config: ServerConfig, seed: u64) -> Server {
        Server {
            think: Sampler::new(&config.think, seed),
            flow: Flow {
                program: "ssh-server",
                from: format!("port {}", config.port),
                to: "all".into(),
                done: true,
                ..Flow::default()
            },
            sessions: BTreeMap::new(),
            config,
        }
    }

    /// Reads and answers until input or room ends.
    fn serve(&mut self, id: Id, context: &mut Context<'_>) {
        let now = context.now;
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let Some(socket) = context.socket(id) else {
            return;
        };
        loop {
            session.print(now, socket, &mut self.flow);
            if session.is_busy() || session.writer.leaves.len() > MAX_WAITING {
                break;
            }
            let piece = match session.reader.receive(socket) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) => return socket.abort(),
            };
            if self.flow.packets == 0 {
                self.flow.begun = now;
            }
            self.flow.packets += 1;
            self.flow.ended = now;
            if let Some(bytes) = session.piece(piece) {
                session.command = Command::Works(now + self.think.draw(), bytes);
            }
        }
        let ended = session.over || !socket.may_recv() && !session.is_busy();
        if ended && session.writer.leaves.is_empty() && socket.may_send() {
            socket.close();
        }
    }
}

impl Session {
    fn is_busy(&self) -> bool {
        !matches!(self.command, Command::None)
    }

    /// Takes a piece of the client's; the bytes that a command prints, if one begins.
    fn piece(&mut self, piece: Piece) -> Option<u64> {
        let Piece::Message(number, data) = piece else {
            return None;
        };
        if let Some((asks, answers)) = LOGIN.get(self.step) {
            self.asked += 1;
            if self.asked == asks.len() {
                (self.step, self.asked) = (self.step + 1, 0);
                answers.iter().for_each(|&one| self.writer.message(one));
                if self.step == LOGIN.len() {
                    self.writer.data(0, PROMPT);
                }
            }
            return None;
        }
        match number {
            number::CHANNEL_DATA => {}
            number::CHANNEL_CLOSE | number::DISCONNECT => {
                self.over = true;
                return None;
            }
            _ => return None,
        }
        self.writer.data(0, &data);
        if self.line.len() + data.len() <= MAX_LINE {
            self.line.extend_from_slice(&data);
        }
        if !data.ends_with(b"\r") {
            return None;
        }
        let line = core::str::from_utf8(&self.line).unwrap_or("");
        let word = line.split_whitespace().next_back();
        let bytes = word.and_then(|word| word.parse().ok()).unwrap_or(0);
        self.line.clear();
        Some(bytes)
    }

    /// Sends what waits, and prints what a command has to print now.
    fn print(&mut self, now: Time, socket: &mut Endpoint, flow: &mut Flow) {
        loop {
            send(socket, &mut self.writer.leaves);
            if !self.writer.leaves.is_empty() {
                return;
            }
            let left = match self.command {
                Command::Works(until, bytes) if until <= now => bytes,
                Command::Prints(left) => left,
                Command::None | Command::Works(..) => return,
            };
            let part = left.min(MAX_DATA as u64);
            flow.bytes += part;
            flow.ended = now;
            if part == 0 {
                self.command = Command::None;
                self.writer.data(0, PROMPT);
            } else {
                self.command = Command::Prints(left - part);
                self.writer.data(part as usize, &[]);
            }
        }
    }
}

impl Program for Server {
    fn bindings(&self) -> Vec<Binding> {
        let options = SocketOptions {
            buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
            ..SocketOptions::default()
        };
        [Binding::Tcp(self.config.port, options)].into()
    }

    fn next(&self) -> Option<Time> {
        let works = |session: &Session| match session.command {
            Command::Works(until, _) if session.writer.leaves.is_empty() => Some(until),
            _ => None,
        };
        self.sessions.values().filter_map(works).min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let due = |(id, session): (&Id, &Session)| {
            matches!(session.command, Command::Works(until, _) if until <= context.now)
                .then_some(*id)
        };
        let due: Vec<Id> = self.sessions.iter().filter_map(due).collect();
        for id in due {
            self.serve(id, context);
            context.drive(id);
        }
    }

    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        if new {
            let session = self.sessions.entry(id).or_default();
            session.writer.version();
        }
        self.serve(id, context);
    }

    fn over(&mut self, id: Id, _: &mut Context<'_>) {
        self.sessions.remove(&id);
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
