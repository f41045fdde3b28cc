//! Where policies run: in this kernel, or in a virtual machine of `hearth vm`; and commands that reach them.

use hearth_base::rights;
use hearth_scx::requirements;
use hearth_vm::Inside;
use hearth_vm::detached::{Place, name_flag};

/// Joins words to a command line.
fn line(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = words.into_iter().collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| "hearth ...".into())
}

/// This program, as the user calls it.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "hearth".into(), |word| word.to_string_lossy().into_owned())
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}

/// This program as root.
fn sudo() -> [String; 2] {
    // sudo searches the folders of the system, not the user's PATH.
    let path =
        std::env::current_exe().ok().filter(|path| !program().contains('/') && !path.starts_with("/usr"));
    ["sudo".into(), path.map_or_else(program, |path| path.display().to_string())]
}

/// The command line of this process in a guest, which finds this program by its name.
fn in_guest() -> String {
    line(["hearth".into()].into_iter().chain(arguments()))
}

/// The command line of this process, as root.
pub fn as_root() -> String {
    line(sudo().into_iter().chain(arguments()))
}

/// Advice to run the same command line in a virtual machine: in one that runs already, if there is one.
pub fn elsewhere() -> String {
    let verb = match machine() {
        Some(flag) => format!("vm shell{flag}"),
        None => "vm --".into(),
    };
    format!("or run it in a virtual machine: {} {verb} {}", line([program()]), in_guest())
}

/// The flag for the first of the user's machines that run, if any does.
fn machine() -> Option<String> {
    let machine = Place::all().unwrap_or_default().into_iter().next()?;
    Some(name_flag(&machine.name))
}

/// What to do if no policy runs in this kernel.
pub fn without_policy() -> String {
    let starts = || {
        let may = rights::missing(rights::BPF).is_none();
        let program = if may { vec![program()] } else { sudo().into() };
        line(program.into_iter().chain(["run".into(), "nest".into()]))
    };
    let stays = |program: &str| format!("`{program} vm start`, then `{program} vm shell hearth run nest`");
    match Inside::this() {
        _ if !requirements::running_kernel_fits() => {
            let program = line([program()]);
            match machine() {
                Some(flag) => format!(
                    "this kernel runs no policies; ask the virtual machine: `{program} vm shell{flag} {}`",
                    in_guest()
                ),
                None => format!("this kernel runs no policies; use a virtual machine: {}", stays(&program)),
            }
        }
        None => format!("start one: {}", starts()),
        Some(Inside::Machine(name)) => format!(
            "start one in this virtual machine: {}\nfrom the host: hearth vm shell{} hearth run nest",
            starts(),
            name_flag(&name)
        ),
        Some(Inside::OneCommand) => format!(
            "start one in this virtual machine: {}\nor use one that outlives a command, on the host: {}",
            starts(),
            stays("hearth")
        ),
    }
}

/// How to see and to end a policy that has started here.
pub fn of_policy() -> String {
    let of_machine = |name: &str| {
        let shell = format!("hearth vm shell{}", name_flag(name));
        format!("on the host, `{shell} hearth status` shows it, and `{shell} hearth stop` ends it")
    };
    match Inside::this() {
        None => "`hearth status` and `hearth top` show it, Ctrl-C or `hearth stop` ends it".into(),
        Some(Inside::OneCommand) => "it ends with this virtual machine, or by Ctrl-C".into(),
        Some(Inside::Machine(name)) => of_machine(&name),
    }
}
