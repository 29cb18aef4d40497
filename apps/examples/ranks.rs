//! The nodes of a tree, counted over ranks: `cargo run --release --example ranks -- 2 T1L`.
//! The ranks are threads of this process that share nothing but encoded bytes.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tautline::prelude::*;
use tautline::world;
use tautline_cli::uts::{self, Counts, Tree, Uts};

const USAGE: &str = "usage: ranks [RANKS [TREE]], as in `ranks 2 T1L` [default: 2 T3]";

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Err(error) = count(&args) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("ranks: {error}");
    ExitCode::from(2)
}

fn count(args: &[String]) -> Result<(), Box<dyn Error>> {
    let (ranks, tree) = match args {
        [] => ("2", "T3"),
        [ranks] => (&**ranks, "T3"),
        [ranks, tree] => (&**ranks, &**tree),
        _ => return Err(USAGE.into()),
    };
    let ranks = ranks.parse().ok().filter(|ranks| *ranks > 0);
    let ranks: u32 = ranks.ok_or_else(|| format!("{}: RANKS is from 1; {USAGE}", args[0]))?;
    let params = uts::named::find(tree)?.params;
    let tree = || Tree::new(params).expect("a published tree");
    let began = Instant::now();
    let expected = uts::sequential(&tree());
    let alone = began.elapsed().as_secs_f64();

    let runs = world::loopback(ranks, |world| {
        world.wait_at_most(Duration::from_secs(60));
        let rt = Runtime::builder().workers(1).pinned(false).build()?;
        let balancer = rt.balancer().across(world);
        balancer.run(Uts::root(&tree()), |_place| tree(), Counts::default())
    });
    for (rank, run) in runs.into_iter().enumerate() {
        let run = run?;
        assert_eq!(run.output, expected);
        let seconds = run.elapsed.as_secs_f64();
        let loots: u64 = run.places.iter().map(|p| p.tally.sent.count).sum();
        let (loots, bytes) = (loots as f64 / seconds, run.bytes as f64 / seconds);
        let (own, speedup) = (run.places[rank].tally.tasks, alone / seconds);
        println!(
            "rank {rank}: {own} nodes; all: {speedup:.2} x one thread, {loots:.0} loots/s, {bytes:.0} bytes/s"
        );
    }
    Ok(())
}
