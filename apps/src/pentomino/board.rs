//! A rectangle prepared for the search, and the known counts.

use super::piece::{self, Lays, Shape};

/// The pieces that tile the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pieces {
    /// The twelve, which may be turned over: 60 squares.
    #[default]
    TwoSided,
    /// Eighteen, six of them twins, which may only be turned: 90 squares.
    OneSided,
}

impl Pieces {
    /// Returns the number of pieces.
    pub const fn count(self) -> usize {
        match self {
            Self::TwoSided => 12,
            Self::OneSided => 18,
        }
    }

    /// Returns the number of squares that they cover.
    pub const fn area(self) -> u32 {
        5 * self.count() as u32
    }
}

/// A board that these pieces cannot cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{width}x{height}: {} pieces cover {} squares, so one of {}",
    pieces.count(), pieces.area(), boards(*pieces)
)]
pub struct BoardError {
    width: u32,
    height: u32,
    pieces: Pieces,
}

impl From<BoardError> for tautline::Error {
    fn from(refusal: BoardError) -> Self {
        Self::invalid(refusal)
    }
}

/// Returns the boards of the right area, each in one of its two directions.
fn boards(pieces: Pieces) -> String {
    let area = pieces.area();
    let sides = (1..area)
        .take_while(|side| side * side <= area)
        .filter(|side| area % side == 0);
    sides
        .map(|side| format!("{side}x{}", area / side))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Tilings of boards, by their shorter side. Sources: Golomb 1994; the one-sided 3 and 5: counted
/// here and elsewhere; 9: from the literature, only as a quarter.
const KNOWN: [(Pieces, u32, u64); 11] = [
    (Pieces::TwoSided, 1, 0),
    (Pieces::TwoSided, 2, 0),
    (Pieces::TwoSided, 3, 8),
    (Pieces::TwoSided, 4, 1_472),
    (Pieces::TwoSided, 5, 4_040),
    (Pieces::TwoSided, 6, 9_356),
    (Pieces::OneSided, 1, 0),
    (Pieces::OneSided, 2, 0),
    (Pieces::OneSided, 3, 184),
    (Pieces::OneSided, 5, 2_746_512),
    (Pieces::OneSided, 9, 41_761_732),
];

/// A board prepared for tiling.
#[derive(Clone, Debug)]
pub struct Board {
    /// Squares in a line, at most as many as lines.
    width: u32,
    pieces: Pieces,
    fundamental: bool,
    /// The window on the empty board at each position: the border, and all squares after the end.
    borders: Box<[u64; PLACES]>,
    /// By lay: the squares that it covers, relative to the first.
    masks: [u64; 64],
    /// By lay: the lays of all other pieces.
    others: [Lays; 64],
    /// The lays that the empty board permits.
    all: Lays,
    /// For each field of the window the lays that are free given what is occupied there.
    free: Free,
}

/// For each field of the window a table of the lays that do not overlap it.
#[derive(Clone, Debug)]
struct Free {
    /// The offsets of the first fields of the second to the fifth line.
    shifts: [u32; 4],
    first: [Lays; 1 << 4],
    second: [Lays; 1 << 7],
    third: [Lays; 1 << 5],
    /// The fourth line, three squares, and above it the only square of the fifth.
    last: [Lays; 1 << 4],
}

/// Positions at which a window can begin: the 180 squares, border included, of 90 lines, and one
/// window more.
const PLACES: usize = 1 << 8;

/// A partly tiled board.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// The occupied squares, from the first free one on.
    window: u64,
    /// The lays of unused pieces.
    unused: Lays,
    /// The position of the first free square.
    at: u8,
}

impl Board {
    /// Creates a board to be tiled with a set of pieces in all ways; or, if `fundamental`, in those
    /// only that rotations and reflections of the board do not make equal.
    ///
    /// # Errors
    /// The pieces do not cover this number of squares.
    pub fn new(
        width: u32,
        height: u32,
        pieces: Pieces,
        fundamental: bool,
    ) -> Result<Self, BoardError> {
        if u64::from(width) * u64::from(height) != u64::from(pieces.area()) {
            return Err(BoardError {
                width,
                height,
                pieces,
            });
        }
        let (width, lines) = (width.min(height), width.max(height));
        let shapes = piece::shapes();
        let stride = width + 1;
        let (mut masks, mut others, mut all) = ([0; 64], [0; 64], 0);
        for (lay, shape) in shapes.iter().enumerate() {
            let same = |other: &Shape| {
                other.letter == shape.letter
                    && (pieces == Pieces::TwoSided || other.mirrored == shape.mirrored)
            };
            others[lay] = set_of(&shapes, |other| !same(other));
            if shape
                .squares
                .iter()
                .all(|square| (square.1.unsigned_abs()) < width)
            {
                let place = |&(line, at): &(i32, i32)| line * stride as i32 + at;
                masks[lay] = shape
                    .squares
                    .iter()
                    .fold(0, |mask, square| mask | 1 << place(square));
                all |= 1 << lay;
            }
        }
        if fundamental {
            let corner = |shape: &Shape| shape.letter == 'V';
            // With both arms before its corner it fits least often: a quarter fewer nodes than with
            // both after it.
            let last = |shape: &Shape| corner(shape) && shape.squares.contains(&(2, -2));
            all &= !set_of(&shapes, corner) | set_of(&shapes, last);
        }
        Ok(Self {
            width,
            pieces,
            fundamental,
            borders: borders(lines, stride),
            free: Free::new(&masks, stride),
            masks,
            others,
            all,
        })
    }

    /// Returns the number of pieces.
    #[inline]
    pub fn pieces(&self) -> usize {
        self.pieces.count()
    }

    /// Whether tilings that rotations and reflections make equal count once.
    pub fn is_fundamental(&self) -> bool {
        self.fundamental
    }

    /// Returns the number of tilings, if it is known.
    pub fn known(&self) -> Option<u64> {
        let is_this = |known: &&(Pieces, u32, u64)| known.0 == self.pieces && known.1 == self.width;
        let (_, _, all) = KNOWN.iter().find(is_this)?;
        Some(if self.fundamental { all / 4 } else { *all })
    }

    /// Returns a picture of the board after these lays, a letter of Golomb for each square and a
    /// dot where it is free; its lines are the longer sides.
    pub fn picture(&self, lays: &[u8]) -> String {
        let (width, shapes) = (self.width as usize, piece::shapes());
        let stride = width + 1;
        let mut squares = vec!['.'; stride * self.pieces.area() as usize / width];
        let mut state = self.empty();
        for lay in lays {
            let shape = &shapes[usize::from(*lay)];
            for (line, at) in &shape.squares {
                let place = i32::from(state.at) + line * stride as i32 + at;
                squares[place as usize] = shape.letter;
            }
            state = self.lay(&state, *lay);
        }
        let line = |at| squares.iter().skip(at).step_by(stride).chain(&['\n']);
        (0..width).flat_map(line).collect()
    }

    pub(super) fn empty(&self) -> State {
        State {
            window: self.borders[0],
            unused: self.all,
            at: 0,
        }
    }

    /// Returns the lays that cover the first free square, and no occupied square.
    #[inline(always)]
    pub(super) fn fitting(&self, state: &State) -> Lays {
        let (window, free) = (state.window, &self.free);
        let [second, third, fourth, fifth] = free.shifts.map(|shift| window >> shift);
        state.unused
            & free.first[(window >> 1 & 0xf) as usize]
            & free.second[(second & 0x7f) as usize]
            & free.third[(third & 0x1f) as usize]
            & free.last[(fourth & 7 | (fifth & 1) << 3) as usize]
    }

    /// Returns the board with one more piece.
    #[inline(always)]
    pub(super) fn lay(&self, state: &State, lay: u8) -> State {
        let lay = usize::from(lay) % 64;
        let occupied = state.window | self.masks[lay];
        let full = occupied.trailing_ones();
        let at = state.at + full as u8;
        State {
            // In two steps: after the last piece all 64 are occupied.
            window: occupied >> 1 >> (full - 1) | self.borders[at as usize],
            unused: state.unused & self.others[lay],
            at,
        }
    }
}

fn set_of(shapes: &[Shape], choose: impl Fn(&Shape) -> bool) -> Lays {
    let chosen = shapes.iter().enumerate().filter(|(_, shape)| choose(shape));
    chosen.fold(0, |set, (lay, _)| set | 1 << lay)
}

fn borders(lines: u32, stride: u32) -> Box<[u64; PLACES]> {
    let end = lines * stride;
    let is_border = |place| place >= end || place % stride == stride - 1;
    let window = |at| {
        (0..64)
            .filter(|bit| is_border(at + bit))
            .fold(0, |w, bit| w | 1 << bit)
    };
    Box::new(std::array::from_fn(|at| window(at as u32)))
}

impl Free {
    fn new(masks: &[u64; 64], stride: u32) -> Self {
        let shifts = [
            stride.saturating_sub(3),
            2 * stride - 2,
            3 * stride - 1,
            4 * stride,
        ];
        let free = |occupied: u64| {
            let fits = |lay: &usize| masks[*lay] & occupied == 0;
            (0..64)
                .filter(fits)
                .fold(0, |set: Lays, lay| set | 1 << lay)
        };
        let [second, third, fourth, fifth] = shifts;
        Self {
            shifts,
            first: std::array::from_fn(|key| free((key as u64) << 1)),
            second: std::array::from_fn(|key| free((key as u64) << second)),
            third: std::array::from_fn(|key| free((key as u64) << third)),
            last: std::array::from_fn(|key| {
                free((key as u64 & 7) << fourth | (key as u64 >> 3) << fifth)
            }),
        }
    }
}
