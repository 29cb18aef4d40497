//! Lists of places in the syntax of OpenMP.
//!
//! # Algorithm
//! The grammar of `OMP_PLACES`, OpenMP 5.2, section 21.1.6. Where it leaves a choice: numbers are
//! those of the system; `!` removes the number, or the place with exactly these numbers, from what
//! precedes it; a place of one number needs no braces.
#![forbid(unsafe_code)]

use crate::process::order::insert;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use tautline_node::Machine;
use tautline_node::machine::Cpu;

/// More processors than any system has.
const CPU_MAX: i64 = (1 << 20) - 1;
/// The maximum number of numbers in a list, all places together; one in braces counts there and in
/// its place.
const NUMBERS_MAX: usize = 1 << 20;

/// Places for workers: a kind of part of the machine, or sets of processors.
///
/// These are sets of processors as in OpenMP; they do not make places that exchange messages.
///
/// ```
/// use tautline::pinning::PlaceList;
///
/// let list: PlaceList = "{0:4},{8:4}".parse()?;
/// # _ = list;
/// assert!("{0:".parse::<PlaceList>().is_err());
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceList {
    /// Each part of this kind, or the first ones of them.
    Parts(Part, Option<u32>),
    /// Each of these sets, by the numbers of the system.
    Sets(Vec<BTreeSet<usize>>),
}

/// A kind of part of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A processor.
    Threads,
    /// A core, with all its threads.
    Cores,
    /// The processors that share the largest cache.
    LastLevelCaches,
    /// A memory node.
    NumaDomains,
    /// A package.
    Sockets,
}

impl Part {
    const ALL: [(&'static str, Self); 5] = [
        ("threads", Self::Threads),
        ("cores", Self::Cores),
        ("ll_caches", Self::LastLevelCaches),
        ("numa_domains", Self::NumaDomains),
        ("sockets", Self::Sockets),
    ];
}

/// The reason why a text is not a list of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The position, from 1.
    pub at: usize,
    /// The text found there.
    pub found: String,
    /// The allowed texts.
    pub expected: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            found,
            expected,
        } = self;
        write!(f, "at character {at}, {found}: expected {expected}")
    }
}

impl std::error::Error for ListError {}

impl From<ListError> for crate::Error {
    fn from(refusal: ListError) -> Self {
        Self::invalid(refusal)
    }
}

impl FromStr for PlaceList {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let mut reader = Reader {
            text,
            at: 0,
            numbers: 0,
        };
        reader.blanks();
        let list = match reader.rest().starts_with(|c: char| c.is_alphabetic()) {
            true => reader.parts()?,
            false => Self::Sets(reader.sets()?),
        };
        match reader.rest().is_empty() {
            true => Ok(list),
            false => Err(reader.fault("a comma, or the end")),
        }
    }
}

impl fmt::Display for PlaceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(part, count) => {
                let named = Part::ALL.iter().find(|(_, known)| known == part);
                f.write_str(named.map_or("", |(name, _)| name))?;
                count.map_or(Ok(()), |count| write!(f, "({count})"))
            }
            Self::Sets(sets) => {
                let set = |set: &BTreeSet<usize>| {
                    let numbers: Vec<_> = set.iter().map(usize::to_string).collect();
                    format!("{{{}}}", numbers.join(","))
                };
                let sets: Vec<_> = sets.iter().map(set).collect();
                f.write_str(&sets.join(","))
            }
        }
    }
}

impl PlaceList {
    /// Returns the places on `machine`, each with its allowed processors, one of each core first.
    /// Places without an allowed processor are omitted.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::PlaceList;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let list: PlaceList = "{0,1},{2,3,9}".parse()?;
    /// assert_eq!(list.on(&machine), [[0, 1], [2, 3]]); // 9 is not allowed
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn on(&self, machine: &Machine) -> Vec<Vec<usize>> {
        match self {
            Self::Parts(part, count) => {
                let mut places = parts(*part, machine);
                places.truncate(count.map_or(usize::MAX, |count| count as usize));
                places
            }
            Self::Sets(sets) => {
                let allowed = |set: &BTreeSet<usize>| {
                    let cpus = machine.allowed().iter();
                    ordered(cpus.filter(|cpu| set.contains(&cpu.id)).collect())
                };
                sets.iter()
                    .map(allowed)
                    .filter(|place| !place.is_empty())
                    .collect()
            }
        }
    }
}

/// Returns numbers of processors, one of each core first.
pub(crate) fn ordered(cpus: Vec<&Cpu>) -> Vec<usize> {
    let mut ordered = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        insert(&mut ordered, cpu, |cpu| (cpu.thread, cpu.id));
    }
    ordered.iter().map(|cpu| cpu.id).collect()
}

/// Returns the set of these numbers.
fn in_order(numbers: Vec<usize>) -> BTreeSet<usize> {
    let mut set = BTreeSet::new();
    // Collecting would compile a sort.
    set.extend(numbers);
    set
}

/// Returns the parts of the machine, neighbours one after the other.
fn parts(part: Part, machine: &Machine) -> Vec<Vec<usize>> {
    let mut cpus: Vec<&Cpu> = Vec::with_capacity(machine.allowed().len());
    for cpu in machine.allowed() {
        insert(&mut cpus, cpu, |cpu| {
            (cpu.package, cpu.node, cpu.core, cpu.thread, cpu.id)
        });
    }
    let last_level = machine.caches().iter().map(|cache| cache.level).max();
    let caches: Vec<_> = machine
        .caches()
        .iter()
        .filter(|cache| Some(cache.level) == last_level && cache.kind != "Instruction")
        .collect();
    let key = |cpu: &Cpu| match part {
        Part::Threads => (0, Some(cpu.id)),
        Part::Cores => (0, Some(cpu.core)),
        // A processor without a cache of this level shares only those of its core.
        Part::LastLevelCaches => match caches.iter().position(|it| it.cpus.contains(&cpu.id)) {
            Some(cache) => (0, Some(cache)),
            None => (1, Some(cpu.core)),
        },
        Part::NumaDomains => (0, cpu.node),
        Part::Sockets => (0, cpu.package),
    };
    let mut keys = Vec::new();
    for cpu in &cpus {
        let key = key(cpu);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let own = |wanted: &_| {
        let own = cpus.iter().copied().filter(|cpu| key(cpu) == *wanted);
        ordered(own.collect())
    };
    keys.iter().map(own).collect()
}

/// The rest of a list.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The number of numbers produced so far.
    numbers: usize,
}

/// Reads a count and a stride after a number or a place; each is 1 by default.
struct Interval {
    count: i64,
    stride: i64,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Consumes the character, if it is next, and the blanks after it.
    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
            self.blanks();
        }
        found
    }

    fn fault(&self, expected: impl Into<String>) -> ListError {
        let rest = self.rest();
        let word = rest
            .find([',', ':', '{', '}', '(', ')', '!', ' '])
            .unwrap_or(rest.len());
        let end = word.max(rest.chars().next().map_or(0, char::len_utf8));
        ListError {
            at: self.text[..self.at].chars().count() + 1,
            found: match rest.is_empty() {
                true => "the end".to_owned(),
                false => {
                    let few: String = rest[..end].chars().take(40).collect();
                    few.escape_debug().to_string()
                }
            },
            expected: expected.into(),
        }
    }

    fn parts(&mut self) -> Result<PlaceList, ListError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        let known = Part::ALL.iter().find(|(known, _)| *known == name);
        let Some(&(_, part)) = known else {
            let names = Part::ALL.map(|(name, _)| name.to_owned()).join(", ");
            return Err(self.fault(format!("{names}, or sets such as {{0,1}},{{2,3}}")));
        };
        self.at += end;
        self.blanks();
        if !self.take('(') {
            return Ok(PlaceList::Parts(part, None));
        }
        let count = self.number(1, CPU_MAX)?;
        match self.take(')') {
            true => Ok(PlaceList::Parts(part, Some(count as u32))),
            false => Err(self.fault("a closing parenthesis")),
        }
    }

    fn sets(&mut self) -> Result<Vec<BTreeSet<usize>>, ListError> {
        let mut sets: Vec<BTreeSet<usize>> = Vec::new();
        loop {
            let without = self.take('!');
            let start = self.at;
            let set = match self.take('{') {
                true => self.set()?,
                false => in_order(vec![self.number(0, CPU_MAX)? as usize]),
            };
            if without {
                sets.retain(|known| *known != set);
            } else {
                let interval = self.interval()?;
                for step in 0..interval.count {
                    let mut moved = set
                        .iter()
                        .map(|&number| number as i64 + step * interval.stride);
                    sets.push(in_order(self.checked(start, &mut moved)?));
                }
            }
            if !self.take(',') {
                break;
            }
        }
        match sets.is_empty() {
            true => Err(self.fault("at least one place besides those left out")),
            false => Ok(sets),
        }
    }

    /// Reads the numbers up to the closing brace.
    fn set(&mut self) -> Result<BTreeSet<usize>, ListError> {
        let mut set = Vec::new();
        loop {
            let without = self.take('!');
            let start = self.at;
            let number = self.number(0, CPU_MAX)?;
            if without {
                set.retain(|known| *known != number as usize);
            } else {
                let interval = self.interval()?;
                let mut moved = (0..interval.count).map(|step| number + step * interval.stride);
                set.append(&mut self.checked(start, &mut moved)?);
            }
            if !self.take(',') {
                break;
            }
        }
        if !self.take('}') {
            return Err(self.fault("a comma, or a closing brace"));
        }
        match set.is_empty() {
            true => Err(self.fault("at least one number besides those left out of a place")),
            false => Ok(in_order(set)),
        }
    }

    /// Returns the numbers, if all are numbers of processors and they are not too many; the error
    /// is at `start`.
    fn checked(
        &mut self,
        start: usize,
        numbers: &mut dyn Iterator<Item = i64>,
    ) -> Result<Vec<usize>, ListError> {
        let mut checked = Vec::new();
        for number in numbers {
            self.numbers += 1;
            let expected = match number {
                _ if self.numbers > NUMBERS_MAX => format!("at most {NUMBERS_MAX} numbers in all"),
                0..=CPU_MAX => {
                    checked.push(number as usize);
                    continue;
                }
                _ => format!("numbers from 0 to {CPU_MAX}, not {number}"),
            };
            self.at = start;
            return Err(self.fault(expected));
        }
        Ok(checked)
    }

    fn interval(&mut self) -> Result<Interval, ListError> {
        let (mut count, mut stride) = (1, 1);
        if self.take(':') {
            count = self.number(1, CPU_MAX)?;
            if self.take(':') {
                stride = self.number(-CPU_MAX, CPU_MAX)?;
            }
        }
        Ok(Interval { count, stride })
    }

    fn number(&mut self, least: i64, most: i64) -> Result<i64, ListError> {
        let rest = self.rest();
        let sign = usize::from(least < 0 && rest.starts_with(['-', '+']));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit());
        let end = sign + digits.unwrap_or(rest.len() - sign);
        let number = rest[..end].parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number =
            number.ok_or_else(|| self.fault(format!("a number from {least} to {most}")))?;
        self.at += end;
        self.blanks();
        Ok(number)
    }
}
