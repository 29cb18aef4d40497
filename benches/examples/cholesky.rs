//! Cholesky factorizations of a drawn matrix by tiles as tasks, beside those of faer and of
//! programs of peers, in billions of floating-point operations a second.
//!
//! The ways take turns, so that a disturbance of the machine hits all alike; each factorizes the
//! same matrix, which is copied before the time is taken. The best of several tiles is shown with
//! all of them: the others choose their own blocks. `--peers FILE` adds programs that
//! `benches/peers.sh` has built. A factor of ours has a residual of 1 or less, or the program ends.
#![allow(missing_docs)]

use clap::Parser;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::prelude::default;
use faer::{Mat, Par};
use std::path::PathBuf;
use std::time::Instant;
use tautline::Runtime;
use tautline_bench::machine::version;
use tautline_bench::pools;
use tautline_bench::programs::{self, Program, numbers};
use tautline_bench::samples::{in_turn, median};
use tautline_cli::cholesky::{Matrix, Shape, factorize, residual};

#[derive(Parser)]
struct Options {
    /// Rows of the matrix
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    n: u32,
    /// Rows of tiles that are compared
    #[arg(long, value_delimiter = ',', default_value = "96,128,192,256")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    tile: Vec<u32>,
    /// Workers of the parallel ways
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The list of programs that benches/peers.sh has written
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
}

impl Options {
    fn shape(&self, side: u32) -> Shape {
        Shape::new(self.n as usize, side as usize)
    }
}

/// A way to factorize the matrix.
enum Way<'a> {
    Tiles(&'a Runtime, Shape),
    Faer(Par),
    Peer(&'a Program, usize),
}

struct Problem {
    matrix: Matrix,
    whole: Mat<f64>,
    pool: rayon::ThreadPool,
}

impl Problem {
    fn new(rows: usize, workers: usize) -> Self {
        let matrix = Matrix::drawn(rows, 1);
        let all = matrix.tile(Shape::new(rows, rows), 0, 0);
        let whole = Mat::from_fn(rows, rows, |i, j| all[i.min(j) * rows + i.max(j)]);
        let pool = pools::rayon(workers).build().expect("a few threads");
        Self {
            matrix,
            whole,
            pool,
        }
    }

    /// Returns the seconds of a factorization; of a peer as it prints them, or why not.
    fn seconds(&self, way: &Way<'_>) -> Result<f64, String> {
        match way {
            Way::Tiles(runtime, shape) => {
                let measured = factorize(&self.matrix, *shape, runtime);
                measured.factor.map_err(|failure| failure.to_string())?;
                Ok(measured.seconds)
            }
            Way::Faer(par) => self.pool.install(|| Ok(self.faer(*par))),
            Way::Peer(peer, workers) => {
                let mut command = programs::command(&peer.path);
                command.args([self.whole.nrows(), *workers].map(|n| n.to_string()));
                let output = command.output().map_err(|error| error.to_string())?;
                numbers::<1>(&output).map(|[seconds]| seconds)
            }
        }
    }

    fn faer(&self, par: Par) -> f64 {
        let mut factor = self.whole.clone();
        let scratch = cholesky_in_place_scratch::<f64>(factor.nrows(), par, default());
        let mut memory = MemBuffer::new(scratch);
        let began = Instant::now();
        let factorized = cholesky_in_place(
            factor.as_mut(),
            LltRegularization::default(),
            par,
            MemStack::new(&mut memory),
            default(),
        );
        let seconds = began.elapsed().as_secs_f64();
        factorized.expect("a positive definite matrix");
        seconds
    }
}

/// Returns the ways with their names and workers: of one worker, and of all.
fn ways<'a>(
    options: &Options,
    runtimes: &'a [(usize, Runtime)],
    peers: &[&'a Program],
) -> Vec<(String, usize, Way<'a>)> {
    let mut ways = Vec::new();
    for (count, runtime) in runtimes {
        for &side in &options.tile {
            let way = Way::Tiles(runtime, options.shape(side));
            ways.push((format!("tautline, tiles of {side}"), *count, way));
        }
        let par = match *count {
            1 => Par::Seq,
            count => Par::rayon(count),
        };
        ways.push((format!("faer {}", version("faer")), *count, Way::Faer(par)));
        for peer in peers {
            ways.push((peer.contender.clone(), *count, Way::Peer(peer, *count)));
        }
    }
    ways
}

fn main() {
    let options = Options::parse();
    let (rows, workers) = (options.n as usize, options.workers as usize);
    let peers = programs::peers(options.peers.as_ref());
    let peers: Vec<_> = peers.iter().filter(|peer| peer.row == "cholesky").collect();
    let problem = Problem::new(rows, workers);
    let counts = if workers > 1 {
        vec![1, workers]
    } else {
        vec![1]
    };
    let runtimes: Vec<_> = counts
        .iter()
        .map(|&count| (count, runtime(count)))
        .collect();
    let ways = ways(&options, &runtimes, &peers);
    for &side in &options.tile {
        let factor = factorize(&problem.matrix, options.shape(side), &runtimes[0].1).factor;
        let found = residual(
            &problem.matrix,
            &factor.expect("a positive definite matrix"),
        );
        assert!(found <= 1.0, "tiles of {side}: a residual of {found}");
    }
    let samples = in_turn(options.rounds as usize, ways.len(), |at| {
        problem.seconds(&ways[at].2)
    });
    let rounds = options.rounds;
    println!("n = {rows}, {rounds} rounds in turn, by workers: GF/s, median, least and most");
    let operations = Shape::new(rows, 1).operations() as f64;
    for ((name, count, _), samples) in ways.iter().zip(samples) {
        match samples.into_iter().collect::<Result<Vec<f64>, _>>() {
            Ok(seconds) => {
                let rates: Vec<_> = seconds.iter().map(|one| operations / one / 1e9).collect();
                let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
                let most = rates.iter().copied().fold(0.0, f64::max);
                let middle = median(&rates);
                println!("{name:<40} {count:>3} {middle:>8.1} {least:>8.1} {most:>8.1}");
            }
            Err(complaint) => println!("{name:<40} {count:>3} {complaint}"),
        }
    }
}

fn runtime(workers: usize) -> Runtime {
    let built = Runtime::builder().workers(workers).build();
    built.expect("a few threads")
}
