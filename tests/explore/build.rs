//! Compiles runtime/words.h for the explorer: as it is, and once per mutant.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

include!("src/mutants.rs");

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let runtime = Path::new("../../runtime");
    println!("cargo::rerun-if-changed=../../runtime");
    println!("cargo::rerun-if-changed=src");
    let words = fs::read_to_string(runtime.join("words.h")).expect("runtime/words.h");

    let mut rust = String::from("unsafe extern \"C\" {\n");
    let mut table = String::from(
        "}\n\nfn operations(variant: &str) -> Option<*const Operations> {\n    match variant {\n",
    );
    for (name, changes) in std::iter::once(&("", &[] as &[(&str, &str)])).chain(MUTANTS) {
        let mut text = words.clone();
        for (from, to) in *changes {
            assert_eq!(
                text.matches(from).count(),
                1,
                "mutant {name}: runtime/words.h must have once:\n{from}"
            );
            text = text.replace(from, to);
        }
        let symbol = format!("words_{}", name.replace(' ', "_"));
        let header = out.join(format!("{symbol}.h"));
        fs::write(&header, text).expect("OUT_DIR is writable");
        cc::Build::new()
            .file("src/words.c")
            .include(runtime)
            .define("WORDS", format!("\"{}\"", header.display()).as_str())
            .define("EXPLORE_OPERATIONS", symbol.as_str())
            .std("gnu11")
            // A panic of the explorer unwinds through these functions.
            .flag("-fexceptions")
            .flag("-Wall")
            .flag("-Wextra")
            .flag_if_supported("-Wno-unused")
            .flag_if_supported("-Wno-empty-body")
            .compile(&symbol);
        writeln!(rust, "    static {symbol}: Operations;").expect("a string accepts all writes");
        writeln!(table, "        \"{name}\" => Some(&raw const {symbol}),")
            .expect("a string accepts all writes");
    }
    table += "        _ => None,\n    }\n}\n";
    fs::write(out.join("variants.rs"), rust + &table).expect("OUT_DIR is writable");
}
