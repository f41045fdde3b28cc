//! The two sources of kernel events: BPF programs and tracefs.

use crate::bpf::{Programs, Words};
use crate::buffers::{Readers, Setup};
use crate::round::{Decode, Round};
use crate::tracefs::{self, Instance};
use crate::{Error, MethodChoice, Options};
use hearth_base::rights;
use hearth_host::Host;
use hearth_trace::Method;
use hearth_trace::ftrace::PageMerger;

pub enum Backend {
    Bpf(Programs),
    /// The readers are dropped first: an instance with open buffers cannot be removed.
    Tracefs {
        readers: Readers,
        instance: Instance,
    },
}

impl Backend {
    pub fn prepare(host: &Host, options: Options) -> Result<(Backend, Box<dyn Decode>, Method), Error> {
        let bpf = || {
            if let Some(missing) = rights::missing(rights::BPF) {
                return Err(format!("this process lacks {missing}"));
            }
            let programs = Programs::load(host, u64::from(options.buffer_kb) * 1024, options.all_ticks)?;
            let decode: Box<dyn Decode> = Box::new(Words::new(host));
            Ok((Backend::Bpf(programs), decode, Method::Bpf))
        };
        let why_not_bpf = match options.method {
            MethodChoice::Tracefs => None,
            MethodChoice::Bpf => return bpf().map_err(|why| Error::NoBpf { why }),
            MethodChoice::Auto => match bpf() {
                Ok(prepared) => return Ok(prepared),
                Err(why) => Some(why),
            },
        };
        let instance = Instance::create(&tracefs::find()?)?;
        let setup = Setup::new(&instance, options.buffer_kb)?;
        let readers = Readers::open(&instance, &setup.layout, host)?;
        let decode = Box::new(PageMerger::new(setup.layout, setup.decoder, &host.cpus));
        Ok((Backend::Tracefs { instance, readers }, decode, Method::Tracefs { why_not_bpf }))
    }

    /// Whether wake-ups say if they are synchronous.
    pub fn knows_sync(&self) -> bool {
        matches!(self, Backend::Bpf(programs) if programs.knows_sync())
    }

    pub fn start(&mut self) -> Result<(), Error> {
        match self {
            Backend::Bpf(programs) => programs.attach().map_err(|why| Error::NoBpf { why }),
            Backend::Tracefs { instance, .. } => instance.set("tracing_on", "1"),
        }
    }

    pub fn stop(&mut self) -> Result<(), Error> {
        match self {
            Backend::Bpf(programs) => programs.detach(),
            Backend::Tracefs { instance, .. } => instance.set("tracing_on", "0")?,
        }
        Ok(())
    }

    pub fn drain(&mut self) -> Result<Round, Error> {
        match self {
            Backend::Bpf(programs) => Ok(programs.drain()),
            Backend::Tracefs { readers, .. } => readers.drain(),
        }
    }
}
