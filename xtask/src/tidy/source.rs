//! Rules about the text of one file: its length, its header, unsafe code, paths that leave the project.

use super::lexer::{code_only, is_word};
use super::{Finding, SourceFile};

/// A longer file is refused. Wanted are 400 lines at most.
const FILE_LINES_MAX: usize = 600;

/// A folder beside the project, of which its text must not depend. In two parts, or this very line
/// would be a finding.
const OUTSIDE_FOLDER: &str = concat!("../", "shared");

/// Attributes that would let a lint's finding pass.
const LOOSENING_ATTRIBUTES: [&str; 3] = ["allow", "expect", "warn"];

/// Applies all rules for a `*.rs` file.
pub(super) fn check_rust(file: &SourceFile, findings: &mut Vec<Finding>) {
    let code = code_only(&file.text);
    check_length(file, findings);
    check_header(file, findings);
    if !may_hold_unsafe(&file.path) {
        check_unsafe(file, &code, findings);
    }
    if !is_test_path(&file.path) {
        check_outside(file, &test_lines(&code), findings);
    }
}

/// Applies the rule for a `*.md` file.
pub(super) fn check_markdown(file: &SourceFile, findings: &mut Vec<Finding>) {
    if !is_test_path(&file.path) {
        check_outside(file, &[], findings);
    }
}

fn finding(file: &SourceFile, line: usize, problem: &str, remedy: &str) -> Finding {
    Finding { path: file.path.clone(), line, problem: problem.to_string(), remedy: remedy.to_string() }
}

fn check_length(file: &SourceFile, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        let problem = format!("{lines} lines, {FILE_LINES_MAX} are the limit");
        let remedy = "split it by idea, one file each";
        findings.push(finding(file, FILE_LINES_MAX + 1, &problem, remedy));
    }
}

fn check_header(file: &SourceFile, findings: &mut Vec<Finding>) {
    if !file.text.starts_with("//!") {
        let remedy = "open the file with what it is for";
        findings.push(finding(file, 1, "no `//!` header", remedy));
    }
}

/// Whether the file is named `sys.rs` or lies below a folder `sys`.
fn may_hold_unsafe(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "sys.rs" || folders.split('/').any(|folder| folder == "sys")
}

fn check_unsafe(file: &SourceFile, code: &str, findings: &mut Vec<Finding>) {
    let remedy = "move it behind a safe function in a `sys.rs`";
    for position in word_positions(code, "unsafe") {
        let line = line_at(code, position);
        findings.push(finding(file, line, "`unsafe` outside `sys.rs`", remedy));
    }
    for position in word_positions(code, "unsafe_code") {
        let Some(attribute) = enclosing_call(&code[..position]) else {
            continue;
        };
        if LOOSENING_ATTRIBUTES.contains(&attribute) {
            let problem = format!("`{attribute}(unsafe_code)` outside `sys.rs`");
            findings.push(finding(file, line_at(code, position), &problem, remedy));
        }
    }
}

/// The places in `code` where `word` stands by itself.
fn word_positions(code: &str, word: &str) -> Vec<usize> {
    code.match_indices(word)
        .map(|(position, _)| position)
        .filter(|&position| {
            let before = code[..position].chars().next_back();
            let after = code[position + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .collect()
}

/// The word before the parenthesis that is still open at the end of `code`.
fn enclosing_call(code: &str) -> Option<&str> {
    let mut closed = 0_usize;
    let open = code.char_indices().rev().find(|&(_, character)| {
        match character {
            ')' => closed += 1,
            '(' if closed == 0 => return true,
            '(' => closed -= 1,
            _ => {}
        }
        false
    })?;
    code[..open.0].trim_end().rsplit(|character| !is_word(character)).next()
}

fn line_at(text: &str, position: usize) -> usize {
    1 + text[..position].matches('\n').count()
}

/// Whether the path names test code as a whole.
fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// For each line of `code`, whether it belongs to an item under `#[cfg(test)]`.
fn test_lines(code: &str) -> Vec<bool> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut lines = vec![false; code.lines().count()];
    for (begin, _) in code.match_indices(ATTRIBUTE) {
        let after = begin + ATTRIBUTE.len();
        let end = after + item_length(&code[after..]);
        let covered = line_at(code, begin) - 1..line_at(code, end);
        if let Some(covered) = lines.get_mut(covered) {
            covered.fill(true);
        }
    }
    lines
}

/// The length of the item at the start of `code`: to its `;`, or to the brace that closes its body.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (position, character) in code.char_indices() {
        match character {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && character == '}' {
                    return position;
                }
            }
            ';' if depth == 0 => return position,
            _ => {}
        }
    }
    code.len()
}

/// Finds each line that names the outside folder and is not marked in `exempt`.
fn check_outside(file: &SourceFile, exempt: &[bool], findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let is_exempt = exempt.get(index).copied().unwrap_or(false);
        if line.contains(OUTSIDE_FOLDER) && !is_exempt {
            let problem = format!("names `{OUTSIDE_FOLDER}`, which is outside the project");
            let remedy = "bring what is needed into the project, or name its public source";
            findings.push(finding(file, index + 1, &problem, remedy));
        }
    }
}

#[cfg(test)]
mod tests;
