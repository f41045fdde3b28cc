use hearth_scx::{load, read};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let name = std::path::Path::new(&a[1]).file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
    let policy = hearth_scx::Policy::new(&hearth_ipanema::compile(&|_: &str| None, &name).ok().unwrap().ir);
    let settings = load::Settings { params: policy.initial(), underload: true, ..Default::default() };
    let object = std::fs::read(&a[1]).unwrap();
    let mut loaded = match load::load(&policy, &object, &hearth_kernel::Host::detect(), &settings) { Ok(l) => l, Err(e) => { eprintln!("{e}"); std::process::exit(1) } };
    if let Err(e) = loaded.attach() { eprintln!("{e}"); std::process::exit(1) }
    eprintln!("attached");
    let st = std::process::Command::new("sh").arg("-c").arg(&a[2]).status().unwrap();
    eprintln!("{st}");
    let w = loaded.arena.world();
    eprintln!("threads {} fresh {} no_slot {} underload {}/{} runnable {}", read!(w, threads), read!(w, fresh), read!(w, no_slot), read!(w, window.underload), read!(w, window.intervals), read!(w, window.runnable));
    for c in 0..read!(w, nr_cores) as usize { let c = loaded.arena.core(c); let n = read!(c, count);
        eprintln!("sw {} mig {} wake {} new {} placed {:?} steals {} failed {} pre {} idles {} spins {} kicks {} bypass {} ready {} cur {} place_ns {} arm {} fired {} tmoved {}", n.switches, n.migrations, n.wakeups, n.news, &n.placed[..6], n.steals, n.moves_failed, n.preemptions, n.idles, n.spins, n.kicks, n.bypassed, read!(c, nr_ready), read!(c, current), n.place_ns / (n.wakeups + n.news).max(1), n.timers_armed, n.timers_fired, n.timers_moved); }
    if let Some(exit) = loaded.exit() { eprintln!("{exit}"); }
    eprintln!("state {}", std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default());
}
