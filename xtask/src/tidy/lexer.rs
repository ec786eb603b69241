//! Separates the code of a Rust file from its comments and literals.
//!
//! Just enough of the language for line-based rules: comments (nested ones too), strings (raw, byte
//! and C strings too) and character literals become blanks; lines stay where they were.

/// `text` with each character inside a comment or a literal replaced by a blank.
pub(super) fn code_only(text: &str) -> String {
    let mut lexer =
        Lexer { characters: text.chars().collect(), position: 0, code: String::with_capacity(text.len()) };
    while let Some(character) = lexer.peek(0) {
        lexer.step(character);
    }
    lexer.code
}

/// Whether `character` may be part of an identifier or keyword.
pub(super) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

struct Lexer {
    characters: Vec<char>,
    /// Index of the first character not yet copied or blanked.
    position: usize,
    code: String,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    /// Consumes one comment, literal, word or other character; `first` is the next character.
    fn step(&mut self, first: char) {
        match (first, self.peek(1)) {
            ('/', Some('/')) => self.blank_line_comment(),
            ('/', Some('*')) => self.blank_block_comment(),
            ('"', _) => self.blank_quoted('"'),
            ('\'', _) if self.at_character_literal() => self.blank_quoted('\''),
            _ if is_word(first) => self.word(),
            _ => self.keep(),
        }
    }

    /// Copies a word, and blanks the raw string that it may introduce.
    fn word(&mut self) {
        let begin = self.position;
        while self.peek(0).is_some_and(is_word) {
            self.keep();
        }
        let word: String = self.characters[begin..self.position].iter().collect();
        if !matches!(word.as_str(), "r" | "br" | "cr") {
            return;
        }
        let mut hashes = 0;
        while self.peek(hashes) == Some('#') {
            hashes += 1;
        }
        // Without the quote it was a raw identifier.
        if self.peek(hashes) == Some('"') {
            self.blank_raw_string(hashes);
        }
    }

    /// Whether the quote here opens a character literal; otherwise it begins a lifetime.
    fn at_character_literal(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }

    fn blank_line_comment(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.blank(1);
        }
    }

    fn blank_block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(character) = self.peek(0) {
            match (character, self.peek(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.blank(2);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.blank(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.blank(1),
            }
        }
    }

    /// A string or character literal, whose escapes may hide its closing `quote`.
    fn blank_quoted(&mut self, quote: char) {
        self.blank(1);
        while let Some(character) = self.peek(0) {
            if character == '\\' {
                self.blank(2);
                continue;
            }
            self.blank(1);
            if character == quote {
                return;
            }
        }
    }

    fn blank_raw_string(&mut self, hashes: usize) {
        self.blank(hashes + 1);
        while let Some(character) = self.peek(0) {
            self.blank(1);
            let closes = (0..hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if character == '"' && closes {
                self.blank(hashes);
                return;
            }
        }
    }

    fn keep(&mut self) {
        if let Some(character) = self.peek(0) {
            self.code.push(character);
            self.position += 1;
        }
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            let Some(character) = self.peek(0) else {
                return;
            };
            self.code.push(if character == '\n' { '\n' } else { ' ' });
            self.position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that are left as code.
    fn words(text: &str) -> Vec<String> {
        code_only(text)
            .split(|character| !is_word(character))
            .filter(|word| !word.is_empty())
            .map(str::to_string)
            .collect()
    }

    #[test]
    fn comments_are_blanked() {
        assert_eq!(words("a // x\nb /* y /* z */ y */ c"), ["a", "b", "c"]);
        assert_eq!(words("/// x\n//! y\nd"), ["d"]);
    }

    #[test]
    fn strings_of_every_kind_are_blanked() {
        assert_eq!(words(r#"a("x \" y", b"z", c"w") e"#), ["a", "b", "c", "e"]);
        assert_eq!(words("a r\"x\\\" b"), ["a", "r", "b"]);
        assert_eq!(words("a br##\"x \"# y\"## b"), ["a", "br", "b"]);
        assert_eq!(words(r#""// x" a "/*" b"#), ["a", "b"]);
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(words(r"a '\'' b '\u{78}' c 'x' d"), ["a", "b", "c", "d"]);
        assert_eq!(words(r#"f('"') g('"') h"#), ["f", "g", "h"]);
        assert_eq!(words("fn f<'a>(x: &'a str)"), ["fn", "f", "a", "x", "a", "str"]);
    }

    #[test]
    fn raw_identifiers_are_code() {
        assert_eq!(words("r#type a"), ["r", "type", "a"]);
    }

    #[test]
    fn lines_stay_where_they_were() {
        let text = "a\n/* x\n x */ b\n\"y\n\\\ny\"\nc";
        let code = code_only(text);
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(code.lines().last(), Some("c"));
    }

    #[test]
    fn unclosed_comments_and_literals_end_with_the_file() {
        for text in ["/* x", "\"x", "r#\"x\"", "'\\", "\"\\"] {
            assert_eq!(code_only(text).len(), text.len(), "{text}");
        }
    }
}
