//! The initramfs: an archive (cpio, "newc") with busybox, the guest's scripts, modules and settings.

use crate::error::Error;
use cpio::newc;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const INIT: &[u8] = include_bytes!("../guest/init.sh");
const RUN: &[u8] = include_bytes!("../guest/run.sh");

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;

/// The contents of the initramfs.
pub struct Initramfs<'a> {
    /// A static busybox.
    pub busybox: Vec<u8>,
    /// Kernel modules with their file names, in load order.
    pub modules: Vec<(String, Vec<u8>)>,
    /// The kernel's configuration.
    pub config: Option<Vec<u8>>,
    pub settings: Settings,
    pub command: &'a Command<'a>,
}

impl Initramfs<'_> {
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut archive = Vec::new();
        self.archive(&mut archive).map_err(Error::file("make", path))?;
        std::fs::write(path, archive).map_err(Error::file("write", path))
    }

    fn archive(&self, out: &mut Vec<u8>) -> io::Result<()> {
        add(out, "init", PROGRAM, INIT)?;
        add(out, "run.sh", FILE, RUN)?;
        add(out, "busybox", PROGRAM, &self.busybox)?;
        add(out, "settings", FILE, &self.settings.0)?;
        add(out, "command", FILE, &self.command.script())?;
        if let Some(config) = &self.config {
            add(out, "config", FILE, config)?;
        }
        add(out, "modules", FOLDER, &[])?;
        for (index, (name, module)) in self.modules.iter().enumerate() {
            add(out, &format!("modules/{index:02}-{name}"), FILE, module)?;
        }
        newc::trailer(out).map(drop)
    }
}

fn add(out: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
    let size = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut writer = newc::Builder::new(name).mode(mode).write(out, size);
    writer.write_all(content)?;
    writer.finish().map(drop)
}

/// Shell assignments for the guest's scripts.
#[derive(Default)]
pub struct Settings(Vec<u8>);

impl Settings {
    pub fn set(&mut self, name: &str, value: impl Display) {
        self.set_bytes(name, value.to_string().as_bytes());
    }

    pub fn set_bytes(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'=');
        quote(&mut self.0, value);
        self.0.push(b'\n');
    }

    #[cfg(test)]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The command that the guest runs.
pub struct Command<'a> {
    pub words: &'a [&'a OsStr],
    pub directory: &'a Path,
    /// The command's complete environment.
    pub environment: &'a [(&'a OsStr, &'a OsStr)],
}

impl Command<'_> {
    /// A shell script that replaces itself with the command.
    fn script(&self) -> Vec<u8> {
        let mut script = b"echo $$ >/run/hearth/leader\ncd ".to_vec();
        quote(&mut script, self.directory.as_os_str().as_bytes());
        script.extend_from_slice(b" || exit 125\nexec /usr/bin/env -i");
        for (name, value) in self.environment {
            script.push(b' ');
            quote(&mut script, &[name.as_bytes(), b"=", value.as_bytes()].concat());
        }
        for word in self.words {
            script.push(b' ');
            quote(&mut script, word.as_bytes());
        }
        script.push(b'\n');
        script
    }
}

/// Quotes arbitrary bytes as one word of a shell.
fn quote(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    fn command<'a>(words: &'a [&'a OsStr]) -> Command<'a> {
        Command { words, directory: Path::new("/"), environment: &[] }
    }

    #[test]
    fn the_archive_can_be_read() {
        let mut settings = Settings::default();
        settings.set("mode", "run");
        let words = [OsStr::new("true")];
        let initramfs = Initramfs {
            busybox: b"busy".to_vec(),
            modules: vec![("a.ko".into(), b"A".to_vec()), ("b.ko".into(), b"BB".to_vec())],
            config: Some(b"CONFIG_X=y\n".to_vec()),
            settings,
            command: &command(&words),
        };
        let mut archive = Vec::new();
        initramfs.archive(&mut archive).unwrap();
        assert_eq!(archive.len() % 4, 0);
        let mut rest = archive.as_slice();
        let mut found = Vec::new();
        loop {
            let reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            found.push((reader.entry().name().to_owned(), reader.entry().mode(), reader.entry().file_size()));
            rest = reader.finish().unwrap();
        }
        let entry = |name: &str| found.iter().find(|entry| entry.0 == name).map(|entry| (entry.1, entry.2));
        assert_eq!(found[0].0, "init");
        assert_eq!(entry("busybox"), Some((PROGRAM, 4)));
        assert_eq!(entry("modules"), Some((FOLDER, 0)));
        assert_eq!(entry("modules/01-b.ko"), Some((FILE, 2)));
        assert_eq!(entry("config"), Some((FILE, 11)));
        assert_eq!(entry("settings"), Some((FILE, "mode='run'\n".len() as u32)));
    }

    #[test]
    fn words_reach_the_command_unharmed() {
        let words = ["printf", "<%s>", "two words", "it's", "$HOME `x` \\ \"q\"", "", "-n", "*", "new\nline"];
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        let environment =
            [(OsStr::new("PATH"), OsStr::new("/usr/bin:/bin")), (OsStr::new("A"), OsStr::new("it's"))];
        let script = Command { environment: &environment, ..command(&words) }.script();
        let run = |script: &[u8]| {
            let mut shell = process::Command::new("sh");
            shell.arg("-c").arg(OsStr::from_bytes(script)).env("LEAK", "1");
            shell.stderr(process::Stdio::null()); // /run/hearth is the guest's
            String::from_utf8(shell.output().unwrap().stdout).unwrap()
        };
        assert_eq!(run(&script), "<two words><it's><$HOME `x` \\ \"q\"><><-n><*><new\nline>");
        let words = [OsStr::new("env")];
        let script = Command { environment: &environment, ..command(&words) }.script();
        assert_eq!(run(&script), "PATH=/usr/bin:/bin\nA=it's\n");
    }

    /// The guest's scripts parse as shell.
    #[test]
    fn the_scripts_parse() {
        for script in [INIT, RUN] {
            let mut shell = process::Command::new("sh");
            shell.arg("-n").arg("-c").arg(OsStr::from_bytes(script));
            assert!(shell.status().unwrap().success());
        }
    }
}
