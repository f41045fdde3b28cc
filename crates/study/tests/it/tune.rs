//! Searches with simulations and in tables.

use hearth_features::{Model, Product};
use hearth_machine::{Governor, Machine};
use hearth_sim::World;
use hearth_study::Setting;
use hearth_study::sweep::{End, Row};
use hearth_study::tune::{Experience, Goal, Method, Plan, Recommendation, Replay, replay, tune};
use hearth_workload::Workload;

fn recommend(allowed: &(dyn Fn(&Product) -> bool + Sync), method: Method, threads: usize) -> Recommendation {
    let (workload, machine) =
        (Workload::resolve("configure:tests=5").unwrap(), Machine::load("ryzen-3400g").unwrap());
    let (model, experience) = (Model::named("family").unwrap(), Experience::built_in("family"));
    let plan = Plan {
        workload: &workload,
        machine: &machine,
        governor: Governor::Schedutil,
        world: World::EMPTY,
        goal: Goal::Time,
        model: &model,
        allowed,
        experience: experience.as_ref(),
        method,
        baseline: "eevdf",
        others: &["cfs", "nest"],
        budget: 6,
        runs: 3,
        seed: 1,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| tune(&plan, &|| ()).unwrap())
}

/// Few features, so that few products are compiled.
fn few(product: &Product) -> bool {
    ["rbtree", "infinite", "nrRun", "llc", "idle"]
        .iter()
        .all(|feature| product.features.contains(&(*feature).into()))
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let shown = |threads| {
        let found = recommend(&few, Method::TransferProfile, threads);
        let rival = |one: &hearth_study::tune::Rival| (one.policy.clone(), one.time, one.is_product);
        (found.tried, found.simulations, found.finalists.iter().map(rival).collect::<Vec<_>>())
    };
    let (tried, simulations, finalists) = shown(1);
    assert_eq!((tried, simulations, finalists.clone()), shown(3));
    // Three products exist. Each is run, and the one that seems best more than once.
    assert!((3..=6).contains(&tried), "{tried}");
    assert_eq!(simulations, 1 + tried + 2 + (finalists.len() + 1) * 3);
    assert_eq!(finalists.iter().filter(|one| one.2).count(), 3);
    assert_eq!(finalists.len(), 5);
    assert!(finalists.is_sorted_by(|a, b| a.1.mean <= b.1.mean), "from the fastest");
}

#[test]
fn what_is_not_allowed_is_not_recommended() {
    let found =
        recommend(&|product| few(product) && product.features.contains(&"one".into()), Method::Random, 2);
    assert_eq!(found.allowed, 1);
    let products: Vec<_> = found.finalists.iter().filter(|one| one.is_product).collect();
    assert!(products.iter().all(|one| one.policy.contains("+one")) && products.len() == 1);
}

#[test]
fn a_winner_is_surely_better() {
    let found = recommend(&few, Method::Random, 2);
    for finalist in &found.finalists {
        assert_eq!(finalist.faster.value, found.baseline.time.mean / finalist.time.mean - 1.0);
    }
    let mut finalists = found.finalists.iter();
    let sure = finalists.find(|one| one.faster.ci95.is_some_and(|[low, high]| low > 0.0 && high >= 0.01));
    assert_eq!(found.winner(Goal::Time).map(|one| one.policy.as_str()), sure.map(|one| one.policy.as_str()));
}

/// Two seeds of all products of three applications. In each, `fifo` is fast; what else matters differs.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, workload) in ["alpha-1", "beta-1", "gamma-1"].into_iter().enumerate() {
        for product in Model::named("family").unwrap().products() {
            let name = product.name();
            let setting = Setting {
                machine: "m".into(),
                governor: "g".into(),
                policy: name.clone(),
                params: Default::default(),
            };
            let has = |feature: &str| name.split('+').any(|one| one == feature);
            let other = ["smt", "llc", "all"][number];
            let slow = f64::from(u8::from(!has("fifo"))) + 0.5 * f64::from(u8::from(!has(other)));
            let failed = has("usedTime") && has("one");
            for seed in 1..=2 {
                let row = Row::without_metrics(
                    workload,
                    &setting,
                    seed,
                    if failed { End::Stuck } else { End::Completed },
                );
                rows.push(Row { time_s: (!failed).then_some(1.0 + slow + 0.001 * seed as f64), ..row });
            }
        }
    }
    rows
}

#[test]
fn searches_in_a_table_find_the_best() {
    let (model, rows) = (Model::named("family").unwrap(), rows());
    let experience = Experience::of(&rows, &model).unwrap();
    assert_eq!((experience.products.len(), experience.applications.len()), (486, 3));
    assert_eq!(experience.applications[0].program(), "alpha");
    let plan = Replay { model: &model, methods: Method::ALL.to_vec(), after: vec![0, 30], searches: 3 };
    let found = replay(&rows, &experience, &plan).unwrap();
    let of = |method, runs| found.iter().find(|one| one.method == method && one.runs == runs);
    assert!(of(Method::Random, 0).is_none(), "it knows nothing before the first run");
    // Without a run, `fifo` is known from the others, and nothing else can be.
    assert!(of(Method::TransferProfile, 0).unwrap().worst < 0.51);
    // What two applications agree about misleads for the third.
    let after = of(Method::TransferProfile, 30).unwrap();
    assert!(after.median < 0.01 && after.worst < 0.51, "{after:?}");
}

#[test]
fn tables_without_products_are_refused() {
    let model = Model::named("family").unwrap();
    let none = Experience::of(&[], &model).unwrap_err().to_string();
    assert!(none.contains("no product of model family"), "{none}");
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.workload != "gamma-1").collect();
    let experience = Experience::of(&rows, &model).unwrap();
    let plan = Replay { model: &model, methods: vec![Method::Random], after: vec![5], searches: 1 };
    let few = replay(&rows, &experience, &plan).unwrap_err().to_string();
    assert!(few.contains("needs at least three"), "{few}");
}

#[test]
fn experience_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("e.json.zst"), folder.path().join("other"));
    let before = Experience::of(&rows(), &Model::named("family").unwrap()).unwrap();
    before.write(&path).unwrap();
    let after = Experience::load(&path).unwrap();
    assert_eq!(after.products, before.products);
    let time = |of: &Experience| of.applications[0].times[0].unwrap();
    assert!((time(&after) / time(&before) - 1.0).abs() < 1e-3, "four digits");
    std::fs::write(&other, "no zstd").unwrap();
    assert!(Experience::load(&other).unwrap_err().to_string().contains("cannot read the experience"));
    assert!(Experience::load(&folder.path().join("missing")).is_err());
}

#[test]
fn hearth_brings_experience() {
    for (model, products) in [("family", 486), ("warm", 2496)] {
        let built_in = Experience::built_in(model).expect(model);
        assert_eq!(built_in.products.len(), products);
        assert!(built_in.applications.len() >= 37);
        assert!(built_in.applications.iter().all(|one| one.profile.is_some()));
    }
    assert!(Experience::built_in("nothing").is_none());
}
