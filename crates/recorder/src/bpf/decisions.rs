//! Decisions of a policy that Hearth runs: the program `decided` is attached to the function `saakm_decided`
//! (`runtime/bpf`) of each program of the policy. It writes into the lanes of the recording.

use super::{Settings, opened, refusal};
use libbpf_rs::btf::types::Func;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Btf, Link, Object, OpenObject, Program, ProgramType};
use std::os::fd::{AsRawFd, BorrowedFd};

const FUNCTION: &str = "saakm_decided";
const PROGRAM: &str = "decided";

/// Loads `decided` for each program of the policy. Empty if no policy of Hearth is loaded.
pub fn load(object: &[u8], settings: &Settings, lanes: BorrowedFd<'_>) -> Result<Vec<Object>, String> {
    let load = |id: u32| {
        // A policy that is being replaced may be gone by now.
        let Ok(target) = Program::fd_from_id(id) else { return Ok(None) };
        let mut open = opened(object, settings)?;
        set_target(&mut open, target.as_raw_fd(), lanes).map_err(|error| error.to_string())?;
        open.load().map(Some).map_err(|error| refusal(&error))
    };
    policy_programs().into_iter().filter_map(|id| load(id).transpose()).collect()
}

/// Attaches the programs. The kernel keeps them while the links live.
pub fn attach(objects: &mut Vec<Object>, links: &mut Vec<Link>) -> Result<(), String> {
    for object in std::mem::take(objects) {
        for program in object.progs_mut().filter(|program| program.name() == PROGRAM) {
            links.push(program.attach().map_err(|error| format!("{PROGRAM}: {error}"))?);
        }
    }
    Ok(())
}

/// Restricts the object to `decided`, with this target and these lanes.
fn set_target(open: &mut OpenObject, target: i32, lanes: BorrowedFd<'_>) -> libbpf_rs::Result<()> {
    for mut program in open.progs_mut() {
        program.set_autoload(program.name() == PROGRAM);
        if program.name() == PROGRAM {
            program.set_attach_target(target, Some(FUNCTION.into()))?;
        }
    }
    for mut map in open.maps_mut().filter(|map| map.name() == "lanes") {
        map.reuse_fd(lanes)?;
    }
    Ok(())
}

/// Programs of sched_ext schedulers with the function.
fn policy_programs() -> Vec<u32> {
    let options = ProgInfoQueryOptions::default().include_func_info(true);
    let programs = ProgInfoIter::with_query_opts(options).filter(|info| info.ty == ProgramType::StructOps);
    let has_function = |btf: u32, functions: &[u32]| {
        let btf = Btf::from_prog_id(btf).ok()?;
        let function: Func = btf.type_by_name(FUNCTION)?;
        Some(functions.contains(&function.type_id().into()))
    };
    let found = programs.filter_map(|info| {
        let functions: Vec<u32> = info.func_info.iter().map(|function| function.type_id).collect();
        has_function(info.id, &functions)?.then_some(info.id)
    });
    found.collect()
}
