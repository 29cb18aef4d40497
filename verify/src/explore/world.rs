//! What the protocol of one place sees of everything else.

use tautline_core::PlaceId;
use tautline_core::glb::{Actions, Message, Share};

/// Tasks by kind: the owner works at the back, thieves take from the front.
pub(super) type Tasks = Vec<u8>;

/// The world around one place during one event.
pub(super) struct World {
    pub(super) bag: Tasks,
    steal: Share,
    pub(super) sent: Vec<(PlaceId, Message<Tasks>)>,
    pub(super) done: u32,
    /// The numbers to draw, each with its bound; what is drawn beyond them is 0 and noted.
    pub(super) drawn: Vec<(usize, usize)>,
    draws: usize,
}

impl World {
    pub(super) fn new(bag: &[u8], steal: Share, drawn: Vec<(usize, usize)>) -> Self {
        Self {
            bag: bag.to_vec(),
            steal,
            sent: Vec::new(),
            done: 0,
            drawn,
            draws: 0,
        }
    }

    fn split(&mut self, share: Share) -> Option<Tasks> {
        let tasks = share.of(self.bag.len());
        (tasks > 0).then(|| self.bag.drain(..tasks).collect())
    }
}

impl Actions<Tasks> for World {
    /// These trees have no bound.
    fn improve(&mut self, _: u128) {}

    fn send(&mut self, to: PlaceId, message: Message<Tasks>) {
        self.sent.push((to, message));
    }

    fn work(&mut self, loot: Tasks) {
        self.bag.extend(loot);
    }

    fn steal(&mut self) -> Option<Tasks> {
        self.split(self.steal)
    }

    fn ration(&mut self, thieves: usize) -> Option<Tasks> {
        self.split(Share::Ration(thieves))
    }

    fn pick(&mut self, n: usize) -> usize {
        if self.draws == self.drawn.len() {
            self.drawn.push((0, n));
        }
        self.draws += 1;
        self.drawn[self.draws - 1].0
    }

    fn done(&mut self) {
        self.done += 1;
    }
}
