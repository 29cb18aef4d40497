//! Place trees in XML: `HPT`, `place`, `worker`.
#![forbid(unsafe_code)]

use super::{Entry, Mistake, Platform, entry, shown, xml};
use roxmltree::Node;
use tautline_core::hierarchy::Spec;

pub(super) fn read(text: &str) -> Result<Platform, Mistake> {
    let document = xml::parse(text)?;
    let root = document.root_element();
    let name = root.tag_name().name();
    if name != "HPT" {
        let message = format!("element {}: HPT is the outermost one", shown(name));
        return Err(Mistake::at(xml::at(root), message));
    }
    xml::check_attributes(root, &["version", "info", "cpus"])?;
    let mut places = Vec::new();
    for element in elements(root)? {
        match element.tag_name().name() {
            "place" => places.push(element),
            other => return Err(stranger(element, other, "place")),
        }
    }
    let &[first, ref more @ ..] = places.as_slice() else {
        let message = "0 places in HPT: 1, the root, with all others in it";
        return Err(Mistake::at(xml::at(root), message));
    };
    if let Some(second) = more.first() {
        let message = format!(
            "{} places in HPT: 1, the root, with all others in it",
            places.len()
        );
        return Err(Mistake::at(xml::at(*second), message));
    }
    let info = root.attribute("info").unwrap_or_default().to_owned();
    place(first, 0)?.platform(info, xml::attribute(root, "cpus"))
}

fn place(node: Node<'_, '_>, level: u32) -> Result<Entry, Mistake> {
    let at = xml::at(node);
    entry::check_level(at, level)?;
    xml::check_attributes(node, &["num", "type", "tuning", "name", "bytes"])?;
    let kind = xml::read(node, "type", entry::kind)?.ok_or_else(|| {
        let message = "place without a type: mem, cache, core, node, device, or another word";
        Mistake::at(at, message)
    })?;
    let mut spec = Spec::new(kind)
        .copies(xml::read(node, "num", entry::copies)?.unwrap_or(1))
        .tuning(xml::read(node, "tuning", flag)?.unwrap_or(false))
        .bytes(xml::read(node, "bytes", bytes)?.unwrap_or(0))
        .label(node.attribute("name").unwrap_or_default());
    let (mut children, mut workers) = (Vec::new(), 0u32);
    for element in elements(node)? {
        match element.tag_name().name() {
            "place" => children.push(place(element, level + 1)?),
            "worker" => {
                xml::check_attributes(element, &["num"])?;
                if let Some(inner) = elements(element)?.first() {
                    let name = inner.tag_name().name();
                    return Err(stranger(*inner, name, "nothing"));
                }
                let more = xml::read(element, "num", entry::workers)?.unwrap_or(1);
                // Too many are refused with the whole tree.
                workers = workers.saturating_add(more);
            }
            other => return Err(stranger(element, other, "place or worker")),
        }
    }
    spec = spec.workers(workers);
    Ok(Entry { at, spec, children })
}

/// Returns the elements in `node`, which must not contain text.
fn elements<'a, 'i>(node: Node<'a, 'i>) -> Result<Vec<Node<'a, 'i>>, Mistake> {
    let words = |child: &Node<'_, '_>| child.text().is_some_and(|text| !text.trim().is_empty());
    let mut texts = node.children().filter(Node::is_text);
    if let Some(text) = texts.find(words) {
        let (words, name) = (
            text.text().unwrap_or_default().trim(),
            node.tag_name().name(),
        );
        let message = format!("{}: only elements stand in {name}", shown(words));
        return Err(Mistake::at(text.range().start, message));
    }
    Ok(node.children().filter(Node::is_element).collect())
}

fn stranger(element: Node<'_, '_>, name: &str, allowed: &str) -> Mistake {
    let message = format!("element {}: {allowed} may stand here", shown(name));
    Mistake::at(xml::at(element), message)
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(format!("tuning {}: 0 or 1", shown(value))),
    }
}

fn bytes(value: &str) -> Result<u64, String> {
    let refuse = |_| format!("bytes {}: a whole number, not negative", shown(value));
    value.parse().map_err(refuse)
}
