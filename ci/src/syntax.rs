//! Rust source as tokens and comments: as much of the grammar as text rules need to be honest.
//!
//! Strings and comments are where naive searches go wrong, so both are taken out of the tokens
//! here.

use std::collections::BTreeMap;

/// An identifier, literal or punctuation mark. `::`, `->` and `=>` are one token; the text of a
/// string literal is left out.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub line: usize,
    /// In characters from the start of the line, from 1, as the compiler counts.
    pub column: usize,
    pub text: String,
}

/// A file taken apart. Lines count from 1.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub tokens: Vec<Token>,
    /// The text of string and character literals, in order.
    pub literals: Vec<String>,
    /// The text of comments, line by line.
    pub comments: BTreeMap<usize, String>,
}

/// Takes `text` apart.
pub(crate) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        line: 1,
        start: 0,
        column: 1,
        out: Lexed::default(),
    };
    while lexer.at < lexer.chars.len() {
        lexer.column = lexer.at - lexer.start + 1;
        lexer.step();
    }
    lexer.out
}

pub(crate) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    /// Start of the line.
    start: usize,
    /// Column of the token that begins.
    column: usize,
    out: Lexed,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        if c == '\n' {
            self.line += 1;
            self.start = self.at;
        }
        c
    }

    fn push(&mut self, line: usize, text: impl Into<String>) {
        let (column, text) = (self.column, text.into());
        self.out.tokens.push(Token { line, column, text });
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(0, true),
            ('\'', _) => self.quote(),
            (c, _) if c.is_whitespace() => {
                self.bump();
            }
            (c, _) if c.is_alphabetic() || c == '_' => self.word(),
            (c, _) if c.is_ascii_digit() => self.number(),
            (':', ':') | ('-', '>') | ('=', '>') => {
                let pair: String = [self.bump(), self.bump()].iter().collect();
                self.push(self.line, pair);
            }
            _ => {
                let mark = self.bump();
                self.push(self.line, mark);
            }
        }
    }

    fn comment(&mut self, text: &str) {
        self.out
            .comments
            .entry(self.line)
            .or_default()
            .push_str(text);
    }

    fn line_comment(&mut self) {
        let start = self.at;
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
        let text: String = self.chars[start..self.at].iter().collect();
        self.comment(&text);
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                ('\n', _) => {
                    self.bump();
                    continue;
                }
                (c, _) => {
                    self.comment(&c.to_string());
                    self.bump();
                    continue;
                }
            }
            self.comment("/*");
            self.at += 2;
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self, hashes: usize, escapes: bool) {
        let (line, start) = (self.line, self.at);
        self.bump();
        while self.at < self.chars.len() {
            match self.bump() {
                '\\' if escapes => {
                    self.bump();
                }
                '"' if (0..hashes).all(|i| self.peek(i) == '#') => break,
                _ => {}
            }
        }
        self.at += hashes;
        self.literal(start);
        self.push(line, "\"\"");
    }

    /// Keeps the text of a literal that began at `start`.
    fn literal(&mut self, start: usize) {
        let end = self.at.min(self.chars.len());
        let text = self.chars[start..end].iter().collect();
        self.out.literals.push(text);
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let (line, start) = (self.line, self.at);
        if self.peek(1) == '\\' {
            self.at += 3;
            while self.at < self.chars.len() && self.bump() != '\'' {}
            self.literal(start);
            self.push(line, "' '");
        } else if self.peek(2) == '\'' {
            self.at += 1;
            self.bump();
            self.at += 1;
            self.literal(start);
            self.push(line, "' '");
        } else {
            self.at += 1;
            let name = self.take_word();
            self.push(line, format!("'{name}"));
        }
    }

    fn take_word(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn word(&mut self) {
        let word = self.take_word();
        let hashes = (0..).take_while(|i| self.peek(*i) == '#').count();
        let raw = matches!(word.as_str(), "r" | "br" | "cr");
        if raw && self.peek(hashes) == '"' {
            self.at += hashes;
            self.string(hashes, false);
        } else if matches!(word.as_str(), "b" | "c") && self.peek(0) == '"' {
            self.string(0, true);
        } else if word == "b" && self.peek(0) == '\'' {
            self.quote();
        } else if word == "r" && hashes == 1 {
            self.at += 1;
            let name = self.take_word();
            self.push(self.line, name);
        } else {
            self.push(self.line, word);
        }
    }

    fn number(&mut self) {
        let start = self.at;
        while self.peek(0).is_alphanumeric()
            || self.peek(0) == '_'
            || (self.peek(0) == '.' && self.peek(1).is_ascii_digit())
        {
            self.at += 1;
        }
        let text: String = self.chars[start..self.at].iter().collect();
        self.push(self.line, text);
    }
}

#[cfg(test)]
mod tests {
    use super::lex;

    fn words(text: &str) -> Vec<String> {
        lex(text).tokens.into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        let text = r##"let s = "unsafe // no"; let r = r#"un"safe"#; /* unsafe /* x */ */ b"unsafe" // unsafe"##;
        assert!(!words(text).contains(&"unsafe".to_owned()));
        assert!(lex(text).comments[&1].contains("unsafe"));
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(
            words("fn f<'a>(x: &'a u8) -> '{'"),
            [
                "fn", "f", "<", "'a", ">", "(", "x", ":", "&", "'a", "u8", ")", "->", "' '"
            ]
        );
        assert_eq!(words(r"'\'' x '\u{7f}' y"), ["' '", "x", "' '", "y"]);
    }

    #[test]
    fn lines_are_counted_through_literals() {
        let lexed = lex("\"a\nb\"\n/* c\n */ x");
        let last = lexed.tokens.last().map(|t| (t.line, t.text.as_str()));
        assert_eq!(last, Some((4, "x")));
        assert_eq!(words("0..n 1.5"), ["0", ".", ".", "n", "1.5"]);
        let columns = lex("é + x\n \"\n\" f::g").tokens;
        let columns: Vec<_> = columns.iter().map(|t| (t.line, t.column)).collect();
        assert_eq!(
            columns,
            [(1, 1), (1, 3), (1, 5), (2, 2), (3, 3), (3, 4), (3, 6)]
        );
    }
}
