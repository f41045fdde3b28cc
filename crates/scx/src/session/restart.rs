//! The new start of a policy after a hot-plug.

use super::Session;
use super::companions::Companions;
use super::slot::Running;
use crate::error::Error;
use crate::frequency::Driver;
use crate::load::LoadOptions;
use crate::{load, object, requirements};
use hearth_host::{Host, now};
use hearth_policy::Settings;
use std::thread;
use std::time::Duration;

/// Time without a hot-plug before the policy starts again.
const HOTPLUG_SETTLE: Duration = Duration::from_millis(200);

impl Session {
    /// Starts the policy again with its current parameters, after a hot-plug has ended it. A recording or log ends here.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        self.companions = Companions::default();
        self.outputs.end(&self.shared.slot)?;
        // Requests meanwhile are answered with EAGAIN.
        let Some(mut running) = self.shared.slot.take() else { return Ok(()) };
        running.restarts += 1;
        running.recording = None;
        let policy = &self.shared.policy;
        let arena = &running.loaded.arena;
        let values: Vec<i64> = (0..policy.params().len()).map(|index| arena.read_param(index)).collect();
        self.options.params = Settings::from_values(policy, &values)?;
        self.options.log = None;
        let options = self.options.load_options(policy)?;
        running.loaded.detach();
        if std::mem::take(&mut running.logging) {
            // The arena has a fixed address, so unmap the old one first.
            drop(running.loaded);
            let object = object::for_policy(policy, object::Purpose::Run)?;
            running.loaded = load::load(policy, &object, &Host::detect()?, &options)?;
        }
        let driver = self.attach_again(&mut running, &options)?;
        let cores = running.host.cpus.len();
        self.shared.slot.put(running);
        self.start_companions(driver, None)?;
        if let Some(restarted) = self.options.restarted {
            restarted(cores);
        }
        Ok(())
    }

    /// Attaches the policy for the cores that are on line once no hot-plug is in progress.
    fn attach_again(&self, running: &mut Running, options: &LoadOptions) -> Result<Option<Driver>, Error> {
        let frequency = &self.shared.frequency;
        loop {
            wait_until_settled();
            running.hotplugs = requirements::hotplugs();
            running.host = Host::detect()?;
            let driver = frequency.driver(&running.host)?;
            running.loaded.begin_again(&running.host, options)?;
            frequency.store(&running.loaded.arena, &running.host, driver.as_ref());
            running.since = now();
            // Again after another hot-plug meanwhile.
            if !running.attach()? {
                return Ok(driver);
            }
        }
    }
}

/// Waits until no hot-plug is in progress.
fn wait_until_settled() {
    loop {
        let before = requirements::hotplugs();
        thread::sleep(HOTPLUG_SETTLE);
        if requirements::hotplugs() == before && !requirements::hotplugging() {
            return;
        }
    }
}
