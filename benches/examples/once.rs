//! One tree search and nothing else, for counting instructions:
//! `valgrind --tool=callgrind once sequential T1` beside `… once balanced T1`.

use tautline::glb::Glb;
use tautline::uts::{Counts, Tree, Uts, named, sequential};

fn main() {
    let mut words = std::env::args().skip(1);
    let (how, name) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_else(|| "T1".into()),
    );
    let known = named::find(&name).expect("the name of a sample tree");
    let tree = Tree::new(known.params).expect("sample trees are valid");
    let counts = match how.as_str() {
        "sequential" => sequential(&tree),
        "balanced" => {
            let glb = Glb::new().workers(1).grain(511);
            let run = glb.run(
                Uts::root(&tree),
                |_| Tree::new(known.params).expect("as above"),
                Counts::default(),
            );
            run.expect("one worker starts").output
        }
        _ => panic!("sequential or balanced, not {how:?}"),
    };
    println!("{counts:?}");
}
