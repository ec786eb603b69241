//! What the rules need of a `Cargo.toml`, with the lines it stands on.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Finding;

/// The sections that make one package import another; each may also stand under `[target.…]`.
const DEPENDENCY_SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// One parsed `Cargo.toml`.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) path: String,
    /// `None` for a virtual manifest.
    pub(super) package: Option<String>,
    /// `version` under `[workspace.package]`, which only the root manifest has.
    pub(super) workspace_version: Option<String>,
    /// The packages behind the keys of `[workspace.dependencies]`.
    pub(super) workspace_dependencies: BTreeMap<String, String>,
    /// From all sections, in the order of the file.
    pub(super) dependencies: Vec<Dependency>,
}

/// One line of a dependency section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The package's own name, unless it is renamed in `[workspace.dependencies]`.
    pub(super) name: String,
    pub(super) line: usize,
}

impl Manifest {
    /// Reads `text`, the content of the manifest at `path`.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Finding> {
        let parsed = DeTable::parse(text).map_err(|error| Finding {
            path: path.to_string(),
            line: line_of(text, &error.span().unwrap_or(0..0)),
            problem: format!("not valid TOML: {}", error.message().replace('\n', ", ")),
            remedy: "correct the manifest".to_string(),
        })?;
        let root = parsed.get_ref();
        let workspace = subtable(root, "workspace");
        let mut manifest = Self {
            path: path.to_string(),
            package: subtable(root, "package").and_then(|package| text_of(package, "name")),
            workspace_version: workspace
                .and_then(|workspace| subtable(workspace, "package"))
                .and_then(|package| text_of(package, "version")),
            workspace_dependencies: BTreeMap::new(),
            dependencies: Vec::new(),
        };
        if let Some(shared) = workspace.and_then(|workspace| subtable(workspace, "dependencies")) {
            for (key, value) in shared {
                let names = (key.get_ref().to_string(), package_behind(key, value));
                manifest.workspace_dependencies.insert(names.0, names.1);
            }
        }
        manifest.collect_dependencies(text, root);
        for (_, target) in subtable(root, "target").into_iter().flatten() {
            if let DeValue::Table(target) = target.get_ref() {
                manifest.collect_dependencies(text, target);
            }
        }
        manifest.dependencies.sort_by_key(|dependency| dependency.line);
        Ok(manifest)
    }

    /// Adds what the dependency sections directly below `table` list.
    fn collect_dependencies(&mut self, text: &str, table: &DeTable<'_>) {
        for section in DEPENDENCY_SECTIONS {
            for (key, value) in subtable(table, section).into_iter().flatten() {
                self.dependencies
                    .push(Dependency { name: package_behind(key, value), line: line_of(text, &key.span()) });
            }
        }
    }
}

/// The package that a dependency's line stands for: `package = "…"` where given, else its key.
fn package_behind(key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> String {
    let renamed = match value.get_ref() {
        DeValue::Table(details) => text_of(details, "package"),
        _ => None,
    };
    renamed.unwrap_or_else(|| key.get_ref().to_string())
}

fn subtable<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
    match table.get(name)?.get_ref() {
        DeValue::Table(below) => Some(below),
        _ => None,
    }
}

fn text_of(table: &DeTable<'_>, name: &str) -> Option<String> {
    match table.get(name)?.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The line, counted from 1, on which the bytes `span` of `text` begin.
fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Manifest {
        Manifest::parse("Cargo.toml", text).unwrap()
    }

    #[test]
    fn all_sections_are_read_with_their_lines() {
        let manifest = parse(
            "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
             [dev-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.build-dependencies]\nd = \"1\"\n",
        );
        let found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|dependency| (dependency.name.as_str(), dependency.line))
            .collect();
        assert_eq!(manifest.package.as_deref(), Some("a"));
        assert_eq!(found, [("b", 4), ("c", 6), ("d", 8)]);
    }

    #[test]
    fn a_renamed_dependency_keeps_its_package_name() {
        let manifest = parse("[dependencies]\nshort = { path = \"x\", package = \"long\" }\n");
        assert_eq!(manifest.dependencies[0].name, "long");
        let manifest = parse("[dependencies.short]\npath = \"x\"\npackage = \"long\"\n");
        assert_eq!(manifest.dependencies[0].name, "long");
    }

    #[test]
    fn the_root_gives_version_and_shared_names() {
        let manifest = parse(
            "[workspace.package]\nversion = \"1.2.3\"\n[workspace.dependencies]\n\
             p = { path = \"p\", package = \"tailcore-pmu\" }\nq = \"1\"\n",
        );
        assert_eq!(manifest.package, None);
        assert_eq!(manifest.workspace_version.as_deref(), Some("1.2.3"));
        assert_eq!(manifest.workspace_dependencies["p"], "tailcore-pmu");
        assert_eq!(manifest.workspace_dependencies["q"], "q");
    }

    #[test]
    fn broken_toml_is_a_finding_at_its_line() {
        let finding = Manifest::parse("a/Cargo.toml", "[package]\nname = \n").unwrap_err();
        assert_eq!((finding.path.as_str(), finding.line), ("a/Cargo.toml", 2));
    }
}
