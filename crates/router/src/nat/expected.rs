//! Connections from outside that a helper expects, as Linux's `nf_nat_follow_master`.
//!
//! Until such a connection begins, a session holds its place: its remote endpoint has port 0, which stands for any. The first packet
//! makes it the session of the connection. Behind a NAT whose mappings are for one remote endpoint, the mapping of the control
//! connection and that of an expected one may have the same external endpoint; then these are counted.

use super::endpoint::Endpoint;
use super::headers::{Kind, Packet};
use super::tcp::State;
use super::{Nat, Verdict};
use core::net::{Ipv4Addr, SocketAddrV4};
use node::{Frame, Time};
use packet::ipv4::protocol;

/// Reason why a packet is dropped.
const ANOTHER_ADDRESS: &str = "a helper's connection would have another external address";

/// A connection that a remote host will open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToCome {
    /// Transport protocol.
    pub protocol: u8,
    /// Endpoint of the host inside that awaits it.
    pub inside: SocketAddrV4,
    /// The host that opens it.
    pub remote: Ipv4Addr,
    /// External address of the host inside, and the port if there is no choice; 0: any.
    pub external: SocketAddrV4,
    /// Time at which it is given up.
    pub until: Time,
}

impl Nat {
    /// Reserves a session for a connection from any port of a remote host. Returns the external endpoint of that connection.
    ///
    /// # Errors
    /// Reason to drop the packet that announces it.
    pub(crate) fn expect(
        &mut self,
        now: Time,
        to_come: &ToCome,
    ) -> Result<SocketAddrV4, &'static str> {
        self.expire(now);
        let (number, inside) = (to_come.protocol, Endpoint::from(to_come.inside));
        let wish = Endpoint::from(to_come.external);
        let external = match self.forwards.external(number, inside) {
            Some(external) => external,
            None => {
                let remote = Endpoint {
                    address: to_come.remote,
                    id: 0,
                };
                let (session, external) = self.place(number, inside, remote, wish)?;
                self.sessions.keep(self.now, session, to_come.until);
                if !external.matches(wish) {
                    self.sessions.end(self.now, session);
                    self.expire(now);
                }
                external
            }
        };
        match external.matches(wish) {
            true => Ok(external.into()),
            false => Err(ANOTHER_ADDRESS),
        }
    }

    /// Finds or makes the reserved session. Returns it with its external endpoint.
    fn place(
        &mut self,
        number: u8,
        inside: Endpoint,
        remote: Endpoint,
        wish: Endpoint,
    ) -> Result<(u32, Endpoint), &'static str> {
        // The inside host will answer the first packet.
        let tcp = (number == protocol::TCP).then_some(State::Answered);
        if wish.id != 0 && self.sessions.mapping(number, inside, remote).is_none() {
            self.has_room(inside)?;
            self.counters.mappings_made += 1;
            self.counters.sessions_made += 1;
            self.pool.share(number, inside, wish);
            *self.shared.entry((number, wish)).or_default() += 1;
            let mapping = self.sessions.add_mapping(number, inside, wish, remote);
            let session = self.sessions.add_session(self.now, mapping, remote, tcp);
            self.pool.add_session(inside.address);
            return Ok((session, wish));
        }
        match self.session_between(number, [inside, remote], Some(tcp), None) {
            Ok((session, external, _)) => Ok((session, external)),
            Err(Verdict::Drop(why) | Verdict::Prohibit(why)) => Err(why),
            Err(_) => Err(ANOTHER_ADDRESS),
        }
    }

    /// Releases a reserved session that no packet has used.
    pub(crate) fn give_up(
        &mut self,
        now: Time,
        number: u8,
        from: Ipv4Addr,
        external: SocketAddrV4,
    ) {
        self.expire(now);
        let remote = Endpoint {
            address: from,
            id: 0,
        };
        if let Some(session) = self.sessions.session(number, external.into(), remote) {
            self.sessions.end(self.now, session);
            self.expire(now);
        }
    }

    /// Handles the first packet of an expected connection: the reserved session becomes that of the connection.
    pub(crate) fn meet(&mut self, now: Time, frame: &Frame) {
        self.expire(now);
        let Ok(Some(packet)) = Packet::read(frame) else {
            return;
        };
        if !matches!(packet.kind, Kind::Tcp(_) | Kind::Udp) {
            return;
        }
        let (number, external, remote) = (packet.protocol, packet.destination, packet.source);
        let any = Endpoint { id: 0, ..remote };
        let is_known = self.sessions.session(number, external, remote).is_some();
        if let Some(session) = self.sessions.session(number, external, any)
            && !is_known
        {
            self.sessions.move_to(self.now, session, remote);
        }
    }

    /// Records the end of a mapping. Returns whether another mapping has the same external endpoint.
    pub(super) fn leave_shared(&mut self, number: u8, external: Endpoint) -> bool {
        let Some(others) = self.shared.get_mut(&(number, external)) else {
            return false;
        };
        *others -= 1;
        if *others == 0 {
            self.shared.remove(&(number, external));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat::Config;
    use crate::nat::config::Behaviour;
    use alloc::vec::Vec;
    use packet::ipv4::Ipv4;
    use packet::tcp::{Tcp, flag};

    const REMOTE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
    const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn to_come(host: u8, port: u16) -> ToCome {
        ToCome {
            protocol: protocol::TCP,
            inside: SocketAddrV4::new([10, 0, 0, host].into(), port),
            remote: REMOTE,
            external: SocketAddrV4::new(EXTERNAL, 0),
            until: Time::from_secs(300),
        }
    }

    fn syn(port: u16) -> Frame {
        let mut bytes = Vec::from([0; 12]);
        bytes.extend([8, 0]);
        let ip = Ipv4::new(REMOTE, EXTERNAL, protocol::TCP);
        let pseudo = ip::header::pseudo(REMOTE.into(), EXTERNAL.into(), protocol::TCP);
        let tcp = Tcp {
            source_port: 20,
            destination_port: port,
            sequence: 1,
            acknowledgement: 0,
            flags: flag::SYN,
            window: 1_000,
            urgent: 0,
            options: &[],
        };
        ip.build(&mut bytes, |out| tcp.build(pseudo, out, |_| {}));
        Frame::new(&bytes)
    }

    fn kinds() -> Vec<Config> {
        use Behaviour::{AddressAndPortDependent, AddressDependent, EndpointIndependent};
        let external = Vec::from([EXTERNAL.into()]);
        let of = |mapping, filtering| Config {
            external: external.clone(),
            mapping,
            filtering,
            ..Config::default()
        };
        Vec::from([
            of(EndpointIndependent, AddressAndPortDependent),
            of(AddressDependent, AddressAndPortDependent),
            of(AddressAndPortDependent, AddressAndPortDependent),
            Config {
                external: external.clone(),
                ..Config::linux()
            },
        ])
    }

    #[test]
    fn the_first_packet_that_is_expected_takes_its_place_and_no_other_enters() {
        for config in kinds() {
            let mut nat = Nat::new(config, 1).unwrap();
            let hosts = [2, 3].map(|host| nat.expect(Time::ZERO, &to_come(host, 5_000)).unwrap());
            assert_ne!(hosts[0], hosts[1], "one port outside for two hosts");
            let again = nat.expect(Time::ZERO, &to_come(2, 5_000));
            assert_eq!(again, Ok(hosts[0]), "a retransmission");
            let mut frame = syn(hosts[0].port());
            assert_ne!(nat.inbound(Time::ZERO, &mut frame), Verdict::Translated);
            nat.meet(Time::ZERO, &frame);
            assert_eq!(nat.inbound(Time::ZERO, &mut frame), Verdict::Translated);
            assert_eq!(frame[30..34], [10, 0, 0, 2]);
            assert_eq!(frame[36..38], 5_000_u16.to_be_bytes());
            // One reserved session is used, and the other one released.
            nat.give_up(Time::ZERO, protocol::TCP, REMOTE, hosts[0]);
            assert_eq!(nat.sizes()[1], 2);
            nat.give_up(Time::ZERO, protocol::TCP, REMOTE, hosts[1]);
            assert_eq!(nat.sizes()[1], 1);
            nat.expire(Time::from_secs(500_000));
            assert_eq!(nat.sizes(), [0; 3]);
        }
    }

    #[test]
    fn a_port_that_two_mappings_share_is_free_after_the_last() {
        for config in kinds() {
            let mut nat = Nat::new(config, 1).unwrap();
            let inside = Endpoint {
                address: [10, 0, 0, 2].into(),
                id: 5_000,
            };
            let control = Endpoint {
                address: REMOTE,
                id: 69,
            };
            let made = nat.session_between(protocol::UDP, [inside, control], Some(None), None);
            let Ok((_, external, true)) = made else {
                panic!("{made:?}");
            };
            let wish = ToCome {
                protocol: protocol::UDP,
                external: external.into(),
                ..to_come(2, 5_000)
            };
            assert_eq!(nat.expect(Time::ZERO, &wish), Ok(external.into()));
            assert_eq!(nat.expect(Time::ZERO, &wish), Ok(external.into()));
            nat.give_up(Time::ZERO, protocol::UDP, REMOTE, external.into());
            assert_eq!(nat.sizes(), [1, 1, 1]);
            nat.expire(Time::from_secs(1_000));
            assert_eq!(nat.sizes(), [0; 3]);
            assert!(nat.shared.is_empty());
        }
    }
}
