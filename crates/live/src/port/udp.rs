//! Frames in UDP datagrams, one in each: a wire to anywhere that an ordinary user may use.
//!
//! `udp:HOST:PORT` sends there, and receives what comes back from there. `udp:@HOST:PORT` waits there,
//! and sends to whoever sent last; before that there is nobody to send to.

use crate::kernel::thread::lock;
use crate::port::datagrams::{self, Addressed, Wire};
use crate::port::{Options, Port, PortError, PortInfo};
use packet::{MAX_WIRE_FRAME_LEN, MIN_FRAME_LEN};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Mutex;

/// Opens `udp:HOST:PORT`, or `udp:@HOST:PORT` with `listen`.
///
/// # Errors
/// When the host is not known or the port is in use.
pub fn open(host: &str, port: u16, listen: bool, options: &Options) -> Result<Port, PortError> {
    let name = crate::port::PortSpec::Udp {
        host: host.into(),
        port,
        listen,
    }
    .to_string();
    let failed = |doing, error| PortError::from_io(&name, doing, "rights", error);
    let host = if host.is_empty() { "::" } else { host };
    let address = (host, port)
        .to_socket_addrs()
        .and_then(|mut found| found.next().ok_or_else(|| io::ErrorKind::NotFound.into()))
        .map_err(|error| failed("looking up the host", error))?;
    let socket = if listen {
        let right = "CAP_NET_BIND_SERVICE for a port below 1024";
        UdpSocket::bind(address)
            .map_err(|error| PortError::from_io(&name, "waiting there", right, error))?
    } else {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        UdpSocket::bind(any)
            .and_then(|socket| socket.connect(address).map(|()| socket))
            .map_err(|error| failed("making the socket", error))?
    };
    socket
        .set_nonblocking(true)
        .map_err(|error| failed("making the socket", error))?;
    let (rx, tx) = datagrams::halves(Tunnel {
        name: name.clone(),
        socket,
        peer: Mutex::new(None),
        listen,
    });
    let info = PortInfo::of(name, "udp", options);
    Ok(Port { info, rx, tx })
}

struct Tunnel {
    name: String,
    socket: UdpSocket,
    /// The last sender, where this end listens.
    peer: Mutex<Option<SocketAddr>>,
    listen: bool,
}

impl Wire for Tunnel {
    const MAX_DATAGRAM_LEN: usize = MAX_WIRE_FRAME_LEN;

    fn name(&self) -> &str {
        &self.name
    }

    fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    fn frame<'a>(
        &self,
        datagram: &'a [u8],
        from: SocketAddr,
        _: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        if self.listen {
            *lock(&self.peer) = Some(from);
        }
        (datagram.len() >= MIN_FRAME_LEN).then_some(datagram)
    }

    fn datagram<'a>(&self, frame: &'a [u8]) -> Result<Option<Addressed<'a>>, PortError> {
        match frame.len() {
            len @ ..MIN_FRAME_LEN => return Err(PortError::TooShort { len }),
            MIN_FRAME_LEN..=MAX_WIRE_FRAME_LEN => {}
            len => {
                return Err(PortError::TooLong {
                    name: self.name.clone(),
                    len,
                    mtu: MAX_WIRE_FRAME_LEN as u32 - 14,
                    longest: MAX_WIRE_FRAME_LEN,
                });
            }
        }
        if !self.listen {
            return Ok(Some((frame, None)));
        }
        let peer = *lock(&self.peer);
        Ok(peer.map(|peer| (frame, Some(peer))))
    }
}

#[cfg(test)]
mod tests {
    use crate::port::{self, Options, Port};
    use std::time::Duration;

    fn one(port: &mut Port) -> Vec<u8> {
        let mut frame = Vec::new();
        let wait = Duration::from_secs(5);
        port.rx
            .receive(wait, &mut |packet| frame = packet.bytes.to_vec())
            .unwrap();
        frame
    }

    #[test]
    fn frames_go_both_ways_once_somebody_has_spoken() {
        // A free port, as the system chooses one.
        let number = {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.local_addr().unwrap().port()
        };
        let open = |text: String| port::open(&text.parse().unwrap(), &Options::default()).unwrap();
        let mut there = open(format!("udp:@127.0.0.1:{number}"));
        let mut here = open(format!("udp:127.0.0.1:{number}"));
        there.tx.send(&[&[1; 60]]).unwrap();
        assert_eq!(there.tx.counters().refused, 1, "nobody to send to yet");
        here.tx.send(&[&[2; 60]]).unwrap();
        assert_eq!(one(&mut there), [2; 60]);
        there.tx.send(&[&[3; 14]]).unwrap();
        assert_eq!(one(&mut here), [3; 14]);
        assert!(here.tx.send(&[&[4; 16_001]]).is_err());
    }
}
