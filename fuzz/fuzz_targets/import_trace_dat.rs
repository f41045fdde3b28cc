#![no_main]

use hearth_formats::ImportFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hearth_fuzz::import(bytes, ImportFormat::TraceDat));
