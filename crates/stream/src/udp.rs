//! A server and a client of [calls](crate::call) on UDP sockets.
//!
//! ```no_run
//! use stream::{Database, Unit, udp};
//! use std::time::Duration;
//!
//! let database = Database::new(Unit::Nanoseconds);
//! let server = udp::Server::start(database, "127.0.0.1:8800".parse()?, udp::Options::default())?;
//! let mut client = udp::Client::connect(server.address(), Duration::from_secs(5))?;
//! println!("{}", client.call("SELECT 1 + 1", Duration::from_secs(5))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::call::{self, CallError, ClientEvent, ConnectionId, ServerCounts, ServerEvent};
use crate::database::Database;
use crate::service::{self, Outcome, Session};
use node::Time;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Options of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Limits of its connections.
    pub limits: call::ServerLimits,
    /// Whether clients may insert rows. Default no.
    pub may_insert: bool,
}

/// Maximum size of a datagram of calls, and a byte that reveals a longer one.
const BUFFER: usize = call::packet::HEADER_LEN + call::MAX_FRAGMENT_LEN + 1;
/// Maximum time between two checks of a server's timers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum questions that wait for a thread or are being answered; further ones get an error.
const MAX_QUESTIONS: usize = 8;

/// A clock that begins with the server or client.
struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a socket has timers")]
    fn new() -> Clock {
        Clock(Instant::now())
    }

    fn now(&self) -> Time {
        Time::from_ns(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time for which a socket waits for a packet.
    fn timeout(&self, wake: Option<Time>, most: Duration) -> Duration {
        let left = wake.map(|wake| Duration::from_nanos((wake - self.now()).as_ns()));
        left.unwrap_or(most)
            .min(most)
            .max(Duration::from_micros(100))
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// A server in a thread of its own. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    bell: Arc<Bell>,
    counts: Arc<Mutex<ServerCounts>>,
    thread: Option<JoinHandle<()>>,
}

/// Ends the wait of a server's socket.
struct Bell {
    socket: UdpSocket,
    is_stopped: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // An empty datagram wakes the server. If its queue is full, it is awake already.
        let _ = self.socket.send(&[]);
    }
}

impl Server {
    /// Serves a database.
    ///
    /// # Errors
    /// When a socket cannot be bound, or no thread started.
    pub fn start(database: Database, at: SocketAddr, options: Options) -> io::Result<Server> {
        let socket = UdpSocket::bind(at)?;
        let address = socket.local_addr()?;
        let near: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::LOCALHOST, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::LOCALHOST, 0).into(),
        };
        let ringer = UdpSocket::bind(if address.ip().is_unspecified() {
            near
        } else {
            (address.ip(), 0).into()
        })?;
        let mut to = address;
        if address.ip().is_unspecified() {
            to.set_ip(near.ip());
        }
        ringer.connect(to)?;
        ringer.set_nonblocking(true)?;
        let bell = Arc::new(Bell {
            socket: ringer,
            is_stopped: AtomicBool::new(false),
        });
        let counts = Arc::new(Mutex::new(ServerCounts::default()));
        let desk = Desk {
            database,
            socket,
            options,
            core: call::Server::new(options.limits, [random(), random()]),
            clock: Clock::new(),
            bell: Arc::clone(&bell),
            sessions: BTreeMap::new(),
            waiting: Vec::new(),
            answers: Arc::default(),
            questions: 0,
            counts: Arc::clone(&counts),
        };
        let thread = thread::Builder::new()
            .name("stream-udp".into())
            .spawn(move || desk.serve())?;
        Ok(Server {
            address,
            bell,
            counts,
            thread: Some(thread),
        })
    }

    /// The address of its socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's counters.
    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        *self.counts.lock()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.bell.is_stopped.store(true, Relaxed);
        Arc::clone(&self.bell).wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// The thread of a server.
struct Desk {
    database: Database,
    socket: UdpSocket,
    options: Options,
    core: call::Server,
    clock: Clock,
    bell: Arc<Bell>,
    sessions: BTreeMap<ConnectionId, Session>,
    /// Connections that wait for an event.
    waiting: Vec<ConnectionId>,
    /// Replies to questions, from their threads.
    answers: Arc<Mutex<Vec<(ConnectionId, String)>>>,
    questions: usize,
    counts: Arc<Mutex<ServerCounts>>,
}

impl Desk {
    fn serve(mut self) {
        let mut buffer = [0; BUFFER];
        while !self.bell.is_stopped.load(Relaxed) {
            let timeout = self.clock.timeout(self.core.next_wake(), POLL_INTERVAL);
            if self.socket.set_read_timeout(Some(timeout)).is_err() {
                return;
            }
            match self.socket.recv_from(&mut buffer) {
                // The wake-up datagram, or an empty one from another sender.
                Ok((0, _)) => {}
                Ok((length, from)) => self.core.handle(self.clock.now(), from, &buffer[..length]),
                // A timeout, or an ICMP error about an earlier datagram, whose connection times out.
                Err(_) => {}
            }
            self.core.wake(self.clock.now());
            self.requests();
            self.finish();
            while let Some((to, packet)) = self.core.poll_transmit() {
                // An unsent datagram is treated like a lost one.
                let _ = self.socket.send_to(&packet, to);
            }
            *self.counts.lock() = self.core.counts();
        }
    }

    fn requests(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                ServerEvent::Closed(connection) => {
                    self.sessions.remove(&connection);
                    self.waiting.retain(|waiting| *waiting != connection);
                }
                ServerEvent::Request {
                    connection,
                    message,
                } => {
                    let session = self.sessions.entry(connection).or_default();
                    match session.request(&self.database, &message, self.options.may_insert) {
                        Outcome::Reply(reply) => self.reply(connection, reply),
                        Outcome::Next => self.waiting.push(connection),
                        Outcome::Question(sql) => self.question(connection, sql),
                    }
                }
            }
        }
    }

    /// Answers a question in a thread, since it may take seconds.
    fn question(&mut self, connection: ConnectionId, sql: String) {
        if self.questions == MAX_QUESTIONS {
            let busy = "ERROR too many questions at the same time: ask again later\n";
            return self.reply(connection, busy.into());
        }
        let (database, answers) = (self.database.clone(), Arc::clone(&self.answers));
        let bell = Arc::clone(&self.bell);
        let started = thread::Builder::new()
            .name("stream-question".into())
            .spawn(move || {
                let reply = service::answer(&database, &sql);
                answers.lock().push((connection, reply));
                bell.wake();
            });
        match started {
            Ok(_) => self.questions += 1,
            Err(error) => self.reply(connection, format!("ERROR no thread: {error}\n")),
        }
    }

    /// Sends available answers and events.
    fn finish(&mut self) {
        let answers = std::mem::take(&mut *self.answers.lock());
        for (connection, reply) in answers {
            self.questions -= 1;
            self.reply(connection, reply);
        }
        let waker = Waker::from(Arc::clone(&self.bell));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|connection| {
            let session = self.sessions.get_mut(connection);
            match session.and_then(|session| session.next(&waker)) {
                Some(reply) => {
                    self.reply(*connection, reply);
                    false
                }
                None => true,
            }
        });
        self.waiting = waiting;
    }

    fn reply(&mut self, connection: ConnectionId, reply: String) {
        let now = self.clock.now();
        if self
            .core
            .reply(now, connection, reply.into_bytes())
            .is_err()
        {
            let short = "ERROR the reply is too long: add LIMIT, or ask again later\n";
            // A short reply is always accepted.
            let _ = self.core.reply(now, connection, short.into());
        }
    }
}

/// A connection to a server, which waits for each reply.
pub struct Client {
    socket: UdpSocket,
    core: call::Client,
    clock: Clock,
}

impl Client {
    /// Connects within `timeout`.
    ///
    /// # Errors
    /// When the socket fails, or the server does not answer or refuses.
    pub fn connect(server: SocketAddr, timeout: Duration) -> io::Result<Client> {
        let any: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        let clock = Clock::new();
        let mut client = Client {
            socket,
            core: call::Client::new(clock.now(), random()),
            clock,
        };
        client.event(timeout)?;
        Ok(client)
    }

    /// Sends a request, and waits up to `timeout` for the reply; see [`service`] for requests.
    ///
    /// # Errors
    /// When the socket fails, the server is gone, or `timeout` has passed; the connection is closed then.
    pub fn call(&mut self, request: &str, timeout: Duration) -> io::Result<String> {
        let now = self.clock.now();
        self.core.call(now, request.into()).map_err(failed)?;
        let reply = self.event(timeout)?;
        String::from_utf8(reply).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// The next reply; empty when the connection has opened.
    fn event(&mut self, timeout: Duration) -> io::Result<Vec<u8>> {
        let end = self.clock.now() + Time::from_ns(timeout.as_nanos() as u64);
        let mut buffer = [0; BUFFER];
        loop {
            self.core.wake(self.clock.now());
            self.flush();
            match self.core.poll_event() {
                Some(ClientEvent::Connected) => return Ok(Vec::new()),
                Some(ClientEvent::Reply(reply)) => return Ok(reply),
                Some(ClientEvent::Failed(error)) => return Err(failed(error)),
                None => {}
            }
            if self.clock.now() >= end {
                self.core.close();
                self.flush();
                return Err(ErrorKind::TimedOut.into());
            }
            let wake = self.core.next_wake().unwrap_or(end).min(end);
            let wait = self.clock.timeout(Some(wake), POLL_INTERVAL);
            self.socket.set_read_timeout(Some(wait))?;
            // An error is a timeout, or an ICMP error, after which the retries go on.
            if let Ok(length) = self.socket.recv(&mut buffer) {
                self.core.handle(self.clock.now(), &buffer[..length]);
            }
        }
    }

    fn flush(&mut self) {
        while let Some(packet) = self.core.poll_transmit() {
            // An unsent datagram is treated like a lost one.
            let _ = self.socket.send(&packet);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.core.close();
        self.flush();
    }
}

fn failed(error: CallError) -> io::Error {
    let kind = match error {
        CallError::Silent => ErrorKind::TimedOut,
        CallError::Refused => ErrorKind::ConnectionRefused,
        CallError::TooLong | CallError::Busy => ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}
