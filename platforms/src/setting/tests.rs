//! The table of settings and its views.

use super::rules::{check, choices, lifelines, random_steals};
use super::{Choice, Kind, Rules, TABLE, explain};
use crate::balance::Config;
use std::fmt::Write;

#[test]
fn one_random_steal_for_each_doubling() {
    let all = [1, 2, 3, 4, 5, 1024, 1025, 131_072].map(random_steals);
    assert_eq!(all, [1, 1, 2, 2, 3, 10, 11, 17]);
}

#[test]
fn a_place_never_has_many_lifelines() {
    for places in [2, 1024, 8192, 8193, 131_072] {
        let graph = lifelines(places);
        let out = graph.outgoing(crate::balance::PlaceId(0), places).count();
        assert!(out <= 13, "{places}: {out}");
    }
}

#[test]
fn what_was_asked_for_is_told_from_what_was_chosen() {
    let config = Config {
        places: 64,
        random_steals: 6,
        grain: 511.into(),
        ..Config::default()
    };
    let chosen: Vec<_> = explain(&config).iter().map(Choice::is_chosen).collect();
    assert_eq!(chosen, [true, true, true, false]);
}

#[test]
fn rules_of_the_program_come_before_those_of_the_environment() {
    let program = Rules {
        seed: Some(1),
        ..Rules::default()
    };
    let environment = Rules {
        seed: Some(2),
        random_steals: Some(3),
        ..Rules::default()
    };
    let rules = program.or(&environment);
    assert_eq!((rules.seed, rules.random_steals), (Some(1), Some(3)));
}

/// Another text than the default for each parameter: it is read into one field, whose value is
/// shown as it was written.
#[test]
fn every_rule_reads_and_shows_its_own_field() {
    let shape = Config {
        places: 64,
        ..Config::default()
    };
    let defaults = Rules::default().over(shape);
    assert_eq!(defaults.random_steals, 6);
    let texts = [
        ("random steals", "3"),
        ("lifelines", "ring"),
        ("steal", "7"),
        ("grain", "frozen:9"),
        ("fairness", "never"),
        ("seed", "5"),
    ];
    let rows: Vec<_> = super::balancer().collect();
    assert_eq!(rows.len(), texts.len());
    for ((setting, rule), (name, text)) in rows.iter().zip(texts) {
        let mut rules = Rules::default();
        assert_eq!(setting.name, name);
        assert!(!(rule.is_set)(&rules) && (rule.is_default)(&defaults));
        (rule.read)(text, &mut rules).unwrap();
        let config = rules.over(shape);
        assert_eq!((rule.value)(&config).to_string(), text);
        assert!((rule.is_set)(&rules) && !(rule.is_default)(&config));
        assert_eq!(check(&config).map_err(|(at, ..)| at.name), Ok(()));
        let set = rows.iter().filter(|(_, rule)| (rule.is_set)(&rules));
        assert_eq!(set.count(), 1, "{name}");
        // All set at once by parameters, which give the same again.
        assert_eq!(Rules::of(&config).over(shape), config);
        let named = choices(&config, &rules).into_iter();
        let named: Vec<_> = named.filter(|choice| !choice.is_chosen()).collect();
        assert_eq!(named.len(), 1, "{named:?}");
        assert_eq!(named[0].source.to_string(), setting.variable);
        let mut read = Rules::default();
        assert_eq!((rule.read)(setting.default, &mut read), Ok(()), "{name}");
        assert_eq!(read.over(shape), defaults, "{name}: its default");
        let refused = (rule.read)("\u{1}", &mut read).unwrap_err();
        assert_eq!(refused, rule.allowed, "{name}");
        for (known, _) in rule.known {
            assert_eq!((rule.read)(known, &mut read), Ok(()), "{known}");
        }
    }
}

/// The table of the documentation, which `TAUTLINE_ACCEPT=1` writes.
#[test]
fn the_documentation_has_the_table() {
    let mut table =
        "| variable | option | values | default | effect |\n|---|---|---|---|---|\n".to_owned();
    for row in TABLE {
        let option = row.option.map_or(String::new(), |option| {
            let short = option.short.map(|short| format!("`-{short}`, "));
            format!("{}`--{}`", short.unwrap_or_default(), option.long)
        });
        let (variable, values, default) = (row.variable, row.allowed(), row.default);
        let help = row.help.replace('|', "\\|");
        writeln!(
            table,
            "| `{variable}` | {option} | {values} | {default} | {help} |"
        )
        .unwrap();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/setting/table/table.md");
    if std::env::var_os("TAUTLINE_ACCEPT").is_some() {
        std::fs::write(file, &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), table, "{file}");
}

#[test]
fn every_row_is_complete() {
    for (at, row) in TABLE.iter().enumerate() {
        let of = |row: &super::Setting| (row.name, row.variable);
        assert!(!row.name.is_empty() && !row.help.is_empty() && !row.default.is_empty());
        assert!(
            TABLE[..at]
                .iter()
                .all(|other| of(other).0 != of(row).0 && of(other).1 != of(row).1)
        );
        if let (Some(option), Kind::Flag) = (row.option, row.kind) {
            assert!(option.value.is_empty(), "{}: a switch", row.name);
        }
    }
}
