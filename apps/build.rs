//! Records the commit from which the command is built, for `tautline --version`.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../.git/HEAD");
    println!("cargo:rerun-if-changed=../.git/refs/heads");
    let git = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let commit = git.ok().filter(|said| said.status.success());
    if let Some(commit) = commit {
        let commit = String::from_utf8_lossy(&commit.stdout);
        println!("cargo:rustc-env=BUILD_COMMIT={}", commit.trim());
    }
}
