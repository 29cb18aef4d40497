//! One bag, on the threads of this machine and on a thousand simulated places.

use tautline::machines;
use tautline::prelude::*;

const COINS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// Sums still to be paid, each with the largest coin that may be used, and the ways found so far.
struct Change(Vec<(u32, usize)>, u64);

impl Bag for Change {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        for done in 0..n {
            let Some((sum, largest)) = self.0.pop() else {
                return done;
            };
            self.1 += u64::from(sum == 0);
            let coins = (0..=largest).filter(|&coin| COINS[coin] <= sum);
            self.0.extend(coins.map(|coin| (sum - COINS[coin], coin)));
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0.len());
        (taken > 0).then(|| Self(self.0.drain(..taken).collect(), 0))
    }

    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
        self.1 += other.1;
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn submit(self, ways: &mut u64) {
        *ways += self.1;
    }
}

fn main() -> tautline::Result<()> {
    let bag = || Change(vec![(300, COINS.len() - 1)], 0);
    let here = tautline::balancer().run(bag(), |_| (), 0)?;
    let jaguar = machines::find("jaguar")?;
    let there = tautline::balancer().places(1024).workers(16);
    let there = there.simulated(&jaguar, 20).run(bag(), |_| (), 0)?;
    assert_eq!((here.output, there.output), (393_119, 393_119));
    println!("{:?} here, {} ns there", here.elapsed, there.virtual_ns);
    Ok(())
}
