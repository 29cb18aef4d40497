//! The link of a program that runs as a single process.

use super::{Bell, Link, Lost, Rank};
use std::sync::Arc;

pub(super) struct Alone;

impl Link for Alone {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, _: &[u8]) {
        panic!("the only rank sends to {to}");
    }

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}
