//! Members and groups of action profiles and selectors.

use super::published::Published;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// An action with its arguments, which entries refer to by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Index in the actions of the first table that uses the profile.
    pub action: u32,
    /// The arguments' cells, each in whole cells as in a packet's layout.
    pub arguments: Arc<[u64]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub member: u32,
    /// How many times it counts.
    pub weight: u32,
    /// The port that must be up for it to be chosen, for the control plane's use.
    pub watch: Option<u32>,
}

/// Members of which one is chosen for each packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// At most so many, weights counted; 0 for the profile's own limit.
    pub max_size: u32,
    /// The members as they were given.
    pub members: Vec<GroupMember>,
    // Each as often as its weight says.
    choices: Arc<[u32]>,
}

/// All members and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Members by number.
    pub members: BTreeMap<u32, Member>,
    /// Groups by number.
    pub groups: BTreeMap<u32, Group>,
}

/// Why the members or groups stay as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// A member or group with this number is there already.
    Duplicate(u32),
    /// No member has this number.
    NoMember(u32),
    /// No group has this number.
    NoGroup(u32),
    /// The member is in this group.
    InUse(u32, u32),
    /// There is room for so many.
    Full(u32),
    /// A group of so many is too large.
    GroupTooLarge(u32),
    /// It has no selector, so no groups.
    NoGroups,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::Duplicate(id) => write!(f, "{id} is there already; modify it"),
            ProfileError::NoMember(id) => write!(f, "there is no member {id}; insert it first"),
            ProfileError::NoGroup(id) => write!(f, "there is no group {id}; insert it first"),
            ProfileError::InUse(member, group) => {
                write!(
                    f,
                    "member {member} is in group {group}; take it out there first"
                )
            }
            ProfileError::Full(size) => write!(f, "full: the program gave room for {size}"),
            ProfileError::GroupTooLarge(size) => {
                write!(
                    f,
                    "too many members, weights counted: the group may have {size}"
                )
            }
            ProfileError::NoGroups => {
                f.write_str("an action profile has no groups; only an action selector has")
            }
        }
    }
}

impl core::error::Error for ProfileError {}

/// An action profile, or with groups an action selector.
#[derive(Debug)]
pub struct Profile {
    /// Maximum number of members; of a selector with groups, P4Runtime counts their weights.
    pub size: u32,
    /// Whether there may be groups.
    pub selector: bool,
    /// Maximum number of members of a group without a limit of its own.
    pub max_group_size: u32,
    /// The members and groups.
    pub contents: Published<Contents>,
}

/// Maximum sum of the weights of a group; it bounds the memory of the group.
const MAX_GROUP_WEIGHT: u32 = 65_536;

impl Profile {
    /// Without members.
    #[must_use]
    pub fn new(size: u32, selector: bool, max_group_size: u32) -> Self {
        Profile {
            size,
            selector,
            max_group_size,
            contents: Published::new(Contents::default()),
        }
    }

    /// Adds a member.
    ///
    /// # Errors
    /// When its number is taken, or there is no room.
    pub fn insert_member(&self, id: u32, member: Member) -> Result<(), ProfileError> {
        self.contents.change(|contents| {
            if contents.members.contains_key(&id) {
                return Err(ProfileError::Duplicate(id));
            }
            if contents.members.len() >= self.size as usize {
                return Err(ProfileError::Full(self.size));
            }
            contents.members.insert(id, member);
            Ok(())
        })
    }

    /// Changes a member.
    ///
    /// # Errors
    /// When there is none.
    pub fn modify_member(&self, id: u32, member: Member) -> Result<(), ProfileError> {
        self.contents.change(|contents| {
            let old = contents.members.get_mut(&id);
            *old.ok_or(ProfileError::NoMember(id))? = member;
            Ok(())
        })
    }

    /// Removes a member that no group has.
    ///
    /// # Errors
    /// When there is none, or a group has it.
    pub fn delete_member(&self, id: u32) -> Result<(), ProfileError> {
        self.contents.change(|contents| {
            if !contents.members.contains_key(&id) {
                return Err(ProfileError::NoMember(id));
            }
            for (group, Group { members, .. }) in &contents.groups {
                if members.iter().any(|member| member.member == id) {
                    return Err(ProfileError::InUse(id, *group));
                }
            }
            contents.members.remove(&id);
            Ok(())
        })
    }

    /// Adds a group, or with `replace` changes one.
    ///
    /// # Errors
    /// When its number is taken (or not, with `replace`), it is too large, or a member is missing.
    pub fn set_group(
        &self,
        id: u32,
        members: Vec<GroupMember>,
        max_size: u32,
        replace: bool,
    ) -> Result<(), ProfileError> {
        if !self.selector {
            return Err(ProfileError::NoGroups);
        }
        self.contents.change(|contents| {
            match (contents.groups.contains_key(&id), replace) {
                (true, false) => return Err(ProfileError::Duplicate(id)),
                (false, true) => return Err(ProfileError::NoGroup(id)),
                _ => {}
            }
            let limit = if max_size == 0 {
                self.max_group_size
            } else {
                max_size
            };
            let limit = limit.clamp(1, MAX_GROUP_WEIGHT);
            let total: u64 = members.iter().map(|member| u64::from(member.weight)).sum();
            if total > u64::from(limit) {
                return Err(ProfileError::GroupTooLarge(limit));
            }
            if let Some(absent) = members
                .iter()
                .find(|member| !contents.members.contains_key(&member.member))
            {
                return Err(ProfileError::NoMember(absent.member));
            }
            let choices = members
                .iter()
                .flat_map(|member| core::iter::repeat_n(member.member, member.weight as usize))
                .collect();
            let group = Group {
                max_size,
                members,
                choices,
            };
            contents.groups.insert(id, group);
            Ok(())
        })
    }

    /// Removes a group.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete_group(&self, id: u32) -> Result<(), ProfileError> {
        self.contents.change(|contents| {
            let group = contents.groups.remove(&id);
            group.map(|_| ()).ok_or(ProfileError::NoGroup(id))
        })
    }
}

/// What an entry of a table with an action profile refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    Member(u32),
    Group(u32),
}

impl Group {
    /// The members of which one is chosen by a hash modulo how many they are, each as often as its weight says.
    #[must_use]
    pub fn choices(&self) -> &[u32] {
        &self.choices
    }
}

impl Contents {
    /// The member that an entry means for a packet with this hash. A group without members has none.
    #[must_use]
    pub fn resolve(&self, reference: Reference, hash: u64) -> Option<(u32, &Member)> {
        let id = match reference {
            Reference::Member(id) => id,
            Reference::Group(id) => {
                let choices = &self.groups.get(&id)?.choices;
                let count = choices.len() as u64;
                *choices.get(usize::try_from(hash.checked_rem(count)?).ok()?)?
            }
        };
        Some((id, self.members.get(&id)?))
    }
}
