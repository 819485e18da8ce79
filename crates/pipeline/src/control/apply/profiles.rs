//! Members and groups of action profiles.

use super::super::{Control, Entity, Error, ErrorKind, Operation, Update};
use super::objects::reserved;
use super::{OWN_GROUPS, delete, insert, modify, profile_error};
use crate::environment::cells_of;
use crate::layout::limbs;
use crate::state::profile::{self, ProfileError};
use crate::table::Call;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{ActionCall, ObjectId, TableId};
use p4::value::Bits;

impl Control {
    pub(super) fn member(
        &self,
        operation: Operation,
        member: &super::super::Member,
    ) -> Result<Vec<Update>, Error> {
        let state = self.profile_of(member.profile)?;
        let name = &self.environment.program.objects[member.profile.index()].name;
        let wrong = |error: ProfileError| profile_error(name, &error);
        if member.id >= OWN_GROUPS {
            return Err(reserved("member", member.id));
        }
        let old = state.contents.get().members.get(&member.id).cloned();
        let entity = |packed: &profile::Member| {
            Entity::Member(super::super::Member {
                profile: member.profile,
                id: member.id,
                call: self.unpacked_member(member.profile, packed),
            })
        };
        let back = old.as_ref().map(&entity);
        let insert = match operation {
            Operation::Delete => {
                self.check_unused(member.profile, &Call::Member(member.id))?;
                state.delete_member(member.id).map_err(wrong)?;
                return Ok(back.map(insert).into_iter().collect());
            }
            Operation::Insert => true,
            Operation::Modify => false,
            Operation::Put => old.is_none(),
        };
        let packed = self.packed_member(member.profile, &member.call)?;
        let table = super::super::program::table_of_profile(self.program(), member.profile)?;
        self.check_call(table, &member.call)?;
        if insert {
            state.insert_member(member.id, packed).map_err(wrong)?;
            Ok(vec![delete(Entity::Member(member.clone()))])
        } else {
            state.modify_member(member.id, packed).map_err(wrong)?;
            Ok(back.map(modify).into_iter().collect())
        }
    }

    pub(super) fn group(
        &self,
        operation: Operation,
        group: &super::super::Group,
    ) -> Result<Vec<Update>, Error> {
        let state = self.profile_of(group.profile)?;
        let name = &self.environment.program.objects[group.profile.index()].name;
        let wrong = |error: ProfileError| profile_error(name, &error);
        if group.id >= OWN_GROUPS {
            return Err(reserved("group", group.id));
        }
        let old = state.contents.get().groups.get(&group.id).map(|old| {
            Entity::Group(super::super::Group {
                profile: group.profile,
                id: group.id,
                members: old.members.clone(),
                most: old.max_size,
            })
        });
        let new = match operation {
            Operation::Delete => {
                self.check_unused(group.profile, &Call::Group(group.id))?;
                state.delete_group(group.id).map_err(wrong)?;
                return Ok(old.map(insert).into_iter().collect());
            }
            Operation::Insert => true,
            Operation::Modify => false,
            Operation::Put => old.is_none(),
        };
        state
            .set_group(group.id, group.members.clone(), group.most, !new)
            .map_err(wrong)?;
        Ok(match old {
            Some(old) => vec![modify(old)],
            None => vec![delete(Entity::Group(group.clone()))],
        })
    }

    /// What entries or default actions refer to must stay.
    pub(super) fn check_unused(&self, profile: ObjectId, call: &Call) -> Result<(), Error> {
        let tables = &self.environment.tables;
        for (index, form) in tables.forms().iter().enumerate() {
            let id = TableId(index as u32);
            if form.implementation == Some(profile)
                && (tables
                    .entries(id)
                    .iter()
                    .any(|installed| installed.entry.call == *call)
                    || tables
                        .default(id)
                        .is_ok_and(|(default, _)| default == *call))
            {
                return Err(Error::new(
                    ErrorKind::InUse,
                    format!(
                        "table `{}` has an entry that uses it: delete that first",
                        form.name
                    ),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn packed_member(
        &self,
        profile: ObjectId,
        call: &ActionCall,
    ) -> Result<profile::Member, Error> {
        let table = super::super::program::table_of_profile(&self.environment.program, profile)?;
        let form = self.form(table)?;
        let Some(action) = form.actions.get(call.action as usize) else {
            return Err(Error::name(format!(
                "table `{}` has no action number {}",
                form.name, call.action
            )));
        };
        if action.default_only {
            return Err(Error::new(
                ErrorKind::Refused,
                format!("action `{}` may be the default action only", action.name),
            ));
        }
        if action.parameters.len() != call.arguments.len() {
            return Err(Error::value(format!(
                "action `{}` takes {} arguments, but {} were given",
                action.name,
                action.parameters.len(),
                call.arguments.len()
            )));
        }
        let mut cells = Vec::new();
        for ((name, ty), value) in action.parameters.iter().zip(&call.arguments) {
            if value.width() != ty.width() {
                return Err(Error::value(format!(
                    "parameter `{name}` of action `{}` has {} bits, and the argument has {}",
                    action.name,
                    ty.width(),
                    value.width()
                )));
            }
            let mut own = vec![0; cells_of(*ty)];
            let count = limbs(ty.width());
            value.to_limbs(&mut own[..count]);
            if let Some(length) = own.get_mut(count) {
                *length = u64::from(value.width());
            }
            cells.extend(own);
        }
        Ok(profile::Member {
            action: call.action,
            arguments: cells.into(),
        })
    }

    /// The action of a member, with its arguments as values.
    #[must_use]
    pub fn unpacked_member(&self, profile: ObjectId, member: &profile::Member) -> ActionCall {
        let mut call = ActionCall {
            action: member.action,
            arguments: Vec::new(),
        };
        let Ok(table) = super::super::program::table_of_profile(&self.environment.program, profile)
        else {
            return call;
        };
        let form = &self.environment.tables.forms()[table.index()];
        let mut cells = &member.arguments[..];
        for (_, ty) in form
            .actions
            .get(member.action as usize)
            .map_or(&[][..], |action| &action.parameters)
        {
            let (own, rest) = cells.split_at(cells_of(*ty).min(cells.len()));
            cells = rest;
            let count = limbs(ty.width()).min(own.len());
            call.arguments
                .push(Bits::from_limbs(ty.width(), &own[..count]));
        }
        call
    }
}
