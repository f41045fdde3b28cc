//! Verifies a policy: the kernel loads its programs, but the policy does not run.

use crate::error::Error;
use crate::load::{self, LoadOptions};
use crate::object::{self, Purpose};
use crate::requirements;
use hearth_host::Host;
use hearth_policy::Policy;
use serde::Serialize;

/// A BPF program that the kernel accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    pub name: String,
    /// Instructions that the verifier processed on all paths. The kernel's limit is 1,000,000.
    pub processed: u32,
    /// Instructions of the program after the verifier's rewrites.
    pub instructions: u32,
    /// Size of its machine code in bytes.
    pub native_bytes: u32,
}

/// A policy that a kernel accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    pub policy: String,
    /// The kernel's release.
    pub kernel: String,
    /// Sorted by name.
    pub programs: Vec<Program>,
}

/// Lets the running kernel verify a policy.
///
/// # Errors
/// This machine cannot run policies (see [`requirements::check`]), or its kernel rejects this one.
pub fn verify(policy: &Policy) -> Result<Verified, Error> {
    requirements::check()?;
    let object = object::for_policy(policy, Purpose::Run)?;
    let host = Host::detect()?;
    let loaded = load::load(policy, &object, &host, &LoadOptions::default())?;
    let mut programs = loaded.programs()?;
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Verified { policy: policy.name().to_owned(), kernel: host.kernel, programs })
}
