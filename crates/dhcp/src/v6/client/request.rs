//! Writes a client's messages.

use super::{Client, IAID, State};
use crate::v6::message::{
    self, Item, Kind, Resource, option, write, write_association, write_item,
};
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use node::Time;

impl Client {
    /// Writes the message of the state.
    pub(super) fn write_message(&self, now: Time, out: &mut Vec<u8>) {
        let kind = match self.state {
            State::Requesting => Kind::Request,
            State::Renewing => Kind::Renew,
            State::Rebinding => Kind::Rebind,
            State::Informing => Kind::InformationRequest,
            State::Declining => Kind::Decline,
            State::Releasing => Kind::Release,
            _ => Kind::Solicit,
        };
        message::begin(out, kind, self.xid);
        write(out, option::CLIENT_ID, |out| {
            out.extend(&self.settings.duid)
        });
        let server = match self.state {
            State::Requesting => self.best.as_ref().map(|best| &best.server),
            State::Renewing | State::Declining | State::Releasing => {
                self.lease.as_ref().map(|lease| &lease.server)
            }
            _ => None,
        };
        if let Some(server) = server {
            write(out, option::SERVER_ID, |out| out.extend(server));
        }
        let elapsed = (now - self.started).as_ns() / 10_000_000;
        let elapsed = elapsed.min(0xFFFF) as u16;
        write(out, option::ELAPSED, |out| {
            out.extend(elapsed.to_be_bytes())
        });
        let gives_up = matches!(self.state, State::Declining | State::Releasing);
        if !gives_up {
            write(out, option::REQUEST, |out| {
                let refresh = (self.state == State::Informing).then_some(option::REFRESH);
                let all = [option::DNS, option::DOMAINS, option::SOL_MAX_RT];
                let all = all.into_iter().chain(refresh);
                all.for_each(|number| out.extend(number.to_be_bytes()));
            });
        }
        if self.state == State::Soliciting && self.settings.rapid_commit {
            write(out, option::RAPID_COMMIT, |_| {});
        }
        if self.state == State::Informing {
            return;
        }
        let wants = [
            (Resource::Address, self.settings.address),
            (Resource::Prefix, self.settings.prefix.is_some()),
        ];
        for (resource, _) in wants.into_iter().filter(|(_, wanted)| *wanted) {
            let items = self.items(resource);
            if gives_up && items.is_empty() {
                continue;
            }
            write_association(out, resource, IAID, [0; 2], |out| {
                for item in &items {
                    write_item(out, resource, item);
                }
            });
        }
    }

    /// Addresses or prefixes that a message names.
    fn items(&self, resource: Resource) -> Vec<Item> {
        let hint = self.settings.prefix.map(|length| Item {
            address: Ipv6Addr::UNSPECIFIED,
            length,
            preferred: 0,
            valid: 0,
        });
        match self.state {
            State::Requesting => {
                let best = self.best.as_ref();
                best.map_or(Vec::new(), |best| best.items(resource))
            }
            State::Soliciting if resource == Resource::Prefix => hint.into_iter().collect(),
            State::Declining => {
                let conflict = self.conflict.filter(|_| resource == Resource::Address);
                conflict.into_iter().collect()
            }
            _ => {
                let lease = self.lease.as_ref();
                let all = lease.map_or(&[][..], |lease| lease.of(resource));
                let unmarked = all.iter().map(|held| Item {
                    preferred: 0,
                    valid: 0,
                    ..held.item
                });
                unmarked.collect()
            }
        }
    }
}
