use super::*;

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series {
        name: name.to_owned(),
        points: points.to_vec(),
    }
}

fn plot(series: &[Series]) -> Plot<'_> {
    Plot {
        title: "grain & \"efficiency\" <D11>",
        facts: &[],
        x: Axis {
            title: "grain",
            log: true,
        },
        y: Axis {
            title: "efficiency, %",
            log: false,
        },
        series,
    }
}

/// Every tag is closed in order, every attribute quoted, every `&` an entity: the names of the
/// tags.
fn tags(text: &str) -> Vec<String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        entities(&rest[..at]);
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "a tag in a tag: {tag}");
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let inner = tag.trim_end_matches('/');
        let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
        let quotes: Vec<&str> = attributes.split('"').collect();
        assert!(quotes.len() % 2 == 1, "quotes in pairs: {tag}");
        for (number, part) in quotes.iter().enumerate() {
            entities(part);
            let between = number % 2 == 0 && number + 1 < quotes.len();
            assert!(!between || part.ends_with('='), "a value after =: {tag}");
        }
        all.push(name.to_owned());
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    entities(rest);
    assert_eq!(open, [""; 0], "all closed");
    all
}

fn entities(text: &str) {
    for part in text.split('&').skip(1) {
        let name = part.split(';').next().unwrap_or_default();
        assert!(["amp", "lt", "gt", "quot"].contains(&name), "&{part}");
    }
}

/// The positions of all points, series by series.
fn positions(svg: &str) -> Vec<(f64, f64)> {
    let points = svg
        .split("<g class=\"point\" transform=\"translate(")
        .skip(1);
    let position = |text: &str| {
        let (x, rest) = text.split_once(',').expect("a comma");
        let (y, _) = rest.split_once(')').expect("an end");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    points.map(position).collect()
}

#[test]
fn every_point_is_there_in_its_place() {
    let lines = [
        series("hypercube", &[(64.0, 90.0), (1.0, 20.0), (8.0, 70.0)]),
        series("ring & <co>", &[(1.0, 10.0), (64.0, 5.0)]),
        series("none", &[]),
    ];
    let svg = plot(&lines).svg();
    let tags = tags(&svg);
    let count = |name: &str| tags.iter().filter(|tag| *tag == name).count();
    assert_eq!((count("polyline"), count("circle")), (3, 5));
    let points = positions(&svg);
    assert_eq!(points.len(), 5);
    // From left to right, though not given so; equal factors are equally far apart.
    let x: Vec<f64> = points.iter().map(|point| point.0).collect();
    assert!(
        (x[1] - x[0] - (x[2] - x[1])).abs() < 0.2 && x[0] < x[1],
        "{x:?}"
    );
    assert_eq!((x[3], x[4]), (x[0], x[2]));
    // Larger is higher, and all lie in the field.
    let mut by_value: Vec<(f64, f64)> = [20.0, 70.0, 90.0, 10.0, 5.0]
        .into_iter()
        .zip(points.iter().map(|point| point.1))
        .collect();
    by_value.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(
        by_value.windows(2).all(|pair| pair[0].1 > pair[1].1),
        "{by_value:?}"
    );
    for (x, y) in points {
        assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        assert!((TOP + ROW..=TOP + ROW + FIELD).contains(&y), "{y}");
    }
    for part in [
        "<title>ring &amp; &lt;co>\ngrain: 64\nefficiency, %: 5</title>",
        ">grain</text>",
        ">efficiency, %</text>",
        ">hypercube</text>",
        "<title>grain &amp; &quot;efficiency&quot; &lt;D11></title>",
    ] {
        assert!(svg.contains(part), "no {part}");
    }
}

#[test]
fn a_document_has_its_title_and_lines_differ_in_dashes() {
    let lines = [series("a", &[(1.0, 2.0)]), series("b", &[(1.0, 3.0)])];
    let plot = plot(&lines);
    let svg = plot.svg();
    assert!(svg.contains("y=\"21\">grain &amp; &quot;efficiency&quot; &lt;D11></text>"));
    // On the line, and in the legend.
    assert_eq!(svg.matches("stroke-dasharray=\"none\"").count(), 2);
    assert_eq!(svg.matches("stroke-dasharray=\"9 4\"").count(), 2);
    // The page has the title above the drawing already.
    let mut page = Vec::new();
    plot.write(&mut page).unwrap();
    assert!(!String::from_utf8(page).unwrap().contains("y=\"21\""));
}

#[test]
fn what_is_not_finite_is_left_out() {
    let lines = [series(
        "a",
        &[
            (1.0, f64::NAN),
            (f64::INFINITY, 1.0),
            (2.0, 1e305),
            (2.0, 3.0),
        ],
    )];
    let svg = plot(&lines).svg();
    tags(&svg);
    assert_eq!(positions(&svg).len(), 1);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn no_point_and_one_point_are_plots_too() {
    for points in [
        &[][..],
        &[(0.0, 0.0)],
        &[(1e-300, 1e-300), (1e-200, 1e-200)],
        &[(5.0, -3.0)],
        &[(1e-100, 1e100), (1e100, -1e100)],
    ] {
        let lines = [series("a", points)];
        let svg = plot(&lines).svg();
        assert!(tags(&svg).len() > 10);
        assert_eq!(positions(&svg).len(), points.len());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?}");
    }
    assert!(tags(&plot(&[]).svg()).len() > 10);
}

#[test]
fn the_page_stands_alone() {
    let lines = [
        series("a", &[(1.0, 2.0), (4.0, 5.0), (4.0, 6.0)]),
        series("b", &[(2.0, 3.0)]),
    ];
    let mut plot = plot(&lines);
    let facts = [("machine", "a < b".to_owned())];
    plot.facts = &facts;
    let mut out = Vec::new();
    plot.write(&mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let tags = tags(&page);
    assert!(!tags.contains(&"script".to_owned()));
    let links = page.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !links.contains("http") && !links.contains("url("),
        "a reference to the network"
    );
    assert_eq!(page.matches("prefers-color-scheme").count(), 2);
    assert!(page.contains("<dt>machine</dt><dd>a &lt; b</dd>"));
    assert!(page.contains("<tr><th scope=\"row\">4</th><td>5, 6</td><td></td></tr>"));
    assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 3);
}

#[test]
fn many_series_look_different_and_their_names_fit() {
    let lines: Vec<_> = (0..42)
        .map(|n| series(&format!("series number {n}"), &[(1.0, f64::from(n))]))
        .collect();
    let looks: std::collections::BTreeSet<_> = (0..210).map(look).collect();
    assert_eq!(looks.len(), 210);
    let svg = plot(&lines).svg();
    let legend = svg.split("<g class=\"legend\">").nth(1).expect("a legend");
    let legend = legend.split("<g class=\"grid\">").next().expect("its end");
    let places: Vec<f64> = legend
        .split("transform=\"translate(")
        .filter_map(|text| text.split_once(',')?.0.parse().ok())
        .filter(|&x| x >= LEFT)
        .collect();
    assert_eq!(places.len(), 42);
    assert!(
        places.iter().all(|&x| x + 44.0 + 16.0 * LETTER <= WIDTH),
        "{places:?}"
    );
    let lowest = positions(&svg)
        .iter()
        .fold(f64::INFINITY, |low, point| low.min(point.1));
    assert!(lowest > TOP + 8.0 * ROW, "the legend lies on the field");
}
