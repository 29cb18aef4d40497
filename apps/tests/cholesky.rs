//! Cholesky factorizations: the same bits for all numbers of workers, factors that are known, the
//! whole matrix by another algorithm, and refusals. Feature `dense`.

mod scratch;
mod started;

use faer::{Mat, Side};
use scratch::Scratch;
use serde_json::Value;
use started::tautline;
use std::fmt::Write;
use std::fs;
use std::process::Output;
use tautline::Runtime;
use tautline_cli::cholesky::{
    Factor, Matrix, NotPositive, Shape, factorize, read, residual, sequential,
};
use tautline_cli::text::Input;

/// Rows, and rows of a tile.
const SHAPES: [(usize, usize); 12] = [
    (0, 4),
    (1, 1),
    (1, 300),
    (5, 1),
    (12, 4),
    (13, 4),
    (15, 16),
    (100, 7),
    (100, 99),
    (129, 64),
    (200, 32),
    (300, 300),
];

fn shapes() -> impl Iterator<Item = Shape> {
    SHAPES
        .into_iter()
        .map(|(rows, side)| Shape::new(rows, side))
}

fn runtime(workers: usize) -> Runtime {
    let builder = Runtime::builder().workers(workers);
    builder.pinned(false).build().expect("a runtime")
}

fn factor(matrix: &Matrix, shape: Shape, runtime: &Runtime) -> Factor {
    let measured = factorize(matrix, shape, runtime);
    measured.factor.expect("a positive definite matrix")
}

/// Reads a matrix from the lines after the banner.
fn matrix(kinds: &str, lines: &str) -> Matrix {
    let text = format!("%%MatrixMarket matrix {kinds}\n{lines}");
    let input = Input::new("a.mtx", text.as_bytes()).expect("a text");
    read(input).expect("a matrix")
}

/// Returns the matrix whose element of these row and column, from 1, is `at`.
fn dense(rows: usize, at: impl Fn(usize, usize) -> f64) -> Matrix {
    let mut lines = format!("{rows} {rows}\n");
    for column in 1..=rows {
        (column..=rows).for_each(|row| writeln!(lines, "{}", at(row, column)).unwrap());
    }
    matrix("array real symmetric", &lines)
}

/// Returns the matrix with these values on its diagonal and 0 elsewhere.
fn diagonal(values: &[f64]) -> Matrix {
    matrix("coordinate real general", &diagonal_lines(values))
}

fn diagonal_lines(values: &[f64]) -> String {
    let mut lines = format!("{0} {0} {0}\n", values.len());
    for (row, value) in (1..).zip(values) {
        writeln!(lines, "{row} {row} {value}").unwrap();
    }
    lines
}

#[test]
fn every_number_of_workers_has_the_same_bits() {
    for workers in [1, 2, 4] {
        let runtime = runtime(workers);
        for shape in shapes() {
            let matrix = Matrix::drawn(shape.rows(), 7);
            let expected = sequential(&matrix, shape).expect("a positive definite matrix");
            for _ in 0..3 {
                let found = factor(&matrix, shape, &runtime);
                assert_eq!(
                    found.checksum(),
                    expected.checksum(),
                    "{shape:?}, {workers} workers"
                );
                assert!(found == expected, "{shape:?}, {workers} workers");
            }
        }
    }
}

#[test]
fn factors_are_as_precise_as_numbers_allow() {
    let runtime = runtime(2);
    for shape in shapes() {
        let matrix = Matrix::drawn(shape.rows(), 3);
        let found = factor(&matrix, shape, &runtime);
        let precise = residual(&matrix, &found);
        assert!((0.0..=1.0).contains(&precise), "{shape:?}: {precise}");
        if shape.rows() > 1 {
            let other = residual(&Matrix::drawn(shape.rows(), 4), &found);
            assert!(other > 1e6, "{shape:?}: {other}, of another matrix");
        }
    }
}

/// The algorithm for whole matrices, of the crate that has the kernels.
#[test]
fn the_factor_of_the_whole_matrix_is_the_same() {
    let runtime = runtime(2);
    for shape in shapes().filter(|shape| shape.rows() > 0) {
        let matrix = Matrix::drawn(shape.rows(), 5);
        let rows = shape.rows();
        let whole = matrix.tile(Shape::new(rows, rows), 0, 0);
        let whole = Mat::from_fn(rows, rows, |i, j| whole[i.min(j) * rows + i.max(j)]);
        let expected = whole.llt(Side::Lower).expect("a positive definite matrix");
        let (expected, found) = (expected.L(), factor(&matrix, shape, &runtime));
        for (row, column) in (0..rows).flat_map(|row| (0..rows).map(move |column| (row, column))) {
            let (found, expected) = (found.at(row, column), expected[(row, column)]);
            // Of numbers up to the root of the number of rows.
            let bound = 1e-14 * (rows as f64).sqrt();
            assert!(
                (found - expected).abs() <= bound,
                "{shape:?} ({row}, {column}): {found} {expected}"
            );
        }
    }
}

/// Pascal's matrix has his triangle as its factor; that of the lesser of row and column has ones.
/// All numbers are whole.
#[test]
fn known_factors_are_exact() {
    let runtime = runtime(2);
    let binomial =
        |n: usize, k: usize| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
    for side in [1, 3, 4, 50] {
        let pascal = dense(12, |row, column| binomial(row + column - 2, column - 1));
        let found = factor(&pascal, Shape::new(12, side), &runtime);
        let least = dense(40, |row, column| row.min(column) as f64);
        let ones = factor(&least, Shape::new(40, side), &runtime);
        for (row, column) in (0..40).flat_map(|row| (0..40).map(move |column| (row, column))) {
            let expected = f64::from(u8::from(column <= row));
            assert_eq!(ones.at(row, column), expected, "tiles of {side}");
            if row.max(column) < 12 {
                let expected = if column <= row {
                    binomial(row, column)
                } else {
                    0.0
                };
                assert_eq!(found.at(row, column), expected, "tiles of {side}");
            }
        }
    }
}

#[test]
fn each_seed_has_its_matrix() {
    let shape = Shape::new(30, 8);
    let checksums = [1, 2, 1].map(|seed| {
        let factor = sequential(&Matrix::drawn(30, seed), shape);
        factor.expect("a positive definite matrix").checksum()
    });
    assert_eq!(checksums[0], checksums[2]);
    assert_ne!(checksums[0], checksums[1]);
}

/// All other tasks wait for that of the failure, directly or not, so a finish that were not
/// cancelled would not end.
#[test]
fn a_matrix_that_is_not_positive_definite_ends_the_run() {
    for workers in [1, 2, 4] {
        let runtime = runtime(workers);
        for (row, value) in [(1, -1.0), (1, 0.0), (8, -1e-300), (9, 0.0), (20, -7.0)] {
            let mut values = [2.0; 20];
            values[row - 1] = value;
            for side in [1, 4, 8, 100] {
                let shape = Shape::new(20, side);
                let found = factorize(&diagonal(&values), shape, &runtime).factor;
                assert_eq!(found, Err(NotPositive { row }), "tiles of {side}");
                assert_eq!(
                    sequential(&diagonal(&values), shape),
                    Err(NotPositive { row })
                );
            }
        }
        // Positive on the diagonal, and the leading minor of two rows is negative.
        let matrix = dense(6, |row, column| if row == column { 1.0 } else { 2.0 });
        for side in [1, 2, 5] {
            let found = factorize(&matrix, Shape::new(6, side), &runtime).factor;
            assert_eq!(found, Err(NotPositive { row: 2 }), "tiles of {side}");
        }
    }
}

#[test]
fn sums_that_overflow_are_not_positive() {
    let matrix = dense(3, |row, column| if row == column { 1.0 } else { 1e200 });
    for side in [1, 2, 3] {
        let found = factorize(&matrix, Shape::new(3, side), &runtime(2)).factor;
        assert_eq!(found, Err(NotPositive { row: 2 }), "tiles of {side}");
    }
    // Squares of the elements overflow, but no number of the algorithm does.
    let matrix = dense(30, |row, column| if row == column { 1e290 } else { 1e287 });
    let shape = Shape::new(30, 7);
    let precise = residual(&matrix, &factor(&matrix, shape, &runtime(2)));
    assert!(precise <= 1.0, "{precise}");
}

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn object(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args}: {}",
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn the_command_prints_what_was_computed() {
    let sizes = [(0, 5), (1, 5), (100, 16), (100, 1000)];
    for (rows, tile) in sizes {
        let args = format!("cholesky --n {rows} --tile {tile} --seed 9 --check");
        let [one, two, four] =
            [1, 2, 4].map(|workers| object(&format!("{args} --workers {workers}")));
        let shape = Shape::new(rows, tile);
        let expected = sequential(&Matrix::drawn(rows, 9), shape).expect("positive definite");
        let expected = format!("{:016x}", expected.checksum());
        for found in [&one, &two, &four] {
            assert_eq!(found["checksum"], *expected);
            assert_eq!(
                (&found["rows"], &found["tile"]),
                (&rows.into(), &tile.into())
            );
            assert_eq!(found["flops"], shape.operations());
            assert!(
                found["residual"]
                    .as_f64()
                    .is_some_and(|residual| residual <= 1.0),
                "{found}"
            );
            assert_eq!(
                (&found["verified"], &found["agrees"]),
                (&true.into(), &Value::Null)
            );
            assert_eq!(found["complete"], true);
        }
        let keys = |object: &Value| {
            object
                .as_object()
                .map(|all| all.keys().cloned().collect::<Vec<_>>())
        };
        let documented =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/JSON.md")).unwrap();
        for key in keys(&one).expect("an object") {
            assert!(documented.contains(&format!("`{key}`")), "{key}");
        }
    }
    let unchecked = object("cholesky --n 50");
    assert!(
        unchecked["residual"].is_null() && unchecked["verified"].is_null(),
        "{unchecked}"
    );
    let output = run("cholesky --n 200 --tile 64 --check");
    let table = text(&output.stdout);
    for row in ["matrix ", "tasks ", "checksum ", "residual ", "rate "] {
        assert!(
            table.lines().any(|line| line.starts_with(row)),
            "{row}: {table}"
        );
    }
    assert!(
        table.contains("200 x 200, drawn, seed 1") && table.contains("flops/s"),
        "{table}"
    );
    assert!(
        table.contains("20 on 4 x 4 tiles of 64") && table.contains("verified"),
        "{table}"
    );
}

#[test]
fn matrices_of_files_are_factorized() {
    let file = Scratch::new("pascal.mtx");
    let name = file.0.display().to_string();
    fs::write(
        &file.0,
        "%%MatrixMarket matrix array integer general\n3 3\n1 1 1\n1 2 3\n1 3 6\n",
    )
    .unwrap();
    let found = object(&format!("cholesky {name} --tile 2 --check"));
    let known = factor(
        &dense(3, |i, j| {
            [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]][i - 1][j - 1]
        }),
        Shape::new(3, 3),
        &runtime(1),
    );
    assert_eq!(found["checksum"], format!("{:016x}", known.checksum()));
    assert_eq!(
        (&found["rows"], &found["residual"]),
        (&3.into(), &0.0.into())
    );

    let lines = diagonal_lines(&[3.0, 2.0, -4.0, 1.0]);
    fs::write(
        &file.0,
        format!("%%MatrixMarket matrix coordinate real general\n{lines}"),
    )
    .unwrap();
    for check in ["", " --check"] {
        let output = run(&format!("cholesky {name} --tile 2 --json{check}"));
        assert_eq!(output.status.code(), Some(1));
        let line = "tautline: cholesky: the matrix is not positive definite: the pivot of row 3 is not above 0\n";
        assert_eq!(text(&output.stderr), line);
        let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(
            (&found["not_positive_row"], &found["verified"]),
            (&3.into(), &false.into())
        );
    }
}

#[test]
fn bad_requests_are_one_line() {
    let file = Scratch::new("bad.mtx");
    let name = file.0.display().to_string();
    let of = |content: &str, line: &str| {
        fs::write(&file.0, content).unwrap();
        refused(&format!("cholesky {name}"), &format!("{name}:{line}"));
    };
    of(
        "",
        "1:1: ``: %%MatrixMarket matrix, then array or coordinate",
    );
    of(
        "%%MatrixMarket matrix array real general\n2 3\n1\n",
        "2:1: 2 x 3: a square matrix",
    );
    of(
        "%%MatrixMarket matrix array real general\n2 2\n1 2\n3 4\n",
        "4:1: (1, 2) is 3, (2, 1) is 2",
    );
    of(
        "%%MatrixMarket matrix array real symmetric\n1 1\nnan\n",
        "3:1: `nan`: a finite number",
    );
    of(
        "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n2 1 5\n",
        "3:1: row 2: from 1 to 1",
    );
    refused("cholesky /nowhere/a.mtx", "/nowhere/a.mtx: No such file");
    refused(&format!("cholesky {name} --n 5"), "--n");
    refused("cholesky --n -1", "--n -1: expected a whole number");
    refused(
        "cholesky --n 2000000",
        "--n 2000000: expected a whole number",
    );
    refused("cholesky --tile 0", "--tile 0: expected a whole number");
    refused(
        "cholesky --tile 1",
        "--tile 1: 1 335 334 000 tasks for 2 000 rows, at most 16 777 216",
    );
    refused("cholesky --n 1000000 --tile 20000", "--n 1000000: needs ");
    refused("cholesky --ranks 2 --loopback", "--ranks 2: expected 1");
}

/// Changes characters of small files: each is read, or refused by a line that names it.
#[test]
fn changed_files_are_read_or_refused() {
    let files = [
        "%%MatrixMarket matrix array real symmetric\n3 3\n4\n2\n-.5\n5\n0\n6\n",
        "%%MatrixMarket matrix array integer general\n2 2\n4 1\n1 3\n",
        "%%MatrixMarket matrix coordinate real general\n% c\n3 3 4\n3 3 6\n1 1 4e1\n2 1 2\n1 2 2\n",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 3 6\n1 1 4\n2 1 -2\n",
    ];
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let (mut kept, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut bytes = files[round % files.len()].as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            match below(3) {
                0 => bytes[at] = b"0123456789 -+.eE%\n\rnaix\xff"[below(24)],
                1 => _ = bytes.remove(at),
                _ => bytes.insert(at, b"0123456789 \n"[below(12)]),
            }
        }
        let shown = String::from_utf8_lossy(&bytes);
        match Input::new("a.mtx", &bytes).and_then(read) {
            Ok(matrix) => {
                kept += 1;
                let shape = Shape::new(matrix.rows(), 64);
                if shape.tiles() > 0 {
                    let tile = matrix.tile(shape, 0, 0);
                    assert!(tile.iter().all(|value| value.is_finite()), "{shown:?}");
                }
            }
            Err(error) => {
                refused += 1;
                let line = error.to_string();
                assert!(
                    line.starts_with("a.mtx") && !line.contains('\n'),
                    "{shown:?}: {line}"
                );
            }
        }
    }
    assert!(
        kept > 500 && refused > 5000,
        "{kept} read, {refused} refused"
    );
}

/// Asserts that the command ends with the code of a request that cannot be carried out, and one
/// line, which contains `line`.
fn refused(args: &str, line: &str) {
    let output = run(args);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
    assert!(
        errors.contains(line) && errors.trim_end().lines().count() == 1,
        "{args}: {errors}"
    );
    assert!(output.stdout.is_empty(), "{args}");
}
