//! A line of a list as fields.

/// The separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// This character. Fields may have blanks inside and may be quoted.
    One(char),
    /// White space, in which there may be one comma or semicolon.
    Any,
}

impl Separator {
    /// All, in the order of preference.
    pub(super) const ALL: [Self; 4] = [Self::One('\t'), Self::One(';'), Self::One(','), Self::Any];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::One('\t') => "tabs",
            Self::One(';') => "semicolons",
            Self::One(_) => "commas",
            Self::Any => "white space",
        }
    }

    /// Whether the line has it.
    pub(super) fn is_in(self, line: &str) -> bool {
        match self {
            Self::One(separator) => line.contains(separator),
            Self::Any => true,
        }
    }
}

/// A field without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) text: &'a str,
    /// Whether it was quoted, and two quotes stand for one.
    pub(super) is_quoted: bool,
}

/// The part of a line that cannot be divided, and the reason.
pub(super) type Mistake<'a> = (&'a str, &'static str);

/// Divides a line without white space at its ends.
pub(super) fn fields<'a>(
    line: &'a str,
    separator: Separator,
    into: &mut Vec<Field<'a>>,
) -> Result<(), Mistake<'a>> {
    into.clear();
    match separator {
        Separator::One(separator) => divide(line, separator, into),
        Separator::Any => words(line, into),
    }
}

fn divide<'a>(
    line: &'a str,
    separator: char,
    into: &mut Vec<Field<'a>>,
) -> Result<(), Mistake<'a>> {
    let mut rest = line;
    loop {
        // A tab is white space, too.
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() && c != separator);
        let (text, is_quoted, after) = match rest.strip_prefix('"') {
            Some(inner) => {
                let end = closing(inner).ok_or((rest, "a quote without an end in its line"))?;
                (&inner[..end], true, &inner[end + 1..])
            }
            None => {
                let end = rest.find(separator).unwrap_or(rest.len());
                (rest[..end].trim_end(), false, &rest[end..])
            }
        };
        if text.is_empty() {
            return Err((rest, "an empty field"));
        }
        if !is_quoted {
            whole(text)?;
        }
        into.push(Field { text, is_quoted });
        let after = after.trim_start_matches(|c: char| c.is_whitespace() && c != separator);
        match after.strip_prefix(separator) {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(()),
            None => return Err((after, "text after a quoted field")),
        }
    }
}

/// Refuses a field without quotes that begins or ends with a part of another separator or of a
/// quote.
fn whole(text: &str) -> Result<(), Mistake<'_>> {
    let marks = [',', ';', '"'];
    match text.starts_with(marks) || text.ends_with(marks) {
        true => Err((
            text,
            "a comma, semicolon or quote at the end of a name: quote the name",
        )),
        false => Ok(()),
    }
}

/// Returns where a quoted field ends.
fn closing(inner: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += inner[at..].find('"')?;
        if !inner[at + 1..].starts_with('"') {
            return Some(at);
        }
        at += 2;
    }
}

fn words<'a>(line: &'a str, into: &mut Vec<Field<'a>>) -> Result<(), Mistake<'a>> {
    let is_separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let mut rest = line;
    loop {
        let end = rest.find(is_separator).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        match text.chars().next() {
            None => return Err((rest, "an empty field")),
            Some('"') => {
                return Err((
                    rest,
                    "a quoted field: separate by commas, semicolons or tabs",
                ));
            }
            Some(_) => whole(text)?,
        }
        into.push(Field {
            text,
            is_quoted: false,
        });
        if after.is_empty() {
            return Ok(());
        }
        let blanks = after.trim_start();
        rest = blanks
            .strip_prefix([',', ';'])
            .unwrap_or(blanks)
            .trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_divided() {
        use Separator::{Any, One};
        for (line, separator, expected) in [
            ("a b", Any, &["a", "b"][..]),
            ("a,  b ;c\td", Any, &["a", "b", "c", "d"]),
            (
                "New York\tLos Angeles",
                One('\t'),
                &["New York", "Los Angeles"],
            ),
            ("\"a,b\" , c", One(','), &["a,b", "c"]),
            ("\"a\"\"b\";c", One(';'), &["a\"\"b", "c"]),
            ("5\" disk,c", One(','), &["5\" disk", "c"]),
        ] {
            let mut found = Vec::new();
            fields(line, separator, &mut found).unwrap();
            let found: Vec<_> = found.iter().map(|field| field.text).collect();
            assert_eq!(found, expected, "{line}");
        }
        for (line, separator, rest) in [
            ("a,,b", Any, ",b"),
            ("a,,b", One(','), ",b"),
            ("a,b,", One(','), ""),
            (",a", Any, ",a"),
            ("a,", Any, ""),
            ("\"a\" b", Any, "\"a\" b"),
            ("\"a\"b,c", One(','), "b,c"),
            ("a,\"b", One(','), "\"b"),
            ("\"\",b", One(','), "\"\",b"),
            (";a\tb", One('\t'), ";a"),
            ("a\" b", Any, "a\""),
        ] {
            let (place, _) = fields(line, separator, &mut Vec::new()).unwrap_err();
            assert_eq!(place, rest, "{line}");
        }
    }
}
