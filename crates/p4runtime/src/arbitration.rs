//! Which controller may change things: for each role the one with the highest election id (specification, chapter 5).

use crate::messages::runtime::{MasterArbitrationUpdate, Role, Uint128};
use crate::messages::{self, Any};
use std::collections::BTreeMap;
use tonic::{Code, Status};

/// A controller's stream.
pub type StreamId = u64;

/// The streams of one device and who of them is the primary of its role.
#[derive(Debug, Default)]
pub struct Arbiter {
    streams: BTreeMap<StreamId, Stream>,
    roles: BTreeMap<String, RoleState>,
}

#[derive(Debug)]
struct Stream {
    role: Option<Role>,
    election: Option<u128>,
}

#[derive(Debug, Default)]
struct RoleState {
    /// The highest that was ever offered; whoever has it is the primary.
    highest: Option<u128>,
    primary: Option<StreamId>,
}

/// What is to be told to a stream.
pub type Notice = (StreamId, MasterArbitrationUpdate);

/// An election id as a number.
#[must_use]
pub fn election_id(id: &Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

/// A role by its name, or by its number as version 1.0 had it.
fn role_name(role: Option<&Role>) -> String {
    match role {
        None => String::new(),
        Some(role) if !role.name.is_empty() => role.name.clone(),
        Some(role) if role.id != 0 => format!("#{}", role.id),
        Some(_) => String::new(),
    }
}

impl Arbiter {
    /// A stream says who it is. Returns what is to be told to whom.
    ///
    /// # Errors
    /// When the election id belongs to another stream, or the stream wants another role than before; the stream is to be closed.
    pub fn offer(
        &mut self,
        stream: StreamId,
        update: &MasterArbitrationUpdate,
    ) -> Result<Vec<Notice>, Status> {
        let name = role_name(update.role.as_ref());
        let election = update.election_id.as_ref().map(election_id);
        if let Some(known) = self.streams.get(&stream)
            && role_name(known.role.as_ref()) != name
        {
            return Err(Status::new(
                Code::FailedPrecondition,
                "a stream keeps its role: open another one for another role",
            ));
        }
        let taken = self.streams.iter().any(|(other, known)| {
            *other != stream
                && election.is_some()
                && known.election == election
                && role_name(known.role.as_ref()) == name
        });
        if taken {
            return Err(Status::new(
                Code::InvalidArgument,
                "another controller of this role has this election id",
            ));
        }
        self.streams.insert(
            stream,
            Stream {
                role: update.role.clone(),
                election,
            },
        );
        let state = self.roles.entry(name.clone()).or_default();
        let before = state.primary;
        let wins = election.is_some_and(|id| state.highest.is_none_or(|highest| id >= highest));
        if wins {
            state.highest = election;
            state.primary = Some(stream);
        } else if state.primary == Some(stream) {
            // Its id is lower now: nobody has the highest.
            state.primary = None;
        }
        if before == state.primary && !wins {
            return Ok(vec![self.notice(stream, &name, update.device_id)]);
        }
        Ok(self.tell_all(&name, update.device_id))
    }

    /// A stream is gone.
    pub fn leave(&mut self, stream: StreamId, device: u64) -> Vec<Notice> {
        let Some(gone) = self.streams.remove(&stream) else {
            return Vec::new();
        };
        let name = role_name(gone.role.as_ref());
        let Some(state) = self.roles.get_mut(&name) else {
            return Vec::new();
        };
        if state.primary != Some(stream) {
            return Vec::new();
        }
        state.primary = None;
        self.tell_all(&name, device)
    }

    /// Whether a request may change something: it names the election id of its role's primary.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(
        &self,
        role: &str,
        role_id: u64,
        election: Option<&Uint128>,
    ) -> Result<(), Status> {
        let name = role_name(Some(&Role {
            id: role_id,
            name: role.to_owned(),
            config: None,
        }));
        let wanted = self.roles.get(&name).and_then(|state| {
            state.primary?;
            state.highest
        });
        if wanted.is_some() && wanted == election.map(election_id) {
            return Ok(());
        }
        Err(Status::new(
            Code::PermissionDenied,
            match wanted {
                None => {
                    "there is no primary controller: open the stream and send an arbitration update first"
                }
                Some(_) => {
                    "only the primary controller may do this, and this election id is not its own"
                }
            },
        ))
    }

    /// Whether a stream is its role's primary.
    #[must_use]
    pub fn is_primary(&self, stream: StreamId) -> bool {
        self.roles
            .values()
            .any(|state| state.primary == Some(stream))
    }

    /// Whether a stream has said who it is.
    #[must_use]
    pub fn knows(&self, stream: StreamId) -> bool {
        self.streams.contains_key(&stream)
    }

    /// The primaries of all roles.
    pub fn primaries(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.roles.values().filter_map(|state| state.primary)
    }

    fn tell_all(&self, name: &str, device: u64) -> Vec<Notice> {
        let members = self
            .streams
            .iter()
            .filter(|(_, s)| role_name(s.role.as_ref()) == name);
        members
            .map(|(stream, _)| self.notice(*stream, name, device))
            .collect()
    }

    fn notice(&self, stream: StreamId, name: &str, device: u64) -> Notice {
        let state = self.roles.get(name);
        let primary = state.and_then(|state| state.primary);
        let highest = state.and_then(|state| state.highest);
        let (code, message) = match primary {
            Some(primary) if primary == stream => (Code::Ok, "you are the primary"),
            Some(_) => (Code::AlreadyExists, "another controller is the primary"),
            None => (Code::NotFound, "there is no primary"),
        };
        let update = MasterArbitrationUpdate {
            device_id: device,
            role: self
                .streams
                .get(&stream)
                .and_then(|stream| stream.role.clone()),
            election_id: highest.map(|id| Uint128 {
                high: (id >> 64) as u64,
                low: id as u64,
            }),
            status: Some(messages::Status {
                code: code as i32,
                message: message.to_owned(),
                details: Vec::<Any>::new(),
            }),
        };
        (stream, update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(low: u64) -> MasterArbitrationUpdate {
        MasterArbitrationUpdate {
            device_id: 1,
            role: None,
            election_id: Some(Uint128 { high: 0, low }),
            status: None,
        }
    }

    fn codes(notices: &[Notice]) -> Vec<(StreamId, Code)> {
        let code =
            |update: &MasterArbitrationUpdate| Code::from(update.status.as_ref().unwrap().code);
        notices
            .iter()
            .map(|(stream, update)| (*stream, code(update)))
            .collect()
    }

    #[test]
    fn the_highest_election_id_is_the_primary_and_all_are_told() {
        let mut arbiter = Arbiter::default();
        assert_eq!(
            codes(&arbiter.offer(1, &offer(5)).unwrap()),
            [(1, Code::Ok)]
        );
        assert_eq!(
            codes(&arbiter.offer(2, &offer(3)).unwrap()),
            [(2, Code::AlreadyExists)]
        );
        assert_eq!(
            codes(&arbiter.offer(2, &offer(9)).unwrap()),
            [(1, Code::AlreadyExists), (2, Code::Ok)]
        );
        assert!(
            arbiter
                .check("", 0, Some(&Uint128 { high: 0, low: 9 }))
                .is_ok()
        );
        assert!(
            arbiter
                .check("", 0, Some(&Uint128 { high: 0, low: 5 }))
                .is_err()
        );
        assert!(arbiter.check("", 0, None).is_err());
    }

    #[test]
    fn when_the_primary_leaves_there_is_none_until_its_id_is_reached() {
        let mut arbiter = Arbiter::default();
        arbiter.offer(1, &offer(5)).unwrap();
        arbiter.offer(2, &offer(3)).unwrap();
        assert_eq!(codes(&arbiter.leave(1, 1)), [(2, Code::NotFound)]);
        assert!(
            arbiter
                .check("", 0, Some(&Uint128 { high: 0, low: 5 }))
                .is_err()
        );
        assert_eq!(
            codes(&arbiter.offer(2, &offer(4)).unwrap()),
            [(2, Code::NotFound)]
        );
        assert_eq!(
            codes(&arbiter.offer(2, &offer(5)).unwrap()),
            [(2, Code::Ok)]
        );
    }

    #[test]
    fn an_election_id_has_one_owner_and_roles_have_their_own() {
        let mut arbiter = Arbiter::default();
        arbiter.offer(1, &offer(5)).unwrap();
        assert_eq!(
            arbiter.offer(2, &offer(5)).unwrap_err().code(),
            Code::InvalidArgument
        );
        let mut other = offer(5);
        other.role = Some(Role {
            id: 0,
            name: "monitor".into(),
            config: None,
        });
        assert_eq!(codes(&arbiter.offer(2, &other).unwrap()), [(2, Code::Ok)]);
        assert!(arbiter.is_primary(1) && arbiter.is_primary(2));
        assert_eq!(
            arbiter.offer(1, &other).unwrap_err().code(),
            Code::FailedPrecondition
        );
    }

    #[test]
    fn without_an_election_id_nobody_is_primary() {
        let mut arbiter = Arbiter::default();
        let mut none = offer(0);
        none.election_id = None;
        assert_eq!(
            codes(&arbiter.offer(1, &none).unwrap()),
            [(1, Code::NotFound)]
        );
        assert!(!arbiter.is_primary(1) && arbiter.knows(1));
    }
}
