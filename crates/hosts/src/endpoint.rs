//! One end of a TCP connection (RFC 9293) by itself: for a host's connections, and for a node that takes the place of an end in one.
//!
//! An [`Endpoint`] does no I/O and reads no clock: it is given the segments that are for it and the time, and sends by an [`Egress`]. Its
//! `sender` keeps what is not acknowledged, its `receiver` puts together what came. A [`Stack`] is what all endpoints of a
//! node share. An endpoint's own address is given when it is made, or is that of its first segment: it need not be one of the node's.
//!
//! Options: segment size, window scale and timestamps (RFC 7323), selective acknowledgements (RFC 2018, RFC 2883).
//!
//! Explicit congestion notification is that of RFC 3168, or accurate ECN (RFC 9768), as the two ends [agree](Ecn): `ecn` has the
//! agreement, `feedback` the receiver's side, `reaction` the sender's. Packets with new data are ECN-capable then; with DCTCP (RFC 8257) all
//! are after the handshake.

mod arrival;
mod bbr;
mod buffer;
mod congestion;
mod dctcp;
mod ecn;
mod feedback;
mod output;
mod pacing;
mod rate;
mod reaction;
mod receiver;
mod round_trip;
mod scoreboard;
mod segment;
mod sender;
mod timestamps;

pub use ecn::Ecn;
pub(crate) use sender::Sender;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use ecn::Agreement;
use feedback::Feedback;
use ip::address::is_unicast;
use ip::{header, reset};
use node::random::Random;
use node::{Flow, Frame, Out, Time, When};
use receiver::Receiver;
use segment::{ACK, HEADER, Segment};
use timestamps::Timestamps;

/// Why a segment is dropped whose timestamp says that others have come since it left (PAWS, RFC 7323 section 5).
pub(crate) const OLD: &str = "old segment";
/// Why a segment is dropped whose header or checksum is wrong.
const BROKEN: &str = "broken segment";
/// How long a closed port rests.
const REST: Time = Time::from_secs(10);
/// First segments that are sent at most, as Linux does: by the end that opens, and by the one that answers.
const MAX_TRIES: [u32; 2] = [7, 6];
/// Segments outside the window are answered once in this time (RFC 5961 section 7, Linux's value).
const ANSWERS: Time = Time::from_ms(500);
/// Bytes of a buffer by default: Linux's limit for what it receives (`tcp_rmem`).
pub const BUFFER: usize = 6 << 20;
/// Segments of the initial window by default (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;
/// Minimum retransmission time-out by default: Linux's.
pub const MIN_RTO: Time = Time::from_ms(200);
/// Segment size of a far end that names none (RFC 9293 section 3.7.1).
const USUAL_SEGMENT: [u16; 2] = [536, 1220];

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Congestion {
    /// RFC 9438, with the Reno-friendly window of Linux and HyStart++ (RFC 9406).
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
    /// RFC 8257: Reno, whose window after a congestion mark falls by half the share of marks. It asks for ECN unless that is
    /// [off](Ecn::Off). Both ends must have it, or accurate ECN.
    Dctcp,
    /// BBR, version 1, as in Linux; its segments are paced.
    Bbr,
    /// None: as much as the receiver takes.
    None,
}

/// Properties of a connection.
#[derive(Clone, Copy, Debug)]
pub struct SocketOptions {
    /// Bytes of the buffer in each direction at most; the receive window is never more. Memory is taken as it is used.
    pub buffer: usize,
    /// Congestion control of its sender.
    pub congestion: Congestion,
    /// Time without a sign of the other side after which the connection is given up; `None`: never, once it is open.
    pub timeout: Option<Time>,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Segments of the initial window, at least 1 (RFC 6928).
    pub initial_window: u32,
    /// Lower limit of what a retransmission time-out adds to the smoothed round trip, as in Linux. Acknowledgements are delayed
    /// by half of it at most.
    pub min_rto: Time,
    /// Whether segments leave one by one, at a rate by window and round trip.
    pub pacing: bool,
}

impl Default for SocketOptions {
    fn default() -> SocketOptions {
        SocketOptions {
            buffer: BUFFER,
            congestion: Congestion::Cubic,
            timeout: None,
            ecn: Ecn::Passive,
            initial_window: INITIAL_WINDOW,
            min_rto: MIN_RTO,
            pacing: false,
        }
    }
}

/// States of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Whether one sequence number is behind another, that is, greater.
fn behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The earlier of two deadlines. An iterator over all of them took a sixth of the instructions of a transfer, as each segment asks.
fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Destination of packets that a stack has made.
pub trait Egress {
    /// Sends a packet in a frame whose addresses on the link are still to be filled in.
    fn send(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out);
}

/// What the endpoints of a node share.
pub struct Stack {
    pub(crate) mtu: usize,
    random: Random,
}

impl Stack {
    /// For packets of at most `mtu` bytes; initial sequence numbers come from the seed.
    pub fn new(mtu: usize, seed: u64) -> Stack {
        Stack {
            mtu,
            random: Random::new(seed),
        }
    }

    /// Sets the MTU of endpoints that are created later.
    pub fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu;
    }

    /// Answers a segment for which there is no connection, unless it is a reset.
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        frame: &[u8],
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let Some(packet) = header::read(frame).filter(|packet| is_unicast(packet.source)) else {
            return;
        };
        let mut answer = out.pool().take_with(frame);
        match reset::write(&mut answer, &packet) {
            true => egress.send(now, packet.source, When::Now, answer, out),
            false => out.done(answer),
        }
    }
}

/// The connection, or the direction of it, is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// First segments of the two ends, until both are acknowledged.
#[derive(Default)]
struct Handshake {
    /// The own first number.
    number: u32,
    tries: u32,
    /// When the first was sent, as long as none was sent again.
    sent: Option<Time>,
    expires: Option<Time>,
    /// Handles a repeated SYN: the SYN-ACK was lost and is sent again.
    is_asked: bool,
}

/// One end of a connection. See the [module](self).
pub struct Endpoint {
    state: State,
    own: SocketAddr,
    remote: SocketAddr,
    options: SocketOptions,
    /// Bytes of data in a segment without options.
    mss: usize,
    handshake: Handshake,
    ecn: Agreement,
    feedback: Feedback,
    /// The next acknowledgement ends the handshake: it reflects the codepoint of the far end's first segment.
    reflects: bool,
    /// A delayed acknowledgement leaves first: of what came before this number, with these bits for ECN.
    before: Option<(u32, ecn::Ace)>,
    /// By how many bits the far end's windows are shifted; `None` if it knows no scale.
    scale: Option<u8>,
    sender: Sender,
    receiver: Receiver,
    /// As long as the far end does not refuse them.
    timestamps: Option<Timestamps>,
    /// When something came, or when waiting for it began; `None` when nothing is waited for.
    heard: Option<Time>,
    /// When a segment outside the window was answered last.
    answered: Option<Time>,
    /// The end of its rest.
    rests: Option<Time>,
    /// A reset leaves.
    resets: bool,
}

impl Endpoint {
    /// An end that is neither open nor waits, for a far end with an address of the version of `remote`.
    pub(crate) fn new(mtu: usize, remote: IpAddr, options: SocketOptions) -> Endpoint {
        let mss = mtu - header::length(remote) - HEADER;
        let is_dctcp = options.congestion == Congestion::Dctcp;
        let nobody = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Endpoint {
            state: State::Closed,
            own: nobody,
            remote: nobody,
            options,
            mss,
            handshake: Handshake::default(),
            ecn: Agreement::new(options.ecn, is_dctcp),
            feedback: Feedback::new(is_dctcp),
            reflects: false,
            before: None,
            scale: None,
            sender: Sender::new(&options, mss),
            receiver: Receiver::new(options.buffer, options.min_rto),
            timestamps: None,
            heard: None,
            answered: None,
            rests: None,
            resets: false,
        }
    }

    /// An end that waits at `own` for the far end's first segment.
    pub fn waiting(stack: &Stack, own: SocketAddr, options: SocketOptions) -> Endpoint {
        let mut end = Endpoint::new(stack.mtu, own.ip(), options);
        end.listen();
        end
    }

    /// An end that opens a connection from `own`; its first segment leaves when it is [driven](Endpoint::drive). `None` when such
    /// addresses cannot have one.
    pub fn opening(
        stack: &mut Stack,
        own: SocketAddr,
        remote: SocketAddr,
        options: SocketOptions,
    ) -> Option<Endpoint> {
        let mut end = Endpoint::new(stack.mtu, remote.ip(), options);
        end.connect(stack, own, remote).then_some(end)
    }

    /// Offers timestamps (RFC 7323), of a clock that shows `shows` now: before its first segment leaves. It keeps to them if the far end
    /// does as well.
    pub fn offer_timestamps(&mut self, now: Time, shows: u32) {
        self.timestamps = Some(Timestamps::new(now, shows));
    }

    pub(crate) fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// Opens a connection; `false` when such ends cannot have one.
    pub(crate) fn connect(
        &mut self,
        stack: &mut Stack,
        own: SocketAddr,
        remote: SocketAddr,
    ) -> bool {
        let is_end = |end: SocketAddr| is_unicast(end.ip()) && end.port() != 0;
        if !is_end(own) || !is_end(remote) || own.is_ipv4() != remote.is_ipv4() {
            return false;
        }
        (self.own, self.remote) = (own, remote);
        self.handshake.number = stack.random.bits() as u32;
        self.state = State::SynSent;
        true
    }

    /// Keeps how the congestion window changes.
    pub(crate) fn keep_windows(&mut self) {
        self.sender.keep_windows();
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Takes a segment in a packet whose checksum is right.
    pub(crate) fn take(
        &mut self,
        stack: &mut Stack,
        now: Time,
        frame: &[u8],
        packet: &header::Packet,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let bytes = &frame[packet.payload..packet.end];
        let segment = Segment::read(bytes, packet.ecn).ok_or(BROKEN)?;
        if !self.is_new(now, bytes, &segment) {
            self.output(now, egress, out);
            return Err(OLD);
        }
        self.heard = Some(now);
        match self.state {
            State::Closed => {}
            State::Listen => {
                let own = SocketAddr::new(packet.destination, segment.destination_port);
                let remote = SocketAddr::new(packet.source, segment.source_port);
                self.take_first(stack, now, (own, remote), &segment);
                if self.state == State::Listen && segment.has(ACK) {
                    stack.refuse(now, frame, egress, out);
                }
            }
            State::SynSent => {
                if !self.take_answer(now, &segment) {
                    stack.refuse(now, frame, egress, out);
                }
            }
            _ => {
                if !self.take_next(now, &segment) {
                    stack.refuse(now, frame, egress, out);
                }
            }
        }
        self.output(now, egress, out);
        Ok(())
    }

    fn close_at_once(&mut self) {
        self.state = State::Closed;
    }

    fn rest(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.rests = Some(now + REST);
    }

    /// A router says that packets of at most `mtu` bytes pass, and not the one with this sequence number. `false` when it had none such.
    pub fn too_big(&mut self, sequence: u32, mtu: usize, remote: IpAddr) -> bool {
        let options = self.timestamps.as_ref().map_or(0, |_| timestamps::LENGTH);
        let most = mtu.saturating_sub(header::length(remote) + HEADER + options);
        most > 0 && self.sender.too_big(sequence, most)
    }

    /// Sends what it has to send by now; returns when it is due again, [`Time::MAX`] for not until something comes.
    pub fn drive(&mut self, now: Time, egress: &mut dyn Egress, out: &mut Out) -> Time {
        if self.rests.is_some_and(|rests| rests <= now) {
            self.close_at_once();
        }
        if self.is_given_up(now) {
            self.abort();
        }
        if self.is_synchronised() {
            self.sender.wake(now);
        }
        self.output(now, egress, out);
        self.sender.note_program();
        self.due()
    }

    /// Whether the far end has not been heard of for too long while something is waited for.
    fn is_given_up(&self, now: Time) -> bool {
        self.gives_up().is_some_and(|gives_up| gives_up <= now)
    }

    fn gives_up(&self) -> Option<Time> {
        Some(self.heard? + self.options.timeout?)
    }

    fn is_waiting(&self) -> bool {
        match self.state {
            State::Closed | State::Listen | State::TimeWait => false,
            State::SynSent | State::SynReceived => true,
            _ => self.sender.is_busy(),
        }
    }

    /// Whether both ends know each other's numbers.
    fn is_synchronised(&self) -> bool {
        !matches!(
            self.state,
            State::Closed | State::Listen | State::SynSent | State::SynReceived
        )
    }

    fn due(&self) -> Time {
        if matches!(self.state, State::Closed | State::Listen) {
            return Time::MAX;
        }
        let own = earlier(self.handshake.expires, self.gives_up());
        let mut due = earlier(own, self.rests);
        if self.is_synchronised() {
            due = earlier(due, earlier(self.sender.due(), self.receiver.due()));
        }
        due.unwrap_or(Time::MAX)
    }

    /// How many of the bytes that are left may be given to it now, so that none waits for the congestion window.
    pub(crate) fn room(&self, left: u64) -> usize {
        self.sender.room(left)
    }

    /// The state of the connection.
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether there is a connection, or one is being opened.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::TimeWait)
    }

    /// Whether both ends have agreed on a connection, and this one may still send.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Whether it may send.
    pub(crate) fn may_send(&self) -> bool {
        self.is_open()
    }

    /// Whether it may send, and there is room in the send buffer.
    pub(crate) fn can_send(&self) -> bool {
        self.is_open() && self.sender.free() > 0
    }

    /// Whether something may still be read.
    pub(crate) fn may_recv(&self) -> bool {
        let is_open = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        is_open || self.can_recv()
    }

    /// Whether there is something to be read.
    pub(crate) fn can_recv(&self) -> bool {
        self.receiver.readable() > 0
    }

    /// Bytes given to it that are not acknowledged.
    pub(crate) fn send_queue(&self) -> usize {
        self.sender.queued()
    }

    /// Appends as much of `bytes` to the stream as there is room for; returns how many bytes.
    ///
    /// # Errors
    /// When the connection is not open for sending.
    pub fn send_slice(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        match self.is_open() {
            true => Ok(self.sender.push(bytes)),
            false => Err(Closed),
        }
    }

    /// Appends as many of `count` zeros to the stream as there is room for; returns how many.
    pub(crate) fn send_zeros(&mut self, count: usize) -> Result<usize, Closed> {
        match self.is_open() {
            true => Ok(self.sender.push_zeros(count)),
            false => Err(Closed),
        }
    }

    /// Lets `read` look at bytes that came; it returns how many it has taken.
    ///
    /// # Errors
    /// When nothing may be read any more.
    pub fn recv<R>(&mut self, read: impl FnOnce(&[u8]) -> (usize, R)) -> Result<R, Closed> {
        if !self.may_recv() {
            return Err(Closed);
        }
        let front = self.receiver.front();
        let (count, result) = read(front);
        let count = count.min(front.len());
        self.receiver.consume(count);
        Ok(result)
    }

    /// Changes the time after which it is given up.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Time>) {
        self.options.timeout = timeout;
    }

    /// Whether there is no connection: not yet, or no more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether nothing is to be said any more, except while a closed port rests.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// Whether the far end has sent everything, and all of it has been taken.
    pub fn has_heard_all(&self) -> bool {
        let said = matches!(
            self.state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait
        );
        said && !self.can_recv()
    }

    /// Ends the stream behind everything that it was given.
    pub fn close(&mut self) {
        self.state = match self.state {
            State::Listen | State::SynSent => State::Closed,
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        };
        self.sender.finish();
    }

    /// Resets the connection.
    pub fn abort(&mut self) {
        self.resets = self.is_synchronised() && self.state != State::TimeWait
            || self.state == State::SynReceived;
        self.close_at_once();
    }

    /// Gives another end as much of what came as that can take now; returns how many bytes.
    pub fn pass_to(&mut self, other: &mut Endpoint) -> usize {
        let mut passed = 0;
        // Received data lies in two pieces where the buffer's end is.
        for _ in 0..2 {
            let left = self.receiver.readable();
            let most = other.room(left as u64).min(left);
            if most == 0 || !other.can_send() {
                break;
            }
            let bytes = self.receiver.front();
            let sent = other.sender.push(&bytes[..bytes.len().min(most)]);
            self.receiver.consume(sent);
            passed += sent;
        }
        passed
    }

    /// Writes what was measured of its sending into a conversation's record.
    pub fn report(&self, flow: &mut Flow) {
        self.sender.report(flow);
    }
}

/// What the clock of a segment's sender shows by its timestamp; `None` without one, and for what is no segment.
pub fn timestamp(frame: &Frame) -> Option<u32> {
    let packet = header::read(frame)?;
    let segment = &frame[packet.payload..packet.end];
    let is_segment = packet.protocol == header::TCP && segment.len() >= HEADER;
    is_segment.then(|| timestamps::shown(segment))?
}

#[cfg(test)]
mod tests;
