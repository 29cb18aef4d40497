//! Parcels that no rank sends: each is one error that names the ranks, the channel and what was
//! expected.

use crate::net::{Got, Net, Wire, errors, open, settle};
use serde::de::Deserializer;
use serde::ser::{SerializeTuple, Serializer};
use serde::{Deserialize, Serialize};
use std::panic::Location;
use tautline_core::PlaceId;
use tautline_core::wire::{
    Cause, Channel, Exchange, Fault, Limits, Malformed, Receiver, Why, seal, unpack,
};

type Item = (u32, Vec<u16>, Option<String>);

fn item(i: u32) -> Item {
    (
        i,
        (0..i as u16 % 9).collect(),
        i.is_multiple_of(2).then(|| format!("item {i}")),
    )
}

/// Two ranks of which rank 0 has sent some items that are still on their way, several in each
/// parcel.
struct Scene {
    net: Net,
    all: Vec<Exchange<Wire>>,
    ends: Vec<(Channel<Item>, Got<Item>)>,
}

fn scene(items: u32, each: u32) -> Scene {
    let limits = Limits {
        body: 4096,
        ..Limits::default()
    };
    let (net, all) = Net::exchanges(2, limits);
    let ends: Vec<_> = all.iter().map(|e| open::<Item>(e, "items")).collect();
    settle(&all).unwrap();
    for i in 0..items {
        ends[0].0.send(PlaceId(0), PlaceId(1), item(i));
        if (i + 1) % each == 0 {
            all[0].turn().unwrap();
        }
    }
    Scene { net, all, ends }
}

impl Scene {
    /// Returns the error of rank 1 for the parcels as they are now.
    fn error(&self) -> Option<String> {
        let error = self.all[1].turn().err()?;
        let line = error.to_string();
        assert_eq!(line.lines().count(), 1);
        assert!(
            line.starts_with("rank 1: ") && line.contains("rank 0"),
            "{line}"
        );
        assert_eq!(self.all[1].turn(), Err(error), "the first error stays");
        Some(line)
    }
}

#[test]
fn parcels_that_a_link_spoils_are_seen() {
    type Spoil = fn(&mut std::collections::VecDeque<Vec<u8>>);
    let spoils: [(&str, usize, Spoil); 8] = [
        ("lost", 2, |mail| drop(mail.remove(2))),
        ("doubled", 3, |mail| mail.insert(3, mail[2].clone())),
        ("swapped", 2, |mail| mail.swap(2, 3)),
        ("flipped", 2, |mail| mail[2][20] ^= 4),
        ("flipped in the header", 2, |mail| mail[2][5] ^= 4),
        ("cut", 2, |mail| mail[2].truncate(25)),
        ("extended", 2, |mail| mail[2].push(0)),
        ("short", 2, |mail| mail[2].truncate(9)),
    ];
    for ((what, at, spoil), each) in spoils.iter().flat_map(|spoil| [(spoil, 1), (spoil, 3)]) {
        let scene = scene(12, each);
        scene.net.with(0, 1, spoil);
        let line = scene
            .error()
            .unwrap_or_else(|| panic!("{what} parcels pass"));
        // Its announcement was the first parcel.
        assert!(
            line.contains(&format!("expected parcel {} of rank 0", at + 1)),
            "{what}: {line}"
        );
        assert_eq!(
            scene.ends[1].1.lock().unwrap().len(),
            at * each as usize,
            "{what}: those before arrive"
        );
        let told = scene.all[0].turn().unwrap_err().to_string();
        assert!(
            told.starts_with("rank 0: rank 1 gave up: ") && told.matches("rank 1").count() == 1,
            "{told}"
        );
    }
    for each in [1, 3] {
        let scene = scene(12, each);
        assert_eq!(scene.error(), None);
        assert_eq!(scene.ends[1].1.lock().unwrap().len(), 12);
    }
}

/// Parcels of several messages whose parts a rank has written wrong.
#[test]
fn parts_that_are_not_those_of_the_parcel_are_seen() {
    type Forge = fn(&mut [u8]);
    // After the bodies: the places and the length of each of three, and their number.
    fn at(parcel: &mut [u8], part: usize, field: usize) -> &mut u8 {
        let start = parcel.len() - 4 - 12 * (3 - part);
        &mut parcel[start + 4 * field]
    }
    let forged: [(&str, Forge); 9] = [
        ("lengths", |parcel| *at(parcel, 1, 2) += 1),
        ("lengths", |parcel| *at(parcel, 2, 2) = 255),
        ("lengths", |parcel| *at(parcel, 3, 0) = 4),
        ("lengths", |parcel| *at(parcel, 3, 0) = 255),
        ("lengths", |parcel| *at(parcel, 3, 0) = 0),
        ("lengths", |parcel| *at(parcel, 3, 0) = 1),
        ("is not open at both ends", |parcel| parcel[0] = 7),
        ("sent a message from place 3 to", |parcel| {
            *at(parcel, 0, 0) = 3
        }),
        ("to place 9", |parcel| *at(parcel, 0, 1) = 9),
    ];
    for (expected, forge) in forged {
        let scene = scene(3, 3);
        scene.net.with(0, 1, |mail| {
            let [parcel] = mail.make_contiguous() else {
                panic!("one parcel");
            };
            forge(parcel);
            // The announcement was the first.
            seal(1, parcel);
        });
        let line = scene.error().expect("it is seen");
        assert!(line.contains(expected), "{line}");
        assert_eq!(scene.ends[1].1.lock().unwrap().len(), 0);
    }
}

/// A channel that was never announced, and a body that is too long, by a rank with other limits.
#[test]
fn messages_that_are_not_expected_are_seen() {
    let (net, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<Item>(e, "items")).collect();
    ends[0].0.send(PlaceId(0), PlaceId(1), item(1));
    all[0].turn().unwrap();
    // Without the announcement, the message would be the first parcel.
    net.with(0, 1, |mail| drop(mail.pop_front()));
    let line = all[1].turn().unwrap_err().to_string();
    assert!(
        line.contains("channel 0 (items): expected parcel 0 of rank 0"),
        "{line}"
    );

    let net = Net::new(2);
    let limits = |body| Limits {
        body,
        ..Limits::default()
    };
    let all = [1000, 50].map(|body| body);
    let all: Vec<_> = (0..2)
        .map(|r| Exchange::within(limits(all[r]), net.link(r), tautline_core::port::Spin))
        .collect();
    let ends: Vec<_> = all.iter().map(|e| open::<Vec<u8>>(e, "bytes")).collect();
    settle(&all).unwrap();
    ends[0].0.send(PlaceId(0), PlaceId(1), vec![0; 60]);
    let error = errors(&all)[1].clone().unwrap();
    assert_eq!(
        error.cause,
        Cause::TooLong {
            bytes: 61,
            limit: 50
        }
    );
    assert_eq!(
        error.to_string(),
        "rank 1: channel 0 (bytes): rank 0 sent a message of 61 bytes, at most 50 are permitted"
    );
}

/// A link that confuses its peers.
#[test]
fn a_message_from_a_place_of_another_rank_is_seen() {
    let (net, all) = Net::exchanges(3, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<Item>(e, "items")).collect();
    ends[2].0.send(PlaceId(2), PlaceId(1), item(1));
    all[2].turn().unwrap();
    let mail = net.with(2, 1, std::mem::take);
    net.with(0, 1, |to| *to = mail);
    let error = all[1].turn().unwrap_err();
    let line = error.to_string();
    assert!(
        line.contains("rank 0 sent a message from place 2 to place 1"),
        "{line}"
    );
}

/// The body of a message, as its sender wrote it.
struct Forged(Vec<u8>);

impl Serialize for Forged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_tuple(self.0.len())?;
        self.0
            .iter()
            .try_for_each(|byte| all.serialize_element(byte))?;
        all.end()
    }
}

impl<'de> Deserialize<'de> for Forged {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        unreachable!("the receiver expects items")
    }
}

/// Sends `body` as the only message from rank 0 to rank 1, whose receiver is `receiver`.
fn forge(body: Vec<u8>, receiver: impl Receiver + 'static) -> Option<String> {
    let site = Location::caller();
    let (_, all) = Net::exchanges(2, Limits::default());
    let from = all[0].open_at::<Forged>(site, "items", 1, |_, _, _: &[u8]| Ok(()));
    let _to = all[1].open_at::<Forged>(site, "items", 1, receiver);
    from.send(PlaceId(0), PlaceId(1), Forged(body));
    let error = errors(&all)[1].clone()?;
    assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
    Some(error.to_string())
}

fn takes_items(_: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
    let (_, numbers, name) = unpack::<Item>(body)?;
    assert!(numbers.len() <= body.len() && name.is_none_or(|n| n.len() <= body.len()));
    Ok(())
}

#[test]
fn a_body_that_is_not_a_message_is_seen() {
    let line = forge(vec![1, 200], takes_items).unwrap();
    let expected = "rank 1: channel 0 (items): a message from rank 0 has 2 bytes where \
        (u32, alloc::vec::Vec<u16>, core::option::Option<alloc::string::String>) was expected: \
        they end too early";
    assert_eq!(line, expected);
    let refuses = |_, _, body: &[u8]| {
        let refused = Malformed::refused("a count below 8", body.len(), "it is 9");
        assert_eq!(refused.why, Why::Refused("it is 9"));
        Err(refused.into())
    };
    let line = forge(vec![9], refuses).unwrap();
    assert!(
        line.ends_with("1 bytes where a count below 8 was expected: it is 9"),
        "{line}"
    );
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    /// Changes bytes as faulty hardware or another program would.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len().max(1));
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = [0, 1, 127, 128, 255][self.below(5)],
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.below(256) as u8),
                4 => bytes.extend((0..self.below(40)).map(|i| (i as u8).wrapping_mul(37))),
                _ => (0..10.min(bytes.len() - at)).for_each(|i| bytes[at + i] = 255),
            }
        }
    }
}

/// Spoils one parcel in `inputs` runs; none may pass, unless it is as before.
fn no_spoilt_parcel_passes(inputs: usize, seed: u64) {
    let mut numbers = Numbers(seed);
    // As many parcels as can be tried with two exchanges.
    const ITEMS: usize = 12;
    for input in 0..inputs {
        let each = 1 + input % 3;
        let scene = scene(ITEMS as u32, each as u32);
        let at = numbers.below(ITEMS / each);
        let (before, after) = scene.net.with(0, 1, |mail| {
            let before = mail[at].clone();
            numbers.spoil(&mut mail[at]);
            (before, mail[at].clone())
        });
        let line = scene.error();
        assert_eq!(
            line.is_some(),
            before != after,
            "seed {seed}, input {input}: {line:?}"
        );
        let got = scene.ends[1].1.lock().unwrap().len();
        assert_eq!(got, if line.is_some() { at * each } else { ITEMS });
    }
}

/// Decodes spoilt and random bodies; those that decode must encode to what they were decoded from,
/// or at least end.
fn no_spoilt_body_panics(inputs: usize, seed: u64) {
    let mut numbers = Numbers(seed);
    let mut bytes = Vec::new();
    let mut accepted = 0;
    for i in 0..inputs {
        bytes.clear();
        tautline_core::wire::pack(&item(i as u32 % 50), &mut bytes).unwrap();
        numbers.spoil(&mut bytes);
        accepted += usize::from(takes_items(PlaceId(0), PlaceId(1), &bytes).is_ok());
        type Nested = Vec<
            Vec<(
                bool,
                Option<Box<[u64]>>,
                std::collections::BTreeMap<u8, String>,
            )>,
        >;
        let _ = unpack::<Nested>(&bytes);
        let _ = unpack::<tautline_core::wire::Bulk<[u32; 3]>>(&bytes);
        let _ = unpack::<tautline_core::glb::Message<Item>>(&bytes);
        let _ = unpack::<tautline_core::wire::Terms>(&bytes);
    }
    assert!(accepted > 0, "some flips give other items");
}

#[test]
fn spoilt_parcels_are_errors() {
    no_spoilt_parcel_passes(10_000, 1);
}

#[test]
fn spoilt_bodies_are_errors() {
    no_spoilt_body_panics(100_000, 2);
}

#[test]
#[ignore = "cargo ci deep: minutes"]
fn many_spoilt_parcels_are_errors() {
    no_spoilt_parcel_passes(1_000_000, 3);
}

#[test]
#[ignore = "cargo ci deep: minutes"]
fn many_spoilt_bodies_are_errors() {
    no_spoilt_body_panics(10_000_000, 4);
}
