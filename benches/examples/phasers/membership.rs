//! Tasks that come and go: what it takes to register one among many, and how much memory a registered one holds.

use crate::allocations;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tautline::bench::{Barrier, Central, CombiningTree, Kind, Plan, Sample, Taken};

use crate::barriers::{DEGREES, Hurdles};

/// All ways to register a task and drop it, among as many as the plan has tasks; ours first.
pub fn kinds() -> Vec<Kind> {
    vec![register("a counted reference", |live| {
        let one = Arc::new(());
        let all = vec![one; live];
        move || drop(black_box(all[0].clone()))
    })]
}

/// What `live` makes for a number of live tasks registers one more and drops it.
fn register<F: FnMut()>(name: &str, live: impl Fn(usize) -> F + 'static) -> Kind {
    Kind::measured(name, move |plan: &Plan| {
        let mut once = live(plan.cpus.len());
        (0..plan.iterations / 10).for_each(|_| once());
        let start = Instant::now();
        (0..plan.iterations).for_each(|_| once());
        Ok(Sample {
            ns: start.elapsed().as_nanos() as f64 / f64::from(plan.iterations),
            pinned: true,
            lost: Taken::default(),
        })
    })
}

/// Bytes by name.
pub type Bytes = (String, f64);

/// Bytes for each of so many tasks, the barrier itself and the handles counted; ours first.
pub fn bytes(tasks: usize) -> Vec<Bytes> {
    let mut all = vec![("central counter".to_owned(), each(tasks, Central::new))];
    for &degree in DEGREES {
        let tree = |tasks| CombiningTree::new(tasks, degree);
        all.push((
            format!("combining tree, degree {degree}"),
            each(tasks, tree),
        ));
    }
    all.push(("hurdles".to_owned(), each(tasks, Hurdles::new)));
    all
}

fn each<B: Barrier>(tasks: usize, make: impl FnOnce(usize) -> B) -> f64 {
    let made = allocations::during(|| Box::new(make(tasks)));
    let handles = allocations::during(|| {
        let mut parties = made.result.parties();
        parties.shrink_to_fit();
        parties
    });
    drop(handles.result);
    (made.bytes + handles.bytes) as f64 / tasks as f64
}
