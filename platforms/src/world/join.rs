//! Joining the processes with which this one was launched.

use super::alone::Alone;
use super::{AnyLink, Limits, Rank, Shared, World};
use crate::error::Error;
use crate::pinning::WARN_VARIABLE;
use crate::{Result, messages};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::{env, fmt, fs};
use tautline_process::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE};

/// The beginning of the names of variables that all ranks should have alike.
const PREFIX: &str = "TAUTLINE_";

impl World {
    /// Joins the ranks with which this process was launched, as by `tautline launch -n 4 -- PROGRAM`. Feature `process`. A process
    /// that was started by hand is the only rank; it starts no thread and waits for nothing.
    ///
    /// All ranks must run the same program, and rank 0 must have joined before this returns. Where variables of this library
    /// differ from those of rank 0, a warning names them.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::World;
    ///
    /// let world = World::join()?; // once, in `main`
    /// let run = Glb::new().across(&world).sum(0..100u64, |n, _todo| n)?;
    /// if world.is_home() {
    ///     println!("{} at {} ranks", run.output, world.ranks());
    /// }
    /// # assert_eq!((run.output, world.ranks()), (4950, 1));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Variables of a launch that do not belong to this process, another program than that of rank 0, the loss of a rank, a
    /// second call; if the process was launched, a thread that the system refuses, and other systems than Linux.
    pub fn join() -> Result<Self> {
        let link = tautline_process::join()?;
        let link: AnyLink = link.unwrap_or_else(|| Box::new(Alone));
        if link.ranks() == 1 {
            return Ok(Self {
                shared: Shared::new(Limits::default(), link),
                thread: None,
                _printer: None,
            });
        }
        let refused = |source| Error::Threads { threads: 1, source };
        let world = Self::start(Limits::default(), link).map_err(refused)?;
        let here = Greeting::own().map_err(Error::invalid)?;
        let home = world.broadcast(here.clone())?;
        world.compare(&here, &home)?;
        Ok(world)
    }

    /// Compares the program and the variables of this rank with those of rank 0.
    fn compare(&self, here: &Greeting, home: &Greeting) -> Result<()> {
        if here.program.file != home.program.file {
            let other = PathBuf::from(format!("/proc/{}/exe", home.process));
            if !same_content(Path::new(OWN), &other).map_err(Error::invalid)? {
                return Err(Error::invalid(Different {
                    here: self.rank(),
                    own: here.program.path.clone(),
                    home: home.program.path.clone(),
                }));
            }
        }
        let differing = here.differing(home);
        let is_wanted = env::var_os(WARN_VARIABLE).is_none_or(|value| value != "0");
        if !differing.is_empty() && is_wanted {
            messages::send(&format!(
                "tautline: {}: other values than rank 0 has: {}; {WARN_VARIABLE}=0 silences this",
                self.rank(),
                differing.join(" ")
            ));
        }
        Ok(())
    }
}

/// Another program than that of rank 0.
#[derive(Debug)]
struct Different {
    here: Rank,
    own: String,
    home: String,
}

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { here, own, home } = self;
        write!(
            f,
            "{here} runs another program, {own}, than rank 0, {home}; all ranks must run the same build"
        )
    }
}

impl std::error::Error for Different {}

/// What ranks compare when they join.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Greeting {
    process: u32,
    program: Program,
    /// The variables of this library, except those of the launcher.
    variables: BTreeMap<String, String>,
}

/// The executed file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Program {
    path: String,
    /// Its device, number, length, and time of change in seconds and nanoseconds; equal ones are one file.
    file: [i64; 5],
}

/// The file that this process executes.
const OWN: &str = "/proc/self/exe";

impl Greeting {
    fn own() -> io::Result<Self> {
        let launchers = [RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE];
        let variables = env::vars_os().map(|(name, value)| {
            let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
            (text(name), text(value))
        });
        let is_shared = |name: &str| name.starts_with(PREFIX) && !launchers.contains(&name);
        Ok(Self {
            process: std::process::id(),
            program: Program::own()?,
            variables: variables.filter(|(name, _)| is_shared(name)).collect(),
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

/// Whether two files have the same bytes.
fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (fs::File::open(one)?, fs::File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let bytes = one.read(&mut left)?;
        if bytes == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..bytes])?;
        if left[..bytes] != right[..bytes] {
            return Ok(false);
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
            ..Greeting::own().expect("this program")
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

    #[test]
    fn copies_of_a_file_are_the_same_program() {
        let folder = env::temp_dir().join(format!("tautline-join-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let [copy, changed] = ["copy", "changed"].map(|name| folder.join(name));
        fs::copy(OWN, &copy).expect("a copy");
        assert!(same_content(Path::new(OWN), &copy).expect("two files"));
        let mut bytes = fs::read(OWN).expect("this program");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&changed, bytes).expect("a file");
        assert!(!same_content(Path::new(OWN), &changed).expect("two files"));
        fs::remove_dir_all(folder).expect("the folder");
    }
}
