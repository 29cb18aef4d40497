//! Solutions of the queens puzzle, counted by as many processes as are launched:
//! `tautline launch -n 4 -- joined 12`.

use tautline::world::World;

/// A board with queens on its first ranks: the occupied files and diagonals, a bit for each.
type Board = (u32, u32, u32, u32);

fn main() -> tautline::Result<()> {
    let queens: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let all = (1 << queens) - 1;
    // Alone, this is the only rank.
    let world = World::join()?;
    let place = move |(placed, files, left, right): Board,
                      todo: &mut tautline::balance::Local<Board>| {
        let free = all & !(files | left | right);
        let squares = (0..queens)
            .map(|file| 1 << file)
            .filter(|square| free & square != 0);
        todo.extend(squares.map(|square| {
            let (left, right) = ((left | square) << 1, (right | square) >> 1);
            (placed + 1, files | square, left, right)
        }));
        u64::from(placed == queens)
    };
    // Every rank makes this call, and all get the result.
    let run = tautline::balancer()
        .across(&world)
        .sum([(0, 0, 0, 0)], place)?;
    if world.is_home() {
        println!(
            "{queens} queens: {} solutions by {} ranks",
            run.output,
            world.ranks()
        );
        assert!(queens != 10 || run.output == 724);
    }
    Ok(())
}
