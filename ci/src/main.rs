//! `cargo ci`.
fn main() {}
