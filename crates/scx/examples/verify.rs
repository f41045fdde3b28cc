use libbpf_rs::*;
fn main() {
    fn show(_: PrintLevel, m: String) { let l: Vec<&str> = m.lines().collect(); let n = l.len(); for x in l.iter().skip(n.saturating_sub(30000)) { eprintln!("    {}", &x[..x.len().min(1500)]); } }
    let path = std::env::args().nth(1).unwrap();
    let only = std::env::args().nth(2);
    let names: Vec<String> = ObjectBuilder::default().open_file(&path).unwrap().progs().map(|p| p.name().to_str().unwrap().to_owned()).collect();
    for n in names {
        if only.as_ref().is_some_and(|o| *o != n) { continue }
        if only.is_some() { set_print(Some((PrintLevel::Debug, show))); }
        let mut o = ObjectBuilder::default(); if only.is_some() { o.debug(true); }
        let mut o = o.open_file(&path).unwrap();
        for mut p in o.progs_mut() { let me = p.name().to_str().unwrap() == n; p.set_autoload(me); if me && only.is_none() { p.set_log_level(4); } }
        let t = std::time::Instant::now();
        let r = o.load();
        let e = t.elapsed();
        let insns = match &r { Ok(obj) => obj.progs().find(|p| p.name().to_str().unwrap() == n).map(|p| { use std::os::fd::{AsFd, AsRawFd}; std::fs::read_to_string(format!("/proc/self/fdinfo/{}", p.as_fd().as_raw_fd())).unwrap_or_default().lines().filter(|l| l.contains("verified") || l.contains("memlock")).collect::<Vec<_>>().join(" ") }).unwrap_or_default(), Err(e) => format!("{e:?}") };
        println!("{n:22} {:8.1} ms {insns}", e.as_secs_f64() * 1e3);
    }
}
