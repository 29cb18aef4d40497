use super::*;

/// The table of the documentation.
fn documented() -> String {
    let mut text =
        "| key | in files | value | unless stated | what it is |\n|---|---|---|---|---|\n"
            .to_owned();
    for key in KEYS {
        let file = match key.section.name() {
            Some(section) if key.unit == Unit::Network => format!("`{section}`: its shape"),
            Some(section) => format!("`{section}.{}`", key.file_name),
            None => String::new(),
        };
        let value = match key.unit {
            Unit::Network => "a shape".to_owned(),
            Unit::Switch => "0 or 1".to_owned(),
            unit => format!("{} to {} {}", key.least, key.most, unit.name()),
        };
        let absent = key
            .absent
            .map_or(String::new(), |number| number.to_string());
        let (name, value, help) = (key.name, value.trim_end(), key.help);
        text += &format!("| `{name}` | {file} | {value} | {absent} | {help} |\n");
    }
    text
}

#[test]
fn the_documentation_has_the_table() {
    let text = include_str!("../../../../docs/machine.md");
    let table = documented();
    assert!(text.contains(&table), "docs/machine.md needs\n{table}");
}

#[test]
fn each_key_is_the_field_that_it_names() {
    let usual = Costs::default();
    for key in KEYS {
        let other = match key.get(&usual) {
            Value::Number(number) => Value::Number(number + 1),
            Value::Switch(is_on) => Value::Switch(!is_on),
            Value::Network(_) => Value::Network(Shape::Torus([2, 3, 4])),
        };
        let mut costs = usual;
        key.set(&mut costs, other);
        for read in KEYS {
            let is_set = read.get(&costs) != read.get(&usual);
            assert_eq!(is_set, read.name == key.name, "{} {}", key.name, read.name);
        }
        assert_eq!(key.get(&costs), other);
        if let Value::Number(number) = other {
            let field = format!("{}: {number}", key.file_name.replace("fault_", ""));
            let text = format!("{costs:?}");
            assert!(text.contains(&field), "no {field} in {text}");
        }
        assert_eq!(
            find(&key.name.replace('_', "-")).map(|key| key.name),
            Some(key.name)
        );
    }
    assert!(find("near").is_none());
}

#[test]
fn the_usual_costs_are_within_bounds_and_the_bounds_are_kept() {
    for key in KEYS {
        if let Some(number) = key.number(&Costs::default()) {
            assert!(key.value(number).is_some(), "{}", key.name);
            assert!(key.value(key.least).is_some() && key.value(key.most).is_some());
            let beyond = [key.least.checked_sub(1), key.most.checked_add(1)];
            for number in beyond.into_iter().flatten() {
                assert_eq!(key.value(number), None, "{}", key.name);
            }
        }
    }
}

#[test]
fn networks_are_read_as_they_are_printed_and_have_room() {
    for (text, nodes) in [
        ("flat", None),
        ("torus:4,3,2", Some(24)),
        ("fat-tree:8,4,4,2", None),
        ("dragonfly:2,4,1", Some(40)),
    ] {
        let shape = parse_network(text).expect(text);
        assert_eq!(network::room(shape), nodes, "{text}");
        assert_eq!(Value::Network(shape).to_string(), text);
    }
    for text in [
        "ring",
        "flat:1",
        "torus:4,4",
        "torus:0,1,1",
        "torus:a,1,1",
        "torus",
    ] {
        let refused = parse_network(text).expect_err(text);
        assert!(refused.contains("torus:X,Y,Z"), "{refused}");
    }
}
