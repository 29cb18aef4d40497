//! The processor time that control groups grant, of both generations.
#![forbid(unsafe_code)]

use super::tree::text;
use std::path::{Component, Path, PathBuf};

/// Returns the least quota between this process's groups and the mounted roots, in processors, and
/// the malformed limits, which are ignored.
pub(super) fn quota(root: &Path) -> (Option<f64>, Vec<String>) {
    let mounts = text(root, "proc/self/mountinfo").unwrap_or_default();
    let groups = text(root, "proc/self/cgroup").unwrap_or_default();
    let groups = groups.lines().filter_map(Group::parse);
    let (mut least, mut malformed) = (None, Vec::new());
    for folder in groups.flat_map(|group| group.folders(root, &mounts)) {
        match limit(&folder) {
            Ok(None) => {}
            Ok(Some(quota)) => least = Some(least.map_or(quota, |known: f64| known.min(quota))),
            Err(value) => malformed.push(value),
        }
    }
    (least, malformed)
}

/// A line of /proc/self/cgroup that concerns processor time.
struct Group<'a> {
    unified: bool,
    path: &'a Path,
}

impl<'a> Group<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = Path::new(fields.next()?);
        let unified = controllers.is_empty();
        (unified || controllers.split(',').any(|name| name == "cpu"))
            .then_some(Self { unified, path })
    }

    /// Returns the folders from the group's own up to the mount point.
    fn folders(&self, root: &Path, mounts: &str) -> Vec<PathBuf> {
        let (top, mount) = mounts
            .lines()
            .find_map(|line| self.mounted(line))
            .unwrap_or_else(|| (PathBuf::from("/"), self.usual()));
        let mut folder = root.join(mount.strip_prefix("/").unwrap_or(&mount));
        let mut folders = vec![folder.clone()];
        // A path outside of what is mounted here belongs to the host: only the mount point is
        // visible.
        let below = self.path.strip_prefix(&top).unwrap_or(Path::new(""));
        for part in below.components() {
            match part {
                Component::Normal(name) => folder.push(name),
                Component::ParentDir => break,
                _ => continue,
            }
            folders.push(folder.clone());
        }
        folders
    }

    /// The place where a line of mountinfo mounts this hierarchy: the group at the top, the mount
    /// point.
    fn mounted(&self, line: &str) -> Option<(PathBuf, PathBuf)> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3).map(unescape);
        let mut kind = kind.split(' ');
        let wanted = match kind.next()? {
            "cgroup2" => self.unified,
            "cgroup" => !self.unified && kind.nth(1)?.split(',').any(|name| name == "cpu"),
            _ => false,
        };
        if !wanted {
            return None;
        }
        Some((place.next()?.into(), place.next()?.into()))
    }

    fn usual(&self) -> PathBuf {
        if self.unified {
            PathBuf::from("/sys/fs/cgroup")
        } else {
            PathBuf::from("/sys/fs/cgroup/cpu")
        }
    }
}

/// Mountinfo writes a blank as \040.
fn unescape(field: &str) -> String {
    field.replace("\\040", " ")
}

/// Returns the limit that one group sets, or its text if it is malformed.
fn limit(folder: &Path) -> Result<Option<f64>, String> {
    let line = match text(folder, "cpu.max") {
        Some(line) => line.trim().to_owned(),
        None => {
            let quota = text(folder, "cpu.cfs_quota_us");
            let Some((quota, period)) = quota.zip(text(folder, "cpu.cfs_period_us")) else {
                return Ok(None);
            };
            format!("{} {}", quota.trim(), period.trim())
        }
    };
    let (quota, period) = line.split_once(' ').unwrap_or((&line, ""));
    if quota == "max" || quota == "-1" {
        return Ok(None);
    }
    let positive = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    match positive(quota).zip(positive(period)) {
        Some((quota, period)) => Ok(Some(quota as f64 / period as f64)),
        None => Err(line),
    }
}
