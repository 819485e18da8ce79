//! The client's side of a connection.

use super::packet::{Kind, Packet};
use super::transfer::{Arrival, Receiving, Retry, Sending};
use super::{ACK_DELAY, MAX_REPLY_LEN, MAX_REQUEST_LEN, PING_INTERVAL};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::Time;

/// Events for the program behind a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The connection is open.
    Connected,
    /// The reply to the request.
    Reply(Vec<u8>),
    /// The connection has ended.
    Failed(CallError),
}

/// Reasons why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No packets arrive from the server.
    #[error("no answer from the server: is it running, and does a firewall let UDP through?")]
    Silent,
    /// The server is full, no longer has the connection, or does not accept a request of this length.
    #[error("the server refused the connection: connect again later")]
    Refused,
    /// The request is longer than [`MAX_REQUEST_LEN`].
    #[error("a request has at most {MAX_REQUEST_LEN} bytes")]
    TooLong,
    /// The connection is not open, or a request is outstanding.
    #[error("the connection is busy or closed")]
    Busy,
}

enum Phase {
    Connecting(Retry),
    Opening(Retry, [u8; 8]),
    /// Between exchanges. The acknowledgement of the last reply is due at a time.
    Idle(Option<(Time, u16)>),
    Sending(Sending),
    Waiting,
    Receiving(Receiving),
    Closed,
}

/// A connection to a server.
pub struct Client {
    nonce: u64,
    connection: u64,
    exchange: u32,
    phase: Phase,
    /// The last fragment of the last reply.
    last: u16,
    ping: Retry,
    out: VecDeque<Vec<u8>>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// Starts to connect. `nonce` must be random.
    #[must_use]
    pub fn new(now: Time, nonce: u64) -> Client {
        let mut client = Client {
            nonce,
            connection: 0,
            exchange: 0,
            phase: Phase::Connecting(Retry::new(now)),
            last: 0,
            ping: Retry::new(now + PING_INTERVAL),
            out: VecDeque::new(),
            events: VecDeque::new(),
        };
        client.wake(now);
        client
    }

    /// The next packet to send to the server.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// Sends a request. Its reply is an event.
    ///
    /// # Errors
    /// When the request is too long, the connection is not open, or a request is outstanding.
    pub fn call(&mut self, now: Time, message: Vec<u8>) -> Result<(), CallError> {
        if message.len() > MAX_REQUEST_LEN {
            return Err(CallError::TooLong);
        }
        if !matches!(self.phase, Phase::Idle(_)) {
            return Err(CallError::Busy);
        }
        // The request acknowledges the last reply.
        self.exchange = self.exchange.wrapping_add(1);
        self.phase = Phase::Sending(Sending::new(message, now));
        self.wake(now);
        Ok(())
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        if !matches!(self.phase, Phase::Closed | Phase::Connecting(_)) {
            self.send(Kind::Close, 0);
        }
        self.phase = Phase::Closed;
    }

    fn send(&mut self, kind: Kind, fragment: u16) {
        let packet = Packet {
            kind,
            fragment,
            exchange: self.exchange,
            connection: self.connection,
            payload: &[],
        };
        self.out.push_back(packet.write());
    }

    fn fail(&mut self, error: CallError) {
        self.phase = Phase::Closed;
        self.events.push_back(ClientEvent::Failed(error));
    }

    /// Handles a packet from the server.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) {
        let Some(packet) = Packet::read(bytes) else {
            return;
        };
        let is_handshake = matches!(self.phase, Phase::Connecting(_) | Phase::Opening(..));
        let expected = if is_handshake {
            self.nonce
        } else {
            self.connection
        };
        if packet.connection != expected || matches!(self.phase, Phase::Closed) {
            return;
        }
        match (packet.kind, &mut self.phase) {
            (Kind::Refuse, _) => return self.fail(CallError::Refused),
            (Kind::Challenge, Phase::Connecting(_)) => {
                if let Ok(hash) = packet.payload.try_into() {
                    self.phase = Phase::Opening(Retry::new(now), hash);
                    self.wake(now);
                }
            }
            (Kind::Accept, Phase::Opening(..)) => {
                if let Some(connection) = packet.number() {
                    self.connection = connection;
                    self.phase = Phase::Idle(None);
                    self.events.push_back(ClientEvent::Connected);
                }
            }
            (Kind::Ack, Phase::Sending(sending)) if packet.exchange == self.exchange => {
                match sending.acknowledge(packet.fragment, now) {
                    true => self.phase = Phase::Waiting,
                    false => self.wake(now),
                }
            }
            (Kind::Fragment | Kind::Last, _) if packet.exchange == self.exchange => {
                self.fragment(now, &packet);
            }
            _ => {}
        }
        if !is_handshake {
            self.ping = Retry::new(now + PING_INTERVAL);
        }
    }

    /// A fragment of a reply.
    fn fragment(&mut self, now: Time, packet: &Packet<'_>) {
        match &self.phase {
            // A reply implies that the server has the whole request.
            Phase::Sending(_) | Phase::Waiting => {
                self.phase = Phase::Receiving(Receiving::default());
            }
            // The acknowledgement was lost, or is late.
            Phase::Idle(_) if packet.fragment <= self.last => {
                self.send(Kind::Ack, packet.fragment);
                self.phase = Phase::Idle(None);
                return;
            }
            _ => {}
        }
        let Phase::Receiving(receiving) = &mut self.phase else {
            return;
        };
        match receiving.fragment(packet, MAX_REPLY_LEN) {
            Arrival::Acknowledge => self.send(Kind::Ack, packet.fragment),
            Arrival::Ignore => {}
            Arrival::TooLong => self.fail(CallError::Refused),
            Arrival::Complete => {
                let message = core::mem::take(&mut receiving.message);
                self.last = packet.fragment;
                self.phase = Phase::Idle(Some((now + ACK_DELAY, packet.fragment)));
                self.events.push_back(ClientEvent::Reply(message));
            }
        }
    }

    /// The time at which [`wake`](Client::wake) has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        match &self.phase {
            Phase::Closed => None,
            Phase::Connecting(retry) | Phase::Opening(retry, _) => Some(retry.due),
            Phase::Sending(sending) => Some(sending.retry.due),
            Phase::Idle(Some((acknowledge, _))) => Some(self.ping.due.min(*acknowledge)),
            Phase::Idle(None) | Phase::Waiting | Phase::Receiving(_) => Some(self.ping.due),
        }
    }

    /// Does what is due: repetitions, acknowledgements and pings.
    pub fn wake(&mut self, now: Time) {
        let (nonce, exchange, connection) = (self.nonce, self.exchange, self.connection);
        let handshake = |kind, payload: &[u8]| {
            let packet = Packet {
                kind,
                fragment: 0,
                exchange: 0,
                connection: nonce,
                payload,
            };
            packet.write()
        };
        let (retry, packet) = match &mut self.phase {
            Phase::Closed => return,
            Phase::Connecting(retry) => (retry, handshake(Kind::Connect, &[0; 8])),
            Phase::Opening(retry, hash) => {
                let packet = handshake(Kind::Open, hash);
                (retry, packet)
            }
            Phase::Sending(sending) => {
                let packet = sending.packet(connection, exchange).write();
                (&mut sending.retry, packet)
            }
            Phase::Idle(_) | Phase::Waiting | Phase::Receiving(_) => {
                if let Phase::Idle(Some((due, fragment))) = self.phase
                    && due <= now
                {
                    self.phase = Phase::Idle(None);
                    self.send(Kind::Ack, fragment);
                }
                let packet = Packet {
                    kind: Kind::Ping,
                    fragment: 0,
                    exchange: self.exchange,
                    connection,
                    payload: &[],
                };
                (&mut self.ping, packet.write())
            }
        };
        if retry.due > now {
            return;
        }
        match retry.again(now) {
            Some(()) => self.out.push_back(packet),
            None => self.fail(CallError::Silent),
        }
    }
}
