//! The kernel's trace events: enabling them and reading the buffers of all cores.

use crate::Error;
use crate::round::{Decode, Round};
use crate::tracefs::{self, Instance};
use hearth_host::{Host, now};
use hearth_trace::ftrace::{DamagedPage, Decoder, EVENTS, Item, Page, PageLayout, PageMerger};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Description of this kernel's events.
pub struct Setup {
    pub layout: PageLayout,
    pub decoder: Decoder,
}

impl Setup {
    /// Prepares the instance, except for `tracing_on`.
    pub fn new(instance: &Instance, buffer_kb: u32) -> Result<Self, Error> {
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &buffer_kb.to_string())?;
        let events = instance.path().join("events");
        let mut formats = Vec::new();
        for (event, needed) in EVENTS {
            if !needed && !events.join(event).is_dir() {
                continue;
            }
            formats.push((event, tracefs::read(&events.join(event).join("format"))?));
            instance.set(&format!("events/{event}/enable"), "1")?;
        }
        let decoder = Decoder::new(&formats).map_err(|(what, why)| Error::format(what, why))?;
        let layout = PageLayout::parse(&tracefs::read(&events.join("header_page"))?)
            .map_err(|why| Error::format("its trace buffer", why))?;
        Ok(Setup { layout, decoder })
    }
}

/// The open buffers of all cores.
pub struct Readers {
    instance: PathBuf,
    layout: PageLayout,
    cpus: Vec<u32>,
    files: Vec<File>,
    /// One page.
    buffer: Vec<u8>,
}

impl Readers {
    pub fn open(instance: &Instance, layout: &PageLayout, host: &Host) -> Result<Self, Error> {
        let open = |cpu: &u32| {
            let path = per_cpu(instance.path(), *cpu, "trace_pipe_raw");
            File::options()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .map_err(|error| Error::file("open", &path, error))
        };
        Ok(Readers {
            instance: instance.path().into(),
            layout: layout.clone(),
            cpus: host.cpus.clone(),
            files: host.cpus.iter().map(open).collect::<Result<_, _>>()?,
            buffer: vec![0; layout.size],
        })
    }

    /// Empties all buffers. Only copies pages, each after its length: time spent here may be missing for the command.
    pub fn drain(&mut self) -> Result<Round, Error> {
        let mut round = Round { cores: Vec::with_capacity(self.files.len()), complete_to: now() };
        for (file, cpu) in self.files.iter_mut().zip(&self.cpus) {
            let mut bytes = Vec::new();
            loop {
                match file.read(&mut self.buffer) {
                    Ok(0) => break,
                    Ok(length) => {
                        let used = Page::used(&self.layout, &self.buffer[..length]);
                        bytes.extend((used as u32).to_le_bytes());
                        bytes.extend_from_slice(&self.buffer[..used]);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        let path = per_cpu(&self.instance, *cpu, "trace_pipe_raw");
                        return Err(Error::file("read", &path, error));
                    }
                }
            }
            round.cores.push(bytes);
        }
        Ok(round)
    }

    /// Number of events of a core that the kernel dropped.
    pub fn dropped(&self, cpu: u32) -> u64 {
        let stats = std::fs::read_to_string(per_cpu(&self.instance, cpu, "stats")).unwrap_or_default();
        let value = |name: &str| stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        ["overrun:", "commit overrun:", "dropped events:"]
            .iter()
            .map(|name| value(name).unwrap_or(0u64))
            .sum()
    }
}

impl Decode for PageMerger {
    fn round(&mut self, round: Round, take: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage> {
        for (core, bytes) in round.cores.iter().enumerate() {
            let mut rest = bytes.as_slice();
            while let Some((length, behind)) = rest.split_first_chunk() {
                let length = u32::from_le_bytes(*length) as usize;
                let Some((page, behind)) = behind.split_at_checked(length) else { break };
                self.push(core, page);
                rest = behind;
            }
        }
        self.merge(round.complete_to, take)
    }
}

/// File of a core's trace buffer; `cpu` is the kernel's CPU number.
fn per_cpu(instance: &Path, cpu: u32, file: &str) -> PathBuf {
    instance.join(format!("per_cpu/cpu{cpu}/{file}"))
}
