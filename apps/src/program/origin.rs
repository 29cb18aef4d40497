//! The origin of a value: an option or a variable.

/// Returns a note if the value was not given as an option but by a variable.
pub(super) fn origin(option: &str, value: &str) -> String {
    let variable = option
        .trim_start_matches('-')
        .replace('-', "_")
        .to_uppercase();
    let variable = format!("TAUTLINE_{variable}");
    // `--grain 0`, `--grain=0`, `-n 0`, `-n0`
    let is_value = |arg: &str| {
        arg == value
            || arg.split_once('=').is_some_and(|(_, given)| given == value)
            || !arg.starts_with("--") && arg.starts_with('-') && arg.get(2..) == Some(value)
    };
    let given = std::env::args_os().any(|arg| is_value(&arg.to_string_lossy()));
    let set = std::env::var(&variable).is_ok_and(|set| set.trim() == value);
    if set && !given {
        format!(" (from {variable})")
    } else {
        String::new()
    }
}
