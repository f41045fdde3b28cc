//! Drivers and governors are compared as policies are.

use hearth_study::{Keep, Matrix, Selection};
use hearth_workload::Workload;

fn matrix(machine: &str, governor: &str) -> Result<Matrix, hearth_study::Error> {
    Matrix::load(&Selection {
        machines: vec![machine.into()],
        governors: vec![governor.parse().unwrap()],
        policies: ["eevdf", "ember"].map(|policy| policy.parse().unwrap()).into(),
        params: Vec::new(),
    })
}

#[test]
fn the_baseline_is_simulated_under_each_other_governor() {
    let workload = Workload::resolve("fork-wait:iterations=20").unwrap();
    let matrix = Matrix { runs: 2, other_governors: true, ..matrix("ryzen-7950x", "schedutil").unwrap() };
    let prediction = matrix.predict(&workload, Vec::new(), &Keep::default(), || ()).unwrap();
    assert_eq!(prediction.runs.len(), matrix.len());
    let rows = prediction.rows();
    let settings: Vec<String> = rows.iter().map(|row| row.setting.name()).collect();
    assert_eq!(
        settings,
        ["eevdf, schedutil", "ember, schedutil", "eevdf, performance", "eevdf, amd-pstate-epp/powersave"]
    );
    // In the passive mode the hardware runs the request; in the active mode it chooses by itself.
    assert!(rows[3].busy_ghz() > 1.2 * rows[0].busy_ghz(), "{} {}", rows[3].busy_ghz(), rows[0].busy_ghz());
}

#[test]
fn a_machine_has_the_drivers_of_its_file() {
    assert!(matrix("xeon-5218", "intel_cpufreq/schedutil").is_ok());
    let error = matrix("xeon-5218", "amd-pstate/schedutil").err().unwrap();
    assert_eq!(
        error.to_string(),
        "machine xeon-5218 does not have the driver amd-pstate; it has intel_pstate, intel_cpufreq"
    );
}
