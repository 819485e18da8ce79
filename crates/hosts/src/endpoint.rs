//! One end of a TCP connection, by itself: for a host's connections, and for whoever takes somebody else's place in one.
//!
//! An [`Endpoint`] is a socket of smoltcp with this crate's [sender](crate::host); it is given the segments that are for it, and sends by a
//! [`Egress`]. A [`Stack`] is what all endpoints of a node share. Which address is its own an endpoint is told when it is made: it need not
//! be one of the node's.

mod device;
mod sender;
mod timestamps;

pub(crate) use sender::Sender;

use crate::ip::{self, ETHERNET};
use alloc::vec;
use core::net::{IpAddr, SocketAddr};
use device::{Device, Nothing};
use node::{Flow, Frame, Out, Time, When};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::tcp::{self, Socket, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpListenEndpoint};

const PS_PER_US: u64 = 1_000_000;
/// Why a segment is dropped whose timestamp says that others have come since it left (PAWS, RFC 7323 section 5).
pub(crate) const OLD: &str = "old segment";
/// Bytes of a TCP header without options.
const HEADER: usize = 20;

/// Which congestion control a sender has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Congestion {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
    /// None: as much as the receiver takes.
    None,
}

/// What a connection is like.
#[derive(Clone, Copy, Debug)]
pub struct SocketOptions {
    /// Bytes of the buffer in each direction; the window is never more.
    pub buffer: usize,
    /// How its sender meets congestion.
    pub congestion: Congestion,
    /// After how long without a sign of the other side it is given up.
    pub timeout: Option<Time>,
}

/// Whether one sequence number is behind another, that is, greater.
fn behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Where packets go that a stack has made.
pub trait Egress {
    /// Sends a packet in a frame whose addresses on the link are yet to be filled in.
    fn send(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out);
}

/// The stack counts whole microseconds, and is told the last that has begun: no timer is early.
fn instant(now: Time) -> Instant {
    Instant::from_micros((now.as_ps() / PS_PER_US) as i64)
}

fn duration(time: Time) -> Duration {
    Duration::from_micros(time.as_ps().div_ceil(PS_PER_US))
}

/// What the endpoints of a node share.
pub struct Stack {
    pub(crate) interface: Interface,
    pub(crate) mtu: usize,
    /// Whose the stack is taken to be, when that changes from call to call.
    own: Option<IpAddr>,
}

impl Stack {
    /// For packets of at most `mtu` bytes; initial sequence numbers come from the seed.
    pub fn new(mtu: usize, seed: u64) -> Stack {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        Stack {
            interface: Interface::new(config, &mut Nothing(mtu), Instant::ZERO),
            mtu,
            own: None,
        }
    }

    /// Takes somebody's place.
    fn be(&mut self, own: IpAddr) {
        if self.own != Some(own) {
            self.own = Some(own);
            let prefix = if own.is_ipv4() { 32 } else { 128 };
            self.interface.update_ip_addrs(|addresses| {
                addresses.clear();
                // There is room for several.
                let _ = addresses.push(IpCidr::new(own.into(), prefix));
            });
        }
    }

    /// Gives the stack a packet: for the only socket of the set, if there is one, whose sender this is.
    pub(crate) fn take(
        &mut self,
        now: Time,
        packet: &[u8],
        sockets: &mut SocketSet<'static>,
        sender: Option<&mut Sender>,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let mut device = Device {
            incoming: Some(packet),
            mtu: self.mtu,
            now,
            egress,
            sender,
            out,
        };
        self.interface
            .poll_ingress_single(instant(now), &mut device, sockets);
    }
}

/// One end of a connection. See the [module](self).
pub struct Endpoint {
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    sender: Sender,
    /// Whose it is, where the stack is not told otherwise.
    own: Option<IpAddr>,
}

impl Endpoint {
    /// One that is neither open nor waits, towards somebody with an address of that version.
    pub(crate) fn new(mtu: usize, remote: IpAddr, options: SocketOptions) -> Endpoint {
        let mss = mtu - ip::header(remote) - HEADER;
        let buffer = || tcp::SocketBuffer::new(vec![0; options.buffer]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_timeout(options.timeout.map(duration));
        // Congestion is the sender's matter, see there.
        socket.set_congestion_control(tcp::CongestionControl::None);
        let mut sockets = SocketSet::new(vec![SocketStorage::EMPTY]);
        let handle = sockets.add(socket);
        Endpoint {
            sockets,
            handle,
            sender: Sender::new(options.congestion, mss),
            own: None,
        }
    }

    /// One that waits at `own` for the far end's first segment.
    pub fn waiting(stack: &Stack, own: SocketAddr, options: SocketOptions) -> Endpoint {
        let mut end = Endpoint::new(stack.mtu, own.ip(), options);
        end.own = Some(own.ip());
        // It is neither open nor is its port 0; if that is wrong, it stays closed.
        end.listen(Some(own.ip()), own.port());
        end
    }

    /// One that opens a connection from `own`; its first segment leaves when it is [driven](Endpoint::drive). `None` when such addresses
    /// cannot have one.
    pub fn opening(
        stack: &mut Stack,
        own: SocketAddr,
        remote: SocketAddr,
        options: SocketOptions,
    ) -> Option<Endpoint> {
        // The stack panics when it is to be a group, or nobody; and it is to be the far end in its turn.
        let somebody = |end: SocketAddr| IpAddress::from(end.ip()).is_unicast();
        if !somebody(own) || !somebody(remote) {
            return None;
        }
        let mut end = Endpoint::new(stack.mtu, remote.ip(), options);
        end.own = Some(own.ip());
        stack.be(own.ip());
        end.connect(stack, own, remote).then_some(end)
    }

    /// Has it offer timestamps (RFC 7323), of a clock that shows this now: before its first segment leaves. It keeps to them if the far end
    /// does as well.
    pub fn offer_timestamps(&mut self, now: Time, shows: u32) {
        // The stack leaves room for them; what they are is filled in when a segment leaves.
        self.socket_mut().set_tsval_generator(Some(|| 0));
        self.sender.offer_timestamps(now, shows);
    }

    pub(crate) fn listen(&mut self, own: Option<IpAddr>, port: u16) -> bool {
        let end = IpListenEndpoint {
            addr: own.map(Into::into),
            port,
        };
        self.socket_mut().listen(end).is_ok()
    }

    pub(crate) fn connect(
        &mut self,
        stack: &mut Stack,
        own: SocketAddr,
        remote: SocketAddr,
    ) -> bool {
        let context = stack.interface.context();
        let (remote, own) = (
            (IpAddress::from(remote.ip()), remote.port()),
            (IpAddress::from(own.ip()), own.port()),
        );
        self.socket_mut().connect(context, remote, own).is_ok()
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    pub(crate) fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    /// Has it keep how its congestion window changes.
    pub(crate) fn keep_windows(&mut self) {
        self.sender.keep_windows();
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Gives back what is kept.
    pub fn clear(&mut self, out: &mut Out) {
        self.sender.clear(out);
    }

    /// Takes a frame with a segment for this end.
    ///
    /// # Errors
    /// Why it goes no further: it is broken, or by its timestamp older than what came before it.
    pub fn segment(
        &mut self,
        stack: &mut Stack,
        now: Time,
        frame: &Frame,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let packet = ip::read(frame).filter(|packet| {
            let room = packet.end >= packet.payload + HEADER;
            packet.protocol == ip::TCP && room && ip::is_valid(frame, packet)
        });
        let packet = packet.ok_or("broken segment")?;
        let frame = &frame[..packet.end];
        let is_new = self.take(stack, now, frame, packet.payload, egress, out);
        is_new.then_some(()).ok_or(OLD)
    }

    /// Takes a segment, which is right, and begins at `at` of a frame that ends with it; `false` if it is [`OLD`].
    pub(crate) fn take(
        &mut self,
        stack: &mut Stack,
        now: Time,
        frame: &[u8],
        at: usize,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> bool {
        if !self.sender.is_new(now, frame, at, egress, out) {
            return false;
        }
        if let Some(own) = self.own {
            stack.be(own);
        }
        self.sender.comes(now, &frame[at..], out);
        self.sender.resend(now, egress, out);
        let sender = Some(&mut self.sender);
        stack.take(
            now,
            &frame[ETHERNET..],
            &mut self.sockets,
            sender,
            egress,
            out,
        );
        true
    }

    /// A router says that a packet of so many bytes at most can pass, and not the one with this sequence number. `false` when it had none such.
    pub fn too_big(&mut self, sequence: u32, mtu: usize, remote: IpAddr, out: &mut Out) -> bool {
        let headers = ip::header(remote) + HEADER + self.sender.options();
        let most = mtu.saturating_sub(headers);
        most > 0 && self.sender.too_big(sequence, most, out)
    }

    /// Sends what it has to send by now; tells when it is due again, [`Time::MAX`] for not until something comes.
    pub fn drive(
        &mut self,
        stack: &mut Stack,
        now: Time,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> Time {
        if let Some(own) = self.own {
            stack.be(own);
        }
        let at = instant(now);
        self.sender.expire(now);
        self.sender.resend(now, egress, out);
        let mut device = Device {
            incoming: None,
            mtu: stack.mtu,
            now,
            egress,
            sender: Some(&mut self.sender),
            out,
        };
        let (interface, sockets) = (&mut stack.interface, &mut self.sockets);
        while interface.poll_egress(at, &mut device, sockets) == PollResult::SocketStateChanged {}
        let next = interface.poll_at(at, sockets);
        let next = next.map_or(Time::MAX, |next| {
            // What is due at once has just been done; were it not, the next microsecond is for it.
            let us = next.total_micros().max(at.total_micros() + 1);
            Time::from_us(us as u64)
        });
        next.min(self.sender.expires().unwrap_or(Time::MAX))
    }

    /// How many of the bytes that are left may be given to it now.
    pub(crate) fn room(&self, left: u64) -> usize {
        self.sender.room(self.socket().send_queue(), left)
    }

    /// Whether both ends have agreed on a connection, and this one may still send.
    pub fn is_open(&self) -> bool {
        self.socket().may_send()
    }

    /// Whether there is no connection: not yet, or no more.
    pub fn is_closed(&self) -> bool {
        self.socket().state() == State::Closed
    }

    /// Whether nothing is to be said any more, but for the time that a closed port is to rest.
    pub fn is_over(&self) -> bool {
        matches!(self.socket().state(), State::Closed | State::TimeWait)
    }

    /// Whether the far end has said that it is done, and everything before that has been taken.
    pub fn has_heard_all(&self) -> bool {
        let socket = self.socket();
        let said = matches!(
            socket.state(),
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait
        );
        said && !socket.can_recv()
    }

    /// Says that it is done, behind everything that it was given.
    pub fn finish(&mut self) {
        self.socket_mut().close();
    }

    /// Resets the connection.
    pub fn abort(&mut self) {
        self.socket_mut().abort();
    }

    /// Gives another one as much of what has come as that can take now; tells how many bytes.
    pub fn pass_to(&mut self, other: &mut Endpoint) -> usize {
        let mut passed = 0;
        // What has come lies in two pieces where the buffer's end is.
        for _ in 0..2 {
            let left = self.socket().recv_queue();
            let most = other.room(left as u64).min(left);
            if most == 0 || !other.socket().can_send() {
                break;
            }
            let socket = other.socket_mut();
            let taken = self.socket_mut().recv(|bytes| {
                let bytes = &bytes[..bytes.len().min(most)];
                let sent = socket.send_slice(bytes).unwrap_or(0);
                (sent, sent)
            });
            passed += taken.unwrap_or(0);
        }
        passed
    }

    /// Puts what was measured of its sending into a conversation's record.
    pub fn report(&self, flow: &mut Flow) {
        self.sender.report(flow);
    }
}

/// What the clock of a segment's sender shows by its timestamp; `None` without one, and for what is no segment.
pub fn timestamp(frame: &Frame) -> Option<u32> {
    let packet = ip::read(frame)?;
    let segment = &frame[packet.payload..packet.end];
    let is_segment = packet.protocol == ip::TCP && segment.len() >= HEADER;
    is_segment.then(|| timestamps::shown(segment))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_somebody_opens_a_connection_and_only_to_somebody() {
        let mut stack = Stack::new(1500, 1);
        let mut opens = |own: &str, remote: &str| {
            let options = SocketOptions {
                buffer: 4096,
                congestion: Congestion::Cubic,
                timeout: None,
            };
            let [own, remote] = [own, remote].map(|end| end.parse().unwrap());
            Endpoint::opening(&mut stack, own, remote, options).is_some()
        };
        assert!(opens("10.0.0.1:1", "10.0.0.2:2"));
        assert!(opens("[fd00::1]:1", "[fd00::2]:2"));
        for nobody in ["255.255.255.255:1", "224.0.0.1:1", "0.0.0.0:1"] {
            assert!(!opens(nobody, "10.0.0.2:2"), "from {nobody}");
            assert!(!opens("10.0.0.2:2", nobody), "to {nobody}");
        }
        for nobody in ["[ff02::1]:1", "[::]:1"] {
            assert!(!opens(nobody, "[fd00::2]:2"), "from {nobody}");
            assert!(!opens("[fd00::2]:2", nobody), "to {nobody}");
        }
    }
}
