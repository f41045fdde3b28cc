//! The guest's kernel: Debian's, fetched and cached, or the user's own.

mod image;
mod modules;
mod release;

use crate::apt::Apt;
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::{Progress, Watch};
use release::{Release, choose};
use std::fs;
use std::path::{Path, PathBuf};

/// Debian's suite whose kernels have sched_ext (`CONFIG_SCHED_CLASS_EXT`).
const SUITE: &str = "trixie-backports";

/// In the cache.
const FOLDER: &str = "kernels";
const CONFIG: &str = "config";
const MODULES: &str = "modules";

/// A bootable kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// As `uname -r` will say.
    pub release: String,
    pub(crate) image: PathBuf,
    config: Option<PathBuf>,
    /// The folder of its modules, `lib/modules/RELEASE`.
    pub(crate) modules: Option<PathBuf>,
}

/// A kernel that `--kernel` can name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// As `uname -r` will say.
    pub release: String,
    /// The argument of `--kernel` that selects it.
    pub version: String,
    /// Whether it is in the cache.
    pub cached: bool,
    /// Whether apt currently offers it.
    pub offered: bool,
}

impl Kernel {
    /// Finds or fetches the kernel `wanted`: `latest`, a version or its first numbers, or the path of an image.
    /// Reuses the kernel fetched earlier for the same argument, unless `update` is set.
    pub(crate) fn get(
        wanted: &str,
        architecture: Architecture,
        update: bool,
        cache: &Cache,
        watch: Watch,
    ) -> Result<Self, Error> {
        if wanted.contains('/') {
            return Kernel::at(Path::new(wanted), architecture);
        }
        let remembered = wanted.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let remembered = architecture.named(&format!("kernel-{remembered}"));
        let before =
            cache.recall(&remembered).filter(|_| !update).and_then(|name| Kernel::cached(&name, cache));
        let named = || Some(wanted).filter(|name| Release::new(name).is_for(architecture));
        if let Some(kernel) = before.or_else(|| Kernel::cached(named()?, cache)) {
            return Ok(kernel);
        }
        let _lock = cache.lock()?;
        let mut apt = Apt::new(cache, &[SUITE], architecture)?;
        let offered = offered(&mut apt, architecture, watch)?;
        let release = choose(&offered, wanted).ok_or_else(|| Error::NoSuchKernel {
            wanted: wanted.into(),
            offered: release::series(&offered),
        })?;
        let kernel = match Kernel::cached(&release.name, cache) {
            Some(kernel) => kernel,
            None => fetch(release, &mut apt, cache, watch)?,
        };
        cache.remember(&remembered, &release.name)?;
        Ok(kernel)
    }

    fn cached(name: &str, cache: &Cache) -> Option<Self> {
        let folder = cache.path(FOLDER).join(name);
        let image =
            ["vmlinux", "vmlinuz"].map(|image| folder.join(image)).into_iter().find(|i| i.exists())?;
        let [config, modules] =
            [CONFIG, MODULES].map(|part| Some(folder.join(part)).filter(|path| path.exists()));
        Some(Kernel { release: name.into(), image, config, modules })
    }

    /// The user's own kernel. Searches for its configuration and modules in the usual places.
    fn at(path: &Path, architecture: Architecture) -> Result<Self, Error> {
        let image = fs::canonicalize(path).map_err(Error::file("find the kernel", path))?;
        let content = fs::read(&image).map_err(Error::file("read", &image))?;
        let wrong = |why: String| Error::Kernel { path: image.clone(), why };
        if let Some(of) = image::architecture(&content).filter(|of| *of != architecture) {
            return Err(wrong(format!("it is for {of}, and the guest's processor is {architecture}")));
        }
        let release = image::release(&content).ok_or_else(|| {
            let built = match architecture {
                Architecture::X86_64 => "a bzImage (`arch/x86/boot/bzImage` in a build tree)",
                Architecture::Arm64 => "an Image (`arch/arm64/boot/Image` in a build tree)",
            };
            wrong(format!("this is neither {built} nor a vmlinux"))
        })?;
        let beside = |name: &str| image.parent().map(|folder| folder.join(name));
        let built = image.ancestors().map(|folder| folder.join(".config")).find(|path| path.exists());
        let configs = [
            beside(&format!("config-{release}")),
            beside("config"),
            built,
            Some(format!("/boot/config-{release}").into()),
        ];
        let modules = [
            beside("."),
            beside(MODULES),
            beside(&format!("../lib/modules/{release}")),
            Some(format!("/lib/modules/{release}").into()),
        ];
        let modules = modules.into_iter().flatten().find(|path| path.join("kernel").is_dir());
        Ok(Kernel {
            config: configs.into_iter().flatten().find(|path| path.is_file()),
            modules: modules
                .map(|path| fs::canonicalize(&path).map_err(Error::file("find", &path)))
                .transpose()?,
            release,
            image,
        })
    }

    pub(crate) fn config(&self) -> Result<Option<Vec<u8>>, Error> {
        self.config.as_ref().map(|path| fs::read(path).map_err(Error::file("read", path))).transpose()
    }

    /// Jiffies per second (`CONFIG_HZ`); Debian's value if the configuration is unknown.
    pub(crate) fn jiffies(&self) -> u64 {
        let config = self.config.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let value = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="));
        value.and_then(|value| value.parse().ok()).filter(|hz| *hz > 0).unwrap_or(250)
    }

    pub(crate) fn needed_modules(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.modules.as_ref().map_or_else(|| Ok(Vec::new()), |folder| modules::load(folder))
    }
}

/// Lists the kernels in the cache and those that apt offers, newest first. If apt fails, lists the cached ones
/// and returns apt's error.
pub(crate) fn list(architecture: Architecture, cache: &Cache, watch: Watch) -> (Vec<Listed>, Option<Error>) {
    let mut asked = || -> Result<Vec<Release>, Error> {
        let _lock = cache.lock()?;
        offered(&mut Apt::new(cache, &[SUITE], architecture)?, architecture, watch)
    };
    let (offered, problem) = match asked() {
        Ok(offered) => (offered, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut cached: Vec<Release> = cache.names(FOLDER).iter().map(|name| Release::new(name)).collect();
    cached.retain(|release| release.is_for(architecture));
    let mut all: Vec<&Release> = offered.iter().chain(&cached).collect();
    all.sort();
    all.dedup();
    let listed = all.into_iter().rev().map(|release| Listed {
        release: release.name.clone(),
        version: release.version(),
        cached: cached.contains(release),
        offered: offered.contains(release),
    });
    (listed.collect(), problem)
}

fn offered(apt: &mut Apt, architecture: Architecture, watch: Watch) -> Result<Vec<Release>, Error> {
    let names = apt.names("linux-image-", watch)?;
    Ok(names.iter().filter_map(|name| Release::of_package(name, architecture)).collect())
}

/// Fetches a kernel with its configuration and modules, which newer kernels have in separate packages.
fn fetch(release: &Release, apt: &mut Apt, cache: &Cache, watch: Watch) -> Result<Kernel, Error> {
    let package = format!("linux-image-{}", release.name);
    let description = apt.show(&package)?;
    let version = description.field("Version").unwrap_or_default().to_owned();
    // An archive may lack some packages of its older kernels; those are not needed here.
    let there = apt.names("linux-", watch)?;
    let mut packages = description.parts();
    packages.retain(|(part, _)| there.contains(part));
    packages.push((package, version));
    let unpacked = cache.workplace()?;
    let what = format!("Linux {}", release.version());
    apt.fetch(&what, &packages, unpacked.path(), watch)?;

    let inside = |path: String| unpacked.path().join(path);
    let name = &release.name;
    let folder = ["usr/lib/modules", "lib/modules"].map(|folder| inside(format!("{folder}/{name}")));
    let folder = folder.into_iter().find(|folder| folder.exists()).unwrap_or_default();
    let find = |what: &str, places: [PathBuf; 2]| {
        let missing = || Error::Fetch {
            what: format!("Linux {name}"),
            why: format!("its packages contain no {what}"),
            help: "Choose another one (`--kernel`), and please report this",
        };
        places.into_iter().find(|place| place.exists()).ok_or_else(missing)
    };
    let image = find("image", [inside(format!("boot/vmlinuz-{name}")), folder.join("vmlinuz")])?;
    let config = find("configuration", [inside(format!("boot/config-{name}")), folder.join("config")])?;

    let made = cache.workplace()?;
    let place = |from: &Path, name: &str| {
        fs::rename(from, made.path().join(name)).map_err(Error::file("rename", from))
    };
    watch(Progress::Doing("unpacking the kernel"));
    let packed = fs::read(&image).map_err(Error::file("read", &image))?;
    match image::unpack(&packed) {
        Some(kernel) => {
            let path = made.path().join("vmlinux");
            fs::write(&path, kernel).map_err(Error::file("write", &path))?;
            fs::remove_file(&image).map_err(Error::file("remove", &image))?;
        }
        None => place(&image, "vmlinuz")?,
    }
    place(&config, CONFIG)?;
    place(&folder, MODULES)?;
    cache.keep(made, &format!("{FOLDER}/{name}"))?;
    Kernel::cached(name, cache).ok_or_else(|| Error::NoSuchKernel {
        wanted: name.clone(),
        offered: "it, but it was removed from the cache at once".into(),
    })
}
