//! Ranges of all integers, values that own their items, and strings.

use super::{Cx, WORKERS, on};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::loops::Schedule;

/// Texts with separators of several bytes, at the ends, in a row, and none.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        "\n",
        "\r\n",
        "a\r",
        "a\nb",
        "\na\r\n\r\nb\n",
        "a\r\r\nb",
        " a  b ",
        "ä\u{2003}ö\u{2003}",
        "\u{2003}",
    ]
    .map(String::from)
    .into();
    texts.push("x".repeat(5000));
    texts.push("word ".repeat(5000));
    texts.push(
        (0..20_000)
            .map(|i| char::from(b"ab \n"[i * i % 97 % 4]))
            .collect(),
    );
    texts.push(
        (0..9000)
            .map(|i| ['€', '\n', 'é', '\u{2003}', 'z'][i * i % 13 % 5])
            .collect(),
    );
    texts.push(format!("{}\n{}", "long ".repeat(3000), "line\n".repeat(10)));
    texts
}

#[test]
fn strings_by_characters_lines_and_words() {
    for workers in WORKERS {
        for text in &texts() {
            on(workers, |cx| {
                // Fixed sizes of chunks divide a text at each of its bytes.
                for schedule in [Schedule::Auto, Schedule::Dynamic(1), Schedule::Static] {
                    let found: String = cx.par(text).schedule(schedule).collect();
                    assert_eq!(&found, text);
                    let found: Vec<&str> = cx.par(text).schedule(schedule).lines().collect();
                    assert!(text.lines().eq(found), "{text:.20}, {schedule:?}");
                    let words = cx.par(text.as_str()).schedule(schedule).split_whitespace();
                    let found: Vec<&str> = words.collect();
                    assert!(
                        text.split_whitespace().eq(found),
                        "{text:.20}, {schedule:?}"
                    );
                    let separates = |c| c == 'b' || c == '€';
                    let parts = cx.par(text).schedule(schedule).split(separates);
                    let found: Vec<&str> = parts.collect();
                    assert!(text.split_terminator(separates).eq(found), "{text:.20}");
                }
            });
        }
    }
}

/// A text that is one long line is not searched once for each claim.
#[test]
fn a_long_line_is_searched_once() {
    let (text, calls) = ("x".repeat(100_000), AtomicUsize::new(0));
    on(4, |cx| {
        let parts = cx.par(&text).schedule(Schedule::Dynamic(1));
        let count = parts
            .split(|_| calls.fetch_add(1, SeqCst) == usize::MAX)
            .count();
        assert_eq!(count, 1);
    });
    // Twice or thrice each byte: by its claim, as the byte before the next claim, and as a part of
    // the line.
    assert!(calls.into_inner() <= 300_000);
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "they are tested")]
fn ranges_of_all_integers() {
    macro_rules! check {
        ($cx:ident: $($range:expr),* $(,)?) => {$(
            let found: Vec<_> = $cx.par($range).collect();
            assert!($range.eq(found), "{}", stringify!($range));
        )*};
    }
    for workers in WORKERS {
        on(workers, |cx| {
            check!(cx: 0..200u8, 0..=u8::MAX, 9..3u8, 9..=8u8, 7..=7u8);
            check!(cx: i8::MIN..i8::MAX, i8::MIN..=i8::MAX, -1..=1i8);
            check!(cx: 0..=u16::MAX, i16::MIN..=i16::MAX);
            check!(cx: u32::MAX - 3..=u32::MAX, i32::MAX - 3..=i32::MAX, i32::MIN..i32::MIN + 9);
            check!(cx: u64::MAX - 3..=u64::MAX, i64::MIN..=i64::MIN + 9, 0..1000u64);
            check!(cx: u128::MAX - 3..=u128::MAX, i128::MIN..i128::MIN + 999);
            check!(cx: usize::MAX - 3..=usize::MAX, -999..=isize::MIN + 3, -7..9isize);
            check!(cx: 'a'..='z', 'a'..'a', 'z'..='a', '\0'..=char::MAX);
            check!(cx: '\u{d7fe}'..='\u{e001}', '\u{d7ff}'..'\u{e000}', '\u{e000}'..'\u{f000}');
            let mut used = 1..=3;
            while used.next().is_some() {}
            assert_eq!(cx.par(used).count(), 0, "a range that was iterated over");
            assert_eq!(
                cx.par(i64::MIN..=i64::MIN.wrapping_add_unsigned(usize::MAX as u64 - 1))
                    .find_first(|_| true),
                Some(i64::MIN)
            );
            let chunks: Vec<_> = cx.par('a'..'f').chunks(2).collect();
            assert_eq!(chunks, ['a'..'c', 'c'..'e', 'e'..'f']);
            // The type of the collection determines that of the numbers.
            let numbers: Vec<u16> = cx.par(0..3).chain(7..=8).rev().collect();
            assert_eq!(numbers, [8, 7, 2, 1, 0]);
        });
    }
    for run in [
        (|cx| cx.par(0..=usize::MAX).any(|_| true)) as fn(&mut Cx<'_, '_>) -> bool,
        |cx| cx.par(0..u128::MAX).any(|_| true),
    ] {
        assert!(
            catch_unwind(|| on(1, run)).is_err(),
            "a loop that is too long"
        );
    }
}

#[test]
fn values_that_own_their_items() {
    for workers in WORKERS {
        on(workers, |cx| {
            let boxed: Box<[String]> = ["a", "b"].map(String::from).into();
            assert_eq!(cx.par(&boxed).map(String::len).sum::<usize>(), 2);
            assert_eq!(cx.par(boxed).collect::<Vec<_>>(), ["a", "b"]);
            let found: Vec<String> = cx.par(["c", "d"].map(String::from)).rev().collect();
            assert_eq!(found, ["d", "c"]);
            let mut boxed: Box<[u8]> = Box::new([1, 2]);
            cx.par(&mut boxed).for_each(|n| *n *= 2);
            assert_eq!(*boxed, [2, 4]);
        });
    }
}
