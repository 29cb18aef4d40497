//! Recognition of a file's format.

use super::format::{Format, allowed};
use super::{dimacs, gml, market, metis, six};
use crate::text::Input;
use tautline::FileError;

/// A format that is not read.
struct Refused {
    name: &'static str,
    endings: &'static [&'static str],
    advice: &'static str,
}

const NETWORKX: &str = "convert it to a list of edges, in Python by networkx.write_edgelist";

const GRAPHVIZ: Refused = Refused {
    name: "Graphviz",
    endings: &["dot", "gv"],
    advice: "convert it by `gv2gml`",
};
const UCINET: Refused = Refused {
    name: "UCINET DL",
    endings: &["dl"],
    advice: "convert it to a list of edges",
};
const LEDA: Refused = Refused {
    name: "LEDA",
    endings: &["lgr", "gw", "leda"],
    advice: NETWORKX,
};
const GDF: Refused = Refused {
    name: "GDF",
    endings: &["gdf"],
    advice: "save it as GraphML or GEXF in Gephi",
};
const TRIVIAL: Refused = Refused {
    name: "Trivial Graph Format",
    endings: &["tgf"],
    advice: "leave out the lines up to `#`",
};
const REFUSED: &[Refused] = &[
    GRAPHVIZ,
    UCINET,
    LEDA,
    GDF,
    TRIVIAL,
    Refused {
        name: "LGL",
        endings: &["lgl"],
        advice: NETWORKX,
    },
    Refused {
        name: "SIF of Cytoscape",
        endings: &["sif"],
        advice: "leave out the second column",
    },
    Refused {
        name: "a graph of Galois",
        endings: &["vgr", "sgr"],
        advice: "convert it by `graph-convert`",
    },
    Refused {
        name: "a pickled object of Python",
        endings: &["pickle", "pkl", "gpickle"],
        advice: NETWORKX,
    },
];

/// Returns the format of an input: by its content if that has a mark of one, else by its name.
pub(super) fn recognise(input: &Input) -> Result<Format, FileError> {
    let text = input.peek();
    if let Some(content) = by_content(text) {
        return content.map_err(|refused| refusal(input, refused));
    }
    let name = input.name().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if let Some(refused) = REFUSED
        .iter()
        .find(|refused| refused.endings.contains(&ending))
    {
        return Err(refusal(input, refused));
    }
    Ok(match Format::of_ending(ending) {
        Some(format) => format,
        None if metis::is_consistent(text) => Format::Metis,
        None => Format::List,
    })
}

fn refusal(input: &Input, refused: &Refused) -> FileError {
    let text = input.peek();
    let start = text.len() - text.trim_start().len();
    let message = format!("{}: {}; {}", refused.name, refused.advice, allowed());
    input.error_at(start, message)
}

/// Returns the format whose mark the text begins with.
fn by_content(text: &str) -> Option<Result<Format, &'static Refused>> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().next()?;
    let is_remark = |line: &&str| line.starts_with(['#', '%']);
    // After comments of the most common kinds.
    let head = lines().find(|line| !is_remark(line)).unwrap_or("");
    let lower = head.to_ascii_lowercase();
    let mut words = lower.split(|c: char| c.is_whitespace() || c == '{' || c == '[');
    let word = words.next().unwrap_or("");
    Some(match word {
        _ if market::has_banner(first) => Ok(Format::Market),
        _ if first.starts_with('<') => Ok(Format::Xml),
        _ if head.starts_with(['{', '[']) => Ok(Format::Json),
        _ if six::has_head(first) => Ok(Format::Six),
        _ if lower.starts_with('*') => Ok(Format::Pajek),
        _ if gml::begins(text) => Ok(Format::Gml),
        "strict" | "graph" | "digraph" if text.contains('{') => Err(&GRAPHVIZ),
        _ if (first.starts_with("//") || first.starts_with("/*")) && text.contains('{') => {
            Err(&GRAPHVIZ)
        }
        _ if dimacs::begins(lines()) => Ok(Format::Dimacs),
        "dl" if lower.contains('=') || head.len() == 2 => Err(&UCINET),
        "leda.graph" => Err(&LEDA),
        _ if lower.starts_with("nodedef>") || lower.starts_with("nodedef ") => Err(&GDF),
        _ if is_trivial(text) => Err(&TRIVIAL),
        _ => return None,
    })
}

/// Whether a line of `#` alone stands between lines that are no comments.
fn is_trivial(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let is_data = |line: &str| !line.is_empty() && !line.starts_with(['#', '%']);
    lines.any(is_data) && lines.by_ref().any(|line| line == "#") && lines.any(is_data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<Format, String> {
        let input = Input::new(name, text.as_bytes()).unwrap();
        recognise(&input).map_err(|error| error.to_string())
    }

    #[test]
    fn formats_are_recognised_by_content_or_name() {
        for (name, text, format) in [
            ("x", "a b\n", Format::List),
            ("x", "", Format::List),
            ("x", "c d\np q\n", Format::List),
            ("x", "graph d\n", Format::List),
            ("x", "\n %%MatrixMarket matrix\n", Format::Market),
            ("x.mtx", "1 1\n", Format::Market),
            ("X.GRAPH", "1 0\n", Format::Metis),
            ("x.graph.gz", "1 0\n", Format::Metis),
            ("x", "2 1\n2\n1\n", Format::Metis),
            ("x", "c a\np sp 1 0\n", Format::Dimacs),
            ("x", "Creator \"a\"\ngraph\n[\n", Format::Gml),
            ("x", "graph [ ]", Format::Gml),
            ("x", "<?xml version='1.0'?><graphml/>", Format::Xml),
            ("x", "*vertices 3\n", Format::Pajek),
            ("x", ">>graph6<<A_\n", Format::Six),
            ("x.net", ":A_\n", Format::Pajek),
            ("x.txt", "{\"nodes\": []}", Format::Json),
            ("x.adjlist", "a b c d\n", Format::Adjacency),
            ("x.csv", "a,b\n", Format::List),
        ] {
            assert_eq!(of(name, text), Ok(format), "{name} {text:?}");
        }
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        for (name, text, said) in [
            (
                "x",
                "digraph G {\n a -> b }",
                "x:1:1: Graphviz: convert it by `gv2gml`; formats, by --format or the file's name: list, ",
            ),
            ("x", "// c\nstrict graph {\n}", "x:1:1: Graphviz: "),
            ("x.dot", "", "x.dot:1:1: Graphviz: "),
            ("x", "dl n=3 format=edgelist1\n", "x:1:1: UCINET DL: "),
            ("x", "# a\nLEDA.GRAPH\n", "x:1:1: LEDA: "),
            ("x", "nodedef>name VARCHAR\n", "x:1:1: GDF: "),
            ("x", "1 a\n2 b\n#\n1 2\n", "x:1:1: Trivial Graph Format: "),
            (
                "x.sif",
                "1 pp 2\n",
                "x.sif:1:1: SIF of Cytoscape: leave out",
            ),
        ] {
            let line = of(name, text).unwrap_err();
            assert!(line.starts_with(said), "{line}");
        }
    }
}
