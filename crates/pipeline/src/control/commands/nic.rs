//! Commands about a NIC: on which side its ports are, and for how long entries stay.

use super::json::Object;
use super::run::show_time;
use super::{Answer, NicCommand};
use crate::control::{Control, Error};
use crate::state::nic::{Nic, Side};
use alloc::format;

impl Control {
    pub(super) fn nic(&self, command: NicCommand, answer: &mut Answer) -> Result<(), Error> {
        let nic = &self.environment().nic;
        match command {
            NicCommand::Sides => {
                for (port, side) in nic.sides.get().iter() {
                    let side = match side {
                        Side::Net => "net",
                        Side::Host => "host",
                    };
                    let mut json = Object::new("port");
                    json.number("port", u64::from(*port)).text("side", side);
                    answer.push(format!("port set {port} {side}"), &json);
                }
            }
            NicCommand::SetSide(port, side) => nic.sides.change(|sides| {
                match side {
                    Some(side) => sides.insert(port, side),
                    None => sides.remove(&port),
                };
                Ok::<(), Error>(())
            })?,
            NicCommand::Expiry => {
                for (profile, after) in nic.expiry.get().iter() {
                    let mut json = Object::new("expiry");
                    json.number("profile", u64::from(*profile));
                    let shown = match after {
                        Some(after) => {
                            json.number("after_ps", after.as_ps());
                            show_time(*after)
                        }
                        None => "never".into(),
                    };
                    answer.push(format!("expiry set {profile} {shown}"), &json);
                }
            }
            NicCommand::SetExpiry(profile, after) => nic.expiry.change(|expiry| {
                expiry.insert(profile, after);
                Ok::<(), Error>(())
            })?,
            NicCommand::ResetExpiry => nic.expiry.set((*Nic::default().expiry.get()).clone()),
        }
        Ok(())
    }
}
