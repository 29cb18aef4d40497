//! Links that change a message on its way, as no correct rank sends it.

use std::ops::Range;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::wire::seal;
use tautline_node::Loopback;

/// Changes the body of the first message for which it returns true.
pub(crate) type Forge = fn(&mut [u8]) -> bool;

/// A link of which one message to another rank is changed, with its check.
pub(crate) struct Forged {
    link: Loopback,
    forge: Option<Forge>,
    sent: Vec<u64>,
}

/// Returns links of ranks, of which one changes a message.
pub(crate) fn forged(ranks: u32, forger: u32, forge: Forge) -> Vec<Forged> {
    let forged = |link: Loopback| Forged {
        forge: (link.here() == Rank(forger)).then_some(forge),
        sent: vec![0; ranks as usize],
        link,
    };
    Loopback::new(ranks).into_iter().map(forged).collect()
}

/// Bytes of the head of a parcel, the position of its kind, and the kinds of a message and a batch.
const HEAD: usize = 16;
const KIND_AT: usize = 12;
const MESSAGE: u8 = 2;
const SEVERAL: u8 = 5;
/// Bytes of a part of several messages, where it has its length, and bytes of their number.
const PART: usize = 12;
const LENGTH_AT: usize = 8;
const NUMBER: usize = 4;

fn number(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize
}

/// Returns the positions of the messages of a parcel.
fn bodies(parcel: &[u8]) -> Vec<Range<usize>> {
    match parcel[KIND_AT] {
        MESSAGE => std::iter::once(HEAD..parcel.len()).collect(),
        SEVERAL => {
            let end = parcel.len() - NUMBER;
            let parts = end - PART * number(&parcel[end..]);
            let mut start = HEAD;
            let next = |part: &[u8]| {
                let body = start..start + number(&part[LENGTH_AT..]);
                start = body.end;
                body
            };
            parcel[parts..end].chunks(PART).map(next).collect()
        }
        _ => Vec::new(),
    }
}

impl Link for Forged {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        let mut parcel = parcel.to_vec();
        let number = &mut self.sent[to.index()];
        for body in bodies(&parcel) {
            let forges = |forge: Forge| forge(&mut parcel[body.clone()]);
            if self.forge.is_some_and(forges) {
                self.forge = None;
                seal(*number, &mut parcel);
            }
        }
        *number += 1;
        self.link.send(to, &parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.link.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}
