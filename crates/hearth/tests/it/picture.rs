//! Tests of `hearth picture`.

use crate::{failed, fails, folder, hearth, printed, text};
use std::fs;
use std::path::Path;

/// What `perf script` prints of two threads on two cores.
const RECORDED: &str = "\
swapper     0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=make next_pid=7 next_prio=120
swapper     0 [001] 1.010000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cc1 next_pid=8 next_prio=120
cc1         8 [001] 1.031000: sched:sched_switch: prev_comm=cc1 prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
make        7 [000] 1.050000: sched:sched_switch: prev_comm=make prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// A folder with the trace `t.trace`.
fn with_trace() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("recorded.txt"), RECORDED).expect("a file");
    printed(folder.path(), &["import", "recorded.txt", "-o", "t.trace"]);
    folder
}

/// A folder with a simulated trace, which has frequencies, core sets and dense cells.
fn with_simulated() -> tempfile::TempDir {
    let folder = folder();
    printed(
        folder.path(),
        &["sim", "-w", "configure:tests=30", "-m", "xeon-5218", "-p", "nest", "-o", "t.trace"],
    );
    folder
}

/// Draws and returns the file.
#[track_caller]
fn drawn(folder: &Path, name: &str, args: &[&str]) -> Vec<u8> {
    let said = printed(folder, &[&["picture", "t.trace", "-o", name], args].concat());
    assert_eq!(said, "");
    fs::read(folder.join(name)).expect("a picture")
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn the_svg_is_the_expected_one() {
    let folder = with_trace();
    let svg = text(&drawn(folder.path(), "t.svg", &["--size", "500x300"]));
    hearth_tests::golden("crates/hearth/tests/golden/picture.svg", &svg);
}

#[test]
fn png_and_pdf_have_the_size() {
    let folder = with_simulated();
    let png = drawn(folder.path(), "t.png", &["--size", "640x400", "--scale", "3"]);
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!((number(&png, 16), number(&png, 20)), (3 * 640, 3 * 400));
    let pdf = drawn(folder.path(), "t.pdf", &["--size", "640x400", "--theme", "dark"]);
    assert!(pdf.starts_with(b"%PDF-1.7") && pdf.ends_with(b"%%EOF"));
    let pdf = String::from_utf8_lossy(&pdf);
    assert!(pdf.contains("/MediaBox [0 0 480 300]"), "points are 4/3 pixels");
    assert!(pdf.contains("/FontFile2") && !pdf.contains("Date"));
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let folder = with_simulated();
    for name in ["a.svg", "a.pdf", "a.png"] {
        let args = ["--to", "100ms", "--scale", "1"];
        let once = drawn(folder.path(), name, &args);
        assert_eq!(once, drawn(folder.path(), name, &args), "{name}");
        assert_ne!(once, drawn(folder.path(), name, &["--to", "90ms", "--scale", "1"]), "{name}");
    }
}

#[test]
fn a_figure_has_title_axis_and_legend() {
    let folder = with_simulated();
    let svg = |args: &[&str]| text(&drawn(folder.path(), "t.svg", args));
    let figure = svg(&["--to", "100ms"]);
    for part in ["under nest, schedutil, seed 1", "100 ms</text>", "core / time", "GHz", "in primary"] {
        assert!(figure.contains(part), "{part}");
    }
    assert!(!figure.contains(">fork</text>"), "a figure has no signs unless asked");
    let linked = "http://127.0.0.1:1/x/#t=0-100000000&colour=queue&marks=fork&theme=dark";
    let linked = svg(&["--link", linked]);
    for part in ["runnable on the core:", ">fork</text>", "#15171b"] {
        assert!(linked.contains(part), "{part}");
    }
    fs::write(folder.path().join("own.toml"), "name = 'own'\ncolour = 'reason'\nstrips = ['runnable']")
        .expect("a file");
    let own = svg(&["--view", "own.toml"]);
    assert!(own.contains(">primary</text>") && !own.contains("underload"), "{own:.2000}");
    assert!(svg(&["--view", "queue", "--colour-by", "thread"]).contains("colours identify threads"));
    // A simulated trace has no processes: their rows are programs, too.
    assert!(svg(&["--rows", "process", "--to", "50ms"]).contains("process / time"));
    assert!(svg(&["--rows", "program", "--to", "50ms"]).contains("program / time"));
}

#[test]
fn four_traces_keep_their_rows() {
    let folder = with_trace();
    let four = ["picture", "t.trace", "t.trace", "t.trace", "t.trace", "-o", "-", "--format", "svg"];
    let svg = printed(folder.path(), &[&four[..], &["--size", "800x900"]].concat());
    let rows = |label: &str| svg.matches(&format!(">{label}</text>")).count();
    assert!(svg.contains("width=\"800\" height=\"900\""));
    assert_eq!((rows("t.trace"), rows("runnable")), (4, 4));
    let low = hearth(folder.path(), &[&four[..], &["--size", "800x200"]].concat());
    failed(&low, 2, &["does not fit in a height of 200 pixels", "--size 800x"]);
}

#[test]
fn what_is_wrong_is_said() {
    fails(&["picture", "a", "b", "c", "d", "e", "-o", "x.svg"], 2, &["5 traces", "at most four"]);
    fails(&["picture", "none.trace", "-o", "x.svg"], 1, &["none.trace", "No such file"]);
    fails(&["picture", "t.trace", "-o", "x.gif"], 2, &["x.gif", ".svg, .pdf or .png", "--format"]);
    fails(&["picture", "t.trace", "-o", "-"], 2, &["cannot tell the format", "--format"]);
    fails(&["picture", "t.trace", "-o", "no/such/x.svg"], 1, &["mkdir -p no/such"]);
    fails(&["picture", "t.trace", "-o", "x.svg", "--size", "wide"], 2, &["from 300 to 20000"]);
    fails(&["picture", "t.trace", "-o", "x.svg", "--scale", "9"], 2, &["--scale", "between 1 and 8"]);
    fails(&["picture", "t.trace", "-o", "x.svg", "--colour-by", "speed"], 2, &["frequency, queue, thread"]);
    fails(
        &["picture", "t.trace", "-o", "x.svg", "--view", "none.toml"],
        1,
        &["none.toml", "a view file looks"],
    );
    let folder = with_trace();
    let window =
        |args: &[&str]| hearth(folder.path(), &[&["picture", "t.trace", "-o", "x.svg"], args].concat());
    failed(
        &window(&["--from", "20ms", "--to", "20ms"]),
        2,
        &["from 20ms to 20ms is empty", "--from must be"],
    );
    failed(&window(&["--from", "1h"]), 2, &["is empty", "50ms"]);
    assert!(!folder.path().join("x.svg").exists());
}
