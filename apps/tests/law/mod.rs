//! What every bag promises, held against it at random, the same in every run.

use tautline::glb::{Bag, Share};

/// Marsaglia's 64-bit xorshift.
pub(crate) struct Random(u64);

impl Random {
    /// Numbers that follow from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number from 0 to `n - 1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn share(&mut self) -> Share {
        match self.below(4) {
            0 => Share::Half,
            1 => Share::Refill,
            2 => Share::Count(1 + self.below(9)),
            _ => Share::Ration(1 + self.below(5)),
        }
    }
}

/// Splits. B-1: what can be divided is, and neither side is empty. B-3, as far as a bag shows it: no task
/// more and none less.
pub(crate) fn split<B: Bag>(bag: &mut B, share: Share) -> Option<B> {
    let (len, splittable) = (bag.len(), bag.is_splittable());
    let loot = bag.split(share);
    let taken = loot.as_ref().map_or(0, Bag::len);
    assert_eq!(bag.len() + taken, len, "{share:?}");
    assert_eq!(bag.is_empty(), bag.len() == 0);
    match &loot {
        Some(loot) => {
            assert!(
                splittable && !loot.is_empty() && !bag.is_empty(),
                "{share:?} of {len}"
            );
        }
        None => assert!(!splittable || share != Share::Half, "{share:?} of {len}"),
    }
    loot
}

/// Does up to `n` tasks. Fewer only if no more are left.
pub(crate) fn process<B: Bag>(bag: &mut B, n: usize, shared: &B::Shared) -> usize {
    let empty = bag.is_empty();
    let done = bag.process(n, shared);
    assert!(done == n || done < n && bag.is_empty(), "{done} of {n}");
    assert_eq!(done == 0, empty || n == 0);
    done
}

/// Does all the work of `bag` in six bags that give and take at random. Returns how many tasks there were.
/// What comes out of this shows the rest of B-3.
pub(crate) fn scatter<B: Bag>(
    bag: B,
    none: impl Fn() -> B,
    shared: &B::Shared,
    output: &mut B::Output,
    random: &mut Random,
) -> usize {
    let mut bags: Vec<B> = (0..5).map(|_| none()).collect();
    bags.push(bag);
    let mut tasks = 0;
    while bags.iter().any(|bag| !bag.is_empty()) {
        let (from, to) = (random.below(6), random.below(6));
        if from != to {
            // Now and then everything, along with what is known of the way there.
            let loot = match random.below(8) {
                0 => Some(std::mem::replace(&mut bags[from], none())),
                _ => split(&mut bags[from], random.share()),
            };
            if let Some(loot) = loot {
                let both = bags[to].len() + loot.len();
                bags[to].merge(loot);
                assert_eq!(bags[to].len(), both);
            }
        }
        let most = 1 << random.below(10);
        let n = 1 + random.below(most);
        tasks += bags
            .iter_mut()
            .map(|bag| process(bag, n, shared))
            .sum::<usize>();
    }
    for bag in bags {
        bag.submit(output);
    }
    tasks
}

/// Divides `bag` down to single tasks and puts it together again.
pub(crate) fn shred<B: Bag>(bag: B, none: impl Fn() -> B) -> B {
    let (mut whole, mut all) = (vec![bag], none());
    while let Some(mut bag) = whole.pop() {
        match split(&mut bag, Share::Half) {
            Some(loot) => whole.extend([bag, loot]),
            None => {
                assert!(bag.len() <= 1);
                all.merge(bag);
            }
        }
    }
    all
}
