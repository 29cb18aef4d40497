//! Colours of words, on a terminal.

use super::terminal::is_terminal;
use console::{Style, Term};

/// Whether words are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// As terminals display them.
    Terminal,
    /// Not at all: in pipes and files, if `NO_COLOR` is set, or if the terminal has no colours.
    None,
}

impl Colours {
    /// Returns the colours of what is written to stdout.
    pub fn of_stdout() -> Self {
        match is_terminal(&std::io::stdout()) && Term::stdout().features().colors_supported() {
            true => Self::Terminal,
            false => Self::None,
        }
    }

    /// Marks a good result.
    pub fn good(self, word: &str) -> String {
        self.with(Style::new().green(), word)
    }

    /// Marks a bad result.
    pub fn bad(self, word: &str) -> String {
        self.with(Style::new().red(), word)
    }

    fn with(self, style: Style, word: &str) -> String {
        let style = style.force_styling(self == Self::Terminal);
        style.apply_to(word).to_string()
    }
}
