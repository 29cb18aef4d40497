//! Words under random schedules, and a bug that must be found.
#![cfg(tautline_shuttle)]

#[path = "schedules/barrier.rs"]
mod barrier;
#[path = "schedules/hits.rs"]
mod hits;
#[path = "schedules/words.rs"]
mod words;
