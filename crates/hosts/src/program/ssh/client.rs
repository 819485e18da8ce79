//! The users.

use super::{BUFFER, LOGIN, PORT, PROMPT, Piece, Reader, Writer, number};
use crate::address::Peer;
use crate::connections::{Id, SocketOptions};
use crate::net::{Context, Net};
use crate::program::{BUFFERS, GIVE_UP, Program, send};
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use measure::distribution::{Distribution, Sampler};
use node::{Flow, Time};

/// Maximum number of users of one program.
const MAX_USERS: u32 = 4096;
/// Maximum number of keys of a command.
const MAX_KEYS: u64 = 4096;
/// Time from a failed connection to the next attempt.
const RETRY: Time = Time::from_secs(1);

/// Parameters of the users.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// The server; port 22 unless it says otherwise.
    pub to: Peer,
    /// Time at which the users log in.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// The time from `start` after which no command begins.
    #[cfg_attr(feature = "serde", serde(default))]
    pub duration: Option<Time>,
    /// Number of commands of each user; `None`: unlimited.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// Users, up to 4096, each with a connection.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub users: u32,
    /// Time from one key to the next.
    #[cfg_attr(feature = "serde", serde(default = "usual_interval"))]
    pub interval: Distribution,
    /// Keys of a command, with the enter key; at least as many as `output` has digits, and at most 4096.
    #[cfg_attr(feature = "serde", serde(default = "usual_keys"))]
    pub keys: Distribution<u64>,
    /// Bytes that a command prints.
    #[cfg_attr(feature = "serde", serde(default = "usual_output"))]
    pub output: Distribution<u64>,
    /// Time from the prompt to the next command's first key.
    #[cfg_attr(feature = "serde", serde(default = "usual_think"))]
    pub think: Distribution,
    /// Bytes of a connection's buffer in each direction.
    #[cfg_attr(feature = "serde", serde(default = "usual_buffer"))]
    pub buffer: usize,
}

impl Config {
    /// One user who types commands without end, with the usual times.
    pub fn new(to: Peer) -> Config {
        Config {
            to,
            start: Time::ZERO,
            duration: None,
            count: None,
            users: one(),
            interval: usual_interval(),
            keys: usual_keys(),
            output: usual_output(),
            think: usual_think(),
            buffer: usual_buffer(),
        }
    }
}

fn one() -> u32 {
    1
}

fn usual_interval() -> Distribution {
    Distribution::Constant(Time::from_ms(200))
}

fn usual_keys() -> Distribution<u64> {
    Distribution::Constant(12)
}

fn usual_output() -> Distribution<u64> {
    Distribution::Constant(1000)
}

fn usual_think() -> Distribution {
    Distribution::Constant(Time::from_secs(1))
}

fn usual_buffer() -> usize {
    BUFFER
}

pub(crate) struct Client {
    config: Config,
    intervals: Sampler<Time>,
    keys: Sampler<u64>,
    outputs: Sampler<u64>,
    think: Sampler<Time>,
    users: Vec<User>,
}

/// The state of a user.
enum Stage {
    /// Has no connection.
    Away,
    /// At this step of the login; answers of it are missing.
    Login { step: usize, missing: usize },
    /// Types a command: keys that are left, the last key first.
    Types(Vec<u8>),
    /// Has typed the enter key, and waits for the prompt.
    Waits,
    /// Has logged out.
    Gone,
}

struct User {
    stage: Stage,
    connection: Option<Id>,
    /// Time of the user's next action.
    acts: Option<Time>,
    commands: u64,
    /// Departure times of keys whose echoes have not arrived.
    unechoed: VecDeque<Time>,
    reader: Reader,
    writer: Writer,
    flow: Flow,
}

impl Client {
    pub fn new(config: Config, seed: u64) -> Client {
        let to = config.to.with(PORT).to_string();
        let user = |_| User {
            stage: Stage::Away,
            connection: None,
            acts: (config.count != Some(0)).then_some(config.start),
            commands: 0,
            unechoed: VecDeque::new(),
            reader: Reader::default(),
            writer: Writer::default(),
            flow: Flow {
                program: "ssh",
                to: to.clone(),
                begun: config.start,
                ended: config.start,
                ..Flow::default()
            },
        };
        Client {
            users: (0..config.users.min(MAX_USERS)).map(user).collect(),
            intervals: Sampler::new(&config.interval, seed),
            keys: Sampler::new(&config.keys, seed ^ 1),
            outputs: Sampler::new(&config.output, seed ^ 2),
            think: Sampler::new(&config.think, seed ^ 3),
            config,
        }
    }

    /// Whether a user begins one more command at `at`.
    fn more(&self, user: usize, at: Time) -> bool {
        let end = self.config.duration;
        let end = end.map(|duration| self.config.start + duration);
        let count = self.config.count;
        count.is_none_or(|count| self.users[user].commands < count)
            && end.is_none_or(|end| at < end)
    }

    /// The user's time has come.
    fn act(&mut self, user: usize, context: &mut Context<'_>) {
        let now = context.now;
        self.users[user].acts = None;
        match self.users[user].stage {
            Stage::Away if !self.more(user, now) => self.users[user].flow.done = true,
            Stage::Away => self.connect(user, context),
            Stage::Types(_) => self.key(user, context),
            Stage::Waits if !self.more(user, now) => self.leave(user, context),
            Stage::Waits => {
                let line = self.command();
                self.users[user].stage = Stage::Types(line);
                self.key(user, context);
            }
            Stage::Login { .. } | Stage::Gone => {}
        }
    }

    fn connect(&mut self, user: usize, context: &mut Context<'_>) {
        let options = SocketOptions {
            buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
            timeout: Some(GIVE_UP),
            ..SocketOptions::default()
        };
        let id = context.connect(self.config.to.with(PORT), options);
        let own = &mut self.users[user];
        let ends = id.and_then(|id| context.ends(id));
        let Some((from, _)) = ends else {
            own.acts = Some(context.now + RETRY);
            return;
        };
        own.connection = id;
        own.flow.from = from.to_string();
        (own.reader, own.writer) = (Reader::default(), Writer::default());
        own.writer.version();
        own.unechoed.clear();
        own.stage = Stage::Login {
            step: 0,
            missing: 0,
        };
    }

    /// A command, the enter key first: any words, and the number of bytes to print.
    fn command(&mut self) -> Vec<u8> {
        let mut line = self.outputs.draw().to_string().into_bytes();
        let keys = self.keys.draw().clamp(1, MAX_KEYS) as usize;
        // The number needs a space before it, if there is a word.
        while line.len() + 1 < keys {
            let word = if line.contains(&b' ') { b'x' } else { b' ' };
            line.insert(0, word);
        }
        line.push(b'\r');
        line.reverse();
        line
    }

    /// The user presses the next key.
    fn key(&mut self, user: usize, context: &mut Context<'_>) {
        let now = context.now;
        let own = &mut self.users[user];
        let (Stage::Types(line), Some(id)) = (&mut own.stage, own.connection) else {
            return;
        };
        if let Some(key) = line.pop() {
            own.writer.data(0, &[key]);
            own.unechoed.push_back(now);
            own.flow.packets += 1;
        }
        if line.is_empty() {
            own.commands += 1;
            own.stage = Stage::Waits;
        } else {
            own.acts = Some(now + self.intervals.draw());
        }
        self.exchange(user, id, context);
        context.drive(id);
    }

    /// The user logs out.
    fn leave(&mut self, user: usize, context: &mut Context<'_>) {
        let own = &mut self.users[user];
        own.writer.message((number::CHANNEL_CLOSE, 5));
        own.writer.message((number::DISCONNECT, 33));
        own.stage = Stage::Gone;
        own.flow.done = true;
        if let Some(id) = own.connection {
            self.exchange(user, id, context);
            context.drive(id);
        }
    }

    /// Sends pending output and reads the pieces that have arrived.
    fn exchange(&mut self, user: usize, id: Id, context: &mut Context<'_>) {
        let now = context.now;
        let Some(socket) = context.socket(id) else {
            return;
        };
        let own = &mut self.users[user];
        loop {
            send(socket, &mut own.writer.leaves);
            let piece = match own.reader.receive(socket) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) => return socket.abort(),
            };
            let prompted = own.piece(now, piece);
            if prompted {
                own.acts = Some(now + self.think.draw());
            }
        }
        if matches!(own.stage, Stage::Gone) && own.writer.leaves.is_empty() {
            socket.close();
        }
    }

    fn user_of(&self, id: Id) -> Option<usize> {
        let mut users = self.users.iter();
        users.position(|user| user.connection == Some(id))
    }
}

impl User {
    /// Takes a piece of the server's; whether the prompt has come.
    fn piece(&mut self, now: Time, piece: Piece) -> bool {
        self.flow.ended = now;
        match (&mut self.stage, piece) {
            (Stage::Login { step, missing }, Piece::Version | Piece::Message(..)) => {
                *missing = missing.saturating_sub(1);
                if *missing > 0 {
                    return false;
                }
                // The first step begins after the version; the shell's prompt follows the last.
                match LOGIN.get(*step) {
                    Some((asks, answers)) => {
                        (*step, *missing) = (*step + 1, answers.len());
                        asks.iter().for_each(|&ask| self.writer.message(ask));
                    }
                    None => self.stage = Stage::Waits,
                }
                false
            }
            (Stage::Types(_) | Stage::Waits, Piece::Message(number::CHANNEL_DATA, data)) => {
                // Echoes come in the order of the keys, and output only after all of them.
                if let Some(left) = self.unechoed.pop_front() {
                    self.flow.round_trip.add(now - left);
                    return false;
                }
                self.flow.bytes += data.len() as u64;
                matches!(self.stage, Stage::Waits) && data.ends_with(PROMPT)
            }
            _ => false,
        }
    }
}

impl Program for Client {
    fn next(&self) -> Option<Time> {
        self.users.iter().filter_map(|user| user.acts).min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        for user in 0..self.users.len() {
            if self.users[user].acts.is_some_and(|at| at <= context.now) {
                self.act(user, context);
            }
        }
    }

    fn ready(&mut self, id: Id, _: bool, context: &mut Context<'_>) {
        if let Some(user) = self.user_of(id) {
            self.exchange(user, id, context);
        }
    }

    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        let Some(user) = self.user_of(id) else { return };
        let own = &mut self.users[user];
        own.connection = None;
        if !own.flow.done {
            // A session that broke: the user logs in again.
            own.flow.lost += 1;
            own.stage = Stage::Away;
            own.acts = Some(context.now + RETRY);
        }
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        for user in &self.users {
            visit(user.flow.clone());
        }
    }
}
