//! QEMU's command line.

use crate::accelerator::Accelerator;
use crate::architecture::Architecture;
use crate::error::Error;
use crate::share::QUEUE_SIZE;
use crate::topology::Topology;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The emulated x86-64 processor: all features that QEMU supports, as an Intel server. With Intel's cache description,
/// hyperthreads share caches. Linux applies no errata workarounds to this model. MONITOR is off because QEMU
/// spins in MWAIT instead of sleeping.
const EMULATED_X86: &str = "max,vendor=GenuineIntel,family=6,model=85,stepping=7,monitor=off";
/// The emulated arm64 processor: all features that QEMU supports. Pointers are signed with a cheap function, because the
/// architecture's takes half of the emulator's time.
const EMULATED_ARM: &str = "max,pauth-impdef=on";

/// Maximum length of a CPU's turn, and minimum length of a round of all CPUs, in microseconds of the guest's time.
/// Short turns make small guests responsive; with many CPUs they would leave time only for switching.
const TURN_US: u32 = 10;
const ROUND_US: u32 = 50;

/// A virtual machine, before it is started.
pub(crate) struct Launch<'a> {
    pub architecture: Architecture,
    pub accelerator: Accelerator,
    pub topology: &'a Topology,
    pub memory_mib: u64,
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    /// A table of [`acpi`](super::acpi).
    pub acpi: Option<&'a Path>,
    pub parameters: &'a str,
    /// File that receives the kernel's console.
    pub console: &'a Path,
    pub devices: &'a [Device],
}

/// A device backed by a socket.
#[derive(Debug, Clone)]
pub(crate) enum Device {
    /// A byte stream; `/sys/class/virtio-ports/*/name` in the guest is `hearth.NAME`.
    Port { name: &'static str, socket: PathBuf },
    /// A terminal: `/dev/hvc0`.
    Terminal { socket: PathBuf },
    /// A virtio-fs share, mounted by its tag.
    Share { tag: String, socket: PathBuf },
}

impl Launch<'_> {
    pub fn arguments(&self) -> Result<Vec<OsString>, Error> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |words: &[&OsStr]| all.extend(words.iter().map(OsString::from));
        let text = |word: &'static str| OsStr::new(word);
        add(&[text("-nodefaults"), text("-no-user-config"), text("-no-reboot")]);
        add(&[text("-display"), text("none"), text("-machine"), text(self.machine())]);
        if let Some(table) = self.acpi {
            add(&[text("-acpitable"), &with_path("file=", table)]);
        }
        let accelerator = match self.accelerator {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg,thread=multi",
            Accelerator::Counted => "tcg,thread=single",
        };
        let processor = self.processor();
        add(&[text("-accel"), text(accelerator), text("-cpu"), text(processor)]);
        if self.accelerator == Accelerator::Counted {
            // When all CPUs sleep, the guest's time jumps to the next timer.
            add(&[text("-icount"), text("shift=0,sleep=off")]);
            // QEMU divides the time until the next timer of any CPU equally into turns; an idle CPU ends its turn
            // early. A spinning CPU could keep the others waiting for milliseconds. An unused device with a periodic
            // timer bounds the turns.
            add(&[text("-netdev"), text("hubport,hubid=0,id=nobody")]);
            let round = ROUND_US.max(TURN_US * u32::from(self.topology.cpus()));
            let timer = OsString::from(format!("filter-buffer,id=turns,netdev=nobody,interval={round}"));
            add(&[text("-object"), &timer]);
        }
        for argument in self.topology.arguments(self.memory_mib)? {
            add(&[&argument]);
        }
        add(&[text("-kernel"), self.kernel.as_os_str(), text("-initrd"), self.initramfs.as_os_str()]);
        add(&[text("-append"), OsStr::new(self.parameters)]);
        add(&[text("-chardev"), &with_path("file,id=console,path=", self.console)]);
        add(&[text("-serial"), text("chardev:console"), text("-device"), text("virtio-serial-pci")]);
        for (index, device) in self.devices.iter().enumerate() {
            let (Device::Port { socket, .. } | Device::Terminal { socket } | Device::Share { socket, .. }) =
                device;
            let id = format!("end{index}");
            add(&[text("-chardev"), &with_path(&format!("socket,id={id},path="), socket)]);
            let device = match device {
                Device::Port { name, .. } => format!("virtserialport,chardev={id},name=hearth.{name}"),
                Device::Terminal { .. } => format!("virtconsole,chardev={id}"),
                Device::Share { tag, .. } => {
                    format!("vhost-user-fs-pci,chardev={id},tag={tag},queue-size={QUEUE_SIZE}")
                }
            };
            add(&[text("-device"), OsStr::new(&device)]);
        }
        Ok(all)
    }

    /// The board. On arm64 it has the interrupt controller for more than eight CPUs; KVM offers only the host's.
    fn machine(&self) -> &'static str {
        match (self.architecture, self.accelerator) {
            (Architecture::X86_64, _) => "q35,sata=off,smbus=off,vmport=off",
            (Architecture::Arm64, Accelerator::Kvm) => "virt,gic-version=host",
            (Architecture::Arm64, _) => "virt,gic-version=3",
        }
    }

    fn processor(&self) -> &'static str {
        match (self.accelerator, self.architecture) {
            (Accelerator::Kvm, _) if is_amd() => "host,topoext=on",
            (Accelerator::Kvm, _) => "host",
            (_, Architecture::X86_64) => EMULATED_X86,
            (_, Architecture::Arm64) => EMULATED_ARM,
        }
    }
}

/// An option that ends in a path; QEMU requires commas in it to be doubled.
fn with_path(option: &str, path: &Path) -> OsString {
    let mut bytes = option.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b',' {
            bytes.push(b',');
        }
    }
    OsString::from_vec(bytes)
}

/// Whether the host has an AMD processor, which shows hyperthreads to a guest only with `topoext=on`.
fn is_amd() -> bool {
    std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("AuthenticAMD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line() {
        let devices = [
            Device::Port { name: "status", socket: "/run/status".into() },
            Device::Terminal { socket: "/run/a,b".into() },
            Device::Share { tag: "root".into(), socket: "/run/root".into() },
        ];
        let launch = Launch {
            architecture: Architecture::X86_64,
            accelerator: Accelerator::Tcg,
            topology: &Topology::default(),
            memory_mib: 2048,
            kernel: Path::new("/k/vmlinux"),
            initramfs: Path::new("/run/initramfs"),
            acpi: Some(Path::new("/run/acpi")),
            parameters: "console=ttyS0 quiet",
            console: Path::new("/run/console"),
            devices: &devices,
        };
        let arguments: Vec<_> =
            launch.arguments().unwrap().into_iter().map(|word| word.into_string().unwrap()).collect();
        let expected = "-nodefaults\n-no-user-config\n-no-reboot\n-display none\n\
            -machine q35,sata=off,smbus=off,vmport=off\n\
            -acpitable file=/run/acpi\n\
            -accel tcg,thread=multi\n\
            -cpu max,vendor=GenuineIntel,family=6,model=85,stepping=7,monitor=off\n\
            -smp 4,sockets=1,cores=4,threads=1\n\
            -m 2048M\n\
            -object memory-backend-memfd,id=memory0,size=2048M,share=on\n\
            -numa node,nodeid=0,memdev=memory0,cpus=0-3\n\
            -kernel /k/vmlinux\n\
            -initrd /run/initramfs\n\
            -append console=ttyS0 quiet\n\
            -chardev file,id=console,path=/run/console\n\
            -serial chardev:console\n\
            -device virtio-serial-pci\n\
            -chardev socket,id=end0,path=/run/status\n\
            -device virtserialport,chardev=end0,name=hearth.status\n\
            -chardev socket,id=end1,path=/run/a,,b\n\
            -device virtconsole,chardev=end1\n\
            -chardev socket,id=end2,path=/run/root\n\
            -device vhost-user-fs-pci,chardev=end2,tag=root,queue-size=1024";
        assert_eq!(arguments.join(" ").replace(" -", "\n-"), expected);

        let arm = Launch { architecture: Architecture::Arm64, ..launch };
        let arm: Vec<_> =
            arm.arguments().unwrap().into_iter().map(|word| word.into_string().unwrap()).collect();
        let expected = expected.replace("q35,sata=off,smbus=off,vmport=off", "virt,gic-version=3");
        let expected = expected.replace(EMULATED_X86, EMULATED_ARM);
        assert_eq!(arm.join(" ").replace(" -", "\n-"), expected);
    }
}
