//! Models of `tautline_core::task`: the code that ships, on loom's threads.
//!
//! A task or a wake-up that is lost leaves a worker asleep for ever, which loom reports as a
//! deadlock.
#![cfg(tautline_loom)]

#[path = "task/blocks.rs"]
mod blocks;
#[path = "task/domains.rs"]
mod domains;
#[path = "task/fork.rs"]
mod fork;
#[path = "task/futures.rs"]
mod futures;
#[path = "task/handles.rs"]
mod handles;
#[path = "task/holds.rs"]
mod holds;
#[path = "task/machine.rs"]
mod machine;
#[path = "task/rest.rs"]
mod rest;
#[path = "task/scope.rs"]
mod scope;
#[path = "task/sleep.rs"]
mod sleep;
#[path = "task/waiting.rs"]
mod waiting;
