//! Links these programs, and nothing else, without the system's start files and libraries.

fn main() {
    let target = std::env::var("CARGO_CFG_TARGET_ARCH");
    // For other processors, `cargo ci cost` has a linker called that takes its own words only.
    let words: &[&str] = match target.as_deref() {
        Ok("x86_64") => &[
            "-nostartfiles",
            "-nostdlib",
            "-static",
            "-no-pie",
            "-Wl,--no-undefined",
        ],
        _ => &["-static", "-no-pie", "--no-undefined"],
    };
    for word in words {
        println!("cargo::rustc-link-arg-bins={word}");
    }
}
