//! Users of the system: giving up root.

use std::io;

/// First user number of those that no file belongs to: systemd's range for dynamic users.
const FIRST_DYNAMIC: u32 = 61_184;
/// Number of these users.
const DYNAMIC: u32 = 4_336;

/// A user and its group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub user: u32,
    pub group: u32,
}

impl User {
    /// A user number that no other process has. The user `nobody` is shared by many services.
    #[must_use]
    pub fn dynamic() -> User {
        let number = FIRST_DYNAMIC + (::capture::random::number() % u64::from(DYNAMIC)) as u32;
        User {
            user: number,
            group: number,
        }
    }

    /// The user of this name in `/etc/passwd`, or of this number.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn find(name: &str) -> io::Result<User> {
        if let Ok(number) = name.parse() {
            return Ok(User {
                user: number,
                group: number,
            });
        }
        let list = std::fs::read_to_string("/etc/passwd")?;
        find_in(&list, name).ok_or_else(|| {
            let reason = format!("no user {name} in /etc/passwd; give the number instead");
            io::Error::new(io::ErrorKind::NotFound, reason)
        })
    }

    /// Has all threads of this process be of this user, with the capabilities that the calling thread has; the others lose theirs.
    ///
    /// # Errors
    /// When the system refuses: it takes CAP_SETUID and CAP_SETGID.
    pub fn assume(self) -> io::Result<()> {
        let done = |result: libc::c_int| match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        // SAFETY: plain system calls; libc makes those of identity in all threads.
        unsafe {
            done(libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0))?;
            done(libc::setgroups(0, std::ptr::null()))?;
            done(libc::setresgid(self.group, self.group, self.group))?;
            done(libc::setresuid(self.user, self.user, self.user))?;
            // A process that changes its user cannot look at itself in /proc otherwise.
            done(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0))
        }
    }
}

/// Whether this process is root's.
#[must_use]
pub fn is_root() -> bool {
    // SAFETY: a plain system call.
    unsafe { libc::geteuid() == 0 }
}

fn find_in(list: &str, name: &str) -> Option<User> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (found, _, user, group) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        (found == name).then_some(User {
            user: user.parse().ok()?,
            group: group.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let list = "root:x:0:0:root:/root:/bin/sh\nmail:x:8:12:mail:/var/mail:/bin/sh\nbroken\n";
        let (user, group) = (8, 12);
        assert_eq!(find_in(list, "mail"), Some(User { user, group }));
        assert_eq!(find_in(list, "mai"), None);
        assert_eq!(
            User::find("77").unwrap(),
            User {
                user: 77,
                group: 77
            }
        );
        assert!(User::find("no-such-user").is_err());
        let dynamic = User::dynamic();
        assert!((61_184..=65_519).contains(&dynamic.user) && dynamic.user == dynamic.group);
    }
}
