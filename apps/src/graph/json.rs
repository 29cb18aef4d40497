//! JSON of other programs: objects with `nodes`, and `links` or `edges` (networkx, D3, JSON Graph
//! Format, Cytoscape).

use super::{Builder, Listed, Options, Ways};
use crate::text::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tautline::FileError;

const EXPECTED: &str =
    "JSON: expected an object with nodes, and links or edges that have source and target";

/// A graph, or what has one inside.
#[derive(Deserialize)]
#[serde(expecting = "an object with nodes, and links or edges")]
struct Graph<'a> {
    #[serde(borrow)]
    nodes: Option<&'a RawValue>,
    #[serde(borrow)]
    links: Option<&'a RawValue>,
    #[serde(borrow)]
    edges: Option<&'a RawValue>,
    #[serde(borrow)]
    graph: Option<&'a RawValue>,
    #[serde(borrow)]
    elements: Option<&'a RawValue>,
    directed: Option<bool>,
}

/// A node or an edge.
#[derive(Deserialize)]
#[serde(expecting = "an object with id, or with source and target")]
struct Item<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    label: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    #[serde(borrow)]
    target: Option<&'a RawValue>,
    #[serde(borrow)]
    weight: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    length: Option<&'a RawValue>,
}

/// Parses `part`, which is a part of the text.
fn parse<'a, T: Deserialize<'a>>(text: &Text, part: &'a str) -> Result<T, FileError> {
    serde_json::from_str(part).map_err(|error| {
        let before = part
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let at = before.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let shown = error.to_string();
        // Its own place is within the part.
        let shown = shown.split(" at line ").next().unwrap_or_default();
        text.error_at(text.place(part) + at, format!("JSON: {shown}"))
    })
}

/// Returns a number or text of the file as a name.
fn name<'a>(text: &Text, value: &'a RawValue) -> Result<Cow<'a, str>, FileError> {
    let shown = value.get();
    match shown.bytes().next() {
        Some(b'"') => parse::<String>(text, shown).map(Cow::Owned),
        Some(b'-' | b'0'..=b'9') => Ok(Cow::Borrowed(shown)),
        _ => Err(text.error(shown, "JSON: a vertex is named by a number or a text")),
    }
}

fn items<'a>(text: &Text, list: &'a RawValue) -> Result<Vec<(&'a str, Item<'a>)>, FileError> {
    let items: Vec<&RawValue> = parse(text, list.get())?;
    let item = |whole: &'a RawValue| {
        let item: Item = parse(text, whole.get())?;
        match item.data {
            Some(data) if item.source.is_none() && item.id.is_none() => {
                Ok((whole.get(), parse(text, data.get())?))
            }
            _ => Ok((whole.get(), item)),
        }
    };
    items.into_iter().map(item).collect()
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let whole = text.as_str();
    if whole.trim_start().starts_with('[') {
        return Err(text.error_at(0, EXPECTED));
    }
    let mut graph: Graph = parse(text, whole)?;
    if graph.nodes.is_none() {
        if let Some(inner) = graph.elements.or(graph.graph) {
            graph = parse(text, inner.get())?;
        }
    }
    let (Some(nodes), Some(edges)) = (graph.nodes, graph.links.xor(graph.edges)) else {
        return Err(text.error_at(0, EXPECTED));
    };
    let mut builder = Builder::new(text, options);
    vertices(text, nodes, &mut builder)?;
    let ways = match graph.directed {
        Some(true) => Ways::One,
        Some(false) => Ways::Both,
        None => Ways::Unsaid,
    };
    for (whole, edge) in items(text, edges)? {
        let (Some(from), Some(to)) = (edge.source, edge.target) else {
            return Err(text.error(whole, "JSON: an edge without source and target"));
        };
        let vertex = |value| {
            let name = name(text, value)?;
            let unknown = || text.error(value.get(), format!("JSON: no node {name}"));
            builder.known(&name).ok_or_else(unknown)
        };
        let ends = (vertex(from)?, vertex(to)?);
        let length = edge
            .weight
            .or(edge.value)
            .or(edge.length)
            .map(RawValue::get);
        builder.edge(ends, length, ways, whole)?;
    }
    builder.listed("JSON, nodes and edges".to_owned())
}

/// Adds the nodes: an array, or an object with a key each. Nodes of an array without `id` are
/// numbered from 0.
fn vertices<'a>(
    text: &'a Text,
    nodes: &'a RawValue,
    builder: &mut Builder<'a>,
) -> Result<(), FileError> {
    if nodes.get().starts_with('{') {
        let nodes: BTreeMap<String, IgnoredAny> = parse(text, nodes.get())?;
        for name in nodes.into_keys() {
            builder.vertex(name);
        }
        return Ok(());
    }
    let nodes = items(text, nodes)?;
    let named = nodes.iter().filter(|(_, node)| node.id.is_some()).count();
    for (number, (whole, node)) in nodes.iter().enumerate() {
        let key = match node.id {
            Some(id) => name(text, id)?,
            None if named == 0 => Cow::Owned(number.to_string()),
            None => return Err(text.error(whole, "JSON: a node without id")),
        };
        if builder.known(&key).is_some() {
            return Err(text.error(whole, format!("JSON: a second node {key}")));
        }
        let vertex = builder.vertex(key);
        if let Some(label) = node.label.or(node.name) {
            builder.label(vertex, name(text, label)?);
        }
    }
    Ok(())
}
