//! Litmus tests of the core's orderings, judged by the memory models of the language and of
//! processors.

mod aarch64;
mod assembly;
mod c;
mod herd;
mod power;
mod program;
mod riscv;
mod table;

use super::{Verdict, judge};
use crate::context::say;
use crate::parallel::each;
use crate::shell::target_dir;
use crate::tree::Tree;
use aarch64::AArch64;
use anyhow::{Context, Result, ensure};
use herd::{Herd, Seen};
use power::Power;
use program::Program;
use riscv::RiscV;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
pub(super) use table::all;
use table::{FOLDER, MODELS, Test, Variant};

/// Processor time for all tests together.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(tree: &Tree, words: &[String]) -> Result<Verdict> {
    let mut tests = all(tree)?;
    tests.retain(|test| words.is_empty() || words.iter().any(|word| test.name.contains(&**word)));
    ensure!(
        !tests.is_empty(),
        "{FOLDER}: no test's name contains {}",
        words.join(" or ")
    );
    let herd = match Herd::find(LIMIT) {
        Ok(herd) => herd,
        Err(why) => return Ok(Verdict::CannotRun(why)),
    };
    let folder = target_dir(tree).join("litmus");
    fs::create_dir_all(&folder)?;
    let variants = tests
        .iter()
        .flat_map(|test| test.variants.iter().map(move |v| (test, v)));
    let variants: Vec<(&Test, &Variant)> = variants.collect();
    let runs = Runs {
        herd,
        folder,
        models: tree.path(FOLDER),
    };
    let numbered: Vec<_> = variants.iter().copied().enumerate().collect();
    let ends = each(&numbered, |&(at, (test, variant))| {
        runs.variant(at, test, variant)
    })?;
    let models = MODELS.map(|model| format!("{model:<10}")).concat();
    say!("{:<66}{models}", "");
    let mut findings = Vec::new();
    for (row, own) in ends {
        say!("{row}");
        findings.extend(own);
    }
    let (tests, weaker) = (tests.len(), variants.len() - tests.len());
    let seconds = runs.herd.spent().as_secs_f64();
    judge(
        findings,
        format!("{tests} tests, {weaker} weaker variants, {seconds:.1} s of processor time"),
    )
}

/// The folder in which the tests are run.
struct Runs {
    herd: Herd,
    folder: PathBuf,
    models: PathBuf,
}

impl Runs {
    /// Runs a variant under each model. Returns its row of the report, and what was not expected.
    fn variant(&self, at: usize, test: &Test, variant: &Variant) -> Result<(String, Vec<String>)> {
        let label = test.label(variant);
        let programs = test.programs(variant)?;
        let mut row = format!("{label:<66}");
        let mut findings = Vec::new();
        for model in MODELS {
            let may = variant.sometimes.iter().any(|m| m == model);
            let expected = if may { Seen::Sometimes } else { Seen::Never };
            match self.observe(at, &programs, model) {
                Ok(seen) => {
                    row += &format!("{:<10}", seen.text());
                    findings.extend(finding(&label, model, expected, seen));
                }
                Err(error) => {
                    row += &format!("{:<10}", "?");
                    findings.push(format!("{label}: {model}: {error:#}"));
                }
            }
        }
        Ok((row, findings))
    }

    /// Whether a model allows the outcome of one of the programs.
    fn observe(&self, at: usize, programs: &[Program], model: &str) -> Result<Seen> {
        for (n, program) in programs.iter().enumerate() {
            let name = format!("T{at}_{n}_{}", model.replace('-', ""));
            let path = self.folder.join(format!("{name}.litmus"));
            let (text, cat) = translate(&name, program, model);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            if self.herd.run(&path, &self.models, cat)? == Seen::Sometimes {
                return Ok(Seen::Sometimes);
            }
        }
        Ok(Seen::Never)
    }
}

/// Returns the text of a program for a model, and the file of the model unless herd7 has it.
fn translate(name: &str, program: &Program, model: &str) -> (String, Option<&'static str>) {
    match model {
        "RC20" => (c::text(name, program), Some("rc20.cat")),
        "C20" => (c::text(name, program), Some("c20.cat")),
        "AArch64" => (assembly::text::<AArch64>(name, program), None),
        "POWER" => (assembly::text::<Power>(name, program), None),
        _ => (assembly::text::<RiscV>(name, program), None),
    }
}

fn finding(label: &str, model: &str, expected: Seen, seen: Seen) -> Option<String> {
    let (expected_text, seen_text) = (expected.text(), seen.text());
    (expected != seen)
        .then(|| format!("{label}: {model}: expected {expected_text}, found {seen_text}"))
}

#[cfg(test)]
mod tests {
    use super::herd::Seen;
    use super::program::tests::programs;
    use super::{finding, translate};

    /// Returns the text for a model.
    fn text(model: &str) -> String {
        let threads = [
            "store data 1 Relaxed\nbefore = swap flag 1 Release",
            "won = cas flag 1 2 Acquire Relaxed\nwhen won == 1\nfence SeqCst\nseen = load data Acquire",
        ];
        let program = programs(&["data", "flag"], &threads, &["1:seen = 0"], &[]);
        translate("passed", &program.unwrap()[0], model).0
    }

    #[test]
    fn c_has_the_orderings_of_the_language() {
        let expected = "C passed
{ at_data = 0; at_flag = 0; old0 = 1; }
P0 (atomic_int* at_data, atomic_int* at_flag, int* old0) {
  atomic_store_explicit(at_data, 1, memory_order_relaxed);
  int before = atomic_exchange_explicit(at_flag, 1, memory_order_release);
}
P1 (atomic_int* at_data, atomic_int* at_flag, int* old0) {
  int won = atomic_compare_exchange_strong_explicit(at_flag, old0, 2, memory_order_acquire, memory_order_relaxed);
  if (won == 1) {
    atomic_thread_fence(memory_order_seq_cst);
    int seen = atomic_load_explicit(at_data, memory_order_acquire);
  }
}
exists (1:seen=0 /\\ 1:won=1)
";
        assert_eq!(text("RC20"), expected);
        assert_eq!(text("C20"), expected);
    }

    #[test]
    fn armv8_has_exclusive_accesses() {
        let expected = "AArch64 passed
{
data=0;
flag=0;
0:X0=data;
0:X1=flag;
1:X0=data;
1:X1=flag;
}
P0 | P1 ;
MOV W2,#1 | MOV W2,#1 ;
STR W2,[X0] | MOV W3,#2 ;
LDXR W3,[X1] | MOV W4,#0 ;
STLXR W4,W2,[X1] | LDAXR W5,[X1] ;
CBNZ W4,END0 | CMP W5,W2 ;
MOV W5,#1 | B.NE L11 ;
END0: | STXR W6,W3,[X1] ;
 | CBNZ W6,END1 ;
 | MOV W4,#1 ;
 | L11: ;
 | CMP W4,#1 ;
 | B.NE END1 ;
 | DMB ISH ;
 | LDAR W7,[X0] ;
 | MOV W8,#1 ;
 | END1: ;
exists (1:X7=0 /\\ 1:X4=1 /\\ 0:X5=1 /\\ 1:X8=1)
";
        assert_eq!(text("AArch64"), expected);
    }

    #[test]
    fn power_has_barriers_around_accesses() {
        let expected = "PPC passed
{
data=0;
flag=0;
0:r1=data;
0:r2=flag;
1:r1=data;
1:r2=flag;
}
P0 | P1 ;
li r3,1 | li r3,1 ;
stw r3,0(r1) | li r4,2 ;
lwsync | li r5,0 ;
lwarx r4,r0,r2 | lwarx r6,r0,r2 ;
stwcx. r3,r0,r2 | cmpw r6,r3 ;
bne END0 | bne L11 ;
li r5,1 | stwcx. r4,r0,r2 ;
END0: | bne END1 ;
 | lwsync ;
 | li r5,1 ;
 | b L12 ;
 | L11: ;
 | L12: ;
 | cmpwi r5,1 ;
 | bne END1 ;
 | sync ;
 | lwz r7,0(r1) ;
 | cmpw r7,r7 ;
 | bne L13 ;
 | L13: ;
 | isync ;
 | li r8,1 ;
 | END1: ;
exists (1:r7=0 /\\ 1:r5=1 /\\ 0:r5=1 /\\ 1:r8=1)
";
        assert_eq!(text("POWER"), expected);
    }

    #[test]
    fn riscv_has_annotated_updates() {
        let expected = "RISCV passed
{
data=0;
flag=0;
0:x5=data;
0:x6=flag;
1:x5=data;
1:x6=flag;
}
P0 | P1 ;
ori x7,x0,1 | ori x7,x0,1 ;
sw x7,0(x5) | ori x8,x0,2 ;
amoswap.w.rl x8,x7,(x6) | ori x9,x0,0 ;
ori x9,x0,1 | lr.w.aq x10,(x6) ;
END0: | bne x10,x7,L11 ;
 | sc.w x11,x8,(x6) ;
 | bne x11,x0,END1 ;
 | ori x9,x0,1 ;
 | L11: ;
 | ori x12,x0,1 ;
 | bne x9,x12,END1 ;
 | fence rw,rw ;
 | lw x13,0(x5) ;
 | fence r,rw ;
 | ori x14,x0,1 ;
 | END1: ;
exists (1:x13=0 /\\ 1:x9=1 /\\ 0:x9=1 /\\ 1:x14=1)
";
        assert_eq!(text("RISC-V"), expected);
    }

    #[test]
    fn a_verdict_that_was_not_expected_is_one_line() {
        let line = finding(
            "deque.pop with top Relaxed",
            "POWER",
            Seen::Never,
            Seen::Sometimes,
        );
        let expected = "deque.pop with top Relaxed: POWER: expected Never, found Sometimes";
        assert_eq!(line.unwrap(), expected);
        assert_eq!(finding("deque.pop", "C20", Seen::Never, Seen::Never), None);
    }
}
