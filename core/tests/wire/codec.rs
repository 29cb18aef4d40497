//! Values as bytes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use tautline_core::glb::Message;
use tautline_core::wire::{Bulk, Unencodable, Unfit, Why, pack, pack_within, unpack};
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
    assert_eq!((error.why, &bytes[..]), (Unfit::TooLong(100), &[9][..]));
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
    let Unencodable { what, why } = pack(&Secret, &mut Vec::new()).unwrap_err();
    assert!(what.ends_with("Secret"));
    assert_eq!(why, Unfit::Failed);
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

fn packed<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(value, &mut bytes).unwrap();
    bytes
}

/// The bytes of each kind of value are those of postcard's specification.
#[test]
fn the_format_is_postcards() {
    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Newtype(u16);
    #[derive(Serialize)]
    enum Variant {
        Unit,
        Newtype(u8),
        Tuple(u8, i16),
        Struct { a: bool, b: char },
    }
    let is = |value: &dyn Fn(&mut Vec<u8>) -> Result<(), Unencodable>, expected: &[u8]| {
        let mut bytes = Vec::new();
        value(&mut bytes).unwrap();
        assert_eq!(bytes, expected);
    };
    is(&|to| pack(&(false, true, (), Unit), to), &[0, 1]);
    is(&|to| pack(&(255u8, -1i8, -128i8), to), &[255, 255, 128]);
    is(
        &|to| pack(&(127u16, 128u16, u16::MAX), to),
        &[127, 128, 1, 255, 255, 3],
    );
    is(
        &|to| pack(&(-1i16, 1i32, i16::MIN), to),
        &[1, 2, 255, 255, 3],
    );
    is(&|to| pack(&u32::MAX, to), &[255, 255, 255, 255, 15]);
    is(&|to| pack(&i32::MIN, to), &[255, 255, 255, 255, 15]);
    let max = [[255; 9].as_slice(), &[1]].concat();
    is(&|to| pack(&u64::MAX, to), &max);
    is(&|to| pack(&i64::MIN, to), &max);
    let max = [[255; 18].as_slice(), &[3]].concat();
    is(&|to| pack(&u128::MAX, to), &max);
    is(&|to| pack(&i128::MIN, to), &max);
    is(&|to| pack(&1.5f32, to), &1.5f32.to_le_bytes());
    is(&|to| pack(&-0.25f64, to), &(-0.25f64).to_le_bytes());
    is(&|to| pack(&("ü", 'z'), to), &[2, 0xc3, 0xbc, 1, b'z']);
    is(&|to| pack(&(None::<u8>, Some(9u8)), to), &[0, 1, 9]);
    is(
        &|to| pack(&(vec![300u16, 1], [5u8; 2]), to),
        &[2, 172, 2, 1, 5, 5],
    );
    is(
        &|to| pack(&BTreeMap::from([(1u8, "a")]), to),
        &[1, 1, 1, b'a'],
    );
    is(&|to| pack(&(Newtype(128), Variant::Unit), to), &[128, 1, 0]);
    is(&|to| pack(&Variant::Newtype(7), to), &[1, 7]);
    is(&|to| pack(&Variant::Tuple(7, -2), to), &[2, 7, 3]);
    is(
        &|to| pack(&Variant::Struct { a: true, b: 'b' }, to),
        &[3, 1, 1, b'b'],
    );
    // Numbers that do not fit, or do not end, are refused.
    assert_eq!(unpack::<u16>(&[255, 255, 4]).unwrap_err().why, Why::Wrong);
    assert_eq!(unpack::<u16>(&[255, 255, 131]).unwrap_err().why, Why::Wrong);
    assert_eq!(
        unpack::<u64>(&[[255; 9].as_slice(), &[2]].concat())
            .unwrap_err()
            .why,
        Why::Wrong
    );
    assert_eq!(
        unpack::<u128>(&[[255; 18].as_slice(), &[4]].concat())
            .unwrap_err()
            .why,
        Why::Wrong
    );
    assert_eq!(
        unpack::<char>(&[2, b'a', b'b']).unwrap_err().why,
        Why::Wrong
    );
    assert_eq!(unpack::<String>(&[1, 0xff]).unwrap_err().why, Why::Wrong);
    assert_eq!(unpack::<Option<u8>>(&[2, 0]).unwrap_err().why, Why::Wrong);
}

/// One level of each kind around another one. `Deep(None)` takes two.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Nest {
    End,
    Newtype(Box<Nest>),
    Tuple(Box<Nest>, u8),
    Struct { inner: Box<Nest> },
    Option(Option<Box<Nest>>),
    Vector(Vec<Nest>),
    Map(BTreeMap<u8, Nest>),
    Pair((Box<Nest>, u8)),
    Wrapped(Wrapper),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapper(Box<Nest>);

impl Nest {
    /// The kinds of levels: the levels that one takes, and the bytes in front of what is inside and
    /// after it.
    const KINDS: [(u32, &[u8], &[u8]); 8] = [
        (1, &[1], &[]),
        (1, &[2], &[7]),
        (1, &[3], &[]),
        (2, &[4, 1], &[]),
        (2, &[5, 1], &[]),
        (2, &[6, 1, 5], &[]),
        (2, &[7], &[7]),
        (2, &[8], &[]),
    ];

    fn around(self, kind: usize) -> Self {
        let inner = Box::new(self);
        match kind {
            0 => Self::Newtype(inner),
            1 => Self::Tuple(inner, 7),
            2 => Self::Struct { inner },
            3 => Self::Option(Some(inner)),
            4 => Self::Vector(vec![*inner]),
            5 => Self::Map([(5, *inner)].into()),
            6 => Self::Pair((inner, 7)),
            _ => Self::Wrapped(Wrapper(inner)),
        }
    }

    /// Returns the encoding of `count` of a kind, each in the one before.
    fn encoded(kind: usize, count: usize) -> Vec<u8> {
        let (_, before, after) = Self::KINDS[kind];
        [&before.repeat(count), [0].as_slice(), &after.repeat(count)].concat()
    }
}

/// Values of 256 levels travel; deeper ones are errors at the sender, and at the receiver of such
/// bytes, though they be long. No stack is exhausted.
#[test]
fn values_nest_to_a_bound() {
    const LEVELS: u32 = 256;
    for (kind, (levels, _, _)) in Nest::KINDS.into_iter().enumerate() {
        let nest = |count| (0..count).fold(Nest::End, |inner, _| inner.around(kind));
        let most = (LEVELS / levels) as usize;
        let bytes = packed(&nest(most));
        assert_eq!(bytes, Nest::encoded(kind, most), "kind {kind}");
        assert_eq!(unpack(&bytes), Ok(nest(most)), "kind {kind}");
        let mut kept = vec![1];
        let error = pack(&nest(most + 1), &mut kept).unwrap_err();
        assert_eq!((error.why, kept), (Unfit::TooDeep, vec![1]), "kind {kind}");
        assert!(
            error
                .to_string()
                .ends_with("256 levels deep; send its nodes as a vector, with indices"),
            "{error}"
        );
        for count in [most + 1, most + 2, 200_000] {
            let error = unpack::<Nest>(&Nest::encoded(kind, count)).unwrap_err();
            assert_eq!(error.why, Why::TooDeep(LEVELS), "kind {kind}");
            assert!(error.to_string().contains("256 levels"), "{error}");
        }
    }
    // Levels next to each other do not add up.
    let wide: Vec<Nest> = (0..5000).map(|_| Nest::End.around(0).around(3)).collect();
    assert_eq!(unpack(&packed(&wide)), Ok(wide));
}

/// A few bytes that announce elements without bytes are decoded in a bounded time.
#[test]
fn elements_without_bytes_are_bounded() {
    const MOST: u32 = 1 << 16;
    let many = |count: u32| vec![(); count as usize];
    assert_eq!(unpack(&packed(&many(MOST))), Ok(many(MOST)));
    let error = pack(&many(MOST + 1), &mut Vec::new()).unwrap_err();
    assert_eq!(error.why, Unfit::TooManyEmpty);
    assert!(
        error.to_string().ends_with(
            "more than 65536 elements of its collections have no bytes; send their number"
        ),
        "{error}"
    );
    let two = (many(MOST / 2), vec![[(); 3]; MOST as usize / 2]);
    assert_eq!(unpack(&packed(&two)), Ok(two));
    let two = (many(MOST / 2 + 1), many(MOST / 2));
    assert_eq!(
        pack(&two, &mut Vec::new()).unwrap_err().why,
        Unfit::TooManyEmpty
    );
    for announced in [u64::from(MOST) + 1, 1 << 40, u64::MAX] {
        let bytes = packed(&announced);
        // Words of 32 bits have no such length.
        let why = || match usize::try_from(announced) {
            Ok(_) => Why::TooManyEmpty(MOST),
            Err(_) => Why::Wrong,
        };
        let refused = Err(why());
        assert_eq!(unpack::<Vec<()>>(&bytes).map_err(|e| e.why), refused);
        let refused = Err(why());
        assert_eq!(
            unpack::<BTreeMap<(), ()>>(&bytes).map_err(|e| e.why),
            refused
        );
        let refused = Err(why());
        assert_eq!(
            unpack::<BTreeSet<[(); 2]>>(&bytes).map_err(|e| e.why),
            refused
        );
    }
}

/// Elements that have no bytes, but take memory where they are decoded.
#[test]
fn memory_of_elements_without_bytes_is_bounded() {
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    struct Cached {
        #[serde(skip, default = "zeros")]
        cache: [u8; 4096],
    }
    const fn zeros() -> [u8; 4096] {
        [0; 4096]
    }
    const CACHED: Cached = Cached { cache: zeros() };
    const MOST: u32 = (1 << 20) / 4096;
    fn why<T: DeserializeOwned>(bytes: &[u8]) -> Option<Why> {
        unpack::<T>(bytes).err().map(|error| error.why)
    }
    let many = vec![CACHED; MOST as usize];
    assert_eq!(unpack(&packed(&many)), Ok(many));
    // The size of elements is not visible to the encoder.
    let bytes = packed(&vec![CACHED; MOST as usize + 1]);
    assert_eq!(bytes.len(), 2);
    let refused = Some(Why::TooManyEmpty(MOST));
    assert_eq!(why::<Vec<Cached>>(&bytes), refused);
    // The bound is one for all collections of a value.
    let two = (vec![CACHED; 200], vec![CACHED; 57]);
    assert_eq!(why::<(Vec<Cached>, Vec<Cached>)>(&packed(&two)), refused);
    // Maps of another type may keep all entries.
    assert_eq!(why::<BTreeMap<Cached, ()>>(&bytes), refused);
    assert_eq!(why::<BTreeMap<(), Cached>>(&bytes), refused);
}

/// A value with each kind of serde's model that random bytes may be taken for.
type Everything = (
    (Vec<Shape>, BTreeMap<i16, (char, Option<String>)>, Nest),
    (bool, i8, u8, i32, u32, i64, u64),
    (i128, u128, [f32; 2], f64, (), BTreeSet<u16>),
);

/// A generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns a number of any magnitude.
    fn number(&mut self) -> u64 {
        self.next() >> self.below(64)
    }

    fn everything(&mut self) -> Everything {
        let text = |n: usize| "aü€𝄞".chars().cycle().take(n).collect::<String>();
        let shapes = (0..self.below(4))
            .map(|i| shapes().swap_remove(i))
            .collect();
        let map = (0..self.below(4)).map(|_| {
            let (key, letter) = (self.number() as i16, char::from(self.next() as u8));
            let note = (self.below(2) == 0).then(|| text(self.below(9)));
            (key, (letter, note))
        });
        let map = map.collect();
        let nest = (0..self.below(20)).fold(Nest::End, |nest, _| nest.around(self.below(8)));
        let numbers = (
            self.below(2) == 0,
            self.next() as i8,
            self.next() as u8,
            self.number() as i32,
            self.number() as u32,
            self.number() as i64,
            self.number(),
        );
        let set = (0..self.below(5)).map(|_| self.number() as u16).collect();
        let wide = (u128::from(self.number()) << self.below(65)) ^ u128::from(self.next());
        let floats = [self.number() as f32, -0.0];
        let rest = (wide as i128, wide, floats, self.number() as f64, (), set);
        ((shapes, map, nest), numbers, rest)
    }
}

/// Decodes bytes; what they encode is encoded and decoded to the same value.
fn decodes<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) -> bool {
    let Ok(value) = unpack::<T>(bytes) else {
        return false;
    };
    let again = unpack::<T>(&packed(&value)).unwrap();
    // As text, since some numbers are none.
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
    true
}

/// Random values survive; changed, cut and extended encodings, and random bytes, are errors or
/// values, of whichever type.
#[test]
fn random_values_and_bytes_are_decoded_or_refused() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for _ in 0..3000 {
        let value = random.everything();
        let bytes = packed(&value);
        assert_eq!(unpack(&bytes), Ok(value));
        let mut changed = bytes.clone();
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => changed.truncate(at),
            1 => changed.push(random.next() as u8),
            2 => drop(changed.splice(at..at, packed(&random.number()))),
            _ => changed[at] = random.next() as u8,
        }
        let noise: Vec<u8> = (0..random.below(40))
            .map(|_| random.number() as u8)
            .collect();
        for bytes in [&changed, &noise] {
            accepted += usize::from(decodes::<Everything>(bytes));
            accepted += usize::from(decodes::<Vec<Nest>>(bytes));
            accepted += usize::from(decodes::<BTreeMap<String, (u16, f32)>>(bytes));
            accepted += usize::from(decodes::<Bulk<[u8; 3]>>(bytes));
        }
        assert!(unpack::<Everything>(&bytes[..at]).is_err());
    }
    assert!(accepted > 300, "{accepted} were values");
}
