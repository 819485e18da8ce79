//! System calls on the sockets of a machine.

use super::super::super::{Ecn, Endpoint, SocketOptions, State};
use super::call::{Call, Value};
use super::machine::{Machine, Tested};
use super::settings::congestion;
use node::Time;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Maximum number of bytes that one call reads or writes.
const MAX_BYTES: i64 = 1 << 24;

/// A socket, by the number that the script gives it.
#[derive(Clone)]
pub struct Descriptor {
    pub options: SocketOptions,
    has_lingering_reset: bool,
    is_nonblocking: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fresh,
    Listener,
    Connection(usize),
}

/// A call that goes on until it can end.
pub enum Blocked {
    Accept(i64),
    Connect(usize),
    Read(usize, usize),
    /// Bytes left, and bytes written.
    Write(usize, usize, usize),
}

/// Result of a call, or the name of its error.
pub struct Outcome(Result<i64, &'static str>);

impl Outcome {
    pub fn check(&self, call: &Call) -> Result<(), String> {
        let wanted = call.error.as_deref();
        let fits = match (&self.0, &call.result) {
            (_, Value::Any) => true,
            (Ok(result), Value::Number(number)) => result == number && wanted.is_none(),
            (Err(error), Value::Number(-1)) => wanted.is_none_or(|wanted| wanted == *error),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let ended = match &self.0 {
            Ok(result) => result.to_string(),
            Err(error) => format!("-1 {error}"),
        };
        let result = call.result.text();
        let wanted = wanted.unwrap_or_default();
        Err(format!(
            "{} ends with {ended}, and the script wants {result} {wanted}",
            call.name
        ))
    }
}

fn refused(what: &str) -> String {
    format!("not in the subset: {what}")
}

impl Machine {
    /// Makes a call; returns it if it blocks.
    pub fn begin(&mut self, call: &Call) -> Result<Option<Blocked>, String> {
        let argument = |index: usize| call.arguments.get(index).unwrap_or(&Value::Any);
        let number = argument(0).number().unwrap_or(-1);
        let done = |result: Result<i64, &'static str>| Outcome(result).check(call).map(|()| None);
        if call
            .arguments
            .iter()
            .any(|argument| argument.has("MSG_ERRQUEUE"))
        {
            return Err(refused("the queue of errors"));
        }
        if call
            .arguments
            .iter()
            .any(|argument| argument.has("MSG_FASTOPEN"))
        {
            return Err(refused("fast open"));
        }
        match call.name.as_str() {
            "socket" => return self.socket(call).map(|()| None),
            "bind" => return done(Ok(0)),
            "ioctl" => return self.ioctl(number, call).map(|()| None),
            _ => {}
        }
        let Some(descriptor) = self.descriptors.get_mut(&number) else {
            let is_known = !matches!(
                call.name.as_str(),
                "poll" | "epoll_create" | "pipe" | "open"
            );
            return match is_known {
                true => done(Err("EBADF")),
                false => Err(refused(&call.name)),
            };
        };
        match call.name.as_str() {
            "listen" => {
                descriptor.kind = Kind::Listener;
                self.tested = Tested::Listener(number);
                done(Ok(0))
            }
            "fcntl" => {
                let mode = argument(2);
                if argument(1).has("F_SETFL") {
                    descriptor.is_nonblocking = mode.has("O_NONBLOCK");
                    return done(Ok(0));
                }
                Ok(None)
            }
            "setsockopt" => {
                self.set_option(number, call)?;
                done(Ok(0))
            }
            "getsockopt" => {
                let is_error = argument(2).has("SO_ERROR");
                match is_error && argument(3).number() == Some(0) {
                    true => done(Ok(0)),
                    false => Err(refused(&format!("getsockopt {}", argument(2).text()))),
                }
            }
            "connect" => self.connect(number, call),
            "accept" | "accept4" => self.go_on(number, Blocked::Accept(number), call, "EAGAIN"),
            "close" => {
                self.close(number)?;
                done(Ok(0))
            }
            "shutdown" => {
                let index = match self.connection(number) {
                    Ok(index) => index,
                    Err(error) => return done(Err(error)),
                };
                if !argument(1).has("SHUT_WR") {
                    return Err(refused(&format!("shutdown {}", argument(1).text())));
                }
                self.connections[index].end.close();
                self.drive(index)?;
                done(Ok(0))
            }
            "read" | "recv" | "recvfrom" | "recvmsg" => {
                let index = match self.connection(number) {
                    Ok(index) => index,
                    Err(error) => return done(Err(error)),
                };
                if argument(1).has("NULL") {
                    return done(Err("EFAULT"));
                }
                let most = length(call)?;
                self.go_on(number, Blocked::Read(index, most), call, "EAGAIN")
            }
            "write" | "send" | "sendto" | "sendmsg" => {
                let index = match self.connection(number) {
                    Ok(index) => index,
                    Err("ENOTCONN") => return done(Err("EPIPE")),
                    Err(error) => return done(Err(error)),
                };
                if argument(1).has("NULL") {
                    return done(Err("EFAULT"));
                }
                let most = length(call)?;
                self.go_on(number, Blocked::Write(index, most, 0), call, "EAGAIN")
            }
            other => Err(refused(other)),
        }
    }

    fn socket(&mut self, call: &Call) -> Result<(), String> {
        let Value::Number(number) = call.result else {
            return Err(refused("socket without a number"));
        };
        let kind = call.arguments.get(1).unwrap_or(&Value::Any);
        if !kind.has("SOCK_STREAM") {
            return Err(refused(&format!("socket of {}", kind.text())));
        }
        let descriptor = Descriptor {
            options: self.settings.options,
            has_lingering_reset: false,
            is_nonblocking: kind.has("SOCK_NONBLOCK"),
            kind: Kind::Fresh,
        };
        self.descriptors.insert(number, descriptor);
        self.tested = Tested::Nothing;
        Ok(())
    }

    fn ioctl(&mut self, number: i64, call: &Call) -> Result<(), String> {
        let what = call.arguments.get(1).unwrap_or(&Value::Any);
        let index = self.connection(number).map_err(|error| error.to_string())?;
        let end = &self.connections[index].end;
        let value = match () {
            () if what.has("SIOCINQ") => end.receiver.readable(),
            () if what.has("SIOCOUTQ") => end.send_queue(),
            () => return Err(refused(&format!("ioctl {}", what.text()))),
        };
        let wanted = call.arguments.get(2).and_then(Value::number);
        match wanted == Some(value as i64) {
            true => Ok(()),
            false => Err(format!("{} is {value}", what.text())),
        }
    }

    fn connection(&self, number: i64) -> Result<usize, &'static str> {
        match self
            .descriptors
            .get(&number)
            .map(|descriptor| descriptor.kind)
        {
            None => Err("EBADF"),
            Some(Kind::Connection(index)) => Ok(index),
            Some(_) => Err("ENOTCONN"),
        }
    }

    fn set_option(&mut self, number: i64, call: &Call) -> Result<(), String> {
        let name = call.arguments.get(2).unwrap_or(&Value::Any);
        let value = call.arguments.get(3).unwrap_or(&Value::Any);
        let name = name.text();
        let given = value.number();
        let index = self.connection(number).ok();
        let Some(descriptor) = self.descriptors.get_mut(&number) else {
            return Err("EBADF".to_string());
        };
        match (name.as_str(), given) {
            // A small segment never waits for an acknowledgement here. There is more memory than is asked for.
            ("SO_REUSEADDR" | "TCP_NODELAY" | "SO_SNDBUF" | "SO_ZEROCOPY" | "TCP_INQ", _) => {}
            ("SO_RCVBUF", Some(bytes)) if index.is_none() && (2048..MAX_BYTES).contains(&bytes) => {
                // Linux doubles it, and half of that is for data.
                descriptor.options.buffer = bytes as usize;
            }
            ("TCP_CONGESTION", _) if index.is_none() => {
                descriptor.options.congestion = congestion(&value.text())?;
            }
            ("TCP_USER_TIMEOUT", Some(milliseconds)) => {
                let timeout = Time::from_ms(milliseconds.unsigned_abs());
                descriptor.options.timeout = Some(timeout);
                if let Some(index) = index {
                    self.connections[index].end.set_timeout(Some(timeout));
                }
            }
            ("SO_LINGER", _) => {
                let time = value.field("linger").and_then(Value::number);
                let is_on = value.field("onoff").and_then(Value::number) == Some(1);
                match (is_on, time) {
                    (true, Some(0)) => descriptor.has_lingering_reset = true,
                    _ => return Err(refused("SO_LINGER with a time")),
                }
            }
            _ if name.starts_with("TCP_FASTOPEN") => return Err(refused("fast open")),
            _ => return Err(refused(&format!("setsockopt {name}"))),
        }
        Ok(())
    }

    fn connect(&mut self, number: i64, call: &Call) -> Result<Option<Blocked>, String> {
        let (own, remote) = self.ends(true);
        let Some(descriptor) = self.descriptors.get_mut(&number) else {
            return Err("EBADF".to_string());
        };
        if let Kind::Connection(index) = descriptor.kind {
            return self.go_on(number, Blocked::Connect(index), call, "EALREADY");
        }
        if descriptor.options.ecn != Ecn::Off || self.settings.opens != Ecn::Off {
            descriptor.options.ecn = self.settings.opens;
        }
        let options = descriptor.options;
        let end = Endpoint::opening(&mut self.stack, own, remote, options);
        let mut end = end.ok_or("no connection is possible")?;
        if self.settings.has_timestamps {
            end.offer_timestamps(self.now, 0x00C0_FFEE);
        }
        let index = self.adopt(end, own, remote);
        if let Some(descriptor) = self.descriptors.get_mut(&number) {
            descriptor.kind = Kind::Connection(index);
        }
        self.drive(index)?;
        self.go_on(number, Blocked::Connect(index), call, "EINPROGRESS")
    }

    /// Tries a call, and ends it if it can end or must not block.
    fn go_on(
        &mut self,
        number: i64,
        mut blocked: Blocked,
        call: &Call,
        error: &'static str,
    ) -> Result<Option<Blocked>, String> {
        if let Some(outcome) = self.attempt(&mut blocked)? {
            return outcome.check(call).map(|()| None);
        }
        let descriptor = self.descriptors.get(&number);
        let has_flag = call
            .arguments
            .iter()
            .any(|argument| argument.has("MSG_DONTWAIT"));
        let is_nonblocking = descriptor.is_some_and(|descriptor| descriptor.is_nonblocking);
        if !is_nonblocking && !has_flag {
            return Ok(Some(blocked));
        }
        let outcome = match blocked {
            Blocked::Write(_, _, written) if written > 0 => Ok(written as i64),
            _ => Err(error),
        };
        Outcome(outcome).check(call).map(|()| None)
    }

    /// Does what a call can do now; `None` if it does not end by that.
    pub fn attempt(&mut self, blocked: &mut Blocked) -> Result<Option<Outcome>, String> {
        let outcome = match blocked {
            Blocked::Accept(listener) => {
                let ready = self.connections.iter().position(|connection| {
                    connection.listener == Some(*listener) && connection.was_open
                });
                let Some(index) = ready else {
                    return Ok(None);
                };
                self.accept(*listener, index)
            }
            Blocked::Connect(index) => match self.connections[*index].end.state() {
                State::SynSent | State::SynReceived => return Ok(None),
                State::Closed => Err(self.error(*index, "ECONNREFUSED")),
                _ => Ok(0),
            },
            Blocked::Read(index, most) => {
                let (index, most) = (*index, *most);
                if most > 0 && !self.connections[index].end.can_recv() {
                    return Ok(self.nothing_to_read(index).map(Outcome));
                }
                Ok(self.read(index, most)?)
            }
            Blocked::Write(_, 0, written) => Ok(*written as i64),
            Blocked::Write(index, left, written) => {
                let index = *index;
                match self.connections[index].end.send_zeros(*left) {
                    Ok(count) => {
                        (*left, *written) = (*left - count, *written + count);
                        self.drive(index)?;
                        if *left > 0 {
                            return Ok(None);
                        }
                        Ok(*written as i64)
                    }
                    Err(_) => Err(self.nothing_to_write(index)),
                }
            }
        };
        Ok(Some(Outcome(outcome)))
    }

    /// How a read ends that has nothing to read; `None` while something may still come.
    fn nothing_to_read(&mut self, index: usize) -> Option<Result<i64, &'static str>> {
        let connection = &self.connections[index];
        let is_new = connection.is_reset && !connection.has_failed;
        match connection.end.state() {
            State::Established | State::FinWait1 | State::FinWait2 => None,
            State::Closed if is_new => Some(Err(self.error(index, "ECONNRESET"))),
            _ => Some(Ok(0)),
        }
    }

    /// The error of a write to a connection that is not open.
    fn nothing_to_write(&mut self, index: usize) -> &'static str {
        let connection = &self.connections[index];
        match connection.end.is_closed() && !connection.has_failed {
            true => self.error(index, "ECONNRESET"),
            false => "EPIPE",
        }
    }

    fn accept(&mut self, listener: i64, index: usize) -> Result<i64, &'static str> {
        let Some(descriptor) = self.descriptors.get(&listener) else {
            return Err("EBADF");
        };
        let mut descriptor = descriptor.clone();
        descriptor.kind = Kind::Connection(index);
        descriptor.is_nonblocking = false;
        // The lowest number that is free, as the kernel gives it.
        let number = (3..).find(|number| !self.descriptors.contains_key(number));
        let number = number.ok_or("EMFILE")?;
        self.descriptors.insert(number, descriptor);
        self.connections[index].listener = None;
        self.tested = Tested::Connection(index);
        Ok(number)
    }

    fn read(&mut self, index: usize, most: usize) -> Result<i64, String> {
        let mut count = 0;
        while count < most && self.connections[index].end.can_recv() {
            let left = most - count;
            let end = &mut self.connections[index].end;
            let read = end.recv(|bytes| {
                let taken = bytes.len().min(left);
                (taken, taken)
            });
            count += read.map_err(|_| "a readable connection cannot be read".to_string())?;
        }
        self.drive(index)?;
        Ok(count as i64)
    }

    /// The error of a connection that has ended, which is reported once.
    fn error(&mut self, index: usize, reset: &'static str) -> &'static str {
        let connection = &mut self.connections[index];
        connection.has_failed = true;
        match connection.is_reset {
            true => reset,
            false => "ETIMEDOUT",
        }
    }

    fn close(&mut self, number: i64) -> Result<(), String> {
        let Some(descriptor) = self.descriptors.remove(&number) else {
            return Ok(());
        };
        match descriptor.kind {
            Kind::Fresh => {}
            Kind::Listener => {
                if self.tested == Tested::Listener(number) {
                    self.tested = Tested::Nothing;
                }
                let waiting = self.connections.iter().enumerate();
                let waiting = waiting.filter(|(_, other)| other.listener == Some(number));
                let waiting: Vec<usize> = waiting.map(|(index, _)| index).collect();
                for index in waiting {
                    self.connections[index].end.abort();
                    self.drive(index)?;
                }
            }
            Kind::Connection(index) => {
                let end = &mut self.connections[index].end;
                // RFC 9293 section 3.6.1: unread data is lost, which the peer must learn by a reset.
                match end.can_recv() || descriptor.has_lingering_reset {
                    true => end.abort(),
                    false => end.close(),
                }
                self.drive(index)?;
            }
        }
        Ok(())
    }
}

/// Bytes that a call reads or writes.
fn length(call: &Call) -> Result<usize, String> {
    let argument = |index: usize| call.arguments.get(index).unwrap_or(&Value::Any);
    let (bytes, flags) = match call.name.as_str() {
        "recvmsg" | "sendmsg" => {
            let message = argument(1);
            let parts = match message.field("msg_iov") {
                Some(Value::List(parts)) => parts.as_slice(),
                _ => &[],
            };
            let mut bytes = 0;
            for part in parts {
                bytes += match part {
                    Value::Fields(fields) => fields.get(1).and_then(Value::number).unwrap_or(0),
                    _ => 0,
                };
            }
            (bytes, argument(2))
        }
        _ => (argument(2).number().unwrap_or(-1), argument(3)),
    };
    let is_plain = match flags {
        Value::Names(names) => {
            let known = ["MSG_NOSIGNAL", "MSG_DONTWAIT", "MSG_ZEROCOPY"];
            names.iter().all(|name| known.contains(&name.as_str()))
        }
        Value::Any => true,
        other => other.number() == Some(0),
    };
    match is_plain && (0..=MAX_BYTES).contains(&bytes) {
        true => Ok(bytes as usize),
        false => Err(refused(&format!("{} with {}", call.name, flags.text()))),
    }
}
