//! The pieces and their orientations.

use std::collections::BTreeSet;

/// A set of lays, a bit for each of the 63.
pub(super) type Lays = u64;

/// A square, line and position in the line, relative to the first square of a piece.
pub(super) type Square = (i32, i32);

/// The squares of each piece, with the letters of Golomb.
const PIECES: [(char, &str); 12] = [
    ('F', ".## ##. .#."),
    ('I', "#####"),
    ('L', "#### #..."),
    ('N', "##.. .###"),
    ('P', "### ##."),
    ('T', "### .#. .#."),
    ('U', "#.# ###"),
    ('V', "### #.. #.."),
    ('W', "##. .## ..#"),
    ('X', ".#. ### .#."),
    ('Y', "#### .#.."),
    ('Z', "##. .#. .##"),
];

/// An orientation of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub letter: char,
    /// The side that is up, if that matters.
    pub mirrored: bool,
    /// In the order of lines, the first at (0, 0).
    pub squares: Vec<Square>,
}

/// The 63 orientations, piece by piece and side by side.
pub(super) fn shapes() -> Vec<Shape> {
    PIECES
        .iter()
        .flat_map(|&(letter, picture)| lays_of(letter, picture))
        .collect()
}

fn lays_of(letter: char, picture: &str) -> Vec<Shape> {
    let lines = picture.split(' ').zip(0..);
    let squares: Vec<Square> = lines
        .flat_map(|(line, y)| {
            let filled = line.bytes().zip(0..).filter(|&(byte, _)| byte == b'#');
            filled.map(move |(_, x)| (y, x))
        })
        .collect();
    let sides = [false, true].map(|mirrored| {
        let side = squares
            .iter()
            .map(|&(y, x)| if mirrored { (y, -x) } else { (y, x) });
        turns(side.collect())
    });
    let [front, back] = sides;
    let alike = front == back;
    let front = front.into_iter().map(|squares| (false, squares));
    let back = back
        .into_iter()
        .filter(|_| !alike)
        .map(|squares| (true, squares));
    let shape = |(mirrored, squares)| Shape {
        letter,
        mirrored,
        squares,
    };
    front.chain(back).map(shape).collect()
}

/// Returns the orientations that rotations by right angles produce.
fn turns(mut squares: Vec<Square>) -> BTreeSet<Vec<Square>> {
    let mut all = BTreeSet::new();
    for _ in 0..4 {
        squares = squares.into_iter().map(|(y, x)| (x, -y)).collect();
        squares.sort_unstable();
        let (top, left) = squares[0];
        all.insert(squares.iter().map(|(y, x)| (y - top, x - left)).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_63_ways_to_lie() {
        let shapes = shapes();
        assert_eq!(shapes.len(), 63);
        for shape in &shapes {
            assert_eq!(shape.squares.len(), 5, "{shape:?}");
            assert_eq!(shape.squares[0], (0, 0), "{shape:?}");
        }
        let of = |letter| shapes.iter().filter(|shape| shape.letter == letter).count();
        let counts = "FILNPTUVWXYZ".chars().map(of).collect::<Vec<_>>();
        assert_eq!(counts, [8, 2, 8, 8, 8, 4, 4, 4, 4, 1, 8, 4]);
        let mut distinct: Vec<_> = shapes.iter().map(|shape| &shape.squares).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 63);
    }

    #[test]
    fn six_pieces_have_two_sides() {
        let two: BTreeSet<_> = shapes()
            .into_iter()
            .filter(|shape| shape.mirrored)
            .map(|shape| shape.letter)
            .collect();
        assert_eq!(two.into_iter().collect::<String>(), "FLNPYZ");
    }
}
