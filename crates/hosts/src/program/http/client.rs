//! The users.

use super::{Head, PORT};
use crate::address::Peer;
use crate::connections::{Congestion, Ecn, Id, SocketOptions};
use crate::endpoint::State;
use crate::net::{Context, Net};
use crate::program::{BUFFERS, GIVE_UP, MIN_RTO, Program, send};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use measure::distribution::{Distribution, Sampler};
use node::{Flow, Time};

/// Maximum number of users of one program.
const MAX_USERS: u32 = 4096;
/// After a connection that did not come about, or was torn down, the next try.
const AGAIN: Time = Time::from_secs(1);

/// Configuration of users.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// The server; port 80 by default.
    pub to: Peer,
    /// When the first requests leave.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// After how long nothing more is asked for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub duration: Option<Time>,
    /// How many requests of each user; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// How many users, up to 4096.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub users: u32,
    /// What is asked for without a `size`.
    #[cfg_attr(feature = "serde", serde(default = "root"))]
    pub path: String,
    /// Bytes that are asked for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub size: Option<Distribution<u64>>,
    /// Between a response and the next request.
    #[cfg_attr(feature = "serde", serde(default))]
    pub think: Option<Distribution>,
    /// Whether a user's requests share a connection.
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub keep_alive: bool,
    /// Bytes of a connection's buffer in each direction.
    #[cfg_attr(feature = "serde", serde(default = "usual_buffer"))]
    pub buffer: usize,
    /// Congestion control; with `dctcp` its acknowledgements are DCTCP's too.
    #[cfg_attr(feature = "serde", serde(default))]
    pub congestion: Congestion,
    /// Explicit congestion notification.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ecn: Ecn,
    /// Minimum retransmission time-out, see [`SocketOptions::min_rto`]: 1 us to 60 s.
    #[cfg_attr(feature = "serde", serde(default = "usual_rto"))]
    pub min_rto: Time,
}

impl Config {
    /// One user who asks `to` for `/` again and again.
    pub fn new(to: Peer) -> Config {
        Config {
            to,
            start: Time::ZERO,
            duration: None,
            count: None,
            users: 1,
            path: "/".into(),
            size: None,
            think: None,
            keep_alive: true,
            buffer: super::BUFFER,
            congestion: Congestion::Cubic,
            ecn: Ecn::Passive,
            min_rto: MIN_RTO,
        }
    }
}

#[cfg(feature = "serde")]
fn usual_rto() -> Time {
    MIN_RTO
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

#[cfg(feature = "serde")]
fn root() -> String {
    "/".into()
}

#[cfg(feature = "serde")]
fn yes() -> bool {
    true
}

#[cfg(feature = "serde")]
fn usual_buffer() -> usize {
    super::BUFFER
}

pub(crate) struct Client {
    config: Config,
    sizes: Option<Sampler<u64>>,
    think: Option<Sampler<Time>>,
    users: Vec<User>,
}

struct User {
    connection: Option<Id>,
    /// When the next request leaves; `None`: one is under way, or there is none to come.
    asks: Option<Time>,
    asked: u64,
    /// The request under way: since when.
    since: Option<Time>,
    request: Vec<u8>,
    head: Head,
    /// Bytes of the response's body to come; `None`: its head is not in; `u64::MAX`: up to the end of the connection.
    body: Option<u64>,
    closes: bool,
    flow: Flow,
}

impl Client {
    pub fn new(config: Config, seed: u64) -> Client {
        let to = config.to.with(PORT).to_string();
        let user = |_| User {
            connection: None,
            asks: (config.count != Some(0)).then_some(config.start),
            asked: 0,
            since: None,
            request: Vec::new(),
            head: Head::default(),
            body: None,
            closes: false,
            flow: Flow {
                program: "http",
                to: to.clone(),
                begun: config.start,
                ended: config.start,
                ..Flow::default()
            },
        };
        Client {
            users: (0..config.users.min(MAX_USERS)).map(user).collect(),
            sizes: config.size.as_ref().map(|size| Sampler::new(size, seed)),
            think: config
                .think
                .as_ref()
                .map(|think| Sampler::new(think, seed ^ 1)),
            config,
        }
    }

    fn more(&self, user: usize, at: Time) -> bool {
        let end = self
            .config
            .duration
            .map(|duration| self.config.start + duration);
        let count = self.config.count;
        count.is_none_or(|count| self.users[user].asked < count) && end.is_none_or(|end| at < end)
    }

    /// A user asks.
    fn ask(&mut self, user: usize, context: &mut Context<'_>) {
        let now = context.now;
        self.users[user].asks = None;
        if !self.more(user, now) {
            self.users[user].flow.done = true;
            return self.leave(user, context);
        }
        let to = self.config.to.with(PORT);
        if self.users[user].connection.is_none() {
            let options = SocketOptions {
                buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
                congestion: self.config.congestion,
                timeout: Some(GIVE_UP),
                ecn: self.config.ecn,
                min_rto: self.config.min_rto,
                ..SocketOptions::default()
            };
            let id = context.connect(to, options);
            self.users[user].connection = id;
            match id.and_then(|id| context.ends(id)) {
                Some((own, _)) => self.users[user].flow.from = own.to_string(),
                None => {
                    self.users[user].asks = Some(now + AGAIN);
                    return;
                }
            }
        }
        let path = match &mut self.sizes {
            Some(sizes) => format!("/{}", sizes.draw()),
            None => self.config.path.clone(),
        };
        let kept = if self.config.keep_alive {
            "keep-alive"
        } else {
            "close"
        };
        let user = &mut self.users[user];
        user.request = format!(
            "GET {path} HTTP/1.1\r\nHost: {to}\r\nUser-Agent: wireline\r\nConnection: {kept}\r\n\r\n"
        )
        .into_bytes();
        user.asked += 1;
        user.flow.packets += 1;
        user.since = Some(now);
        user.head.0.clear();
        user.body = None;
        user.closes = false;
        if let Some(id) = user.connection {
            user.exchange(id, context);
            context.drive(id);
        }
    }

    /// A user has no use for his connection any more.
    fn leave(&mut self, user: usize, context: &mut Context<'_>) {
        if let Some(id) = self.users[user].connection.take()
            && let Some(socket) = context.socket(id)
        {
            socket.close();
            context.drive(id);
        }
    }

    /// A response is in: the user thinks.
    fn answered(&mut self, user: usize, context: &mut Context<'_>) {
        let think = self.think.as_mut().map_or(Time::ZERO, Sampler::draw);
        let own = &mut self.users[user];
        if let Some(since) = own.since.take() {
            own.flow.round_trip.add(context.now - since);
        }
        own.flow.ended = context.now;
        if own.closes || !self.config.keep_alive {
            self.leave(user, context);
        }
        let at = context.now + think;
        if self.more(user, at) {
            self.users[user].asks = Some(at);
        } else {
            self.users[user].flow.done = true;
            self.leave(user, context);
        }
    }

    fn user_of(&self, id: Id) -> Option<usize> {
        self.users
            .iter()
            .position(|user| user.connection == Some(id))
    }
}

impl User {
    /// Writes what is left of the request and reads what is there of the response; tells whether that is whole.
    fn exchange(&mut self, id: Id, context: &mut Context<'_>) -> bool {
        let Some(socket) = context.socket(id) else {
            return false;
        };
        send(socket, &mut self.request);
        while socket.can_recv() && self.since.is_some() && self.body != Some(0) {
            let taken = socket.recv(|bytes| match &mut self.body {
                Some(left) => {
                    let count = (*left).min(bytes.len() as u64);
                    if *left != u64::MAX {
                        *left -= count;
                    }
                    self.flow.bytes += count;
                    (count as usize, true)
                }
                None => match self.head.take(bytes) {
                    Some((count, true)) => {
                        let length = self.head.field("Content-Length");
                        let length = length.and_then(|length| length.parse().ok());
                        self.body = Some(length.unwrap_or(u64::MAX));
                        let closes = self.head.field("Connection");
                        self.closes = length.is_none()
                            || closes.is_some_and(|text| text.eq_ignore_ascii_case("close"));
                        (count, true)
                    }
                    Some((count, false)) => (count, true),
                    None => (bytes.len(), false),
                },
            });
            if taken != Ok(true) {
                socket.abort();
                return false;
            }
        }
        let ended = self.body == Some(u64::MAX) && !socket.may_recv();
        self.since.is_some() && (self.body == Some(0) || ended)
    }
}

impl Program for Client {
    fn next(&self) -> Option<Time> {
        self.users.iter().filter_map(|user| user.asks).min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        for user in 0..self.users.len() {
            if self.users[user]
                .asks
                .is_some_and(|asks| asks <= context.now)
            {
                self.ask(user, context);
            }
        }
    }

    fn ready(&mut self, id: Id, _: bool, context: &mut Context<'_>) {
        let Some(user) = self.user_of(id) else { return };
        if self.users[user].exchange(id, context) {
            self.answered(user, context);
        } else if self.users[user].since.is_none()
            && let Some(socket) = context.socket(id)
            && !socket.may_recv()
            && socket.may_send()
            && socket.state() == State::CloseWait
        {
            // The server has had enough while the user thinks.
            self.leave(user, context);
        }
    }

    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        let Some(user) = self.user_of(id) else { return };
        let user = &mut self.users[user];
        user.connection = None;
        if user.since.take().is_some() {
            user.flow.lost += 1;
            user.asks = Some(context.now + AGAIN);
        }
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        for user in &self.users {
            visit(user.flow.clone());
        }
    }
}
