//! GraphML (Brandes et al. 2002) and GEXF: graphs in XML.

use super::{Builder, Listed, Options, Ways};
use crate::text::Text;
use roxmltree::{Document, Node, ParsingOptions};
use tautline::FileError;

/// The names of one of the two formats.
struct Dialect {
    name: &'static str,
    /// The attribute of the graph for the direction of its edges.
    default: &'static str,
    /// The attribute of an edge for its own direction.
    own: &'static str,
    /// Whether nodes and edges are in elements `nodes` and `edges`.
    has_lists: bool,
    /// Other elements that a graph may have.
    parts: &'static [&'static str],
}

const GRAPHML: Dialect = Dialect {
    name: "GraphML",
    default: "edgedefault",
    own: "directed",
    has_lists: false,
    parts: &["data", "desc", "locator"],
};
const GEXF: Dialect = Dialect {
    name: "GEXF",
    default: "defaultedgetype",
    own: "type",
    has_lists: true,
    parts: &["attributes", "nodes", "edges", "meta", "description"],
};
/// Names of a length, in the order of preference.
const LENGTHS: &[&str] = &["weight", "value", "length"];

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let lower = text
        .as_str()
        .trim_start()
        .get(..15)
        .map(str::to_ascii_lowercase);
    if lower.is_some_and(|head| head.starts_with("<!doctype html") || head.starts_with("<html")) {
        return Err(text.error_at(0, format!("an HTML page; {}", super::format::allowed())));
    }
    let settings = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text.as_str(), settings).map_err(|error| {
        let place = error.pos();
        let line = text
            .lines()
            .nth(place.row.saturating_sub(1) as usize)
            .unwrap_or("");
        let column = line
            .char_indices()
            .nth(place.col.saturating_sub(1) as usize);
        let part = column.map_or("", |(at, _)| &line[at..]);
        let shown = error.to_string();
        let shown = shown.split(" at ").next().unwrap_or_default();
        text.error(part, format!("XML: {shown}"))
    })?;
    let root = document.root_element();
    match root.tag_name().name() {
        "graphml" => File {
            text,
            dialect: &GRAPHML,
        }
        .graph(root, options),
        "gexf" => File {
            text,
            dialect: &GEXF,
        }
        .graph(root, options),
        other => {
            let message = format!(
                "XML with the root `{other}`: graphml or gexf; {}",
                super::format::allowed()
            );
            Err(text.error_at(root.range().start, message))
        }
    }
}

/// A file of one of the formats.
struct File<'a> {
    text: &'a Text,
    dialect: &'a Dialect,
}

impl<'a> File<'a> {
    fn error(&self, node: Node, message: &str) -> FileError {
        let message = format!("{}: {message}", self.dialect.name);
        self.text.error_at(node.range().start, message)
    }

    fn graph(&self, root: Node, options: &Options) -> Result<Listed, FileError> {
        let is = |node: &Node, name: &str| node.tag_name().name() == name;
        let mut graphs = root.descendants().filter(|node| is(node, "graph"));
        let Some(graph) = graphs.next() else {
            return Err(self.error(root, "no graph"));
        };
        if let Some(other) = graphs.next() {
            return Err(self.error(other, "a second graph, or one in another: one is read"));
        }
        let stated = |value: Option<&str>, node| match value {
            None => Ok(Ways::Unsaid),
            Some("directed" | "true") => Ok(Ways::One),
            Some("undirected" | "false" | "mutual") => Ok(Ways::Both),
            Some(other) => Err(self.error(node, &format!("`{other}`: directed or undirected"))),
        };
        let default = stated(graph.attribute(self.dialect.default), graph)?;
        let labels = keys(root, "node", &["label", "name"]);
        let lengths = keys(root, "edge", LENGTHS);
        let mut builder = Builder::new(self.text, options);
        let mut edges = Vec::new();
        for node in root.descendants() {
            match node.tag_name().name() {
                name @ ("node" | "edge") if !self.is_in_place(node, graph) => {
                    return Err(self.error(node, &format!("`{name}` in another element")));
                }
                "node" => self.vertex(node, &labels, &mut builder)?,
                "edge" => edges.push(node),
                other if !self.is_passed_over(node, graph) => {
                    return Err(self.error(node, &format!("`{other}`: expected nodes and edges")));
                }
                _ => {}
            }
        }
        for edge in edges {
            let vertex = |name| {
                let missing = || self.error(edge, &format!("an edge without {name}"));
                let id = edge.attribute(name).ok_or_else(missing)?;
                let unknown = || self.error(edge, &format!("no node {id}"));
                builder.known(id).ok_or_else(unknown)
            };
            let ends = (vertex("source")?, vertex("target")?);
            let ways = match stated(edge.attribute(self.dialect.own), edge)? {
                Ways::Unsaid => default,
                own => own,
            };
            let length = LENGTHS.iter().find_map(|name| edge.attribute(*name));
            let length = length.or_else(|| data(edge, &lengths)).map(str::trim);
            let place = &self.text.as_str()[edge.range().start..];
            builder.edge(ends, length, ways, place)?;
        }
        builder.listed(self.dialect.name.to_owned())
    }

    /// Whether a node or an edge is in the list of the graph.
    fn is_in_place(&self, node: Node, graph: Node) -> bool {
        let lists = match self.dialect.has_lists {
            true => node.parent_element(),
            false => Some(node),
        };
        let name = |of: Node| of.tag_name().name().to_owned();
        let list = lists.filter(|list| !self.dialect.has_lists || name(*list) == name(node) + "s");
        list.and_then(|list| list.parent_element()) == Some(graph)
    }

    /// Whether another element may be passed over. The graph, and a list of nodes or edges, have no
    /// other elements.
    fn is_passed_over(&self, node: Node, graph: Node) -> bool {
        match node.parent_element() {
            Some(parent) if parent == graph && node.is_element() => {
                self.dialect.parts.contains(&node.tag_name().name())
            }
            Some(parent) => {
                !node.is_element() || !["nodes", "edges"].contains(&parent.tag_name().name())
            }
            None => true,
        }
    }

    fn vertex(
        &self,
        node: Node,
        labels: &[&str],
        builder: &mut Builder<'a>,
    ) -> Result<(), FileError> {
        let id = node
            .attribute("id")
            .ok_or_else(|| self.error(node, "a node without id"))?;
        if builder.known(id).is_some() {
            return Err(self.error(node, &format!("a second node {id}")));
        }
        let number = builder.vertex(id.to_owned());
        if let Some(label) = node.attribute("label").or_else(|| data(node, labels)) {
            builder.label(number, label.to_owned());
        }
        Ok(())
    }
}

/// Returns the keys of GraphML for data of these names, in their order.
fn keys<'d>(root: Node<'d, '_>, domain: &str, names: &[&str]) -> Vec<&'d str> {
    // Of one name there may be several, each with its type: networkx writes one for whole lengths
    // and one for others.
    let named = |name: &str, key: &Node| {
        let is_for = key
            .attribute("for")
            .is_none_or(|of| of == domain || of == "all");
        let is_named = key
            .attribute("attr.name")
            .is_some_and(|own| own.eq_ignore_ascii_case(name));
        key.tag_name().name() == "key" && is_for && is_named
    };
    let mut keys = Vec::new();
    for name in names {
        let found = root.children().filter(|key| named(name, key));
        keys.extend(found.filter_map(|key| key.attribute("id")));
    }
    keys
}

/// Returns the text of the first of these data that a node or an edge has.
fn data<'d>(of: Node<'d, '_>, keys: &[&str]) -> Option<&'d str> {
    keys.iter().find_map(|key| {
        let mut data = of
            .children()
            .filter(|child| child.tag_name().name() == "data");
        data.find(|data| data.attribute("key") == Some(key))?.text()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_one_name_may_have_several_keys() {
        let text = r#"<graphml>
            <key id="d1" for="edge" attr.name="weight" attr.type="long"/>
            <key id="d0" for="edge" attr.name="weight" attr.type="double"/>
            <graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
            <edge source="a" target="b"><data key="d1">2</data></edge>
            <edge source="b" target="c"><data key="d0">0.5</data></edge>
            </graph></graphml>"#;
        let text = Text::new("g", text, |_| false).unwrap();
        let options = Options {
            is_weighted: true,
            ..Options::default()
        };
        assert_eq!(read(&text, &options).unwrap().lengths, Some(vec![20, 5]));
    }
}
