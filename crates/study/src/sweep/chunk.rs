//! What a sweep consists of.

use crate::matrix::{Matrix, Variant};
use crate::sweep::run::GiveUp;
use hearth_machine::{Machine, Scaling};
use hearth_workload::Workload;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

/// Policies of a chunk: enough to make the baseline's runs cheap beside them, and few enough for many workers.
const POLICIES: usize = 16;

/// Workloads × the settings of a [`Matrix`].
pub struct Sweep {
    pub workloads: Vec<Workload>,
    /// Its first policy is the baseline of [`give_up`](Sweep::give_up).
    pub matrix: Matrix,
    pub give_up: GiveUp,
}

/// A part of a sweep: one workload, machine and governor, and some of the policies with all seeds.
pub struct Chunk<'a> {
    /// Position in [`Sweep::workloads`].
    pub workload: usize,
    pub machine: &'a Machine,
    pub governor: Scaling,
    /// Positions in [`Matrix::variants`].
    pub policies: Range<usize>,
}

impl Sweep {
    /// All chunks, in the order of the table.
    pub fn chunks(&self) -> Vec<Chunk<'_>> {
        let policies = self.matrix.variants.len();
        let mut chunks = Vec::new();
        for workload in 0..self.workloads.len() {
            for machine in &self.matrix.machines {
                for &governor in self.matrix.governors_of(machine) {
                    let parts = (0..policies).step_by(POLICIES);
                    chunks.extend(parts.map(|first| Chunk {
                        workload,
                        machine,
                        governor,
                        policies: first..policies.min(first + POLICIES),
                    }));
                }
            }
        }
        chunks
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.workloads.len() * self.matrix.len()
    }

    /// The name of each chunk's file: a hash of everything that its rows depend on, the simulator included.
    ///
    /// # Errors
    /// If the running program cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let matrix = &self.matrix;
        let mut all = Sha256::new();
        io::copy(&mut File::open(std::env::current_exe()?)?, &mut all)?;
        write!(all, "{} {} {} {} {:?}", matrix.seed, matrix.runs, matrix.noise, matrix.world, self.give_up)?;
        let workloads = self.workloads.iter().map(|workload| {
            let mut hash = all.clone();
            workload.write(&mut hash)?;
            Ok(hash)
        });
        let workloads = workloads.collect::<io::Result<Vec<_>>>()?;
        let policies: Vec<_> =
            matrix.variants.iter().map(|variant| Sha256::digest(policy(variant))).collect();
        let of = |chunk: &Chunk| {
            let mut hash = workloads[chunk.workload].clone();
            write!(hash, "{:?} {} ", chunk.machine, chunk.governor)?;
            policies[..1].iter().chain(&policies[chunk.policies.clone()]).for_each(|one| hash.update(one));
            Ok(hex(&hash.finalize()) + ".parquet")
        };
        self.chunks().iter().map(of).collect()
    }

    /// A hash of everything that the table depends on.
    ///
    /// # Errors
    /// If the running program cannot be read.
    pub fn name(&self) -> io::Result<String> {
        Ok(hex(&Sha256::digest(self.names()?.join(" "))))
    }
}

/// The first 16 bytes.
fn hex(hash: &[u8]) -> String {
    hash[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name, the meaning and the parameters of a policy.
fn policy(variant: &Variant) -> String {
    let policy = variant.policy.policy();
    format!("{} {:?} {}", variant.name, variant.params, policy.ir().to_json())
}
