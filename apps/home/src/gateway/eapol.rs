//! EAPOL of devices and of the authenticator (paper 003, section 4.4.2).

use super::{Gateway, Result};
use crate::rules::{Cookie, Datapath, Kind, Rule, priority, wide};
use node::Time;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::Mac;

/// EtherType of EAPOL (IEEE 802.1X-2020, section 11.1).
pub(super) const EAPOL: u16 = 0x888E;
/// EAPOL frames of a port that reach the authenticator: rate a second, and burst.
pub(super) const RATE: u64 = 50;
pub(super) const BURST: u64 = 200;

impl Gateway {
    /// Drops the EAPOL of a device, so that it cannot associate again.
    pub(super) fn block_association(&self, mac: Mac, datapath: &mut Datapath<'_, '_>) {
        let fields = [
            Oxm::new(Field::EthSrc, wide(mac)),
            Oxm::new(Field::EthType, EAPOL.into()),
        ];
        datapath.add(&Rule {
            fields: &fields,
            priority: priority::DHCP,
            cookie: Cookie {
                from: self.slots.get(&mac).copied().unwrap_or(0),
                ..Cookie::of(Kind::Drop)
            },
            idle: 0,
            actions: &[],
        });
    }

    /// Whether a device is authenticated at another port, so that a frame at this one is an attacker's. The device can move when the
    /// authenticator has ended its session, or its cable is pulled.
    pub(super) fn is_authenticated_elsewhere(&self, mac: Mac, port: PortNo) -> bool {
        let home = self.home.lock();
        let at = home.device(mac).and_then(|device| device.authentication.at);
        at.is_some_and(|at| at != port.0)
    }

    /// Forwards EAPOL of a device to the authenticator. A new device waits for a decision, as after a DHCP message.
    pub(super) fn eapol(
        &mut self,
        now: Time,
        source: Mac,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let authenticator = self.settings.authenticator.ok_or("eapol")?;
        if !self.eapol.take(now, in_port.0) {
            return Err("too much eapol");
        }
        let is_known = {
            let mut home = self.home.lock();
            let is_known = home.device(source).is_some();
            let port = (!is_known).then_some(in_port.0);
            let device = home.seen_at(now, source, port).map_err(|_| "no slot")?;
            if device.blacklisted {
                return Err("blacklisted");
            }
            if !home.asks_for_authentication(now, source, in_port.0) {
                return Err("eapol of a device that asks at another port");
            }
            is_known
        };
        if !is_known {
            // New devices get their slots before their first entries.
            self.obey(now, datapath);
        }
        datapath.send(PortNo(authenticator), data);
        Ok(())
    }

    /// Forwards EAPOL of the authenticator to the port at which the device asked.
    pub(super) fn eapol_of_authenticator(
        &mut self,
        ethertype: u16,
        destination: Mac,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if ethertype != EAPOL {
            return Err("not eapol of the authenticator");
        }
        if destination.is_group() {
            return Err("eapol to a group");
        }
        let port = {
            let home = self.home.lock();
            let device = home.device(destination).ok_or("eapol to no device")?;
            let asked_at = device.authentication.asked_at.or(device.port);
            asked_at.ok_or("eapol to no device")?
        };
        datapath.send(PortNo(port), data);
        Ok(())
    }
}
