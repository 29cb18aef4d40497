//! Instructions that synchronize, by their names in a disassembly.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Kinds of instructions that synchronize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Locked, an exclusive load or store, or an atomic update.
    Atomic,
    Fence,
}

/// Kinds of processors that name their instructions alike.
#[derive(Clone, Copy, Debug)]
pub(super) enum Set {
    X86,
    Aarch64,
    Power,
    Riscv,
}

/// Atomic updates of Arm's that are one instruction each; the last eight in the order of their
/// encoding.
const LSE: [&str; 10] = [
    "cas", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin",
];

impl Set {
    /// Returns the name of an instruction that synchronizes, with its kind.
    pub(super) fn kind(self, text: &str) -> Option<(String, Kind)> {
        let mut words = text.split_whitespace();
        let first = words.next()?;
        let (name, kind) = match self {
            Self::X86 => match first {
                "lock" => (format!("lock {}", words.next()?), Kind::Atomic),
                // With memory it is locked without a prefix.
                _ if first.starts_with("xchg") && text.contains('(') => {
                    (first.to_owned(), Kind::Atomic)
                }
                "mfence" | "lfence" | "sfence" => (first.to_owned(), Kind::Fence),
                _ => return None,
            },
            Self::Power if first == ".byte" => {
                (byte_or_half(word(text)?)?.to_owned(), Kind::Atomic)
            }
            Self::Aarch64 if first == ".byte" => (lse(word(text)?)?, Kind::Atomic),
            _ => (first.to_owned(), self.kind_of_name(first)?),
        };
        Some((name, kind))
    }

    fn kind_of_name(self, name: &str) -> Option<Kind> {
        let begins = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
        let (atomic, fence) = match self {
            Self::X86 => (false, false),
            Self::Aarch64 => (
                begins(&["ldx", "ldax", "stx", "stlx"]) || begins(&LSE),
                matches!(name, "dmb" | "dsb" | "isb"),
            ),
            Self::Power => (
                // Load and reserve, store conditional: of bytes to quadwords.
                name.starts_with('l') && name.ends_with("arx") || name.ends_with("cx."),
                name.ends_with("sync") || name == "eieio",
            ),
            Self::Riscv => (
                begins(&["lr.", "sc.", "amo"]),
                name == "fence" || name == "fence.tso",
            ),
        };
        match (atomic, fence) {
            (true, _) => Some(Kind::Atomic),
            (_, true) => Some(Kind::Fence),
            _ => None,
        }
    }
}

/// Reads an instruction that a disassembler does not know: `.byte 0x68, 0xe8, 0x60, 0x7c`.
fn word(text: &str) -> Option<u32> {
    let bytes = text.strip_prefix(".byte")?.split(',').map(|byte| {
        let byte = byte.trim().strip_prefix("0x")?;
        u8::from_str_radix(byte, 16).ok()
    });
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Returns the exclusive access to a byte or halfword, which disassemblers without POWER7's
/// instructions do not know.
fn byte_or_half(word: u32) -> Option<&'static str> {
    match (word >> 26, word >> 1 & 0x3ff) {
        (31, 52) => Some("lbarx"),
        (31, 116) => Some("lharx"),
        (31, 694) => Some("stbcx."),
        (31, 726) => Some("sthcx."),
        _ => None,
    }
}

/// Returns the atomic update, which disassemblers without Armv8.1's instructions do not know.
fn lse(word: u32) -> Option<String> {
    let bit = |at: u32| word >> at & 1 == 1;
    let (name, acquires, releases) = if word & 0x3fa0_7c00 == 0x08a0_7c00 {
        (LSE[0], bit(22), bit(15))
    } else if word & 0x3f20_0c00 == 0x3820_0000 {
        let name = match (bit(15), word >> 12 & 7) {
            (true, 0) => LSE[1],
            (true, _) => return None,
            (false, operation) => LSE[2 + operation as usize],
        };
        (name, bit(23), bit(22))
    } else {
        return None;
    };
    let letter = |is_there: bool, letter| if is_there { letter } else { "" };
    let (acquires, releases) = (letter(acquires, "a"), letter(releases, "l"));
    let width = ["b", "h", "", ""][(word >> 30) as usize];
    Some(format!("{name}{acquires}{releases}{width}"))
}

/// Numbers of instructions, by their names; in hundredths an operation, or whole in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mix(pub BTreeMap<String, u64>);

impl Mix {
    /// Reads `1 ldaxr, 1.50 stlxr`, or `0`.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self::default());
        }
        let entries = text.split(", ").map(|entry| {
            let (count, name) = entry.split_once(' ')?;
            let count = match count.contains('.') {
                true => hundredths(count)?,
                false => count.parse::<u64>().ok()? * 100,
            };
            Some((name.to_owned(), count))
        });
        entries.collect::<Option<_>>().map(Self)
    }

    /// Whether this is one read-modify-write: one instruction, or a load and a store that belong
    /// together.
    pub(super) fn is_one_update(&self) -> bool {
        let one = |name: &str| self.0.get(name).copied() == Some(100);
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let is_half = |name: &str| {
            let halves = ["ldx", "ldax", "stx", "stlx", "lr.", "sc."];
            halves.iter().any(|half| name.starts_with(half))
                || name.ends_with("arx")
                || name.ends_with("cx.")
        };
        match names[..] {
            [update] => one(update) && !is_half(update),
            // Names of loads precede those of stores in the alphabet.
            [load, store] => {
                let (load_begins, store_begins) = (load.starts_with('l'), store.starts_with('s'));
                load_begins && store_begins && [load, store].iter().all(|n| one(n) && is_half(n))
            }
            _ => false,
        }
    }
}

impl Display for Mix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        for (at, (name, count)) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            match count % 100 {
                0 => write!(f, "{comma}{} {name}", count / 100)?,
                _ => write!(f, "{comma}{} {name}", shown(*count))?,
            }
        }
        Ok(())
    }
}

/// Reads a number with two decimals.
pub(super) fn hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let part: u64 = part.parse().ok().filter(|_| part.len() == 2)?;
    Some(whole.parse::<u64>().ok()? * 100 + part)
}

/// Prints a number with two decimals.
pub(super) fn shown(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Mix, Set, hundredths, lse};

    fn kind(set: Set, text: &str) -> Option<Kind> {
        set.kind(text).map(|(_, kind)| kind)
    }

    #[test]
    fn instructions_of_x86_are_told_apart() {
        let name = |text| Set::X86.kind(text);
        let lock = |name: &str| Some((name.to_owned(), Kind::Atomic));
        assert_eq!(name("lock xadd %rax,(%rdi)"), lock("lock xadd"));
        assert_eq!(name("lock orl $0x0,-0x40(%rsp)"), lock("lock orl"));
        assert_eq!(name("xchg   %al,(%rdi)"), lock("xchg"));
        assert_eq!(name("xchg   %ax,%ax"), None);
        assert_eq!(kind(Set::X86, "mfence"), Some(Kind::Fence));
        assert_eq!(name("mov    (%rdi),%rax"), None);
    }

    #[test]
    fn instructions_of_other_processors_are_told_apart() {
        let (atomic, fence) = (Some(Kind::Atomic), Some(Kind::Fence));
        for (set, text, expected) in [
            (Set::Aarch64, "ldaxr x8, [x0]", atomic),
            (Set::Aarch64, "stxrb w9, w8, [x0]", atomic),
            (Set::Aarch64, "ldaddal x8, x9, [x0]", atomic),
            (Set::Aarch64, ".byte    0xcd, 0x7d, 0xaf, 0xc8", atomic),
            (Set::Aarch64, ".byte    0x08, 0x80, 0xbf, 0x38", atomic),
            (Set::Aarch64, ".byte    0x08, 0xc1, 0xbf, 0x38", None),
            (Set::Aarch64, "dmb ish", fence),
            (Set::Aarch64, "ldar x8, [x0]", None),
            (Set::Aarch64, "stlr x8, [x0]", None),
            (Set::Aarch64, "stp x29, x30, [sp]", None),
            (Set::Power, "ldarx r3, 0, r4", atomic),
            (Set::Power, "lbarx r3, 0, r4", atomic),
            (Set::Power, "stdcx. r3, 0, r4", atomic),
            (Set::Power, ".byte    0x68, 0xe8, 0x60, 0x7c", atomic),
            (Set::Power, ".byte    0x6d, 0xed, 0x60, 0x7f", atomic),
            (Set::Power, ".byte    0x6d, 0xed, 0x60", None),
            (Set::Power, ".byte    0x18, 0xe8, 0x60, 0x7c", None),
            (Set::Power, "lwsync", fence),
            (Set::Power, "isync", fence),
            (Set::Power, "stdx r3, r4, r5", None),
            (Set::Power, "add. r3, r4, r5", None),
            (Set::Riscv, "amoadd.d.aqrl a0,zero,(a0)", atomic),
            (Set::Riscv, "lr.d a0,(a1)", atomic),
            (Set::Riscv, "fence rw,w", fence),
            (Set::Riscv, "fence.i", None),
        ] {
            assert_eq!(kind(set, text), expected, "{text}");
        }
        assert_eq!(kind(Set::Power, ""), None);
    }

    #[test]
    fn updates_of_arm_are_decoded() {
        for (word, name) in [
            (0xf8aa_8108, "swpa"),
            (0xc8eb_fd2c, "casal"),
            (0xf828_014a, "ldadd"),
            (0x08e9_7d48, "casab"),
            (0xf869_0108, "ldaddl"),
            (0xf8ff_312b, "ldsetal"),
        ] {
            assert_eq!(lse(word).as_deref(), Some(name));
        }
        assert_eq!(lse(0xf940_0000), None);
    }

    fn mix(entries: &[(&str, u64)]) -> Mix {
        let entries = entries.iter();
        Mix(entries.map(|&(name, n)| (name.to_owned(), n)).collect())
    }

    #[test]
    fn one_update_is_an_instruction_or_a_pair() {
        for one in [
            &[("lock xadd", 100)][..],
            &[("amoadd.d.aqrl", 100)],
            &[("ldaxr", 100), ("stlxr", 100)],
            &[("ldarx", 100), ("stdcx.", 100)],
            &[("lr.d", 100), ("sc.d", 100)],
        ] {
            assert!(mix(one).is_one_update(), "{one:?}");
        }
        for other in [
            &[][..],
            &[("lock xadd", 200)],
            &[("lock orl", 100), ("lock xadd", 100)],
            &[("ldaxr", 100)],
            &[("ldaxr", 200), ("stlxr", 100)],
            &[("ldarx", 100), ("lwarx", 100)],
        ] {
            assert!(!mix(other).is_one_update(), "{other:?}");
        }
    }

    #[test]
    fn a_mix_is_a_list() {
        for text in ["0", "1 lock xadd", "1 ldaxr, 1.50 stlxr"] {
            assert_eq!(Mix::read(text).unwrap().to_string(), text);
        }
        let pair = mix(&[("ldaxr", 100), ("stlxr", 150)]);
        assert_eq!(Mix::read("1 ldaxr, 1.50 stlxr"), Some(pair));
        for malformed in ["", "xchg", "1.5 xchg", "1 xchg, stlxr", "x xchg"] {
            assert_eq!(Mix::read(malformed), None, "{malformed}");
        }
        assert_eq!(hundredths("7.05"), Some(705));
        assert_eq!(hundredths("7.5"), None);
    }
}
