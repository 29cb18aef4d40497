//! The reasons to leave workers unpinned where pinning is not requested.
#![forbid(unsafe_code)]

/// A reason to leave workers unpinned.
pub(crate) enum Refusal {
    /// This processor has workers of another runtime.
    Taken(usize),
    /// Not all processes of the system see claims of this one.
    Unseen,
    /// The control group grants fewer processors than are allowed.
    Shared { quota: f64, allowed: usize },
}

impl Refusal {
    /// Describes it in one line.
    pub(crate) fn line(&self) -> String {
        let why = match self {
            Self::Taken(cpu) => format!("CPU {cpu} has workers of another runtime"),
            Self::Unseen => {
                "other programs would not see it from outside of this network namespace".to_owned()
            }
            Self::Shared { quota, allowed } => {
                format!("a quota of {quota:.3} of {allowed} CPUs is that of a shared machine")
            }
        };
        let remedy = "`pinned(true)` or TAUTLINE_NO_PIN=0 pins them nevertheless";
        format!("not pinned: {why}; {remedy}")
    }
}
