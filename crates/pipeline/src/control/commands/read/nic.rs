//! Words about a NIC: on which side its ports are, and for how long entries stay.

use super::super::{Command, NicCommand};
use super::{Words, one_of, time};
use crate::control::{Error, ErrorKind};
use crate::state::nic::Side;
use p4::ir::Architecture;

impl Words<'_> {
    pub(super) fn port(&mut self) -> Result<Command, Error> {
        self.is_nic("ports on a side")?;
        let verb = self.next("ls, set or rm")?;
        Ok(Command::Nic(match verb {
            "ls" => NicCommand::Sides,
            "set" => {
                let port = self.number("a port")?;
                let side = match self.next("net or host")? {
                    "net" => Side::Net,
                    "host" => Side::Host,
                    other => return Err(one_of("side", other, &["net", "host"])),
                };
                NicCommand::SetSide(port, Some(side))
            }
            "rm" => NicCommand::SetSide(self.number("a port")?, None),
            _ => return Err(one_of("verb", verb, &["ls", "set", "rm"])),
        }))
    }

    pub(super) fn expiry(&mut self) -> Result<Command, Error> {
        self.is_nic("expire time profiles")?;
        let verb = self.next("ls, set or reset")?;
        Ok(Command::Nic(match verb {
            "ls" => NicCommand::Expiry,
            "set" => {
                let profile = self.number("a profile from 0 to 255")?;
                let after = match self.next("a time such as 5s, or never")? {
                    "never" => None,
                    word => Some(time(word)?),
                };
                NicCommand::SetExpiry(profile, after)
            }
            "reset" => NicCommand::ResetExpiry,
            _ => return Err(one_of("verb", verb, &["ls", "set", "reset"])),
        }))
    }

    fn is_nic(&self, what: &str) -> Result<(), Error> {
        if self.program.architecture == Architecture::PnaNic {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            alloc::format!("this program has no {what}: only programs for PNA have"),
        ))
    }
}
