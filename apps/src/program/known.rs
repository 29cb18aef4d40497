//! Values that shells propose for an option, and that help and errors word in another way.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;

/// The parser of an option with well-known values, which shells complete; others may be allowed,
/// too.
///
/// ```
/// use clap::{Arg, Command};
/// use tautline_cli::program::known::Known;
///
/// let number = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
/// let arg = Arg::new("n").value_parser(Known::new(number, || vec!["1".into(), "64".into()]));
/// let known = arg.get_possible_values();
/// assert_eq!(known[1].get_name(), "64");
/// let given = Command::new("it").arg(arg).get_matches_from(["it", "7"]);
/// assert_eq!(given.get_one("n"), Some(&7_u32));
/// ```
#[derive(Clone, Debug)]
pub struct Known<P, V = fn() -> Vec<String>> {
    parse: P,
    values: V,
}

impl<P, V> Known<P, V> {
    /// Returns a parser by `parse`, of an option for which shells propose `values`.
    pub fn new(parse: P, values: V) -> Self {
        Self { parse, values }
    }
}

impl<P, V> TypedValueParser for Known<P, V>
where
    P: TypedValueParser,
    V: Fn() -> Vec<String> + Clone + Send + Sync + 'static,
{
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            (self.values)().into_iter().map(PossibleValue::new),
        ))
    }
}

/// Returns the names, owned.
pub fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
