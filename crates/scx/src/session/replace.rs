//! Taking over from a running policy.

use crate::client::{Client, RESTART_TIMEOUT};
use crate::error::Error;
use crate::requirements;
use std::thread;
use std::time::{Duration, Instant};

/// The loader to replace and the name of its policy; an error if a scheduler runs that must not be replaced. While a
/// policy starts again after a hot-plug, the kernel knows of no scheduler.
pub(super) fn loader_to_replace(replace: bool) -> Result<Option<(Client, String)>, Error> {
    let ops = requirements::running();
    let told = Client::of_this_machine().and_then(|mut client| Ok((client.loaded_info()?, client)));
    match (told, ops) {
        (Ok((info, client)), _) if replace => Ok(Some((client, info.policy))),
        (Ok((info, _)), ops) => {
            let by = Some(format!("hearth, process {}, for {}", info.pid, info.scope));
            Err(Error::Busy { ops: ops.unwrap_or(info.policy), by, ours: true })
        }
        (Err(_), Some(ops)) => Err(Error::Busy { ops, by: None, ours: false }),
        (Err(Error::NotRunning { .. }), None) => Ok(None),
        (Err(error), None) => Err(error),
    }
}

/// Ends the policy that is replaced, if there is one.
pub(super) fn end(old: Option<(Client, String)>) -> Result<(), Error> {
    let Some((mut client, ops)) = old else { return Ok(()) };
    client.stop()?;
    wait_until_gone(&ops)
}

/// Waits until no sched_ext scheduler runs and no loader serves; `ops` is the name of the running one.
///
/// # Errors
/// It does not end in time.
pub fn wait_until_gone(ops: &str) -> Result<(), Error> {
    let begun = Instant::now();
    while Client::of_this_machine().is_ok() || requirements::running().is_some() {
        if begun.elapsed() > RESTART_TIMEOUT {
            return Err(Error::DoesNotEnd { ops: ops.into(), seconds: RESTART_TIMEOUT.as_secs() });
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
