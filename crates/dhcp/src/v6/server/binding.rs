//! Answers to a client's messages, and their effect on its leases.

use super::delegation::Delegations;
use super::{MAX_ASSOCIATIONS, Settings, refuse, write_identifiers};
use crate::leases::{Leases, Range, State};
use crate::v6::message::{
    self, Association, Item, Kind, Message, Resource, option, seconds, status, write_association,
    write_item,
};
use crate::v6::policy::Grant;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use node::Time;

/// Reason of a drop.
const UNKNOWN: &str = "DHCPv6 message about unknown addresses";

/// One message of a client.
pub struct Bindings<'a> {
    pub now: Time,
    pub settings: &'a Settings,
    pub leases: &'a mut Leases,
    pub delegations: &'a mut Delegations,
    pub grant: &'a Grant<'a>,
    pub client: &'a [u8],
    pub circuit: &'a [u8],
    pub link: Ipv6Addr,
    /// Next hop and port of routes to delegated prefixes.
    pub route: Option<(Ipv6Addr, u16)>,
}

impl Bindings<'_> {
    /// Writes the answer to a message into `out`; returns its type.
    pub fn answer(
        &mut self,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Kind, &'static str> {
        let rapid =
            self.settings.rapid_commit && message.options.find(option::RAPID_COMMIT).is_some();
        let kind = match message.kind {
            Kind::Solicit if !rapid => Kind::Advertise,
            _ => Kind::Reply,
        };
        message::begin(out, kind, message.xid);
        write_identifiers(out, self.client, &self.settings.duid);
        let all = || message.options.associations().take(MAX_ASSOCIATIONS);
        match message.kind {
            Kind::Solicit => {
                if kind == Kind::Reply {
                    message::write(out, option::RAPID_COMMIT, |_| {});
                }
                if self.settings.preference > 0 {
                    let preference = self.settings.preference;
                    message::write(out, option::PREFERENCE, |out| out.push(preference));
                }
                for association in all() {
                    self.assign(&association, kind == Kind::Reply, out);
                }
            }
            Kind::Request => all().for_each(|one| self.request(&one, out)),
            Kind::Renew => {
                for one in all() {
                    self.renew(&one, status::NO_BINDING, out);
                }
            }
            Kind::Rebind => {
                // Another server may know what this one does not (RFC 9915 section 18.3.5).
                let mut known = false;
                for one in all() {
                    known |= self.renew(&one, status::SUCCESS, out);
                }
                known.then_some(()).ok_or(UNKNOWN)?;
            }
            Kind::Confirm => {
                let mut items = all()
                    .filter(|one| one.resource == Resource::Address)
                    .flat_map(|one| one.items())
                    .peekable();
                items.peek().ok_or(UNKNOWN)?;
                let code = match items.all(|item| self.is_on_link(item.address)) {
                    true => status::SUCCESS,
                    false => status::NOT_ON_LINK,
                };
                refuse(out, code);
            }
            Kind::Release | Kind::Decline => {
                refuse(out, status::SUCCESS);
                let declines = message.kind == Kind::Decline;
                all().for_each(|one| self.give_up(&one, declines, out));
            }
            _ => {}
        }
        for (number, value) in self.grant.options.iter() {
            if message.wants(*number) {
                message::write(out, *number, |out| out.extend(value));
            }
        }
        Ok(kind)
    }

    fn is_on_link(&self, address: Ipv6Addr) -> bool {
        let length = self.grant.on_link;
        message::masked(address, length) == message::masked(self.link, length)
    }

    fn key(&self, association: &Association<'_>) -> Vec<u8> {
        let resource = match association.resource {
            Resource::Address => option::IA_NA,
            Resource::Prefix => option::IA_PD,
        };
        [
            &[resource as u8],
            &association.iaid.to_be_bytes()[..],
            self.client,
        ]
        .concat()
    }

    fn ranges(&self, resource: Resource) -> (&[Range], u8) {
        match resource {
            Resource::Address => (&self.grant.addresses, 128),
            Resource::Prefix => (&self.grant.prefixes, self.grant.length),
        }
    }

    /// Gives an association an address or a prefix: binds it, or only offers it.
    fn assign(&mut self, association: &Association<'_>, binds: bool, out: &mut Vec<u8>) {
        let key = self.key(association);
        let until = self.now + self.settings.offer;
        let hint = association.items().next();
        let grant = self.grant;
        let (ranges, length) = match association.resource {
            Resource::Address => (&*grant.addresses, 128),
            Resource::Prefix => (&*grant.prefixes, grant.length),
        };
        let hint = hint.map(|item| u128::from(item.address));
        let given = self.leases.offer(&key, self.circuit, ranges, hint, until);
        let bound = given.and_then(|address| match binds {
            true => self
                .bind(&key, association.resource, address)
                .map(|()| address),
            false => Ok(address),
        });
        match bound {
            Ok(address) => self.write(association, &[(address, length, true)], out),
            Err(_) => self.write_refusal(association, none(association.resource), out),
        }
    }

    fn bind(
        &mut self,
        key: &[u8],
        resource: Resource,
        address: u128,
    ) -> Result<(), crate::leases::Refusal> {
        let until = self.now + self.grant.valid;
        let grant = self.grant;
        let ranges = match resource {
            Resource::Address => &grant.addresses,
            Resource::Prefix => &grant.prefixes,
        };
        let before = self.leases.find(key).map(|lease| lease.address);
        self.leases
            .bind(key, self.circuit, ranges, address, until)?;
        if resource == Resource::Prefix {
            if let Some(before) = before.filter(|before| *before != address) {
                self.delegations.end(before);
            }
            if let Some(route) = self.route {
                self.delegations.add(address, grant.length, route);
            }
        }
        Ok(())
    }

    fn request(&mut self, association: &Association<'_>, out: &mut Vec<u8>) {
        let (ranges, _) = self.ranges(association.resource);
        let mut items = association.items();
        let strange = association.resource == Resource::Address
            && items.any(|item| {
                let number = u128::from(item.address);
                !self.is_on_link(item.address) && !ranges.iter().any(|one| one.contains(number))
            });
        match strange {
            true => self.write_refusal(association, status::NOT_ON_LINK, out),
            false => self.assign(association, true, out),
        }
    }

    /// Extends a lease, or binds the address again if it is free; others that the client names end. A client whose lease is no
    /// longer in its ranges gets another one (RFC 9915 section 18.3.4). With the status `unknown` for an association without a
    /// lease; success: it is left out unless its addresses are wrong for the link.
    fn renew(&mut self, association: &Association<'_>, unknown: u16, out: &mut Vec<u8>) -> bool {
        let key = self.key(association);
        let held = self
            .leases
            .find(&key)
            .filter(|lease| lease.state == State::Bound);
        let held = held.map(|lease| lease.address);
        let named: Vec<Item> = association.items().take(MAX_ASSOCIATIONS).collect();
        let (_, length) = self.ranges(association.resource);
        let numbers = named.iter().filter(|item| item.length == length);
        let numbers = numbers.map(|item| u128::from(item.address));
        let candidates: Vec<u128> = held.into_iter().chain(numbers).collect();
        let bound = candidates
            .into_iter()
            .find(|address| self.bind(&key, association.resource, *address).is_ok());
        let bound = bound.or_else(|| {
            held?;
            self.replace(&key, association.resource)
        });
        if bound.is_none() && held.is_none() && unknown != status::SUCCESS {
            self.write_refusal(association, unknown, out);
            return true;
        }
        let is_lost = held.is_some() && bound.is_none();
        let ends = |item: &&Item| {
            let other = Some(u128::from(item.address)) != bound || item.length != length;
            let wrong = association.resource == Resource::Prefix || !self.is_on_link(item.address);
            other && (bound.is_some() || wrong || is_lost)
        };
        let ended = named.iter().filter(ends);
        let ended = ended.map(|item| (u128::from(item.address), item.length, false));
        let bound = bound.into_iter().map(|address| (address, length, true));
        let items: Vec<_> = bound.chain(ended).collect();
        if !items.is_empty() {
            self.write(association, &items, out);
        }
        !items.is_empty()
    }

    /// Ends a lease that is no longer in the client's ranges, and binds another one if there is one.
    fn replace(&mut self, key: &[u8], resource: Resource) -> Option<u128> {
        let old = self.leases.release(self.now, key)?;
        self.delegations.end(old.address);
        let until = self.now + self.settings.offer;
        let grant = self.grant;
        let ranges = match resource {
            Resource::Address => &grant.addresses,
            Resource::Prefix => &grant.prefixes,
        };
        let new = self.leases.offer(key, self.circuit, ranges, None, until);
        let new = new.ok()?;
        self.bind(key, resource, new).is_ok().then_some(new)
    }

    fn give_up(&mut self, association: &Association<'_>, declines: bool, out: &mut Vec<u8>) {
        let key = self.key(association);
        let lease = self.leases.find(&key).map(|lease| lease.address);
        let address = lease.filter(|lease| {
            let mut items = association.items();
            items.any(|item| u128::from(item.address) == *lease)
        });
        let ended = address.and_then(|address| {
            let until = self.now + self.settings.decline;
            self.delegations.end(address);
            match declines && association.resource == Resource::Address {
                true => self.leases.decline(&key, address, until),
                false => self.leases.release(self.now, &key),
            }
        });
        if ended.is_none() {
            self.write_refusal(association, status::NO_BINDING, out);
        }
    }

    fn write_refusal(&self, association: &Association<'_>, code: u16, out: &mut Vec<u8>) {
        write_association(out, association.resource, association.iaid, [0; 2], |out| {
            refuse(out, code);
        });
    }

    /// Writes addresses or prefixes: number, length, and whether they are valid.
    fn write(&self, association: &Association<'_>, items: &[(u128, u8, bool)], out: &mut Vec<u8>) {
        let [preferred, valid] = [self.grant.preferred, self.grant.valid].map(seconds);
        // T1 and T2 are 0.5 and 0.8 of the preferred lifetime (RFC 9915 section 21.4).
        let times = match (self.grant.renewal.map(seconds), preferred) {
            (Some(renewal), _) => [renewal, renewal.saturating_mul(2)],
            (None, u32::MAX) => [u32::MAX; 2],
            _ => [preferred / 2, (u64::from(preferred) * 4 / 5) as u32],
        };
        let resource = association.resource;
        write_association(out, resource, association.iaid, times, |out| {
            for (address, length, is_valid) in items {
                let lives = |time| if *is_valid { time } else { 0 };
                let item = Item {
                    address: (*address).into(),
                    length: *length,
                    preferred: lives(preferred),
                    valid: lives(valid),
                };
                write_item(out, resource, &item);
            }
        });
    }
}

fn none(resource: Resource) -> u16 {
    match resource {
        Resource::Address => status::NO_ADDRESSES,
        Resource::Prefix => status::NO_PREFIX,
    }
}
