//! Links this program, and nothing else, without the system's start files and libraries.

fn main() {
    for word in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--no-undefined",
    ] {
        println!("cargo::rustc-link-arg-bins={word}");
    }
}
