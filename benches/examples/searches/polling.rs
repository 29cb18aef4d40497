//! Ranks of one thread, which polls for requests while it explores.

use crate::account::Account;
use crate::ring::Ring;
use crate::walk::Walk;
use crate::{Found, Pace};
use tautline_cli::uts::Tree;

/// Searches the tree, of which this rank begins with `walk`.
pub(crate) fn run<W: Walk>(mut walk: W, tree: &Tree, pace: Pace) -> Found {
    let (mut ring, mut account) = (Ring::new(), Account::default());
    while !ring.has_ended() || walk.held() > 0 {
        while walk.held() > 0 {
            walk.explore(pace.interval, tree);
            account.beside(|| ring.poll(|| give(&mut walk, pace.chunk)));
        }
        account.search(|| {
            while walk.held() == 0 && !ring.has_ended() {
                ring.search(true);
                if let Some(chunk) = ring.poll(|| None) {
                    walk.accept(W::decode(&chunk));
                }
            }
        });
    }
    ring.leave();
    Found {
        counts: walk.counts(),
        asked: ring.asked,
        failed: ring.failed,
        account,
    }
}

/// Returns a chunk if there are two.
fn give<W: Walk>(walk: &mut W, chunk: usize) -> Option<Vec<u8>> {
    (walk.held() > 2 * chunk).then(|| walk.release(chunk).encode())
}
