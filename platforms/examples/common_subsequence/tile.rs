//! Tiles of the table of common subsequences of two generated texts.

/// Tiles in each direction, and letters of a text in each.
pub(super) const TILES: u32 = 16;
pub(super) const SIDE: usize = 64;

/// A letter of one of the texts.
fn letter(text: u64, tile: u32, at: usize) -> u64 {
    let at = 2 * (u64::from(tile) * SIDE as u64 + at as u64) + text + 1;
    let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 62
}

/// Replaces the edge above a tile, which begins with a corner, and the edge on its left by those
/// below and on the right.
pub(super) fn fill((row, column): (u32, u32), above: &mut [u32], left: &mut [u32]) {
    for (i, left) in left.iter_mut().enumerate() {
        let mut corner = std::mem::replace(&mut above[0], *left);
        for j in 1..=SIDE {
            let longer = above[j].max(above[j - 1]);
            let is_common = letter(0, row, i) == letter(1, column, j - 1);
            let length = if is_common { corner + 1 } else { longer };
            corner = std::mem::replace(&mut above[j], length);
        }
        *left = above[SIDE];
    }
}
