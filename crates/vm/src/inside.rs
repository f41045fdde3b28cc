//! What a process in a guest finds out about its guest.

use std::fs;

/// The settings of the guest's scripts (see `guest/init.sh`).
const SETTINGS: &str = "/run/hearth/settings";

/// A guest of `hearth vm`, seen from within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    /// It ends with its command.
    OneCommand,
    /// `hearth vm start` has started it under this name.
    Machine(String),
}

impl Inside {
    /// The guest that this process runs in; `None` outside of `hearth vm`.
    pub fn this() -> Option<Inside> {
        Inside::of(&fs::read_to_string(SETTINGS).ok()?)
    }

    fn of(settings: &str) -> Option<Inside> {
        let value = |name: &str| {
            settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("='")?.strip_suffix('\''))
        };
        match value("mode")? {
            "stay" => Some(Inside::Machine(value("name")?.to_owned())),
            _ => Some(Inside::OneCommand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::initramfs::Settings;

    #[test]
    fn a_guest_knows_whether_it_stays() {
        let of = |pairs: &[(&str, &str)]| {
            let mut settings = Settings::default();
            pairs.iter().for_each(|(name, value)| settings.set(name, value));
            Inside::of(&settings.text())
        };
        assert_eq!(of(&[("seen", "/tmp/a"), ("mode", "run")]), Some(Inside::OneCommand));
        assert_eq!(of(&[("mode", "stay"), ("name", "big")]), Some(Inside::Machine("big".into())));
        assert_eq!(of(&[]), None);
    }
}
