//! Tasks that come and go: what it takes to register one among many, and how much memory a
//! registered one holds.

use crate::allocations;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tautline::phaser::Mode;
use tautline_cli::bench::{
    AtMeeting, Barrier, Central, CombiningTree, Episodes, Hurdles, Kind, Meeting, Plan, Sample,
    Taken, flat, help_after, tiered, tree,
};
use tautline_exhibits::phaser::Member;

use crate::barriers::DEGREES;

/// All ways to register a task and drop it, among as many as the plan has tasks; ours first.
pub(crate) fn kinds() -> Vec<Kind> {
    let mut all: Vec<Kind> = DEGREES
        .iter()
        .map(|&degree| {
            register(&format!("phaser, degree {degree}"), move |live| {
                among(tree(degree, 0), live)
            })
        })
        .collect();
    all.push(register("flat phaser", |live| among(flat(0), live)));
    all.extend(DEGREES.iter().map(|&degree| {
        register(&format!("tiered phaser, degree {degree}"), move |live| {
            among(tiered(live, degree, 0), live)
        })
    }));
    all.push(register("a counted reference", |live| {
        let one = Arc::new(());
        let all = vec![one; live];
        move || drop(black_box(all[0].clone()))
    }));
    all
}

/// Registers this number of tasks on the phaser of `first`, and then one more at each call.
fn among<M: Member>(mut first: M, live: usize) -> impl FnMut() {
    let others: Vec<M> = (1..live).map(|_| child(&mut first)).collect();
    move || {
        black_box(&others);
        drop(black_box(child(&mut first)));
    }
}

fn child<M: Member>(parent: &mut M) -> M {
    let child = parent.register(Mode::SignalWait);
    child.unwrap_or_else(|refused| unreachable!("{refused}"))
}

/// Phasers on which each task registers another in each phase, and drops it; ours first.
pub(crate) fn churn() -> Vec<Kind> {
    let mut all: Vec<Kind> = DEGREES
        .iter()
        .map(|&degree| {
            Kind::placed(format!("phaser, degree {degree}"), move |plan| {
                let help_after = help_after(plan);
                Churn(Meeting::new(plan.cpus.len(), move || {
                    tree(degree, help_after)
                }))
            })
        })
        .collect();
    all.push(Kind::placed("flat phaser", |plan| {
        let help_after = help_after(plan);
        Churn(Meeting::new(plan.cpus.len(), move || flat(help_after)))
    }));
    all.extend(DEGREES.iter().map(|&degree| {
        Kind::placed(format!("tiered phaser, degree {degree}"), move |plan| {
            let (tasks, help_after) = (plan.cpus.len(), help_after(plan));
            Churn(Meeting::new(tasks, move || {
                tiered(2 * tasks, degree, help_after)
            }))
        })
    }));
    all
}

struct Churn<F>(Meeting<F>);

impl<M: Member + Send, F: Fn() -> M> Barrier for Churn<F> {
    type Party<'a>
        = AtChurn<M>
    where
        F: 'a;

    fn parties(&self) -> Vec<AtChurn<M>> {
        self.0.parties().into_iter().map(AtChurn).collect()
    }
}

struct AtChurn<M>(AtMeeting<M>);

impl<M: Member> Episodes for AtChurn<M> {
    fn wait(&mut self) {
        drop(child(&mut self.0.0));
        self.0.wait();
    }
}

/// Measures what `live` makes for a number of live tasks, which registers one more and drops it.
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
pub(crate) type Bytes = (String, f64);

/// Bytes for each of `tasks` tasks, the barrier itself and the handles counted; ours first.
pub(crate) fn bytes(tasks: usize) -> Vec<Bytes> {
    let mut all = Vec::new();
    for &degree in DEGREES {
        let phaser = |tasks| Meeting::new(tasks, move || tree(degree, 0));
        all.push((format!("phaser, degree {degree}"), each(tasks, phaser)));
    }
    let flat = |tasks| Meeting::new(tasks, || flat(0));
    all.push(("flat phaser".to_owned(), each(tasks, flat)));
    for &degree in DEGREES {
        let tiered = |tasks| Meeting::new(tasks, move || tiered(tasks, degree, 0));
        all.push((
            format!("tiered phaser, degree {degree}"),
            each(tasks, tiered),
        ));
    }
    all.push(("central counter".to_owned(), each(tasks, Central::new)));
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
