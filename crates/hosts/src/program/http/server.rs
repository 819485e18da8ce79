//! The server.

use super::{BUFFER, Head, PORT};
use crate::connections::{Congestion, Ecn, Id, SocketOptions};
use crate::net::{Context, Net};
use crate::program::{BUFFERS, Binding, INITIAL_WINDOW, MIN_RTO, Program, send};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use measure::distribution::{Distribution, Sampler};
use node::{Flow, Time};

/// What a server is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct ServerConfig {
    /// Where it listens.
    pub port: u16,
    /// Bytes of a page whose path is no number.
    pub size: Distribution<u64>,
    /// Before it answers.
    pub think: Distribution,
    /// Bytes of a connection's buffer in each direction.
    pub buffer: usize,
    /// Congestion control.
    pub congestion: Congestion,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Segments of the initial window, 1 to 10,000.
    pub initial_window: u32,
    /// Minimum retransmission time-out, see [`SocketOptions::min_rto`]: 1 us to 60 s.
    pub min_rto: Time,
    /// Whether segments leave one by one, at a rate by window and round trip.
    pub pacing: bool,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            port: PORT,
            size: Distribution::Constant(10_000),
            think: Distribution::Constant(Time::ZERO),
            buffer: BUFFER,
            congestion: Congestion::Cubic,
            ecn: Ecn::Passive,
            initial_window: INITIAL_WINDOW,
            min_rto: MIN_RTO,
            pacing: false,
        }
    }
}

pub(crate) struct Server {
    config: ServerConfig,
    sizes: Sampler<u64>,
    think: Sampler<Time>,
    open: BTreeMap<Id, Visitor>,
    flow: Flow,
}

/// Somebody who asks.
#[derive(Default)]
struct Visitor {
    head: Head,
    /// What is to be written of an answer's head.
    answer: Vec<u8>,
    /// Bytes of the page still to be written.
    left: u64,
    /// When the answer begins.
    answers: Option<Time>,
    /// No more requests behind this one.
    last: bool,
}

impl Server {
    pub fn new(config: ServerConfig, seed: u64) -> Server {
        Server {
            sizes: Sampler::new(&config.size, seed),
            think: Sampler::new(&config.think, seed ^ 1),
            flow: Flow {
                program: "http-server",
                from: format!("port {}", config.port),
                to: "all".into(),
                done: true,
                ..Flow::default()
            },
            open: BTreeMap::new(),
            config,
        }
    }

    /// Reads requests and writes answers, as far as it goes.
    fn serve(&mut self, id: Id, context: &mut Context<'_>) {
        let now = context.now;
        let mut room = context.room(id, u64::MAX) as u64;
        let Some(visitor) = self.open.get_mut(&id) else {
            return;
        };
        let Some(socket) = context.socket(id) else {
            return;
        };
        loop {
            if visitor.answers.is_none() {
                // The next request; one behind the other is left in the buffer.
                let mut whole = false;
                while socket.can_recv() && !whole {
                    let taken = socket.recv(|bytes| match visitor.head.take(bytes) {
                        Some((count, whole)) => (count, Some(whole)),
                        None => (bytes.len(), None),
                    });
                    match taken {
                        Ok(Some(end)) => whole = end,
                        Ok(None) => return socket.abort(),
                        Err(_) => break,
                    }
                }
                if !whole {
                    break;
                }
                let mut words = visitor.head.first().split(' ');
                let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
                let old = words.next() == Some("HTTP/1.0");
                let number = path.trim_start_matches('/').parse().ok();
                let size = number.unwrap_or_else(|| self.sizes.draw());
                let status = match method {
                    "GET" | "HEAD" => "200 OK",
                    _ => "405 Method Not Allowed",
                };
                visitor.left = if method == "GET" { size } else { 0 };
                let connection = visitor.head.field("Connection");
                visitor.last = match connection {
                    Some(text) => text.eq_ignore_ascii_case("close"),
                    None => old,
                };
                let told = if method == "HEAD" { size } else { visitor.left };
                let kept = if visitor.last { "close" } else { "keep-alive" };
                visitor.answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {told}\r\nContent-Type: application/octet-stream\r\n\
                     Connection: {kept}\r\n\r\n"
                )
                .into_bytes();
                visitor.head.0.clear();
                let think = self.think.draw();
                visitor.answers = Some(now + think);
                if self.flow.packets == 0 {
                    self.flow.begun = now;
                }
                self.flow.packets += 1;
            }
            if visitor.answers.is_some_and(|answers| answers > now) {
                break;
            }
            send(socket, &mut visitor.answer);
            while socket.can_send() && visitor.answer.is_empty() && visitor.left > 0 && room > 0 {
                let most = visitor.left.min(room);
                let Ok(sent) = socket.send_zeros(most as usize) else {
                    break;
                };
                let sent = sent as u64;
                visitor.left -= sent;
                room -= sent;
                self.flow.bytes += sent;
            }
            self.flow.ended = now;
            if !visitor.answer.is_empty() || visitor.left > 0 {
                break;
            }
            visitor.answers = None;
            if visitor.last {
                socket.close();
                break;
            }
        }
        if !socket.may_recv() && visitor.answers.is_none() && socket.may_send() {
            socket.close();
        }
    }
}

impl Program for Server {
    fn bindings(&self) -> Vec<Binding> {
        let options = SocketOptions {
            buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
            congestion: self.config.congestion,
            timeout: None,
            ecn: self.config.ecn,
            initial_window: self.config.initial_window,
            min_rto: self.config.min_rto,
            pacing: self.config.pacing,
        };
        [Binding::Tcp(self.config.port, options)].into()
    }

    fn next(&self) -> Option<Time> {
        // Who has answered in part waits for room, not for time.
        let waits = |visitor: &Visitor| visitor.answers.filter(|_| !visitor.answer.is_empty());
        self.open
            .values()
            .filter_map(waits)
            .filter(|at| *at > self.flow.ended)
            .min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let due = |(id, visitor): (&Id, &Visitor)| {
            visitor
                .answers
                .is_some_and(|at| at <= context.now)
                .then_some(*id)
        };
        let due: Vec<Id> = self.open.iter().filter_map(due).collect();
        self.flow.ended = self.flow.ended.max(context.now);
        for id in due {
            self.serve(id, context);
            context.drive(id);
        }
    }

    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        if new {
            self.open.insert(id, Visitor::default());
        }
        self.serve(id, context);
    }

    fn over(&mut self, id: Id, _: &mut Context<'_>) {
        self.open.remove(&id);
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
