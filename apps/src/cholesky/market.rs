//! Matrices of the Matrix Market exchange format (Boisvert, Pozo, Remington 1996).

use super::{Entries, Matrix};
use crate::text::{Input, Text};
use tautline::FileError;

const BANNER: &str = "%%MatrixMarket";
const ALLOWED: &str = "matrix, then array or coordinate, real or integer, and general or symmetric";
/// The most rows.
const ROWS_MAX: usize = 1 << 20;

/// The banner and the line of sizes.
struct Head {
    is_symmetric: bool,
    rows: usize,
    /// The number of values in the file.
    entries: u64,
}

/// A value of the file, and its place.
struct Entry<'a> {
    row: u32,
    column: u32,
    value: f64,
    word: &'a str,
}

/// Reads a symmetric matrix in the Matrix Market format, dense (`array`) or sparse (`coordinate`).
/// One that the file calls `general` must be symmetric, too. Sparse elements that are not listed
/// are 0.
///
/// # Errors
/// Another format, a matrix that is not square or not symmetric, a value that is no finite number,
/// a row or column outside of the matrix, an element twice, with file, line and column.
///
/// ```
/// use tautline_cli::cholesky::{Shape, read};
/// use tautline_cli::text::Input;
///
/// let file = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 2\n2 2 5\n";
/// let matrix = read(Input::new("a.mtx", file.as_bytes())?)?;
/// assert_eq!(matrix.tile(Shape::new(2, 2), 0, 0), [4.0, 2.0, 0.0, 5.0]);
///
/// let error = read(Input::new("a.mtx", file.replace("2 1 2", "2 1 x").as_bytes())?).unwrap_err();
/// assert_eq!(error.to_string(), "a.mtx:4:5: `x`: a finite number");
/// # Ok::<(), tautline::FileError>(())
/// ```
pub fn read(input: Input) -> Result<Matrix, FileError> {
    let text = &input.into_text(|line| line.trim_start().starts_with('%'))?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (is_dense, is_symmetric) = kinds(text, lines.next().unwrap_or("").trim())?;
    let mut lines = lines.filter(|line| !line.trim_start().starts_with('%'));
    let form = match is_dense {
        true => "rows and columns",
        false => "rows, columns and entries",
    };
    let Some(sizes) = lines.next() else {
        return Err(text.error_at_end(format!("no size: {form}")));
    };
    let head = sizes_of(text, sizes.trim(), form, (is_dense, is_symmetric))?;
    let mut entries = Vec::new();
    match is_dense {
        true => dense(text, lines, &head, &mut entries)?,
        false => sparse(text, lines, &head, &mut entries)?,
    }
    let (found, stated) = (entries.len() as u64, head.entries);
    if found != stated {
        let message = format!("{found} entries: {stated}, as the line of sizes states");
        return Err(text.error_at_end(message));
    }
    let lower = lower(text, entries, is_symmetric)?;
    Ok(Matrix::Read(Entries::new(head.rows, lower)))
}

/// Returns whether the matrix is dense, and whether it is symmetric, by the banner.
fn kinds(text: &Text, banner: &str) -> Result<(bool, bool), FileError> {
    let words: Vec<_> = banner.split_whitespace().collect();
    let one_of = |at: usize, allowed: [&str; 2]| {
        let word: &&str = words.get(at)?;
        allowed
            .iter()
            .position(|name| name.eq_ignore_ascii_case(word))
    };
    let kinds = (
        one_of(0, [BANNER; 2]),
        one_of(1, ["matrix"; 2]),
        one_of(2, ["coordinate", "array"]),
        one_of(3, ["real", "integer"]),
        one_of(4, ["general", "symmetric"]),
        words.len(),
    );
    match kinds {
        (Some(_), Some(_), Some(format), Some(_), Some(symmetry), 5) => {
            Ok((format == 1, symmetry == 1))
        }
        _ => {
            let message = format!("`{banner}`: {BANNER} {ALLOWED}");
            Err(text.error(banner, message))
        }
    }
}

fn sizes_of(
    text: &Text,
    line: &str,
    form: &str,
    (is_dense, is_symmetric): (bool, bool),
) -> Result<Head, FileError> {
    let words: Vec<_> = line.split_whitespace().collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    let (rows, columns, entries) = match (numbers.as_deref(), is_dense) {
        (Some(&[rows, columns]), true) => (rows, columns, None),
        (Some(&[rows, columns, entries]), false) => (rows, columns, Some(entries)),
        _ => return Err(text.error(line, format!("`{line}`: {form}"))),
    };
    if rows != columns || rows > ROWS_MAX {
        let message = format!("{rows} x {columns}: a square matrix, at most {ROWS_MAX} rows");
        return Err(text.error(line, message));
    }
    let all = match (is_symmetric, rows as u64) {
        (true, rows) => rows * (rows + 1) / 2,
        (false, rows) => rows * rows,
    };
    Ok(Head {
        is_symmetric,
        rows,
        entries: entries.map_or(all, |entries| entries as u64),
    })
}

/// Reads all values, by columns.
fn dense<'a>(
    text: &Text,
    lines: impl Iterator<Item = &'a str>,
    head: &Head,
    entries: &mut Vec<Entry<'a>>,
) -> Result<(), FileError> {
    let mut words = lines.flat_map(str::split_whitespace);
    for column in 0..head.rows {
        let first = if head.is_symmetric { column } else { 0 };
        for row in first..head.rows {
            let Some(word) = words.next() else {
                return Ok(());
            };
            entries.push(Entry {
                row: row as u32,
                column: column as u32,
                value: number(text, word)?,
                word,
            });
        }
    }
    match words.next() {
        None => Ok(()),
        Some(word) => {
            let message = format!("`{word}`: the end, after {} entries", head.entries);
            Err(text.error(word, message))
        }
    }
}

/// Reads all lines of a row, a column and a value.
fn sparse<'a>(
    text: &Text,
    lines: impl Iterator<Item = &'a str>,
    head: &Head,
    entries: &mut Vec<Entry<'a>>,
) -> Result<(), FileError> {
    let index = |name: &str, word: &str| {
        let number = word.parse().ok();
        match number.filter(|number| (1..=head.rows).contains(number)) {
            Some(number) => Ok(number as u32 - 1),
            None => Err(text.error(word, format!("{name} {word}: from 1 to {}", head.rows))),
        }
    };
    for line in lines {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[row, column, word] = &words[..] else {
            let message = format!("{} words: 3, a row, a column and a value", words.len());
            return Err(text.error(line.trim_start(), message));
        };
        let entry = Entry {
            row: index("row", row)?,
            column: index("column", column)?,
            value: number(text, word)?,
            word,
        };
        if head.is_symmetric && entry.column > entry.row {
            let message = format!(
                "({row}, {column}): on or below the diagonal, as the matrix is called symmetric"
            );
            return Err(text.error(row, message));
        }
        entries.push(entry);
    }
    Ok(())
}

fn number(text: &Text, word: &str) -> Result<f64, FileError> {
    let number = word.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| text.error(word, format!("`{word}`: a finite number")))
}

/// Returns the elements of the lower triangle that are not 0: row, column and value.
fn lower(
    text: &Text,
    mut entries: Vec<Entry<'_>>,
    is_symmetric: bool,
) -> Result<Vec<(u32, u32, f64)>, FileError> {
    let place = |one: &Entry<'_>| (one.row.max(one.column), one.row.min(one.column));
    let is_above = |one: &Entry<'_>| one.column > one.row;
    // Stable: of two equal ones, the second in the file is reported.
    entries.sort_by_key(|one| (place(one), is_above(one)));
    let mut lower = Vec::new();
    for pair in entries.chunk_by(|a, b| place(a) == place(b)) {
        let is_twice = |two: &&[Entry<'_>]| is_above(&two[0]) == is_above(&two[1]);
        if let Some([_, second]) = pair.windows(2).find(is_twice) {
            let (row, column, word) = (second.row + 1, second.column + 1, second.word);
            let message = format!("{word}: a second value of ({row}, {column})");
            return Err(text.error(word, message));
        }
        let ((row, column), value) = (place(&pair[0]), pair[0].value);
        let other = pair.get(1).map_or(0.0, |above| above.value);
        if !is_symmetric && row != column && value != other {
            return Err(asymmetric(text, pair));
        }
        if value != 0.0 {
            lower.push((row, column, value));
        }
    }
    Ok(lower)
}

/// Returns the error of elements that are not equal, of which one may be missing.
fn asymmetric(text: &Text, pair: &[Entry<'_>]) -> FileError {
    let last = pair.iter().max_by_key(|entry| text.place(entry.word));
    let last = last.unwrap_or(&pair[0]);
    let other = pair.iter().find(|entry| entry.row != last.row);
    let other = other.map_or("0", |entry| entry.word);
    let (row, column, word) = (last.row + 1, last.column + 1, last.word);
    let message =
        format!("({row}, {column}) is {word}, ({column}, {row}) is {other}: a symmetric matrix");
    text.error(word, message)
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    fn read_text(text: &str) -> Result<Matrix, String> {
        let read = Input::new("a.mtx", text.as_bytes()).and_then(read);
        read.map_err(|error| error.to_string())
    }

    /// Reads a file that has this text after its banner.
    fn read_as(kinds: &str, rest: &str) -> Result<Matrix, String> {
        read_text(&format!("%%MatrixMarket matrix {kinds}\n{rest}"))
    }

    fn tile(matrix: &Matrix) -> Vec<f64> {
        matrix.tile(Shape::new(matrix.rows(), 100), 0, 0)
    }

    #[test]
    fn each_form_of_a_matrix_is_read() {
        let expected = [4.0, 2.0, -0.5, 0.0, 5.0, 0.0, 0.0, 0.0, 6.0];
        for (kinds, rest) in [
            ("array real symmetric", "3 3\n4\n2\n-.5\n5\n0\n6\n"),
            (
                "array real general",
                "% a comment\n3 3\n4 2 -5e-1\n2 5 0\n\n-0.5 -0 6",
            ),
            (
                "coordinate real symmetric",
                "3 3 5\n3 3 6\n1 1 4\n% a comment\n2 1 2\n3 1 -0.5\n2 2 5",
            ),
            (
                "coordinate real general",
                "3 3 8\n1 1 4\n1 2 2.0\n2 1 2\n2 2 5\n1 3 -0.5\n3 1 -5e-1\n3 3 6\n3 2 0\n",
            ),
        ] {
            let matrix = read_as(kinds, rest).unwrap();
            assert_eq!(tile(&matrix), expected, "{kinds}");
        }
        let matrix =
            read_text("%%matrixmarket MATRIX Coordinate Integer Symmetric\r\n1 1 1\r\n1 1 7");
        assert_eq!(tile(&matrix.unwrap()), [7.0]);
        for kinds in ["array integer general", "array real symmetric"] {
            assert_eq!(read_as(kinds, "0 0\n").unwrap().rows(), 0);
        }
        assert_eq!(
            read_as("coordinate real general", "0 0 0\n")
                .unwrap()
                .rows(),
            0
        );
        let empty = read_as("coordinate real symmetric", "2 2 0\n").unwrap();
        assert_eq!(tile(&empty), [0.0; 4]);
    }

    #[test]
    fn mistakes_are_reported_at_their_places() {
        const DENSE: &str = "array real general";
        const SPARSE: &str = "coordinate real general";
        const LOWER: &str = "coordinate real symmetric";
        for (kinds, rest, line) in [
            (
                "array complex general",
                "1 1\n1 0\n",
                "1:1: `%%MatrixMarket matrix array complex",
            ),
            (
                "coordinate pattern symmetric",
                "1 1 1\n1 1\n",
                "1:1: `%%MatrixMarket matrix coord",
            ),
            (
                "array real skew-symmetric",
                "1 1\n1\n",
                "1:1: `%%MatrixMarket matrix array real sk",
            ),
            (
                "array real",
                "1 1\n1\n",
                "1:1: `%%MatrixMarket matrix array real`: %%MatrixMarket",
            ),
            (DENSE, "", "2:1: no size: rows and columns"),
            (DENSE, "2\n", "2:1: `2`: rows and columns"),
            (DENSE, "2 2 4\n", "2:1: `2 2 4`: rows and columns"),
            (DENSE, "2 -2\n", "2:1: `2 -2`: rows and columns"),
            (SPARSE, "2 2\n", "2:1: `2 2`: rows, columns and entries"),
            (
                DENSE,
                "2 3\n1\n",
                "2:1: 2 x 3: a square matrix, at most 1048576 rows",
            ),
            (
                DENSE,
                "9999999 9999999\n1\n",
                "2:1: 9999999 x 9999999: a square matrix, at most",
            ),
            (
                DENSE,
                "2 2\n1\n2\n2\n",
                "6:1: 3 entries: 4, as the line of sizes states",
            ),
            (
                DENSE,
                "2 2\n1 2\n2 3\n4\n",
                "5:1: `4`: the end, after 4 entries",
            ),
            (DENSE, "2 2\n1 2\n2 x\n", "4:3: `x`: a finite number"),
            (DENSE, "2 2\n1 nan\n2 3\n", "3:3: `nan`: a finite number"),
            (DENSE, "2 2\n1 2\n-inf 3\n", "4:1: `-inf`: a finite number"),
            (DENSE, "1 1\n1e999\n", "3:1: `1e999`: a finite number"),
            (
                DENSE,
                "2 2\n1 2\n2.5 3\n",
                "4:1: (1, 2) is 2.5, (2, 1) is 2: a symmetric matrix",
            ),
            (
                SPARSE,
                "2 2 2\n1 2 2\n2 1 3\n",
                "4:5: (2, 1) is 3, (1, 2) is 2: a symmetric",
            ),
            (
                SPARSE,
                "2 2 2\n1 1 2\n1 2 3\n",
                "4:5: (1, 2) is 3, (2, 1) is 0: a symmetric",
            ),
            (
                SPARSE,
                "2 2 2\n2 1 7\n1 1 3\n",
                "3:5: (2, 1) is 7, (1, 2) is 0: a symmetric",
            ),
            (SPARSE, "2 2 1\n3 1 1\n", "3:1: row 3: from 1 to 2"),
            (SPARSE, "2 2 1\n1 0 1\n", "3:3: column 0: from 1 to 2"),
            (
                SPARSE,
                "2 2 1\n1 1\n",
                "3:1: 2 words: 3, a row, a column and a value",
            ),
            (
                SPARSE,
                "2 2 2\n1 1 1\n1 1 1\n",
                "4:5: 1: a second value of (1, 1)",
            ),
            (
                LOWER,
                "2 2 2\n2 1 1\n2 1 4\n",
                "4:5: 4: a second value of (2, 1)",
            ),
            (
                LOWER,
                "2 2 1\n1 2 1\n",
                "3:1: (1, 2): on or below the diagonal",
            ),
            (
                LOWER,
                "2 2 3\n1 1 1\n",
                "4:1: 1 entries: 3, as the line of sizes states",
            ),
            (LOWER, "2 2 1\n1 1 nan\n", "3:5: `nan`: a finite number"),
        ] {
            let found = read_as(kinds, rest).unwrap_err();
            assert!(
                found.starts_with(&format!("a.mtx:{line}")),
                "{kinds} {rest:?}: {found}"
            );
        }
        for (text, line) in [
            ("", "a.mtx:1:1: ``: %%MatrixMarket matrix, then"),
            ("3 3\n1\n", "a.mtx:1:1: `3 3`: %%MatrixMarket matrix, then"),
        ] {
            let found = read_text(text).unwrap_err();
            assert!(found.starts_with(line), "{text:?}: {found}");
        }
    }
}
