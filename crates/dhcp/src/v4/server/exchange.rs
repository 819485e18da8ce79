//! Decisions about a client's messages, and their effect on its lease.

use super::Settings;
use crate::leases::{self, Leases, State};
use crate::v4::message::{Kind, Message, option};
use crate::v4::policy::Grant;
use core::net::Ipv4Addr;
use node::Time;

/// Reason of a drop.
const UNKNOWN: &str = "DHCP request for an unknown lease";

/// Decision about a message.
pub(super) enum Answer {
    Lease(Kind, u32),
    Refuse,
    Options,
    Done,
}

/// One message of a client.
pub(super) struct Exchange<'a> {
    pub now: Time,
    pub message: &'a Message<'a>,
    pub settings: &'a Settings,
    pub leases: &'a mut Leases,
    pub key: &'a [u8],
    pub circuit: &'a [u8],
    pub grant: &'a Grant<'a>,
    /// Addresses by which the client may name this server.
    pub servers: [Ipv4Addr; 2],
}

impl Exchange<'_> {
    pub fn answer(mut self) -> Result<Answer, &'static str> {
        match self.message.kind() {
            Kind::Discover => self.discover(),
            Kind::Request => self.request(),
            Kind::Decline => self.decline(),
            Kind::Release => self.release(),
            Kind::Inform => Ok(Answer::Options),
            Kind::Offer | Kind::Ack | Kind::Nak => Err("DHCP message of a server"),
        }
    }

    fn discover(&mut self) -> Result<Answer, &'static str> {
        let wanted = self.message.address(option::REQUESTED);
        let wanted = wanted.map(|address| u32::from(address).into());
        let until = self.now + self.settings.offer;
        let ranges = &self.grant.ranges;
        let address = self
            .leases
            .offer(self.key, self.circuit, ranges, wanted, until)
            .map_err(leases::Refusal::reason)?;
        let rapid = self.message.option(option::RAPID_COMMIT).is_some();
        let kind = match self.settings.rapid_commit && rapid {
            true => {
                self.bind(address)?;
                Kind::Ack
            }
            false => Kind::Offer,
        };
        Ok(Answer::Lease(kind, address as u32))
    }

    fn bind(&mut self, address: u128) -> Result<(), &'static str> {
        let until = self.now + self.grant.lease;
        let bound = self
            .leases
            .bind(self.key, self.circuit, &self.grant.ranges, address, until);
        bound.map_err(leases::Refusal::reason)
    }

    fn request(&mut self) -> Result<Answer, &'static str> {
        let server = self.message.address(option::SERVER);
        let ciaddr = self.message.ciaddr();
        let requested = self.message.address(option::REQUESTED);
        let wanted = match ciaddr.is_unspecified() {
            true => requested.ok_or("DHCP request without an address")?,
            false => ciaddr,
        };
        let wanted = u128::from(u32::from(wanted));
        if let Some(server) = server {
            if !self.servers.contains(&server) {
                // The client takes another server's offer.
                if self
                    .leases
                    .find(self.key)
                    .is_some_and(|one| one.state == State::Offered)
                {
                    self.leases.release(self.now, self.key);
                }
                return Ok(Answer::Done);
            }
            return Ok(match self.bind(wanted) {
                Ok(()) => Answer::Lease(Kind::Ack, wanted as u32),
                Err(_) => Answer::Refuse,
            });
        }
        let known = self.leases.find(self.key).map(|lease| lease.address);
        let is_on_link = self.grant.ranges.iter().any(|range| range.contains(wanted));
        match known {
            Some(address) if address == wanted && self.bind(wanted).is_ok() => {
                Ok(Answer::Lease(Kind::Ack, wanted as u32))
            }
            Some(_) => Ok(Answer::Refuse),
            // The address is the client's alone: the server has lost the lease at a restart.
            None if self.settings.authoritative
                && self.is_only(wanted)
                && self.bind(wanted).is_ok() =>
            {
                Ok(Answer::Lease(Kind::Ack, wanted as u32))
            }
            None if self.settings.authoritative => Ok(Answer::Refuse),
            // A client that has come from another link.
            None if !is_on_link && !self.shares_prefix(wanted) => Ok(Answer::Refuse),
            None => Err(UNKNOWN),
        }
    }

    /// Whether an address is the only one that the client may have.
    fn is_only(&self, address: u128) -> bool {
        match &*self.grant.ranges {
            [range] => range.first == address && range.last == address,
            _ => false,
        }
    }

    /// Whether an address has the prefix of the client's link, so that another server may have handed it out.
    fn shares_prefix(&self, address: u128) -> bool {
        let subnet = self
            .key
            .first_chunk::<4>()
            .map_or(0, |octets| u32::from_be_bytes(*octets));
        let shift = 32 - u32::from(self.grant.prefix.min(32));
        (subnet ^ address as u32).checked_shr(shift).unwrap_or(0) == 0
    }

    fn decline(&mut self) -> Result<Answer, &'static str> {
        let requested = self.message.address(option::REQUESTED);
        let address = u32::from(requested.ok_or("DHCP decline without an address")?);
        let until = self.now + self.settings.decline;
        let declined = self.leases.decline(self.key, address.into(), until);
        declined.map(|_| Answer::Done).ok_or(UNKNOWN)
    }

    fn release(&mut self) -> Result<Answer, &'static str> {
        let address = u128::from(u32::from(self.message.ciaddr()));
        let lease = self.leases.find(self.key);
        let released = match lease.filter(|lease| lease.address == address) {
            Some(_) => self.leases.release(self.now, self.key),
            None => None,
        };
        released.map(|_| Answer::Done).ok_or(UNKNOWN)
    }
}
