//! A connection to a switch: sockets, hellos, requests and their answers.

use anyhow::{Context, bail};
use openflow::fault::Fault;
use openflow::handshake::Handshake;
use openflow::message::{Answer, ErrorMessage, Message, Query, decode, frame};
use openflow::message::{MultipartReply, MultipartRequest};
use openflow::version::Version;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The port of OpenFlow, where none is named.
const PORT: u16 = 6653;

/// Maximum message length, bytes. It bounds the buffer of unread bytes.
const MAX_MESSAGE_LEN: usize = 65_535;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection on which a version is agreed.
pub struct Connection {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    pub version: Version,
    xid: u32,
    name: String,
}

impl Connection {
    /// Connects, or waits for the switch with `ptcp:` and `punix:`, and agrees on the highest of these versions.
    ///
    /// # Errors
    /// When there is no switch there, or no version in common.
    pub fn open(
        target: &str,
        versions: &[Version],
        timeout: Duration,
    ) -> anyhow::Result<Connection> {
        let mut connection = Connection {
            stream: connect(target, timeout).with_context(|| target.to_owned())?,
            buffer: Vec::new(),
            version: Version::V13,
            xid: 0,
            name: target.to_owned(),
        };
        let handshake = Handshake::new(versions);
        let mut hello = Vec::new();
        handshake.hello(0, &mut hello);
        connection
            .stream
            .write_all(&hello)
            .with_context(|| target.to_owned())?;
        loop {
            match handshake.receive(&connection.buffer) {
                Ok(Some((version, length))) => {
                    connection.buffer.drain(..length);
                    connection.version = version;
                    return Ok(connection);
                }
                Ok(None) => connection.fill()?,
                Err(failure) => {
                    let mut refusal = Vec::new();
                    handshake.refusal(0, &mut refusal);
                    // It ends either way.
                    let _ = connection.stream.write_all(&refusal);
                    bail!("{target}: {failure}");
                }
            }
        }
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        let mut chunk = [0; 16_384];
        match self.stream.read(&mut chunk) {
            Ok(0) => bail!("{}: the switch closed the connection", self.name),
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                bail!("{}: no answer in time; --timeout waits longer", self.name)
            }
            Err(error) => Err(error).with_context(|| self.name.clone()),
        }
    }

    /// Sends a message, and returns its xid.
    ///
    /// # Errors
    /// When the version cannot say it, or the connection is gone.
    pub fn send(&mut self, message: &Message<'_>) -> anyhow::Result<u32> {
        self.xid += 1;
        let mut bytes = Vec::new();
        message.encode(self.version, self.xid, &mut bytes)?;
        self.stream
            .write_all(&bytes)
            .with_context(|| self.name.clone())?;
        Ok(self.xid)
    }

    /// Sends bytes that are a message already, of the next xid.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn next_xid(&self) -> u32 {
        self.xid + 1
    }

    /// The next message that is no echo request; those are answered.
    ///
    /// # Errors
    /// When the connection is gone, or nothing comes in time.
    pub fn receive(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            while let Some(length) = frame(&self.buffer)? {
                let bytes: Vec<u8> = self.buffer.drain(..length).collect();
                match decode(&bytes) {
                    Ok((header, Message::EchoRequest(data))) => {
                        let mut reply = Vec::new();
                        Message::EchoReply(data).encode(self.version, header.xid, &mut reply)?;
                        self.stream
                            .write_all(&reply)
                            .with_context(|| self.name.clone())?;
                    }
                    _ => return Ok(bytes),
                }
            }
            debug_assert!(self.buffer.len() <= MAX_MESSAGE_LEN + 16_384);
            self.fill()?;
        }
    }

    /// The answer to a request: the message of its xid, others passed over.
    ///
    /// # Errors
    /// When it is an error, or none comes.
    pub fn answer(&mut self, xid: u32) -> anyhow::Result<Vec<u8>> {
        loop {
            let bytes = self.receive()?;
            if bytes[4..8] != xid.to_be_bytes() {
                continue;
            }
            match decode(&bytes) {
                Ok((_, Message::Error(error))) => bail!("{}", told(self.version, &error)),
                Ok(_) => return Ok(bytes),
                Err(error) => bail!("{}: an answer that cannot be read: {error}", self.name),
            }
        }
    }

    /// Sends a request, and returns the answer.
    ///
    /// # Errors
    /// As [`Connection::answer`].
    pub fn ask(&mut self, message: &Message<'_>) -> anyhow::Result<Vec<u8>> {
        let xid = self.send(message)?;
        self.answer(xid)
    }

    /// Sends a multipart request, and gives each part of the answer to `part`.
    ///
    /// # Errors
    /// As [`Connection::answer`], and what `part` returns.
    pub fn multipart(
        &mut self,
        body: Query<'_>,
        mut part: impl FnMut(Answer<'_>, Version) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let request = MultipartRequest { more: false, body };
        let xid = self.send(&Message::MultipartRequest(request))?;
        loop {
            let bytes = self.answer(xid)?;
            match decode(&bytes) {
                Ok((_, Message::MultipartReply(MultipartReply { more, body }))) => {
                    part(body, self.version)?;
                    if !more {
                        return Ok(());
                    }
                }
                _ => bail!("{}: the answer is no multipart reply", self.name),
            }
        }
    }

    /// Waits until all is done that was sent.
    ///
    /// # Errors
    /// The errors that came before the barrier's reply.
    pub fn barrier(&mut self) -> anyhow::Result<()> {
        let xid = self.send(&Message::BarrierRequest)?;
        let mut errors = Vec::new();
        loop {
            let bytes = self.receive()?;
            match decode(&bytes) {
                Ok((_, Message::Error(error))) => errors.push(told(self.version, &error)),
                Ok((header, Message::BarrierReply)) if header.xid == xid => break,
                _ => {}
            }
        }
        match errors.as_slice() {
            [] => Ok(()),
            [error] => bail!("{error}"),
            [error, rest @ ..] => bail!("{error}; and {} more", rest.len()),
        }
    }
}

/// An error message in words.
pub fn told(version: Version, error: &ErrorMessage<'_>) -> String {
    match Fault::from_wire(version, error.kind, error.code) {
        Some(fault) => format!("the switch refused: {fault}"),
        None => format!(
            "the switch refused: error of type {}, code {}",
            error.kind, error.code
        ),
    }
}

fn connect(target: &str, timeout: Duration) -> anyhow::Result<Box<dyn Stream>> {
    let (kind, rest) = target.split_once(':').unwrap_or(("unix", target));
    let tcp = |stream: TcpStream| -> anyhow::Result<Box<dyn Stream>> {
        stream.set_read_timeout(Some(timeout))?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    };
    let unix = |stream: UnixStream| -> anyhow::Result<Box<dyn Stream>> {
        stream.set_read_timeout(Some(timeout))?;
        Ok(Box::new(stream))
    };
    match kind {
        "tcp" => {
            let (host, port) = host_and_port(rest)?;
            tcp(TcpStream::connect((host, port))?)
        }
        "unix" => unix(UnixStream::connect(rest)?),
        "ptcp" => {
            // PORT or PORT:HOST, as Open vSwitch writes it.
            let (port, host) = rest.split_once(':').unwrap_or((rest, "127.0.0.1"));
            let port = if port.is_empty() {
                PORT
            } else {
                port.parse().context("a port's number")?
            };
            tcp(TcpListener::bind((host.trim_matches(['[', ']']), port))?
                .accept()?
                .0)
        }
        "punix" => {
            let listener = listen::unix::listen_at(rest.as_ref())?;
            let gate = listen::Gate::new(target, listen::OPENFLOW);
            let (accepted, _) = listen::unix::accept(&listener, &gate);
            std::fs::remove_file(rest)?;
            unix(accepted)
        }
        _ => bail!("write tcp:HOST[:PORT], unix:PATH, ptcp:PORT[:HOST] or punix:PATH"),
    }
}

fn host_and_port(text: &str) -> anyhow::Result<(&str, u16)> {
    let colon = text
        .rfind(':')
        .filter(|at| text.starts_with('[') == text[..*at].ends_with(']'));
    let (host, port) = match colon {
        Some(at) => (
            &text[..at],
            text[at + 1..].parse().context("the port is no number")?,
        ),
        None => (text, PORT),
    };
    Ok((host.trim_matches(['[', ']']), port))
}
