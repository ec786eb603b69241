//! Each rule of a single file, with a text that keeps it and one that breaks it.

use super::*;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_string(), text: text.to_string() }
}

/// Line and problem of each finding in a Rust file.
fn rust(path: &str, text: &str) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    check_rust(&file(path, text), &mut findings);
    findings.into_iter().map(|finding| (finding.line, finding.problem)).collect()
}

fn lines_of(found: &[(usize, String)]) -> Vec<usize> {
    found.iter().map(|(line, _)| *line).collect()
}

#[test]
fn a_file_may_have_600_lines_and_no_more() {
    let longest = format!("//! Long.\n{}", "fn f() {}\n".repeat(599));
    assert_eq!(rust("a.rs", &longest), []);
    let found = rust("a.rs", &format!("{longest}fn f() {{}}\n"));
    assert_eq!(found, [(601, "601 lines, 600 are the limit".to_string())]);
}

#[test]
fn a_file_opens_with_its_header() {
    assert_eq!(rust("a.rs", "//! Reads.\n"), []);
    for text in ["", "// Reads.\n", "use std::io;\n//! Reads.\n", "\n//! Reads.\n"] {
        assert_eq!(rust("a.rs", text), [(1, "no `//!` header".to_string())]);
    }
}

#[test]
fn unsafe_code_stays_in_sys() {
    let text = "//! Calls.\nfn f() {\n    unsafe { g() }\n}\n";
    let found = rust("crates/pmu/src/group.rs", text);
    assert_eq!(found, [(3, "`unsafe` outside `sys.rs`".to_string())]);
    assert_eq!(rust("crates/pmu/src/sys.rs", text), []);
    assert_eq!(rust("crates/pmu/src/sys/ring.rs", text), []);
    assert_eq!(rust("sys.rs", text), []);
    for path in ["src/system.rs", "src/my_sys.rs", "src/subsys/a.rs", "src/sys.rs/a.rs"] {
        assert_eq!(lines_of(&rust(path, text)), [3], "{path}");
    }
}

#[test]
fn the_word_unsafe_in_prose_and_names_is_no_code() {
    let text = "//! unsafe\n#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]\n// unsafe\n\
                fn is_unsafe() -> &'static str { \"unsafe\" }\n";
    assert_eq!(rust("a.rs", text), []);
}

#[test]
fn the_lint_is_loosened_in_sys_only() {
    let text = "//! Calls.\n#![allow(unsafe_code)]\n";
    let found = rust("a.rs", text);
    assert_eq!(found, [(2, "`allow(unsafe_code)` outside `sys.rs`".to_string())]);
    assert_eq!(rust("sys.rs", text), []);
    for attribute in [
        "#[expect(unsafe_code, reason = \"x\")]",
        "#[allow(dead_code, unsafe_code)]",
        "#[cfg_attr(all(unix), warn(unsafe_code))]",
    ] {
        let text = format!("//! Calls.\n{attribute}\nfn f() {{}}\n");
        assert_eq!(lines_of(&rust("a.rs", &text)), [2], "{attribute}");
    }
    let over_lines = "//! Calls.\n#![allow(\n    dead_code,\n    unsafe_code\n)]\n";
    assert_eq!(lines_of(&rust("a.rs", over_lines)), [4]);
}

#[test]
fn a_path_out_of_the_project_is_refused() {
    let text = "//! Reads.\nconst A: &str = \"../shared/a\";\n";
    assert_eq!(lines_of(&rust("src/a.rs", text)), [2]);
    assert_eq!(rust("tests/it/a.rs", text), []);
    assert_eq!(rust("crates/pmu/src/group/tests.rs", text), []);
}

#[test]
fn test_modules_may_name_outside_paths_and_the_code_around_them_may_not() {
    let text = "//! Reads.\n#[cfg(test)]\nmod tests {\n    fn f() {\n        g(\"../shared\")\n    }\n}\n\
                const A: &str = \"../shared\";\n";
    assert_eq!(lines_of(&rust("src/a.rs", text)), [8]);
    let text = "//! Reads.\n#[cfg(test)]\nmod tests;\nconst A: &str = \"../shared\";\n";
    assert_eq!(lines_of(&rust("src/a.rs", text)), [4]);
}

#[test]
fn documents_may_not_name_outside_paths_either() {
    let mut findings = Vec::new();
    let text = "# Title\n\nSee `../shared/facts`.\n";
    check_markdown(&file("docs/a.md", text), &mut findings);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].line, 3);
    findings.clear();
    check_markdown(&file("docs/a.md", "See `architecture.md`.\n"), &mut findings);
    assert_eq!(findings, []);
}
