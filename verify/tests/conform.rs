//! The conformance suites: implementations that are right pass, and each broken one is caught.

#[path = "conform/balance.rs"]
mod balance;
#[path = "../../core/tests/glb/driver.rs"]
mod driver;
#[path = "conform/links.rs"]
mod links;
#[path = "conform/ports.rs"]
mod ports;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a suite that must panic.
fn catches(what: &str, suite: impl FnOnce()) {
    let caught = catch_unwind(AssertUnwindSafe(suite));
    assert!(caught.is_err(), "{what} passes");
}
