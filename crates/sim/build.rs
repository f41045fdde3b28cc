//! Compiles the built-in policies from Ipanema to C, and links their native code into this crate.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = PathBuf::from("../..");
    println!("cargo::rerun-if-changed=../../policies");
    println!("cargo::rerun-if-changed=../../runtime");

    let mut build = cc::Build::new();
    build
        .include(root.join("runtime"))
        .std("gnu11")
        .flag("-fwrapv")
        .opt_level(2)
        .flag("-Wall")
        .flag("-Wextra");
    let mut rust = String::from("unsafe extern \"C\" {\n");
    let mut table = String::new();
    for name in hearth_ipanema::builtin::NAMES {
        let c = match hearth_ipanema::compile(&|_: &str| None, name) {
            Ok(compiled) => hearth_ipanema::emit::c(&compiled.ir),
            Err(failed) => panic!("policies/{name}.ipa:\n{failed}"),
        };
        let path = out.join(format!("{name}.c"));
        fs::write(&path, c).expect("OUT_DIR is writable");
        build.file(path);
        let symbol = name.replace('-', "_");
        writeln!(rust, "    static saakm_policy_{symbol}: PolicyTable;")
            .expect("a string accepts all writes");
        writeln!(table, "        \"{name}\" => Some(&raw const saakm_policy_{symbol}),")
            .expect("a string accepts all writes");
    }
    build.compile("hearth_policies");
    write!(rust, "}}\n\nfn builtin_table(name: &str) -> Option<*const PolicyTable> {{\n    match name {{\n{table}        _ => None,\n    }}\n}}\n")
        .expect("a string accepts all writes");
    fs::write(out.join("builtin.rs"), rust).expect("OUT_DIR is writable");
}
