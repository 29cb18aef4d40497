//! The program of the README: how many ways are there to place 12 queens?
use tautline::prelude::*;

const ALL: u32 = (1 << 12) - 1; // a board of 12 x 12

/// A row to fill, with the squares that the queens above attack.
struct Row(u32, u32, u32);

impl Task for Row {
    type Shared = ();
    type Sum = u64;

    fn run(self, todo: &mut Local<Self>, solutions: &mut u64, _: &()) {
        let Row(columns, left, right) = self;
        *solutions += u64::from(columns == ALL);
        for queen in (0..12)
            .map(|column| 1 << column)
            .filter(|q| q & (columns | left | right) == 0)
        {
            todo.push(Row(
                columns | queen,
                (left | queen) << 1,
                (right | queen) >> 1,
            ));
        }
    }

    fn add(sum: &mut u64, other: u64) {
        *sum += other;
    }
}

fn main() -> tautline::Result<()> {
    let run = Glb::new().run(Tasks::from_iter([Row(0, 0, 0)]), |_| (), 0)?;
    println!(
        "{} ways to place 12 queens, in {:?}",
        run.output, run.elapsed
    );
    assert_eq!(run.output, 14_200);
    Ok(())
}
