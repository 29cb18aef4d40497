//! Links that are cut, as if their rank were lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};
use tautline_node::Loopback;

/// A link that is cut: the other ranks lose this one, and this one loses them.
pub(crate) struct Cut {
    link: Option<Loopback>,
    here: Rank,
    ranks: u32,
    bell: Arc<dyn Bell>,
    is_cut: Arc<AtomicBool>,
    reported: u32,
    /// Withholds the losses of others, which this rank then has from their reports alone.
    pub(crate) is_deaf: bool,
}

/// Returns the links of ranks, each with what cuts it once it is true.
pub(crate) fn cuttable(ranks: u32) -> (Vec<Cut>, Vec<Arc<AtomicBool>>) {
    let cuts: Vec<_> = (0..ranks).map(|_| Arc::default()).collect();
    let links = Loopback::new(ranks).into_iter().zip(&cuts);
    let links = links.map(|(link, is_cut)| Cut {
        here: link.here(),
        ranks,
        bell: link.bell(),
        link: Some(link),
        is_cut: Arc::clone(is_cut),
        reported: 0,
        is_deaf: false,
    });
    (links.collect(), cuts)
}

impl Cut {
    fn link(&mut self) -> Option<&mut Loopback> {
        // ORDERING: Relaxed: it may be cut a little later, too.
        if self.is_cut.load(Ordering::Relaxed) {
            self.link = None;
        }
        self.link.as_mut()
    }
}

impl Link for Cut {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.bell.clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        if let Some(link) = self.link() {
            link.send(to, parcel);
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let is_deaf = self.is_deaf;
        if let Some(link) = self.link() {
            return match link.poll(take) {
                Err(_) if is_deaf => Ok(false),
                polled => polled,
            };
        }
        let mut others = (0..self.ranks).map(Rank).filter(|rank| *rank != self.here);
        let lost = others.nth(self.reported as usize);
        self.reported += 1;
        let doing = "being cut off";
        lost.map_or(Ok(false), |rank| {
            Err(Lost {
                rank,
                doing,
                is_gone: true,
            })
        })
    }

    fn arm(&mut self) -> bool {
        self.link().is_some_and(Loopback::arm)
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.as_ref().map_or(0, |link| link.unsent(to))
    }
}
