//! Lists of edges: two vertices of any names a line, and perhaps a length.
//!
//! White space, commas, semicolons or tabs separate: whichever gives every line the same number of
//! columns, two or three. A field may be quoted, and have blanks where tabs, commas or semicolons
//! separate. Lines that begin with `#` or `%` are comments. The first line is a header if its words
//! name columns, or are the only ones among numbers. A list that can be read in two ways, or is
//! likely in another format, is refused.

mod doubt;
mod fields;
mod shape;

use super::{Builder, Format, Listed, Options, Ways};
use crate::text::Text;
use fields::{Field, Separator, fields};
use shape::Shape;
pub(super) use shape::named;
use std::borrow::Cow;
use tautline::FileError;

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let shape = chosen(text, options)?;
    let is_requested = options.format == Some(Format::List);
    if !is_requested {
        doubt::check(text, &shape, options.has_header.is_some())?;
    }
    if shape.columns == 2 && options.is_weighted {
        let end = shape.first.last().map_or("", |word| &word[word.len()..]);
        return Err(text.error(end, "no length: two vertices and the length of the edge"));
    }
    let mut builder = Builder::new(text, options);
    let mut row = Vec::new();
    let is_header = |line: &&str| {
        shape
            .header
            .is_some_and(|header| std::ptr::eq(header, *line))
    };
    for line in shape::lines(text).filter(|line| !is_header(line)) {
        // The shape has been read from the same lines.
        fields(line, shape.separator, &mut row).map_err(|(at, what)| text.error(at, what))?;
        if row.len() == 1 {
            builder.vertex(name(row[0]));
        } else {
            let ends = (builder.vertex(name(row[0])), builder.vertex(name(row[1])));
            let length = row.get(2).map(|field| field.text);
            builder.edge(ends, length, Ways::Unsaid, line)?;
        }
    }
    builder.listed(described(text, &shape, options))
}

fn name<'a>(field: Field<'a>) -> Cow<'a, str> {
    match field.is_quoted && field.text.contains('"') {
        true => field.text.replace("\"\"", "\"").into(),
        false => field.text.into(),
    }
}

/// Returns the only way in which the list can be read.
fn chosen<'a>(text: &'a Text, options: &Options) -> Result<Shape<'a>, FileError> {
    let first = shape::lines(text).next().unwrap_or("");
    let present = Separator::ALL
        .into_iter()
        .filter(|separator| separator.is_in(first));
    let mut chosen: Option<Shape> = None;
    let mut refusal = None;
    for separator in present {
        match (shape::of(text, separator, options), &chosen) {
            (Ok(shape), None) => chosen = Some(shape),
            (Ok(other), Some(chosen)) => alike(text, chosen, &other)?,
            (Err(error), _) => refusal = refusal.or(Some(error)),
        }
    }
    match (chosen, refusal) {
        (Some(shape), _) => Ok(shape),
        (None, Some(refusal)) => Err(refusal),
        // An empty list.
        (None, None) => shape::of(text, Separator::Any, options),
    }
}

/// Refuses a list that two separators divide differently.
fn alike(text: &Text, one: &Shape, other: &Shape) -> Result<(), FileError> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for line in shape::lines(text) {
        let ok = fields(line, one.separator, &mut ours).is_ok()
            && fields(line, other.separator, &mut theirs).is_ok();
        if !ok || ours != theirs {
            let message = format!(
                "`{line}`: separated by {}, or by {}? Separate by one of them, or quote names",
                one.separator.name(),
                other.separator.name()
            );
            return Err(text.error(line, message));
        }
    }
    Ok(())
}

fn described(text: &Text, shape: &Shape, options: &Options) -> String {
    let comments = match shape::comments(text) {
        0 => String::new(),
        1 => ", 1 comment".to_owned(),
        many => format!(", {many} comments"),
    };
    if shape.columns == 0 && shape.isolated == 0 {
        return format!("list of edges, without a line{comments}");
    }
    let mut said = format!(
        "list of edges, {} columns separated by {}",
        shape.columns,
        shape.separator.name()
    );
    if let Some(header) = shape.header {
        said += &format!(", header `{header}`");
    }
    let first = [0, 1].map(|at| shape.first.get(at).and_then(|word| shape::whole(word)));
    let range = match (shape.numbers, first, shape.header) {
        (Some(range), _, Some(_)) => Some(range),
        (Some((least, most)), [Some(from), Some(to)], None) => {
            Some((least.min(from).min(to), most.max(from).max(to)))
        }
        _ => None,
    };
    if let Some((least, most)) = range.filter(|(least, most)| least <= most) {
        said += &format!(", vertices {least} to {most}");
    }
    if shape.isolated > 0 {
        said += &format!(", {} vertices alone", shape.isolated);
    }
    if shape.columns == 3 && !options.is_weighted {
        said += ", third column not used (--weighted)";
    }
    said + &comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, options: Options) -> Result<Listed, String> {
        let text = Text::new("g", text, |_| false).unwrap();
        super::read(&text, &options).map_err(|error| error.to_string())
    }

    #[test]
    fn separators_and_headers_are_recognised() {
        let cities = "Source\tTarget\nNew York\tLos Angeles\nSan Diego\tNew York\n";
        for (text, names, said) in [
            (
                "# c\n1 2\n\n2 3\n",
                "1|2|3",
                "2 columns separated by white space, vertices 1 to 3, 1 comment",
            ),
            // Names that begin with # are lost, which the number shows.
            (
                "#a #b\n#b #c\nx y\n",
                "x|y",
                "2 columns separated by white space, 2 comments",
            ),
            (
                "1, 2\n2, 3\n",
                "1|2|3",
                "2 columns separated by commas, vertices 1 to 3",
            ),
            (
                "1 2\n2,3\n3;4\n",
                "1|2|3|4",
                "2 columns separated by white space, vertices 1 to 4",
            ),
            (
                "\"a, b\",c\nc,\"d\"\"\"\n",
                "a, b|c|d\"",
                "2 columns separated by commas",
            ),
            (
                cities,
                "New York|Los Angeles|San Diego",
                "2 columns separated by tabs, header `Source\tTarget`",
            ),
            (
                "x,y\n1,2\n",
                "1|2",
                "2 columns separated by commas, header `x,y`, vertices 1 to 2",
            ),
            (
                "a,b,w\nc,d,1\n",
                "c|d",
                "3 columns separated by commas, header `a,b,w`, third column not used (--weighted)",
            ),
            ("a b\nb c\n", "a|b|c", "2 columns separated by white space"),
            (
                "New York 1,Boston\nBoston,Area 51\n",
                "New York 1|Boston|Area 51",
                "2 columns separated by commas",
            ),
            (
                "Jo (Ann),Bob\n",
                "Jo (Ann)|Bob",
                "2 columns separated by commas",
            ),
        ] {
            let found = read(text, Options::default()).unwrap();
            assert_eq!(found.names.join("|"), names, "{text}");
            assert_eq!(found.read_as, format!("list of edges, {said}"));
        }
        let isolated = Options {
            allows_isolated: true,
            ..Options::default()
        };
        let found = read("a\nb c\n", isolated).unwrap();
        assert_eq!((found.names.len(), found.entries), (3, 1));
        let header = |has_header| Options {
            has_header: Some(has_header),
            ..Options::default()
        };
        assert_eq!(read("a b\nb c\n", header(true)).unwrap().entries, 1);
        assert_eq!(
            read("source target\n1 2\n", header(false)).unwrap().entries,
            2
        );
        assert_eq!(read("2 1\n1 2\n", header(true)).unwrap().entries, 1);
        for sizes in ["3", "3 2", "3,,", "a b c d"] {
            let text = format!("{sizes}\n1 2 0.5\n2 3 0.5\n");
            assert_eq!(
                read(&text, header(true)).unwrap().names,
                ["1", "2", "3"],
                "{sizes}"
            );
        }
        let none = read("# none\n", Options::default()).unwrap();
        assert_eq!(
            (none.names.len(), &none.read_as[..]),
            (0, "list of edges, without a line, 1 comment")
        );
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_place() {
        for (text, said) in [
            (
                "a b\na b c d\n",
                "g:2:1: 4 columns: 2, as in the first line, which --header passes over",
            ),
            (
                "a b c d\n",
                "g:1:7: `d`: 4 columns: two vertices and perhaps a length; formats, by --format or the file's name: list, ",
            ),
            (
                "a b c\n",
                "g:1:5: `c`: the third column is a length, a number in every line",
            ),
            ("a b 1\nb c x\n", "g:2:5: `x`: the third column"),
            (
                "a b\nc\n",
                "g:2:1: `c` alone: two vertices and perhaps a length, separated by",
            ),
            ("1|2\n", "g:1:1: `1|2` alone: "),
            (
                "a -> b\n",
                "g:1:3: `->`: the name of a vertex has a letter or a digit",
            ),
            ("// a\nb c\n", "g:1:1: `//`: the name of"),
            (
                "1 2\t0.5\n2 3\t0.5\n",
                "g:1:1: `1 2\\t0.5`: separated by tabs, or by white space?",
            ),
            (
                "1 2,3\n2 3,4\n",
                "g:1:1: `1 2,3`: separated by commas, or by white space?",
            ),
            ("a,,b\n", "g:1:3: an empty field"),
            ("a,\"b\n", "g:1:3: a quote without an end in its line"),
            (
                "8 3\n1 2\n2 3\n7 8\n",
                "g:1:1: `8 3`: the numbers of vertices and edges, or an edge? --header",
            ),
            (
                "8 99\n1 2\n2 3\n7 8\n1 3\n",
                "g:1:1: `8 99`: the numbers of",
            ),
            ("4 4 2\n1 2 5\n3 4 1\n", "g:1:1: `4 4 2`: the numbers of"),
            (
                "e 1 2\ne 2 3\n",
                "g:1:1: `e` in every line: a word between or before the vertices?",
            ),
            ("1 pp 2\n2 pp 3\n", "g:1:1: `pp` in every line"),
            (
                "0 1 1\n1 0 1\n1 1 0\n",
                "g:1:1: 0 and 1 in three lines and columns",
            ),
            (
                "1 2 4\n2 1 3\n3 2 4\n4 3 1\n",
                "g:1:1: a vertex and two neighbours, or two vertices",
            ),
            (
                "4 3 0\n1 2 5\n2 3 6\n3 4 1\n",
                "g:1:1: `4 3 0`: the numbers of",
            ),
            // Lengths with decimal commas.
            (
                "1 2 0,5\n2 3 0,25\n",
                "g:1:1: `1 2 0`: a name with a separator",
            ),
            (
                "1;2;0,5\n2;3;0,25\n",
                "g:1:1: `1;2;0`: a name with a separator",
            ),
            (
                "a\tb\t0,5\nb\tc\t0,25\n",
                "g:1:1: `a\\tb\\t0`: a name with a separator",
            ),
            (
                "a b 0,5\nb c 0,25\n",
                "g:1:1: `a b 0,5`: a length with a decimal comma?",
            ),
            // Other columns first, and a table of vertices.
            (
                "id,source,target\n7,1,2\n8,2,3\n",
                "g:1:1: `id,source,target`: the vertices are not in the first two columns",
            ),
            (
                "Id,Label\n1,Ann\n2,Bob\n",
                "g:1:1: `Id,Label`: a table of vertices",
            ),
            (
                "node label\n1 2\n3 4\n",
                "g:1:1: `node,label`: a table of vertices",
            ),
            // Signs of other notations at names.
            (
                "1: 2\n2: 3\n",
                "g:2:1: `2:`: a colon, a bracket or an arrow",
            ),
            (
                "(1,2)\n(2,3)\n",
                "g:2:1: `(2`: a colon, a bracket or an arrow",
            ),
            (
                "a->b 0.5\nb->c 0.3\n",
                "g:2:1: `b->c`: a colon, a bracket or an arrow",
            ),
            (
                "a: b 1\nc d 2\n",
                "g:1:1: `a:`: a colon, a bracket or an arrow",
            ),
        ] {
            let line = read(text, Options::default()).unwrap_err();
            assert!(line.starts_with(said), "{text:?}: {line}");
        }
        let requested = Options {
            format: Some(Format::List),
            ..Options::default()
        };
        assert_eq!(read("e 1 2\ne 2 3\n", requested).unwrap().entries, 2);
    }

    #[test]
    fn lengths_are_exact() {
        let weighted = Options {
            is_weighted: true,
            ..Options::default()
        };
        let lengths = |text| read(text, weighted).map(|listed| listed.lengths.unwrap());
        assert_eq!(lengths("a b 0.1\nb c 0.2\na c 0.3\n"), Ok(vec![1, 2, 3]));
        assert_eq!(
            lengths("a b 1e9\nb c 0.001\n"),
            Ok(vec![10_u128.pow(12), 1])
        );
        assert_eq!(lengths("a b 1\nb c 1e-23\n"), Ok(vec![10_u128.pow(23), 1]));
        let third = lengths("a b 0.3333333333333333\nb c 0.1\n");
        assert_eq!(third, Ok(vec![3_333_333_333_333_333, 10_u128.pow(15)]));
        for (text, said) in [
            (
                "a b\n",
                "g:1:4: no length: two vertices and the length of the edge",
            ),
            (
                "a b -3\n",
                "g:1:5: length -3: a decimal number above 0, of at most 38 digits",
            ),
            (
                "a b 1\nb c 1e-40\n",
                "g:1:5: too long: sums are exact, with at most 38 digits from the longest edge to 10^-40",
            ),
        ] {
            let line = lengths(text).unwrap_err();
            assert!(line.starts_with(said), "{line}");
        }
    }
}
