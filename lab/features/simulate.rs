//! Simulates a workload with each product of a feature model, and prints a line of CSV for each.
//!
//! `cargo run --release -p hearth-lab --bin lab-products -- family hackbench:groups=1,loops=20 xeon-e5645`

use hearth_features::Model;
use hearth_machine::Machine;
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_trace::Event;
use hearth_workload::Workload;
use rayon::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, workload, machine] = args.as_slice() else {
        return Err("expected a model, a workload and a machine".into());
    };
    let model = Model::named(model)?;
    let workload = Workload::resolve(workload)?;
    let machine = Machine::builtin(machine)?;
    println!("product,seconds,joules,cores_used");
    let line = |product: &hearth_features::Product| -> Result<String, Box<dyn Error + Send + Sync>> {
        let name = product.name();
        let policy = Native::build(load(&name)?)?;
        let job = Job { world: World::EMPTY, ..Job::new(&workload, &machine, &policy) };
        let outcome = run(&job, &mut Vec::<Event>::new()).map_err(|error| format!("{name}: {error}"))?;
        Ok(format!("{name},{:.6},{:.3},{}", outcome.time_s, outcome.energy_j, outcome.summary.cores_used))
    };
    let lines: Result<Vec<String>, _> = model.products().par_iter().map(line).collect();
    lines?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
