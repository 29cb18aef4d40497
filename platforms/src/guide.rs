//! The guide: when to use what, with programs that are compiled and run as tests.
//!
//! | page | |
//! |---|---|
//! | [`start`] | a first program |
//! | [`choosing`] | which construct for which problem |
//! | [`forks`] | recursion, and tasks that borrow |
//! | [`loops`] | ranges, slices, vectors, strings; concurrent loops |
//! | [`data_flow`] | tasks that wait for values |
//! | [`asynchronous`] | futures, channels, groups of async tasks |
//! | [`phasers`] | tasks that proceed in phases |
//! | [`balancing`] | searches: sums, tasks, bags, bounds, early ends |
//! | [`branch_and_bound`] | a solver: incumbent, gap, deadline, Ctrl-C |
//! | [`ranks`] | the same over several memories |
//! | [`globals`] | values that all ranks share |
//! | [`spaces`] | values with names, for tasks that wait for them at any rank |
//! | [`simulating`] | the same on a machine that is not at hand |
//! | [`observing`] | where time goes, and what a program waits for |
//! | [`embedding`] | with tokio and rayon |
//! | [`coming_from`] | rayon, OpenMP, Taskflow, X10, PaRSEC |
//! | [`why`] | what there is here and not elsewhere, and the reverse |
//! | [`glossary`], [`faq`] | terms; locks, pinning, callers, programs that do not end |

macro_rules! pages {
    ($($page:ident),*) => {
        $(
            // The first definition of a label holds: here links lead to items, on a page that a
            // forge displays to files. A program that fails is reported by its module; its line
            // counts those of links.txt, too.
            #[doc = include_str!("../guide/links.txt")]
            #[doc = include_str!(concat!("../guide/", stringify!($page), ".md"))]
            pub mod $page {}
        )*
    };
}

pages!(
    start,
    choosing,
    forks,
    loops,
    data_flow,
    asynchronous,
    phasers,
    balancing,
    branch_and_bound,
    ranks,
    globals,
    spaces,
    simulating,
    observing,
    embedding,
    coming_from,
    why,
    glossary,
    faq
);
