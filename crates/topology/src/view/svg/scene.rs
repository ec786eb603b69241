//! What the picture shows: the hierarchy as boxes, each with its looks and its words.

use crate::model::CpuKind;
use crate::topology::Topology;

use crate::view::hierarchy::{Hierarchy, Node, Part};
use crate::view::words;

use super::draw::{LINE, text_width};
use super::layout::{Block, Flow};

/// Where lines of the title are broken, in characters.
const TITLE_CHARS: usize = 96;

/// A line at the top of a box; with a class, on a bar of its own.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) class: &'static str,
}

/// The looks of a box.
#[derive(Debug)]
pub(super) struct Face {
    /// Style classes; a box without any is not drawn itself.
    pub(super) class: String,
    pub(super) lines: Vec<Line>,
    /// What a browser tells about the box under the pointer.
    pub(super) hint: Option<String>,
}

pub(super) type Picture = Block<Face>;

/// Builds the boxes of a machine, not yet arranged.
pub(super) fn picture(topology: &Topology) -> Picture {
    let hierarchy = Hierarchy::new(topology);
    let highest = topology.present().iter().last().unwrap_or(0);
    let scene = Scene { topology, cpu_width: text_width(&format!("P#{highest}")) };
    let mut title = vec![words::summary(topology)];
    title.extend(words::remarks(topology));
    let mut sections = vec![text("title", &title), scene.machine(&hierarchy)];
    let overlapping = hierarchy.beside.iter().filter(|part| !part.cpus().is_empty());
    let mut notes: Vec<String> = overlapping
        .map(|part| format!("does not nest: {}: {}", words::short(*part), words::cpus(part.cpus())))
        .collect();
    for excluded in topology.excluded() {
        notes.push(format!("excluded: {}: {}", words::cpus(&excluded.cpus), excluded.reason));
    }
    sections.push(scene.legend());
    if !notes.is_empty() {
        sections.push(text("note", &notes));
    }
    let mut picture = block(String::new(), Vec::new(), sections);
    picture.flow = Flow::Column;
    picture
}

struct Scene<'a> {
    topology: &'a Topology,
    /// Boxes of CPUs are as wide as the highest number needs.
    cpu_width: u32,
}

impl<'a> Scene<'a> {
    /// The frame around all; what has no place among the online CPUs comes last in it.
    fn machine(&self, hierarchy: &Hierarchy<'a>) -> Picture {
        let mut children = self.children(&hierarchy.machine);
        let memory = hierarchy.beside.iter().filter(|part| part.cpus().is_empty());
        children.extend(
            memory.map(|&part| block("memory".to_owned(), vec![line("", words::short(part))], vec![])),
        );
        let offline = self.topology.offline();
        if !offline.is_empty() {
            let boxes = offline.iter().map(|cpu| self.cpu(cpu)).collect();
            children.push(block("group".to_owned(), vec![line("", "offline".to_owned())], boxes));
        }
        block("machine".to_owned(), vec![], children)
    }

    /// A frame for the outermost part, with bars for the rest; a core has its own inside.
    fn node(&self, node: &Node<'a>) -> Picture {
        let of_core = |part: &Part<'_>| node.is_core() && matches!(part, Part::Core(_) | Part::Cache(_));
        let (core, outer): (Vec<Part<'_>>, Vec<Part<'_>>) = node.parts.iter().copied().partition(of_core);
        let mut children = self.children(node);
        if !core.is_empty() {
            let core = framed("core", &core, children);
            if outer.is_empty() {
                return core;
            }
            children = vec![core];
        }
        let frame = outer.iter().find_map(|part| match part {
            Part::Package(_) => Some("package"),
            Part::Die(_) => Some("die"),
            Part::Cluster(_) => Some("cluster"),
            _ => None,
        });
        framed(frame.unwrap_or("group"), &outer, children)
    }

    /// What is inside a node, by lowest CPU.
    fn children(&self, node: &Node<'a>) -> Vec<Picture> {
        let bare = node.own_cpus();
        let mut children: Vec<(Option<u32>, Picture)> =
            node.children.iter().map(|child| (child.cpus.first(), self.node(child))).collect();
        children.extend(bare.iter().map(|cpu| (Some(cpu), self.cpu(cpu))));
        children.sort_by_key(|(first, _)| *first);
        children.into_iter().map(|(_, picture)| picture).collect()
    }

    fn cpu(&self, cpu: u32) -> Picture {
        let topology = self.topology;
        let mut hints = vec![format!("CPU {cpu}")];
        let mut class = "cpu".to_owned();
        if let Some((index, kind)) = self.kind(cpu) {
            class.push_str(KINDS[index % KINDS.len()]);
            hints.push(words::kind_name(index, kind));
        }
        if topology.isolated().contains(cpu) {
            class.push_str(" isolated");
        }
        if topology.offline().contains(cpu) {
            class = "cpu offline".to_owned();
        } else if !topology.allowed().contains(cpu) {
            class.push_str(" excluded");
        }
        if topology.nohz_full().contains(cpu) {
            hints.push("nohz_full".to_owned());
        }
        let excluded = topology.excluded().iter().filter(|excluded| excluded.cpus.contains(cpu));
        hints.extend(excluded.map(|excluded| words::plain(&excluded.reason.to_string())));
        let mut picture = block(class, vec![line("", format!("P#{cpu}"))], vec![]);
        picture.head_width = self.cpu_width;
        picture.face.hint = Some(hints.join(", "));
        picture
    }

    fn kind(&self, cpu: u32) -> Option<(usize, &'a CpuKind)> {
        let mut kinds = self.topology.kinds().iter().enumerate();
        kinds.find(|(_, kind)| kind.cpus.contains(cpu)).filter(|_| self.topology.kinds().len() > 1)
    }

    /// A box that looks like each look that CPUs have in this picture.
    fn legend(&self) -> Picture {
        let topology = self.topology;
        let kinds = topology.kinds().iter().enumerate();
        let mut looks: Vec<(String, String)> = kinds
            .map(|(index, kind)| {
                (format!("cpu{}", KINDS[index % KINDS.len()]), words::kind_name(index, kind))
            })
            .collect();
        if looks.len() < 2 {
            looks = vec![("cpu".to_owned(), "logical CPU".to_owned())];
        }
        let forbidden = topology.online().difference(topology.allowed());
        for (set, class, name) in [
            (&forbidden, "cpu excluded", "not allowed"),
            (topology.isolated(), "cpu isolated", "isolated"),
            (topology.offline(), "cpu offline", "offline"),
        ] {
            if !set.is_empty() {
                looks.push((class.to_owned(), name.to_owned()));
            }
        }
        let look = |(class, name)| block(class, vec![line("", name)], vec![]);
        let mut legend = block(String::new(), vec![], looks.into_iter().map(look).collect());
        legend.flow = Flow::Row;
        legend
    }
}

/// The classes of the kinds of CPU; a fifth kind looks like the first.
const KINDS: [&str; 4] = [" kind0", " kind1", " kind2", " kind3"];

/// A frame with the names of some parts: those with a bar below those without.
fn framed(class: &str, parts: &[Part<'_>], children: Vec<Picture>) -> Picture {
    let mut lines: Vec<Line> = parts.iter().map(|&part| line(bar(part), words::short(part))).collect();
    lines.sort_by_key(|line| !line.class.is_empty());
    block(class.to_owned(), lines, children)
}

/// The class of the bar that names a part; none for parts that are a frame.
fn bar(part: Part<'_>) -> &'static str {
    match part {
        Part::NumaNode(_) => "memory",
        Part::Cache(cache) => match cache.level {
            0 | 1 => "l1",
            2 => "l2",
            _ => "l3",
        },
        _ => "",
    }
}

fn line(class: &'static str, text: String) -> Line {
    Line { text, class }
}

/// A box that is as large as its lines need.
fn block(class: String, lines: Vec<Line>, children: Vec<Picture>) -> Picture {
    let width = lines.iter().map(|line| text_width(&line.text)).max().unwrap_or(0);
    let head = (width, LINE * lines.len() as u32);
    Block::new(Face { class, lines, hint: None }, head, children)
}

/// Some lines of text, broken where they are long.
fn text(class: &'static str, lines: &[String]) -> Picture {
    let pieces = lines.iter().flat_map(|text| broken(&words::plain(text)));
    block(String::new(), pieces.map(|text| line(class, text)).collect(), vec![])
}

fn broken(text: &str) -> Vec<String> {
    let (mut lines, mut current) = (Vec::new(), String::new());
    for piece in text.split_inclusive([' ', ',']) {
        if !current.is_empty() && current.chars().count() + piece.chars().count() > TITLE_CHARS {
            lines.push(std::mem::take(&mut current));
        }
        current.push_str(piece);
    }
    lines.push(current);
    lines
}
