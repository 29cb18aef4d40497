//! The arrangement of help: examples, then arguments and options, then their explanations.

use clap::Command;

/// The parts of a help text. What a command has as `after_help` are its examples and, after an
/// empty line, its notes.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}";

/// The beginnings of the headings of options that `-h` omits, as few runs need them, …
const RARE: [&str; 3] = ["Balancer", "Simulated machine:", "Faults"];
/// … except these.
const USUAL: [&str; 4] = ["places", "workers", "ranks", "deadline"];

/// The number of examples that `-h` shows.
const FIRST: usize = 5;

/// Arranges the help of a command and of those below it.
pub fn arranged(mut command: Command) -> Command {
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        let (examples, notes) = match text.starts_with("EXAMPLES") {
            true => text.split_once("\n\n").unwrap_or((&text, "")),
            false => ("", &*text),
        };
        command = command.after_help(flowing(notes));
        if !examples.is_empty() {
            command = command
                .before_help(first(examples))
                .before_long_help(examples.to_owned());
        }
    }
    command
        .help_template(TEMPLATE)
        .mut_args(|arg| match arg.is_positional() {
            // Before the options, in a group of their own.
            true => arg.help_heading(None),
            false => {
                let heading = arg.get_help_heading().unwrap_or_default();
                let is_rare = RARE.iter().any(|rare| heading.starts_with(rare));
                let is_rare = is_rare && !USUAL.contains(&arg.get_id().as_str());
                arg.hide_short_help(is_rare)
            }
        })
        .mut_subcommands(arranged)
}

/// Returns the first examples, with the lines that continue them.
fn first(examples: &str) -> String {
    let mut number = 0;
    let lines = examples.lines().take_while(|line| {
        number += usize::from(line.starts_with("  tautline "));
        number <= FIRST
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Joins the lines of each paragraph, which the width of the terminal divides.
fn flowing(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    #[test]
    fn examples_come_first_and_notes_last() {
        let file = Arg::new("file").help("A file").help_heading("Graph");
        let grain = Arg::new("grain")
            .long("grain")
            .help("Tasks")
            .help_heading("Balancer");
        let places = Arg::new("places")
            .long("places")
            .help("Shares")
            .help_heading("Balancer");
        let command = Command::new("it")
            .about("Do it")
            .args([grain, places, file]);
        let examples = (1..8).map(|n| format!("  tautline it {n}\n"));
        let examples = examples.collect::<String>();
        let notes = "A note\nof two lines.\n\nAnother.";
        let command = command.after_help(format!("EXAMPLES:\n{examples}\n{notes}"));
        let mut command = arranged(command);
        let long = command.render_long_help().to_string();
        let at = |part: &str| {
            long.find(part)
                .unwrap_or_else(|| panic!("no {part} in {long}"))
        };
        let parts = [
            "Do it",
            "Usage: ",
            "EXAMPLES:\n  tautline it 1\n",
            "Arguments:\n",
            "A file",
            "Balancer:",
            "A note of two lines.\n\n",
            "Another.",
        ];
        assert!(parts.map(at).is_sorted(), "{long}");
        let short = command.render_help().to_string();
        assert!(
            long.contains("--grain") && !short.contains("--grain"),
            "{short}"
        );
        assert!(short.contains("--places"), "{short}");
        assert!(long.contains("tautline it 7"), "{long}");
        assert!(
            short.contains("tautline it 5") && !short.contains("tautline it 6"),
            "{short}"
        );
    }
}
