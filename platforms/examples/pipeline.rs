//! Words flow through stages of async tasks; a cell lies between two stages, and a waiting task
//! occupies no worker.
use tautline::prelude::*;

const TEXT: &str = "a taut line hitch is a knot on a line under load that slides and holds";

/// The cells of one word; each stage puts its cell when the previous one has.
#[derive(Default)]
struct Stages {
    read: Ddf<String>,
    turned: Ddf<String>,
    letters: Ddf<usize>,
}

fn main() -> tautline::Result<()> {
    let words: Vec<&str> = TEXT.split_whitespace().collect();
    let line: Vec<Stages> = words.iter().map(|_| Stages::default()).collect();
    let (words, line) = (&words, &line);
    let letters = Runtime::new()?.block_on(async |task: TaskCx| {
        let flow = task.finish(|task| async move {
            for (at, word) in line.iter().enumerate() {
                // The last stage first: it waits, for the word before too.
                task.spawn_async(move |_| async move {
                    let before = match at {
                        0 => 0,
                        _ => *line[at - 1].letters.wait().await,
                    };
                    let sum = before + word.turned.wait().await.len();
                    word.letters.put(sum).expect("one task a cell");
                });
                task.spawn_async(move |_| async move {
                    let turned = word.read.wait().await.chars().rev().collect();
                    word.turned.put(turned).expect("one task a cell");
                });
                let text = words[at].to_owned();
                task.spawn(move |_| word.read.put(text).expect("one task a cell"));
            }
        });
        flow.await.expect("nothing cancels it");
        *line[line.len() - 1].letters.wait().await
    });
    let turned = line.iter().map(|word| word.turned.get());
    let turned = turned.collect::<Result<Vec<_>, _>>().expect("all are put");
    assert!(
        turned
            .iter()
            .zip(words)
            .all(|(t, w)| t.chars().rev().eq(w.chars()))
    );
    assert_eq!(letters, TEXT.replace(' ', "").len());
    println!("{letters} letters, and from the left {}", turned[1]);
    Ok(())
}
