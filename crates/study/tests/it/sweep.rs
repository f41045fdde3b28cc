//! Sweeps: the same table whatever happens on the way.

use hearth_machine::Governor;
use hearth_study::sweep::{End, GiveUp, Row, Sweep, read};
use hearth_study::{Error, Keep, Matrix, Selection};
use hearth_workload::Workload;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Three workloads, and so three chunks.
fn sweep(threads: usize) -> Sweep {
    let selection = Selection {
        machines: vec!["ryzen-3400g".into()],
        governors: vec![Governor::Schedutil.into()],
        policies: vec!["cfs".parse().unwrap(), "nest".parse().unwrap(), "nest:s_max=0ms".parse().unwrap()],
        params: Vec::new(),
    };
    let specs = ["fork-wait:iterations=3", "fork-wait:iterations=5", "hackbench:groups=1,loops=2"];
    Sweep {
        workloads: specs.iter().map(|spec| Workload::resolve(spec).unwrap()).collect(),
        matrix: Matrix { runs: 4, threads, ..Matrix::load(&selection).unwrap() },
        give_up: GiveUp::default(),
    }
}

fn table(sweep: &Sweep, folder: &Path, numbers: &[usize]) -> Option<Vec<u8>> {
    let path = folder.join("table.parquet");
    sweep.run(&folder.join("parts"), numbers, |_| ()).unwrap();
    sweep.merge(&folder.join("parts"), &path).unwrap()?;
    Some(fs::read(path).unwrap())
}

#[test]
fn the_table_does_not_depend_on_workers_order_or_interruption() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let whole = table(&sweep(1), one.path(), &[0, 1, 2]).expect("all chunks are there");
    assert_eq!(table(&sweep(3), other.path(), &[2]), None, "two chunks are missing");
    // A process that was killed while it wrote leaves a file under another name.
    fs::write(other.path().join("parts/.0123.parquet.partial"), "PAR1").unwrap();
    assert_eq!(table(&sweep(3), other.path(), &[1, 0, 2]), Some(whole));
}

#[test]
fn the_table_in_memory_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(2);
    table(&sweep, folder.path(), &[0, 1, 2]).expect("all chunks are there");
    assert_eq!(sweep.table().unwrap(), read(&folder.path().join("table.parquet")).unwrap());
}

#[test]
fn no_run_starts_after_a_stop() {
    let sweep = sweep(2);
    sweep.matrix.stop.store(true, Ordering::Relaxed);
    assert!(matches!(sweep.table(), Err(Error::Stopped)));
    let prediction = sweep.matrix.predict(&sweep.workloads[0], Vec::new(), &Keep::default(), || {
        panic!("a run has started");
    });
    assert!(matches!(prediction, Err(Error::Stopped)));
}

#[test]
fn finished_chunks_are_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(2);
    table(&sweep, folder.path(), &[1]);
    let times = || {
        let parts = fs::read_dir(folder.path().join("parts")).unwrap().map(Result::unwrap);
        parts
            .map(|part| (part.file_name(), part.metadata().unwrap().modified().unwrap()))
            .collect::<BTreeMap<_, _>>()
    };
    let before = times();
    table(&sweep, folder.path(), &[0, 1, 2]);
    let after = times();
    assert_eq!((before.len(), after.len()), (1, 3));
    assert!(before.iter().all(|(name, time)| after[name] == *time));
}

#[test]
fn a_chunk_is_named_by_all_that_it_depends_on() {
    let names = sweep(1).names().unwrap();
    assert_eq!(names, sweep(2).names().unwrap(), "the number of threads does not matter");
    let other = |change: &dyn Fn(&mut Sweep)| {
        let mut sweep = sweep(1);
        change(&mut sweep);
        sweep.names().unwrap()
    };
    let changes: [&dyn Fn(&mut Sweep); 7] = [
        &|sweep| sweep.matrix.seed = 2,
        &|sweep| sweep.matrix.runs = 5,
        &|sweep| sweep.matrix.noise = 0.01,
        &|sweep| sweep.matrix.governors = vec![Governor::Performance.into()],
        &|sweep| sweep.matrix.machines[0].frequency.min_khz += 1,
        &|sweep| sweep.matrix.variants.swap(0, 1),
        &|sweep| sweep.give_up.slower = Some(0.5),
    ];
    for change in changes {
        let changed = other(change);
        assert!(names.iter().all(|name| !changed.contains(name)));
    }
    let changed = other(&|sweep| sweep.workloads[0].threads[0].name.push('x'));
    assert_ne!(changed[0], names[0]);
    assert_eq!(changed[1..], names[1..]);
}

#[test]
fn rows_are_the_runs_of_a_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(2);
    table(&sweep, folder.path(), &[0, 1, 2]).unwrap();
    let rows = read(&folder.path().join("table.parquet")).unwrap();
    assert_eq!(rows.len(), sweep.runs());
    let mut expected = Vec::new();
    for workload in &sweep.workloads {
        for run in sweep.matrix.predict(workload, Vec::new(), &Default::default(), || ()).unwrap().runs {
            expected.push((workload.name.clone(), run.seed as i64, Some(run.time_s), Some(run.trace_hash)));
        }
    }
    let found = rows.iter().map(|row| (row.workload.clone(), row.seed, row.time_s, row.trace_hash.clone()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(rows.iter().all(|row| row.end() == Some(End::Completed)));
    assert_eq!(rows.iter().filter(|row| row.params == "s_max=0s").count(), 12);
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let mut sweep = sweep(1);
    sweep.workloads.truncate(1);
    let rows = |sweep: &Sweep| -> Vec<Row> {
        let folder = tempfile::tempdir().unwrap();
        table(sweep, folder.path(), &[0]).unwrap();
        read(&folder.path().join("table.parquet")).unwrap()
    };
    // Every run is longer than no time at all.
    sweep.give_up.times = 0.0;
    let ends: Vec<_> = rows(&sweep).iter().map(|row| row.end().unwrap()).collect();
    assert_eq!(ends[..4], [End::Completed; 4], "the first policy has no limit");
    assert_eq!(ends[4..], [End::TimeLimit; 8]);
}

#[test]
fn other_files_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.parquet");
    assert!(read(&path).unwrap_err().to_string().contains("cannot be read"));
    fs::write(&path, "no Parquet").unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("other.parquet") && error.contains("is no table of a sweep"), "{error}");
}
