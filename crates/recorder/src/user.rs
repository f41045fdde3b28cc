//! The user that a recorded command runs as.

use crate::Error;
use hearth_base::rights;
use nix::unistd::{self, Uid};
use std::ffi::CString;
use std::io;

/// A user of this system.
#[derive(Clone, Debug)]
pub struct User {
    entry: unistd::User,
    groups: Vec<libc::gid_t>,
}

impl User {
    /// The user of a name or a number.
    ///
    /// # Errors
    /// There is no such user.
    pub fn named(name: &str) -> Result<User, Error> {
        let found = match name.parse() {
            Ok(number) => unistd::User::from_uid(Uid::from_raw(number)),
            Err(_) => unistd::User::from_name(name),
        };
        let entry = found.ok().flatten().ok_or_else(|| Error::NoUser { name: name.into() })?;
        let name = CString::new(entry.name.as_str()).map_err(|_| Error::ZeroByte)?;
        let groups = unistd::getgrouplist(&name, entry.gid);
        let groups = groups.map_err(|error| Error::System {
            action: "read the groups of the user",
            source: io::Error::from(error),
        })?;
        Ok(User { entry, groups: groups.into_iter().map(unistd::Gid::as_raw).collect() })
    }

    /// The user who called sudo; `None`: nobody did.
    ///
    /// # Errors
    /// The user no longer exists.
    pub fn caller() -> Result<Option<User>, Error> {
        let caller = hearth_base::environment::caller();
        caller.map(|(user, _)| User::named(&user.to_string())).transpose()
    }

    pub fn ids(&self) -> (u32, u32) {
        (self.entry.uid.as_raw(), self.entry.gid.as_raw())
    }

    /// This process's environment, with the user's home, name and shell.
    pub(crate) fn environment(&self) -> Vec<CString> {
        let own = [
            ("HOME", self.entry.dir.as_os_str()),
            ("USER", self.entry.name.as_ref()),
            ("LOGNAME", self.entry.name.as_ref()),
            ("SHELL", self.entry.shell.as_os_str()),
        ];
        let kept = std::env::vars_os().filter(|(name, _)| own.iter().all(|(own, _)| name != own));
        let own = own.map(|(name, value)| (name.into(), value.to_owned()));
        let line = |(mut name, value): (std::ffi::OsString, std::ffi::OsString)| {
            name.push("=");
            name.push(value);
            CString::new(name.into_encoded_bytes()).ok()
        };
        kept.chain(own).filter_map(line).collect()
    }

    /// Makes the calling process this user's, for ever. Calls nothing but the kernel.
    ///
    /// # Errors
    /// The process has no right to do so.
    pub(crate) fn become_it(&self) -> io::Result<()> {
        let (user, group) = self.ids();
        // SAFETY: `groups` lives, and its length is the one that is passed.
        let done = unsafe {
            libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
                && libc::setresgid(group, group, group) == 0
                && libc::setresuid(user, user, user) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether this process is this user's already.
    pub(crate) fn is_current(&self) -> bool {
        self.entry.uid == unistd::geteuid()
    }

    /// Fails if this process cannot run commands as this user.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match rights::missing(rights::OTHER_USER).filter(|_| !self.is_current()) {
            Some(missing) => Err(Error::OtherUser { name: self.entry.name.clone(), missing }),
            None => Ok(()),
        }
    }
}
