//! Bags that divide badly count the same.

mod sample;

use sample::sample;
use tautline::balance::{Bag, Share, laws};
use tautline_cli::uts::variant::{Fragments, Whole};
use tautline_cli::uts::{Counts, Tree, Uts, named};

fn tree(name: &str) -> Tree {
    Tree::new(named::find(name).expect("a tree with a name").params).expect("named trees are valid")
}

/// Finnerty, acceptance fact 1, for the variants of his search.
#[test]
fn trees_count_exactly_everywhere() {
    let points = sample(48);
    sample::assert_covers(&points, 6);
    for (i, point) in points.iter().enumerate() {
        let name = ["D8", "D9", "D8", "T3", "D8", "D9", "D8", "D8"][i % 8];
        let root = Uts::root(&tree(name));
        let (shared, none) = (|_| tree(name), Counts::default());
        let output = match i % 2 {
            0 => point.run(Whole(root), shared, none).output,
            _ => point.run(Fragments::from(root), shared, none).output,
        };
        assert_eq!(
            output.nodes,
            named::find(name).unwrap().nodes,
            "{name} {point:?}"
        );
    }
}

#[test]
fn random_splits_and_merges_keep_every_task() {
    let tree = tree("D7");
    let root = || Uts::root(&tree);
    let (shared, counts) = (|| tree.clone(), Counts::default);
    for checked in [
        laws::check(|| Whole(root()), shared, counts),
        laws::check(|| Fragments::from(root()), shared, counts),
    ] {
        let checked = checked.expect("it keeps the laws");
        assert_eq!((checked.output.nodes, checked.tasks), (63_914, 63_913));
    }
}

#[test]
fn dividing_to_single_tasks_keeps_every_task() {
    let tree = tree("D7");
    let begun = || {
        let mut bag = Fragments::from(Uts::root(&tree));
        for _ in 0..9 {
            bag.process(700, &tree);
            let mut parts = vec![bag];
            let mut whole = Fragments::from(Uts::empty());
            while let Some(mut part) = parts.pop() {
                match laws::divide(&mut part, Share::Half) {
                    Some(other) => parts.extend([part, other]),
                    None => whole.merge(part),
                }
            }
            bag = whole;
        }
        bag
    };
    let checked = laws::check(begun, || tree.clone(), Counts::default);
    assert_eq!(checked.expect("it keeps the laws").output.nodes, 63_914);
}

/// A bag with a few hundred tasks.
fn begun(tree: &Tree) -> Uts {
    let mut bag = Uts::root(tree);
    bag.process(1000, tree);
    bag
}

/// "The intra-bag gives away its entire contents": what is set aside refuses, so all of it is
/// taken.
#[test]
fn split_1_hands_over_everything() {
    let mut bag = Whole(begun(&tree("D8")));
    assert!(bag.is_splittable());
    assert!(bag.split(Share::Refill).is_none());
    assert!(laws::divide(&mut bag, Share::Half).is_some());
}

/// "The number of split operations needed to empty the intra-bag is proportional to the number of
/// times work was merged into it"; for the bag itself it is not.
#[test]
fn split_2_needs_splits_for_each_merge() {
    fn splits<B: Bag>(merges: usize, of: impl Fn() -> B) -> usize {
        let mut reserve = of();
        (1..merges).for_each(|_| reserve.merge(of()));
        (1..)
            .find(|_| reserve.split(Share::Refill).is_none())
            .expect("an end")
    }
    let tree = tree("D8");
    let counts = |of: &dyn Fn(usize) -> usize| [1, 2, 4, 8, 16].map(of);
    let plain = counts(&|merges| splits(merges, || begun(&tree)));
    let fragments = counts(&|merges| splits(merges, || Fragments::from(begun(&tree))));
    let one = fragments[0];
    assert_eq!(fragments.map(|splits| splits / one), [1, 2, 4, 8, 16]);
    assert!(plain[4] <= plain[0] + 4, "{plain:?}");
}
