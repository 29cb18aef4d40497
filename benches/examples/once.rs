//! One tree search and nothing else: for counting instructions, and for timing ways in turn.
//!
//! `once WAY [TREE] [THREADS] [ENGINE]` with WAY sequential, stack, balanced, rayon or chili, as in
//! `valgrind --tool=callgrind once sequential T1` beside `valgrind --tool=callgrind once balanced
//! T1`. ENGINE is how the first and the third hash: one, or a wide one of those this processor has.
//! `once engines` lists them, the fastest first. Peers recurse: they get stacks for the deepest
//! trees, chili by `RUST_MIN_STACK`, with which the program restarts itself.

use std::time::Instant;
use tautline_bench::pools::pin;
use tautline_bench::programs::this_program;
use tautline_cli::uts::{Engine, Tree, named, sequential};

#[path = "../common/trees.rs"]
mod trees;

/// The stack size of chili's threads is the value of this variable.
const STACK: &str = "RUST_MIN_STACK";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &str| words.get(i).cloned().unwrap_or_else(|| default.into());
    let known = named::find(&word(1, "T1")).expect("the name of a sample tree");
    let threads = word(2, "1").parse().expect("a number of threads");
    let fastest = Engine::fastest();
    if word(0, "") == "engines" {
        let others = Engine::all().filter(|engine| engine.name() != fastest.name());
        return [fastest]
            .into_iter()
            .chain(others)
            .for_each(|engine| println!("{}", engine.name()));
    }
    let name = word(3, fastest.name());
    let mut engines = [fastest].into_iter().chain(Engine::all());
    let engine = engines.find(|engine| engine.name() == name);
    let engine = engine.expect("an engine that this processor has");
    let tree = Tree::with_engine(known.params, engine).expect("sample trees are valid");
    let start = Instant::now();
    if word(0, "") == "chili" && std::env::var_os(STACK).is_none() {
        let mut command = this_program();
        command
            .args(&words)
            .env(STACK, trees::STACK_BYTES.to_string());
        let status = command.status().expect("it has started once");
        std::process::exit(status.code().unwrap_or(1));
    }
    let counts = match word(0, "").as_str() {
        "sequential" => sequential(&tree),
        "stack" => trees::stack(&tree),
        "balanced" => trees::balanced(&tree, threads),
        "rayon" => trees::rayon(&tree, &trees::rayon_pool(threads)),
        "chili" => {
            // The caller works too.
            let body = || {
                let pool = trees::chili_pool(threads);
                pin(0);
                trees::chili(&tree, &pool)
            };
            std::thread::scope(|scope| scope.spawn(body).join().expect("trees do not panic"))
        }
        way => panic!("sequential, stack, balanced, rayon or chili, not {way:?}"),
    };
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(counts.nodes, known.nodes);
    println!("{:.2} Mnodes/s", counts.nodes as f64 / seconds / 1e6);
}
