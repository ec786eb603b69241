//! Which package of the workspace may import which: always downwards.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::manifest::Manifest;

/// What a package may import of the workspace, for its tests and build scripts as well.
enum Reach {
    Only(&'static [&'static str]),
    /// For the packages at the top, which nothing imports.
    Everything,
}

/// The drawing of `docs/architecture.md` as a table. A package that is not in it is refused.
const ALLOWED: [(&str, Reach); 11] = [
    ("tailcore-topology", Reach::Only(&[])),
    ("tailcore-pmu", Reach::Only(&[])),
    ("tailcore-harness", Reach::Only(&["tailcore-pmu", "tailcore-topology"])),
    ("tailcore-loadgen", Reach::Only(&["tailcore-harness", "tailcore-topology"])),
    ("tailcore-study", Reach::Only(&["tailcore-harness", "tailcore-loadgen", "tailcore-topology"])),
    (
        "tailcore-cli",
        Reach::Only(&[
            "tailcore-harness",
            "tailcore-loadgen",
            "tailcore-pmu",
            "tailcore-study",
            "tailcore-topology",
        ]),
    ),
    ("tailcore-examples", Reach::Everything),
    ("tailcore-benches", Reach::Everything),
    ("tailcore-tests", Reach::Everything),
    ("tailcore-fuzz", Reach::Everything),
    ("xtask", Reach::Only(&[])),
];

/// Finds every import between packages of the workspace that the table does not allow.
pub(super) fn check(manifests: &[Manifest]) -> Vec<Finding> {
    let members: BTreeSet<&str> =
        manifests.iter().filter_map(|manifest| manifest.package.as_deref()).collect();
    let shared: BTreeMap<&str, &str> = manifests
        .iter()
        .flat_map(|manifest| &manifest.workspace_dependencies)
        .map(|(key, package)| (key.as_str(), package.as_str()))
        .collect();
    let mut findings = Vec::new();
    for manifest in manifests {
        let Some(package) = manifest.package.as_deref() else {
            continue;
        };
        let Some((_, reach)) = ALLOWED.iter().find(|(name, _)| *name == package) else {
            findings.push(Finding {
                path: manifest.path.clone(),
                line: 1,
                problem: format!("package `{package}` has no place in the table of crate edges"),
                remedy: "add it in xtask/src/tidy/edges.rs and in docs/architecture.md".to_string(),
            });
            continue;
        };
        let Reach::Only(allowed) = reach else {
            continue;
        };
        for dependency in &manifest.dependencies {
            let key = dependency.name.as_str();
            let name = shared.get(key).copied().unwrap_or(key);
            if members.contains(name) && !allowed.contains(&name) {
                findings.push(Finding {
                    path: manifest.path.clone(),
                    line: dependency.line,
                    problem: format!("`{package}` imports `{name}`, which is not an allowed edge"),
                    remedy: remedy(allowed),
                });
            }
        }
    }
    findings
}

fn remedy(allowed: &[&str]) -> String {
    if allowed.is_empty() {
        "remove it: this package imports none of the workspace".to_string()
    } else {
        format!("remove it: allowed are {}", allowed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace of all packages, where `package` has the lines `sections` in its manifest.
    fn findings(package: &str, sections: &str) -> Vec<Finding> {
        let shared = "[workspace.dependencies]\n\
                      h = { path = \"h\", package = \"tailcore-harness\" }\n";
        let mut manifests = vec![Manifest::parse("Cargo.toml", shared).unwrap()];
        for (name, _) in &ALLOWED {
            let own = if *name == package { sections } else { "" };
            let text = format!("[package]\nname = \"{name}\"\n{own}");
            manifests.push(Manifest::parse(&format!("{name}/Cargo.toml"), &text).unwrap());
        }
        check(&manifests)
    }

    #[test]
    fn downward_and_foreign_imports_are_allowed() {
        let sections = "[dependencies]\ntailcore-harness.workspace = true\nserde = \"1\"\n";
        assert_eq!(findings("tailcore-loadgen", sections), []);
    }

    #[test]
    fn an_upward_import_is_refused_at_its_line() {
        let sections = "[dependencies]\nserde = \"1\"\ntailcore-harness.workspace = true\n";
        let found = findings("tailcore-pmu", sections);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "tailcore-pmu/Cargo.toml");
        assert_eq!(found[0].line, 5);
        assert!(found[0].problem.contains("`tailcore-harness`"));
    }

    #[test]
    fn skipping_a_room_is_refused() {
        let sections = "[dependencies]\ntailcore-pmu.workspace = true\n";
        assert_eq!(findings("tailcore-loadgen", sections).len(), 1);
    }

    #[test]
    fn a_test_may_not_import_upwards_either() {
        let sections = "[dev-dependencies]\ntailcore-study.workspace = true\n";
        assert_eq!(findings("tailcore-harness", sections).len(), 1);
    }

    #[test]
    fn a_shared_rename_hides_nothing() {
        let sections = "[dependencies]\nh.workspace = true\n";
        assert_eq!(findings("tailcore-topology", sections).len(), 1);
    }

    #[test]
    fn the_top_packages_import_anything_and_are_imported_by_none() {
        let sections = "[dev-dependencies]\ntailcore-cli.workspace = true\n";
        assert_eq!(findings("tailcore-tests", sections), []);
        let sections = "[dev-dependencies]\ntailcore-tests.workspace = true\n";
        assert_eq!(findings("tailcore-cli", sections).len(), 1);
    }

    #[test]
    fn an_unknown_package_is_refused() {
        let text = "[package]\nname = \"tailcore-extra\"\n";
        let found = check(&[Manifest::parse("extra/Cargo.toml", text).unwrap()]);
        assert!(found[0].problem.contains("`tailcore-extra`"));
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        for (place, (name, reach)) in ALLOWED.iter().enumerate() {
            let Reach::Only(allowed) = reach else {
                continue;
            };
            let lower: Vec<_> = ALLOWED[..place].iter().map(|(name, _)| name).collect();
            for import in *allowed {
                assert!(lower.contains(&import), "{name} imports {import} from above");
            }
        }
    }
}
