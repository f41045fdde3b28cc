//! Choice of accelerator: hardware virtualisation (KVM) or emulation (TCG).

use crate::accelerator::{Acceleration, Accelerator};
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::guest::Guest;
use crate::initramfs::{Command, Initramfs, Settings};
use crate::kernel::Kernel;
use crate::qemu::Qemu;
use crate::topology::Topology;
use std::path::Path;
use std::time::Duration;

const DEVICE: &str = "/dev/kvm";
const REMEMBERED: &str = "kvm";
const PATIENCE: Duration = Duration::from_secs(20);

/// Chooses the accelerator. Also returns why KVM does not work, if that was not reported before.
pub(crate) fn decide(
    wanted: Acceleration,
    architecture: Architecture,
    kernel: &Kernel,
    qemu: &Qemu,
    busybox: &[u8],
    cache: &Cache,
) -> Result<(Accelerator, Option<String>), Error> {
    match wanted {
        Acceleration::Tcg => return Ok((Accelerator::Tcg, None)),
        Acceleration::Counted => return Ok((Accelerator::Counted, None)),
        Acceleration::Kvm if architecture.is_foreign() => {
            return Err(Error::NoKvm(format!("this host's processor is not {architecture}")));
        }
        Acceleration::Auto if architecture.is_foreign() => return Ok((Accelerator::Tcg, None)),
        Acceleration::Auto | Acceleration::Kvm => {}
    }
    let before = recall(cache);
    let works = match (device(), &before) {
        (Err(why), _) => Err(why),
        // The device could not be opened then, and can be now: the remembered answer is stale.
        (Ok(()), Some(Err(why))) if why.starts_with(DEVICE) => probe(kernel, qemu, busybox),
        (Ok(()), Some(works)) => works.clone(),
        (Ok(()), None) => probe(kernel, qemu, busybox),
    };
    let news = before.as_ref() != Some(&works);
    if news {
        remember(cache, &works)?;
    }
    match (works, wanted) {
        (Ok(()), _) => Ok((Accelerator::Kvm, None)),
        (Err(why), Acceleration::Kvm) => Err(Error::NoKvm(why)),
        (Err(why), _) => Ok((Accelerator::Tcg, news.then_some(why))),
    }
}

type Works = Result<(), String>;

/// Whether this user may use KVM's device.
fn device() -> Works {
    match std::fs::OpenOptions::new().read(true).write(true).open(DEVICE) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{DEVICE}: {error}")),
    }
}

/// Tests KVM with a guest that reports "ready" and powers off. Opening the device is not a sufficient test:
/// inside another virtual machine KVM may be unable to run a kernel.
fn probe(kernel: &Kernel, qemu: &Qemu, busybox: &[u8]) -> Works {
    let mut settings = Settings::default();
    settings.set("mode", "probe");
    let nothing = Command { words: &[], directory: Path::new("/"), environment: &[] };
    let initramfs =
        Initramfs { busybox: busybox.into(), modules: Vec::new(), config: None, settings, command: &nothing };
    let topology = Topology { cores: 2, ..Topology::default() };
    let guest = Guest::prepare().and_then(|mut guest| {
        guest.listen()?;
        guest.start(qemu, kernel, &initramfs, Accelerator::Kvm, &topology, 512, "")?;
        guest.wait_until_ready(PATIENCE)
    });
    guest.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// The remembered result of the test, valid until the next boot of the host.
fn recall(cache: &Cache) -> Option<Works> {
    let text = cache.recall(REMEMBERED)?;
    let (boot, answer) = text.split_once('\n')?;
    (boot == boot_id()?).then(|| if answer == "works" { Ok(()) } else { Err(answer.to_owned()) })
}

fn remember(cache: &Cache, works: &Works) -> Result<(), Error> {
    let Some(boot) = boot_id() else { return Ok(()) };
    let answer = works.as_ref().map_or_else(String::as_str, |()| "works");
    cache.remember(REMEMBERED, &format!("{boot}\n{answer}"))
}

fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}
