//! Joining the processes with which this one was launched.

#[cfg(feature = "mpi")]
mod share;

use super::agree::{self, difference, refused, shortened};
use super::{AnyLink, Rank, World, WorldBuilder};
use crate::Result;
use crate::error::Error;
use crate::process::messages;
use crate::setting::launchers::{Launched, launched};
use crate::setting::{TRACE, WARN, environment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};
use tautline_core::comm::PacketLink;
use tautline_process::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE};

/// The beginning of the names of variables that all ranks should have alike.
const PREFIX: &str = "TAUTLINE_";

impl World {
    /// Joins the ranks with which this process was launched: by `tautline launch -n 4 -- PROGRAM`,
    /// or, with the feature `mpi`, by a launcher of MPI, as in `mpirun -n 4 PROGRAM`. Feature
    /// `process`. A process that was started by hand is the only rank; it starts no thread, no MPI
    /// library, and waits for nothing.
    ///
    /// All ranks must run the same program with the same arguments, else all return the error; and
    /// rank 0 must have joined before this returns. If variables of this library differ from
    /// those of rank 0, a warning names them. In a program that a rank starts, this returns the
    /// world of a single process.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::World;
    ///
    /// let world = World::join()?; // once, in `main`
    /// let run = tautline::balancer().across(&world).sum(0..100u64, |n, _todo| n)?;
    /// if world.is_home() {
    ///     println!("{} at {} ranks", run.output, world.ranks());
    /// }
    /// # assert_eq!((run.output, world.ranks()), (4950, 1));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank with another program or other arguments than rank 0 has, malformed variables of a
    /// launcher, a segment whose descriptor was not passed on to the rank, or that has another
    /// number of ranks, the loss of a rank, a second call; if the process was launched, a thread
    /// that the system refuses, and other systems than Linux. Ranks of MPI without the feature
    /// `mpi`, a library that is not the launcher's, and one that does not let threads take turns.
    pub fn join() -> Result<Self> {
        Self::builder().join()
    }

    /// Compares the program, the arguments and the variables of this rank with those of rank 0.
    fn compare(&self, here: &Greeting, home: &Greeting) -> Result<()> {
        let is_other_file = here.program.file != home.program.file;
        let other_arguments = here.other_arguments(home, self.rank());
        let (is_other_file, other_arguments) = self
            .all_reduce((is_other_file, other_arguments), |one, other| {
                (one.0 | other.0, one.1.or(other.1))
            })?;
        // Copies, as on other machines, are read by all ranks.
        if is_other_file {
            let own = digest(Path::new(OWN)).map_err(Error::invalid)?;
            let other = (self.broadcast(own)? != own).then(|| {
                let paths = [&here.program.path, &home.program.path];
                difference(self.rank(), "another program", paths.map(String::as_str))
            });
            refused(self.all_reduce(other, Option::or)?)?;
        }
        refused(other_arguments)?;
        let differing = here.differing(home);
        if !differing.is_empty() && environment::warns() {
            messages::send(&format!(
                "tautline: {}: other values than rank 0 has: {}; {}=0 silences this",
                self.rank(),
                differing.join(" "),
                WARN.variable
            ));
        }
        Ok(())
    }
}

impl WorldBuilder {
    /// Compares these arguments in place of those of the process when ranks [join](Self::join): for
    /// programs of which some arguments may differ, such as the name of a file that each rank
    /// writes. Feature `process`.
    ///
    /// ```
    /// use tautline::world::World;
    ///
    /// // `program STEPS LOG`: each rank has a log of its own.
    /// let world = World::builder().arguments(std::env::args().skip(1).take(1)).join()?;
    /// # assert_eq!(world.ranks(), 1);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments = Some(arguments.into_iter().map(Into::into).collect());
        self
    }

    /// As [`World::join`], with these settings.
    ///
    /// # Errors
    /// As [`World::join`].
    pub fn join(&self) -> Result<World> {
        let Some((link, packets)) = link()?.filter(|(link, _)| link.ranks() > 1) else {
            return Ok(World::alone());
        };
        let world = self.start(link, packets)?;
        let arguments = self.arguments.clone();
        let arguments = arguments.unwrap_or_else(|| env::args_os().skip(1).collect());
        let here = Greeting::own(arguments).map_err(Error::invalid)?;
        let home = world.broadcast(here.clone())?;
        world.compare(&here, &home)?;
        // As rank 0 does: it is a call of all ranks.
        if home.variables.contains_key(TRACE.variable) {
            world.compare_clocks()?;
        }
        #[cfg(feature = "mpi")]
        world.share()?;
        Ok(world)
    }
}

/// A link, and the separate way, if any, of packets of communicators.
type Ways = (AnyLink, Option<Arc<dyn PacketLink>>);

/// Returns the link of this process to those with which it was launched, if it was.
fn link() -> Result<Option<Ways>> {
    if let Some(link) = tautline_process::join()? {
        return Ok(Some((link, None)));
    }
    let launched = launched()?.filter(|launched| launched.ranks != Some(1));
    launched.map(over_mpi).transpose()
}

/// Connects this process to the ranks that a launcher of MPI has started with it.
#[cfg(feature = "mpi")]
fn over_mpi(launched: Launched) -> Result<Ways> {
    let link = tautline_mpi::Session::join((launched.rank, launched.ranks));
    let link = link.map_err(Error::invalid)?;
    tautline_process::set_joined(launched.variable);
    let packets = link.packets();
    Ok((Box::new(link), Some(packets)))
}

/// Refuses to be one rank of several: each would do all the work.
#[cfg(not(feature = "mpi"))]
fn over_mpi(launched: Launched) -> Result<Ways> {
    let Launched {
        variable,
        rank,
        ranks,
    } = launched;
    let ranks = ranks.map_or_else(|| "the ranks".into(), |ranks| format!("the {ranks} ranks"));
    Err(Error::Setting {
        setting: variable,
        value: rank.to_string(),
        allowed: format!(
            "this build cannot join {ranks} of a launcher of MPI; build it with the feature `mpi`, or unset the variable to \
             run alone"
        )
        .into(),
    })
}

/// The data that ranks compare when they join.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Greeting {
    program: Program,
    /// In the spelling of `Debug`, which distinguishes those that are not text.
    arguments: Vec<String>,
    /// The variables of this library, except those of the launcher.
    variables: BTreeMap<String, String>,
}

/// The executed file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Program {
    path: String,
    /// Its device, number, length, and time of change in seconds and nanoseconds; equal ones are
    /// one file.
    file: [i64; 5],
}

/// The file that this process executes.
const OWN: &str = "/proc/self/exe";

impl Greeting {
    fn own(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Self> {
        let arguments = arguments.into_iter();
        let launchers = [RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE];
        let variables = env::vars_os().map(|(name, value)| {
            let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
            (text(name), text(value))
        });
        let is_shared = |name: &str| name.starts_with(PREFIX) && !launchers.contains(&name);
        Ok(Self {
            program: Program::own()?,
            arguments: arguments
                .map(|text| format!("{:?}", text.as_ref()))
                .collect(),
            variables: variables.filter(|(name, _)| is_shared(name)).collect(),
        })
    }

    /// Returns the line for `rank`, whose arguments these are, unless they are those of `home`.
    fn other_arguments(&self, home: &Self, rank: Rank) -> Option<String> {
        let [here, home] = agree::parts([&self.arguments, &home.arguments]);
        let is_other = !here.is_empty() || !home.is_empty();
        is_other.then(|| {
            let shown = |part: &[String]| match part {
                [] => "none".to_owned(),
                part => shortened(&part.join(" ")),
            };
            difference(rank, "other arguments", [&shown(here), &shown(home)])
        })
    }

    /// Returns the names of variables that are not as at `home`.
    fn differing(&self, home: &Self) -> Vec<String> {
        let (here, there) = (&self.variables, &home.variables);
        let names = here
            .keys()
            .chain(there.keys().filter(|name| !here.contains_key(*name)));
        let names = names.filter(|name| here.get(*name) != there.get(*name));
        names.cloned().collect()
    }
}

impl Program {
    fn own() -> io::Result<Self> {
        let path = env::current_exe()?;
        Ok(Self {
            path: path.display().to_string().escape_debug().to_string(),
            file: file_of(&fs::metadata(OWN)?),
        })
    }
}

#[cfg(unix)]
fn file_of(file: &fs::Metadata) -> [i64; 5] {
    use std::os::unix::fs::MetadataExt;
    [
        file.dev() as i64,
        file.ino() as i64,
        file.len() as i64,
        file.mtime(),
        file.mtime_nsec(),
    ]
}

/// No process is launched there.
#[cfg(not(unix))]
fn file_of(file: &fs::Metadata) -> [i64; 5] {
    [0, 0, file.len() as i64, 0, 0]
}

/// Returns a number that files of different bytes hardly share.
fn digest(path: &Path) -> io::Result<u64> {
    let mut file = fs::File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&bytes[..read]),
        }
    }
}

impl From<tautline_process::Error> for Error {
    fn from(error: tautline_process::Error) -> Self {
        match error {
            tautline_process::Error::Variable {
                name,
                value,
                reason,
            } => Self::Setting {
                setting: name,
                value,
                allowed: reason.into(),
            },
            other => Self::invalid(other),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn greeting(variables: &[(&str, &str)]) -> Greeting {
        let owned = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Greeting {
            variables: owned.collect(),
            ..Greeting::own([""; 0]).expect("this program")
        }
    }

    #[test]
    fn variables_that_differ_are_named_once() {
        let home = greeting(&[
            ("TAUTLINE_A", "1"),
            ("TAUTLINE_B", "2"),
            ("TAUTLINE_C", "3"),
        ]);
        let here = greeting(&[
            ("TAUTLINE_A", "1"),
            ("TAUTLINE_B", "3"),
            ("TAUTLINE_D", "3"),
        ]);
        let differing = here.differing(&home);
        assert_eq!(differing, ["TAUTLINE_B", "TAUTLINE_D", "TAUTLINE_C"]);
        assert!(here.differing(&here).is_empty());
    }

    /// As text, both would be the same.
    #[test]
    fn arguments_that_are_no_text_are_compared() {
        use std::os::unix::ffi::OsStrExt;
        let [home, here] = [&b"\xf8"[..], b"\xf9"].map(|bytes| {
            let arguments = [OsStr::new("a"), OsStr::from_bytes(bytes)];
            Greeting::own(arguments).expect("this program")
        });
        let line = here.other_arguments(&home, Rank(1)).expect("they differ");
        let expected = r#"rank 1 has other arguments than rank 0: "\xF9" instead of "\xF8"; all ranks must have the same"#;
        assert_eq!(line, expected);
        assert_eq!(here.other_arguments(&here, Rank(1)), None);
    }

    #[test]
    fn copies_of_a_file_are_the_same_program() {
        let folder = env::temp_dir().join(format!("tautline-join-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let [copy, changed] = ["copy", "changed"].map(|name| folder.join(name));
        fs::copy(OWN, &copy).expect("a copy");
        let own = digest(Path::new(OWN)).expect("this program");
        assert_eq!(digest(&copy).expect("a copy"), own);
        let mut bytes = fs::read(OWN).expect("this program");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&changed, bytes).expect("a file");
        assert_ne!(digest(&changed).expect("a file"), own);
        fs::remove_dir_all(folder).expect("the folder");
    }
}
