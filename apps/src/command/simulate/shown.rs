//! A simulated machine in one line, and as data.

use crate::command::show::object;
use serde_json::{Map, Value, json};
use tautline::internal::costs::{self, Costs, FORMS, KEYS, Section, form};
use tautline_sim::Machine;

/// Returns the machine in one line, under its requested name, without costs that it would have by
/// default.
pub(super) fn line(name: &str, machine: &Machine) -> String {
    let costs = of(machine);
    let keys = KEYS.iter().filter(|key| {
        let applies = match key.section {
            Section::Ranks => machine.cluster.ranks.places > 0,
            section => section != Section::Faults,
        };
        applies && !key.is_absent(&costs)
    });
    let shown: Vec<_> = keys
        .map(|key| format!("{} {}", key.name, key.get(&costs)))
        .collect();
    let places = machine.cluster.node_places;
    format!("{name}: {places} places a node; {}", shown.join(", "))
}

/// Returns the machine as data.
pub(super) fn json(name: &str, machine: &Machine) -> Value {
    let (cluster, costs) = (&machine.cluster, of(machine));
    let mut all = Map::new();
    let mut ranks = Map::new();
    all.insert("name".to_owned(), name.into());
    all.insert("node_places".to_owned(), cluster.node_places.into());
    all.extend(object(FORMS.iter().map(|form| (form.key(), Value::Null))));
    for key in KEYS {
        let value = match key.get(&costs) {
            costs::Value::Number(number) => json!(number),
            costs::Value::Switch(is_on) => json!(is_on),
            costs::Value::Network(shape) => {
                all.extend(form(shape).map(|(form, sizes)| (form.key(), json!(sizes))));
                continue;
            }
        };
        match key.section {
            Section::Faults => continue,
            Section::Ranks => ranks.insert(key.file_name.to_owned(), value),
            _ => all.insert(key.name.to_owned(), value),
        };
    }
    let ranks = (cluster.ranks.places > 0).then_some(ranks);
    all.insert("ranks".to_owned(), ranks.into());
    Value::Object(all)
}

fn of(machine: &Machine) -> Costs {
    Costs {
        machine: *machine,
        ..Costs::default()
    }
}
