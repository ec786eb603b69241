//! The changelog names the version that the workspace carries.

use super::Finding;
use super::manifest::Manifest;

/// Where the changelog lies.
pub(super) const PATH: &str = "CHANGELOG.md";

/// The finding, if `text` (`None`: there is no changelog) lacks a heading for the workspace's version.
///
/// A section of unreleased changes does not stand in for it.
pub(super) fn check(text: Option<&str>, manifests: &[Manifest]) -> Option<Finding> {
    let version = manifests.iter().find_map(|manifest| manifest.workspace_version.as_deref());
    let Some(version) = version else {
        return Some(Finding {
            path: "Cargo.toml".to_string(),
            line: 1,
            problem: "no `version` under [workspace.package]".to_string(),
            remedy: "give the workspace one version that all packages inherit".to_string(),
        });
    };
    let heading = format!("## [{version}]");
    if text.is_some_and(|text| text.lines().any(|line| line.starts_with(&heading))) {
        return None;
    }
    Some(Finding {
        path: PATH.to_string(),
        line: 1,
        problem: format!("no heading `{heading}` for the workspace's version"),
        remedy: "add the section with its date and what changed".to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(version: &str) -> Vec<Manifest> {
        let text = format!("[workspace.package]\nversion = \"{version}\"\n");
        vec![Manifest::parse("Cargo.toml", &text).unwrap()]
    }

    #[test]
    fn the_current_version_has_its_heading() {
        let text = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-20\n";
        assert_eq!(check(Some(text), &root("0.1.0")), None);
    }

    #[test]
    fn unreleased_alone_does_not_name_the_version() {
        let text = "## [Unreleased]\n\nText about 0.2.0.\n\n## [0.2.0-rc.1]\n";
        let finding = check(Some(text), &root("0.2.0")).unwrap();
        assert!(finding.problem.contains("`## [0.2.0]`"), "{finding}");
    }

    #[test]
    fn a_missing_changelog_and_a_missing_version_are_findings() {
        assert_eq!(check(None, &root("0.1.0")).unwrap().path, "CHANGELOG.md");
        assert_eq!(check(Some(""), &[]).unwrap().path, "Cargo.toml");
    }
}
