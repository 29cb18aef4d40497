//! The vocabulary of rayon: its verbs on the workers of a runtime, against sequential iterators;
//! the rows of the guide; programs.

#[path = "coming_from_rayon/page.rs"]
mod page;
#[path = "coming_from_rayon/programs.rs"]
mod programs;
#[path = "coming_from_rayon/rows.rs"]
mod rows;
#[path = "coming_from_rayon/verbs.rs"]
mod verbs;

use tautline::prelude::*;

/// Calls `test` on one, two and four workers.
fn each(test: impl Fn(&mut Cx) + Send + Sync) {
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder().workers(workers).build();
        runtime.expect("a runtime").run(|cx| test(cx));
    }
}
