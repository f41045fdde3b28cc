#![cfg_attr(fuzzing, no_main)]

use hearth_formats::ImportFormat;
use hearth_fuzz::fuzz_target;

fuzz_target!(|bytes: &[u8]| hearth_fuzz::import(bytes, ImportFormat::PerfData));
