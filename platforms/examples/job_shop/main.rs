//! A job shop by branch and bound, `job_shop [FILE [SECONDS]]`: prints the incumbent, its gap and
//! the nodes while it runs; at the deadline and upon Ctrl-C it ends with the best schedule so far.

mod instance;

use instance::{Instance, Partial};
use std::cmp::Reverse;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tautline::prelude::*;

/// State shared by all tasks: the instance, and the best schedule so far, by its end.
struct Shop {
    instance: Instance,
    best: Best<u64, Vec<usize>>,
}

/// A partial schedule to be continued.
struct Node(Partial);

impl Task for Node {
    type Shared = Arc<Shop>;
    type Sum = ();

    fn run(self, todo: &mut Local<Self>, (): &mut (), shop: &Arc<Shop>) {
        let Self(partial) = self;
        // There may be a better schedule since this one was added.
        if partial.bound >= shop.best.bound() {
            return;
        }
        let mut children = partial.children(&shop.instance);
        if children.is_empty() {
            shop.best.add(partial.bound, partial.order);
            return;
        }
        // The newest task is done first, so the most promising one comes last.
        children.sort_by_key(|child| Reverse(child.bound));
        todo.extend(children.into_iter().map(Node));
    }

    fn add((): &mut (), (): ()) {}

    fn bound(shop: &Arc<Shop>) -> Option<&dyn AnyBound> {
        Some(&shop.best)
    }
}

fn solve(text: &str, seconds: f64) -> Result<(), String> {
    let limit = Duration::try_from_secs_f64(seconds);
    let limit = limit.map_err(|error| format!("{seconds} seconds: {error}"))?;
    let instance = Instance::parse(text)?;
    let root = Partial::empty(&instance);
    let least = root.bound;
    let best = Best::new();
    let shop = Arc::new(Shop { instance, best });
    let gap = |makespan: u64| 100.0 * (makespan - least) as f64 / makespan as f64;

    let rt = Runtime::new().map_err(|error| error.to_string())?;
    let search = rt.balancer().deadline(limit).interruptible();
    let search = search.progress(Duration::from_secs(1), |progress| {
        if !progress.ended
            && let Some((makespan, _)) = shop.best.incumbent()
        {
            let (nodes, gap, time) = (progress.done, gap(makespan), progress.elapsed);
            eprintln!("{time:>6.0?} {nodes:>11} nodes, makespan {makespan}, gap {gap:.1} %");
        }
    });
    let root = Tasks::from_iter([Node(root)]);
    let run = search.run(root, |_place| shop.clone(), ());
    let run = run.map_err(|error| error.to_string())?;

    let Some((makespan, order)) = shop.best.incumbent() else {
        return Err(format!("no schedule within {limit:?}"));
    };
    match run.stopped {
        None => println!("makespan {makespan}, proved"),
        Some(reason) => println!("makespan {makespan}, gap {:.1} %: {reason}", gap(makespan)),
    }
    println!("jobs in the order of their operations: {order:?}");
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let solved = || {
        let text = match words.first() {
            Some(file) => {
                std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?
            }
            None => include_str!("ft06.txt").to_owned(),
        };
        let seconds = words.get(1).map_or("60", |word| word);
        let number = seconds.parse();
        solve(
            &text,
            number.map_err(|_| format!("{seconds}: expected seconds"))?,
        )
    };
    match solved() {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            eprintln!("job_shop: {line}");
            ExitCode::from(2)
        }
    }
}
