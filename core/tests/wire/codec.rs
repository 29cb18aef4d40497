//! Values as bytes.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use tautline_core::glb::Message;
use tautline_core::wire::{Bulk, Unencodable, Why, pack, pack_within, unpack};
use tautline_core::{PlaceId, Rank, WorkerId};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Empty,
    Circle { radius: f64 },
    Path(Vec<(i32, i32)>, Option<String>),
    Map(BTreeMap<u8, Box<Shape>>),
}

fn shapes() -> Vec<Shape> {
    let path = Shape::Path(vec![(i32::MIN, 7), (0, -1)], Some("ü".into()));
    let map = [(0, Box::new(path.clone())), (255, Box::new(Shape::Empty))];
    vec![
        Shape::Empty,
        Shape::Circle {
            radius: f64::INFINITY,
        },
        path,
        Shape::Map(map.into()),
    ]
}

#[test]
fn values_survive() {
    let mut bytes = vec![1, 2, 3];
    pack(&shapes(), &mut bytes).unwrap();
    assert_eq!(bytes[..3], [1, 2, 3], "what was there before stays");
    assert_eq!(unpack::<Vec<Shape>>(&bytes[3..]), Ok(shapes()));
    let ids = (PlaceId(3), Rank(u32::MAX), WorkerId(0));
    let loot = Message::Loot(vec![(7u64, 8u64)]);
    bytes.clear();
    pack(&(ids, &loot), &mut bytes).unwrap();
    assert_eq!(unpack(&bytes), Ok((ids, loot)));
}

/// All bytes must be used, and none may be missing.
#[test]
fn only_whole_values_are_accepted() {
    let mut bytes = Vec::new();
    pack(&shapes(), &mut bytes).unwrap();
    for end in 0..bytes.len() {
        let error = unpack::<Vec<Shape>>(&bytes[..end]).unwrap_err();
        assert_eq!(error.bytes, end);
        assert!(error.to_string().contains("Shape"), "{error}");
    }
    bytes.extend([0, 0]);
    let error = unpack::<Vec<Shape>>(&bytes).unwrap_err();
    assert_eq!(error.why, Why::Left(2));
    assert_eq!(unpack::<bool>(&[2]).unwrap_err().why, Why::Wrong);
    assert_eq!(unpack::<u64>(&[255; 3]).unwrap_err().why, Why::Short);
}

#[test]
fn an_encoding_ends_at_its_limit() {
    let mut bytes = vec![9];
    let value = vec![1u8; 100];
    let error = pack_within(&value, 100, &mut bytes).unwrap_err();
    assert_eq!((error.limit, &bytes[..]), (Some(100), &[9][..]));
    assert!(error.to_string().contains("100 bytes"), "{error}");
    pack_within(&value, 101, &mut bytes).unwrap();
    assert_eq!(bytes.len(), 1 + 101);
}

#[test]
fn what_cannot_be_encoded_is_named() {
    struct Secret;
    impl Serialize for Secret {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("never"))
        }
    }
    let Unencodable { what, limit } = pack(&Secret, &mut Vec::new()).unwrap_err();
    assert!(what.ends_with("Secret"));
    assert_eq!(limit, None);
}

/// At every alignment of the bytes.
#[test]
fn bulk_arrays_survive() {
    let value = Bulk((0..1000).map(|i| [f64::from(i), -0.5]).collect::<Vec<_>>());
    for shift in 0..8 {
        let mut bytes = vec![0; shift];
        pack(&value, &mut bytes).unwrap();
        assert_eq!(bytes.len(), shift + 2 + 16_000);
        assert_eq!(unpack(&bytes[shift..]).as_ref(), Ok(&value));
        // Two bytes of length for 15 999 bytes, which are no whole number of elements.
        let mut short = Vec::new();
        pack(&Bulk(vec![0u8; 15_999]), &mut short).unwrap();
        assert_eq!(
            unpack::<Bulk<[f64; 2]>>(&short).unwrap_err().why,
            Why::Wrong
        );
    }
    let mut bytes = Vec::new();
    pack(&Bulk(Vec::<u16>::new()), &mut bytes).unwrap();
    assert_eq!(unpack(&bytes), Ok(Bulk(Vec::<u16>::new())));
}
