//! Completions and manual pages.

use crate::{fails, folder, printed};
use hearth_tests::has;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program, which must succeed without a word.
fn accepts(program: &str, args: &[&str], file: &Path) {
    let output = Command::new(program).args(args).arg(file).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{program} {}: {said}", file.display());
}

#[test]
fn shells_accept_their_completions() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(folder.path(), &["completions", shell]);
        for word in ["modelcheck", "world", "prove"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let path = folder.path().join(shell);
        fs::write(&path, script).expect("a file");
        if has(&[shell], "shells") {
            accepts(shell, &["-n"], &path);
        }
    }
    fails(&["completions", "csh"], 2, &["csh", "bash, zsh, fish"]);
}

/// Asks bash for the completions of a line.
#[test]
fn bash_completes_verbs_and_flags() {
    let folder = folder();
    let path = folder.path().join("bash");
    fs::write(&path, printed(folder.path(), &["completions", "bash"])).expect("a file");
    let complete = |words: &[&str]| {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let script = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; _hearth hearth '{last}' {before}; echo ${{COMPREPLY[@]}}",
            path.display(),
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
        );
        let output = Command::new("bash").args(["-c", &script]).output().expect("bash");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(complete(&["hearth", "modelc"]), "modelcheck");
    assert_eq!(complete(&["hearth", "sim", "--govern"]), "--governor");
    assert_eq!(complete(&["hearth", "list", "mach"]), "machines");
}

#[test]
fn manual_pages_are_formatted_without_warnings() {
    let folder = folder();
    printed(folder.path(), &["man", "man1"]);
    let pages: Vec<_> =
        fs::read_dir(folder.path().join("man1")).expect("pages").map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 30, "{pages:?}");
    let has_groff = has(&["groff"], "shells");
    for page in pages.iter().filter(|_| has_groff) {
        accepts("groff", &["-K", "utf8", "-man", "-Tutf8", "-ww", "-z"], page);
    }
    let sim = fs::read_to_string(folder.path().join("man1/hearth-sim.1")).expect("a page");
    assert!(sim.contains(".TH hearth-sim 1 \"\" \"hearth "), "{sim}");
    assert!(sim.contains("\\-\\-workload") && sim.contains(".SH EXAMPLES\n.nf\n"), "{sim}");
    fails(&["man", "/dev/null/man"], 1, &["cannot create /dev/null/man"]);
}
