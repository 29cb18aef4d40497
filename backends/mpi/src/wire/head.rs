//! Packets of communicators as bytes: a head of fixed length, and a body.
#![forbid(unsafe_code)]

use tautline_core::comm::{Body, CommId, Packet, Tag};

/// Bytes of a head.
pub(crate) const HEAD: usize = 32;

const MESSAGE: u32 = 0;
const OFFER: u32 = 1;
const CLAIM: u32 = 2;
const REFUSAL: u32 = 3;
const BODY: u32 = 4;
const ROOM: u32 = 5;
const LEFT: u32 = 6;
const CLOSED: u32 = 7;
const ARRIVED: u32 = 8;

/// The description of a packet, without its body. Fields that a kind does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the communicator's packets.
    pub(crate) number: u32,
    kind: u32,
    comm: u32,
    tag: u32,
    /// Bytes, of an offer or of room, or messages.
    count: u64,
    offer: u64,
}

impl Head {
    /// Returns the head and the body of a packet.
    pub(crate) fn of(number: u32, packet: Packet) -> (Self, Body) {
        let head = Self {
            number,
            ..Self::default()
        };
        match packet {
            Packet::Message { comm, tag, body } => (
                Self {
                    kind: MESSAGE,
                    comm: comm.0,
                    tag: tag.0,
                    ..head
                },
                body,
            ),
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            } => (
                Self {
                    kind: OFFER,
                    comm: comm.0,
                    tag: tag.0,
                    count: bytes,
                    offer,
                    ..head
                },
                Body::default(),
            ),
            Packet::Claim { offer, is_wanted } => {
                let kind = if is_wanted { CLAIM } else { REFUSAL };
                (
                    Self {
                        kind,
                        offer,
                        ..head
                    },
                    Body::default(),
                )
            }
            Packet::Left => (Self { kind: LEFT, ..head }, Body::default()),
            Packet::Closed { messages } => (head.counted(CLOSED, messages), Body::default()),
            Packet::Arrived { messages } => (head.counted(ARRIVED, messages), Body::default()),
            Packet::Body { offer, body } => (Self::of_body(number, offer), body),
            Packet::Room { bytes } => (head.counted(ROOM, bytes), Body::default()),
        }
    }

    fn counted(self, kind: u32, count: u64) -> Self {
        Self {
            kind,
            count,
            ..self
        }
    }

    /// Returns the head of the body of an offer.
    pub(crate) fn of_body(number: u32, offer: u64) -> Self {
        Self {
            number,
            kind: BODY,
            offer,
            ..Self::default()
        }
    }

    /// Returns the packet; `None` for an unknown kind.
    pub(crate) fn packet(self, body: Body) -> Option<Packet> {
        let Self {
            kind,
            comm,
            tag,
            count,
            offer,
            ..
        } = self;
        let (comm, tag) = (CommId(comm), Tag(tag));
        Some(match kind {
            MESSAGE => Packet::Message { comm, tag, body },
            OFFER => Packet::Offer {
                comm,
                tag,
                bytes: count,
                offer,
            },
            CLAIM | REFUSAL => Packet::Claim {
                offer,
                is_wanted: kind == CLAIM,
            },
            BODY => Packet::Body { offer, body },
            ROOM => Packet::Room { bytes: count },
            LEFT => Packet::Left,
            CLOSED => Packet::Closed { messages: count },
            ARRIVED => Packet::Arrived { messages: count },
            _ => return None,
        })
    }

    /// Returns the number of the offer of which the body follows.
    pub(crate) fn offer(&self) -> Option<u64> {
        (self.kind == BODY).then_some(self.offer)
    }

    pub(crate) fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        for (at, word) in [self.number, self.kind, self.comm, self.tag]
            .into_iter()
            .enumerate()
        {
            bytes[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.count.to_le_bytes());
        bytes[24..].copy_from_slice(&self.offer.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; HEAD]) -> Self {
        let word =
            |at: usize| u32::from_le_bytes(bytes[4 * at..][..4].try_into().expect("four bytes"));
        let long =
            |at: usize| u64::from_le_bytes(bytes[at..][..8].try_into().expect("eight bytes"));
        Self {
            number: word(0),
            kind: word(1),
            comm: word(2),
            tag: word(3),
            count: long(16),
            offer: long(24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_what_they_were() {
        let (comm, tag) = (CommId(3), Tag(1 << 30));
        for packet in [
            Packet::Message {
                comm,
                tag,
                body: vec![1, 2, 3].into(),
            },
            Packet::Offer {
                comm,
                tag,
                bytes: 1 << 40,
                offer: u64::MAX,
            },
            Packet::Claim {
                offer: 7,
                is_wanted: true,
            },
            Packet::Claim {
                offer: 7,
                is_wanted: false,
            },
            Packet::Body {
                offer: 8,
                body: vec![9; 100].into(),
            },
            Packet::Room { bytes: 5 },
            Packet::Left,
            Packet::Closed { messages: 1 << 40 },
            Packet::Arrived { messages: 6 },
        ] {
            let (head, body) = Head::of(11, packet.clone());
            let head = Head::from_bytes(&head.to_bytes());
            assert_eq!(head.number, 11);
            assert_eq!(head.packet(body), Some(packet));
        }
        let unknown = Head {
            kind: 9,
            ..Head::default()
        };
        assert_eq!(unknown.packet(Body::default()), None);
    }
}
