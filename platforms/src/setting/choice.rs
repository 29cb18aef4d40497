//! The value of a setting, its source, and the reason for the default.
#![forbid(unsafe_code)]

use std::fmt;

/// A setting, its value, where that came from, and why.
///
/// ```
/// let runtime = tautline::Runtime::builder().workers(2).build()?;
/// let workers = runtime.explain().into_iter().find(|choice| choice.setting == "workers").unwrap();
/// assert_eq!(workers.value, "2");
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// The source of the value.
    pub source: Source,
    /// The default, and its reason.
    pub why: String,
}

/// The source of the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A rule of the runtime.
    Rule,
    /// Detected on this machine.
    Detected,
    /// The program, or an option.
    Asked,
    /// This variable of the environment.
    Variable(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rule => "rule",
            Self::Detected => "detected",
            Self::Asked => "as asked",
            Self::Variable(name) => name,
        })
    }
}

impl Choice {
    /// A value that nothing was asked about: the text of `why` begins with it.
    ///
    /// ```
    /// use tautline::plan::{Choice, Source};
    ///
    /// let degree = Choice::chosen("degree", 4, Source::Rule, "4, one leaf".to_owned());
    /// assert_eq!(degree.to_string(), "4, one leaf [rule]");
    /// ```
    pub fn chosen(
        setting: &'static str,
        value: impl ToString,
        source: Source,
        why: String,
    ) -> Self {
        Self {
            setting,
            value: value.to_string(),
            source,
            why,
        }
    }

    /// Whether the runtime chose the value, since it was not requested.
    ///
    /// ```
    /// use tautline::plan::{Choice, Source};
    ///
    /// let choice = |source| Choice::chosen("grain", 511, source, String::new());
    /// assert!(choice(Source::Detected).is_chosen() && !choice(Source::Asked).is_chosen());
    /// ```
    pub fn is_chosen(&self) -> bool {
        matches!(self.source, Source::Rule | Source::Detected)
    }
}

/// The reason, and the source; of a requested value, the value, the source, and what would be
/// chosen otherwise.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            value, source, why, ..
        } = self;
        match self.is_chosen() {
            true => write!(f, "{why} [{source}]"),
            false if why.is_empty() => write!(f, "{value} [{source}]"),
            false => write!(f, "{value} [{source}]; else {why}"),
        }
    }
}
