//! The formulas of metrics: `instructions / cycles`, parsed once, computed for each interval.
//!
//! A formula is numbers, names, `+ - * /` and parentheses; `*` and `/` bind tighter, equals go from left to
//! right. A name is plain (letters, digits, `_ . - :`) or stands between backticks, which is needed for an
//! event with a slash: `` `cpu/event=0xa2,umask=0x08/` ``. Because event names have hyphens, a minus sign
//! needs blanks around it.
//!
//! What is parsed is kept as steps for a stack, so that neither parsing, nor computing, nor dropping a
//! formula of any length or depth recurses.

/// A formula, ready to be computed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    steps: Vec<Step>,
    /// Each name once, in the order of appearance.
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Number(f64),
    /// An index into `names`.
    Name(usize),
    Apply(Operator),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// Why a text is no formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaFault {
    /// Two operators in a row, an operator at an end, or nothing at all.
    #[error("a number, a name or `(` is missing")]
    NoOperand,
    /// Two operands in a row.
    #[error("an operator (+ - * /) is missing")]
    NoOperator,
    /// `)` without `(`.
    #[error("this `)` has no `(`")]
    Unopened,
    /// `(` without `)`.
    #[error("this `(` has no `)`")]
    Unclosed,
    /// It starts with a digit and is no number.
    #[error("{0:?} is no number: write 1000, 0.5 or 1e6")]
    Number(String),
    /// A backtick without a second one, or with nothing between the two.
    #[error("a name stands between two backticks")]
    Backtick,
    /// A character that no formula has.
    #[error("{0:?} has no meaning in a formula: use + - * / ( ), numbers and names of events")]
    Character(char),
}

/// A fault and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Counted in characters from 1; one past the end where something is missing at the end.
    pub(crate) column: usize,
    pub(crate) fault: FormulaFault,
}

/// Why a formula has no value although all its names have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoValue {
    DivisionByZero,
    /// Larger than a double can hold.
    OutOfRange,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Operator(Operator),
    Open,
    Close,
}

/// What waits for its right-hand side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Operator(Operator),
    /// With its column.
    Open(usize),
}

impl Formula {
    pub(crate) fn parse(text: &str) -> Result<Formula, Misfit> {
        let mut tokens = Tokens::of(text);
        let mut builder = Builder::default();
        let mut operand_next = true;
        while let Some((column, token)) = tokens.next()? {
            let taken = if operand_next { builder.operand(column, token) } else { builder.operator(token) };
            operand_next = taken.map_err(|fault| Misfit { column, fault })?;
        }
        if operand_next {
            return Err(Misfit { column: tokens.column, fault: FormulaFault::NoOperand });
        }
        builder.finish()
    }

    /// Each name once, in the order of appearance.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The value, given one finite value per name.
    pub(crate) fn compute(&self, values: &[f64]) -> Result<f64, NoValue> {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let result = match *step {
                Step::Number(number) => number,
                Step::Name(index) => *values.get(index).ok_or(NoValue::OutOfRange)?,
                Step::Apply(operator) => match (stack.pop(), stack.pop()) {
                    (Some(right), Some(left)) => operator.apply(left, right)?,
                    // Never: the builder puts an operator after its two operands.
                    _ => return Err(NoValue::OutOfRange),
                },
            };
            stack.push(result);
        }
        stack.pop().ok_or(NoValue::OutOfRange)
    }
}

impl Operator {
    fn binds_tightly(self) -> bool {
        matches!(self, Operator::Times | Operator::Over)
    }

    fn apply(self, left: f64, right: f64) -> Result<f64, NoValue> {
        let result = match self {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Over if right == 0.0 => return Err(NoValue::DivisionByZero),
            Operator::Over => left / right,
        };
        // At once: 1 / (something too large) would come back as a credible 0.
        if result.is_finite() { Ok(result) } else { Err(NoValue::OutOfRange) }
    }
}

/// Dijkstra's shunting yard: operators wait in `pending` until one that binds no tighter comes along.
#[derive(Debug, Default)]
struct Builder {
    steps: Vec<Step>,
    names: Vec<String>,
    pending: Vec<Pending>,
}

impl Builder {
    /// Takes a token where an operand is due; tells whether one is still due.
    fn operand(&mut self, column: usize, token: Token) -> Result<bool, FormulaFault> {
        match token {
            Token::Number(number) => self.steps.push(Step::Number(number)),
            Token::Name(name) => {
                let known = self.names.iter().position(|known| *known == name);
                let index = known.unwrap_or_else(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
                self.steps.push(Step::Name(index));
            }
            Token::Open => {
                self.pending.push(Pending::Open(column));
                return Ok(true);
            }
            Token::Operator(_) | Token::Close => return Err(FormulaFault::NoOperand),
        }
        Ok(false)
    }

    /// Takes a token where an operator is due; tells whether an operand is due next.
    fn operator(&mut self, token: Token) -> Result<bool, FormulaFault> {
        match token {
            Token::Operator(operator) => {
                while let Some(Pending::Operator(before)) = self.pending.last().copied() {
                    if operator.binds_tightly() && !before.binds_tightly() {
                        break;
                    }
                    self.pending.pop();
                    self.steps.push(Step::Apply(before));
                }
                self.pending.push(Pending::Operator(operator));
                Ok(true)
            }
            Token::Close => loop {
                match self.pending.pop() {
                    Some(Pending::Operator(operator)) => self.steps.push(Step::Apply(operator)),
                    Some(Pending::Open(_)) => return Ok(false),
                    None => return Err(FormulaFault::Unopened),
                }
            },
            Token::Number(_) | Token::Name(_) | Token::Open => Err(FormulaFault::NoOperator),
        }
    }

    fn finish(mut self) -> Result<Formula, Misfit> {
        while let Some(pending) = self.pending.pop() {
            match pending {
                Pending::Operator(operator) => self.steps.push(Step::Apply(operator)),
                Pending::Open(column) => return Err(Misfit { column, fault: FormulaFault::Unclosed }),
            }
        }
        Ok(Formula { steps: self.steps, names: self.names })
    }
}

/// The tokens of a text, one by one, each with its column.
struct Tokens<'a> {
    rest: &'a str,
    column: usize,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text, column: 1 }
    }

    fn next(&mut self) -> Result<Option<(usize, Token)>, Misfit> {
        let blanks = self.rest.len() - self.rest.trim_start().len();
        self.take(blanks);
        let column = self.column;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let token = match first {
            '+' => self.sign(Token::Operator(Operator::Plus)),
            '-' => self.sign(Token::Operator(Operator::Minus)),
            '*' => self.sign(Token::Operator(Operator::Times)),
            '/' => self.sign(Token::Operator(Operator::Over)),
            '(' => self.sign(Token::Open),
            ')' => self.sign(Token::Close),
            '`' => self.quoted(),
            digit if digit.is_ascii_digit() => self.number(),
            letter if letter.is_ascii_alphabetic() || letter == '_' => Ok(self.plain()),
            other => Err(FormulaFault::Character(other)),
        };
        token.map(|token| Some((column, token))).map_err(|fault| Misfit { column, fault })
    }

    /// Moves past the first `bytes` bytes and returns them; they must end between two characters.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }

    /// A token of one ASCII character.
    fn sign(&mut self, token: Token) -> Result<Token, FormulaFault> {
        self.take(1);
        Ok(token)
    }

    fn plain(&mut self) -> Token {
        let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | ':');
        let end = self.rest.find(|c| !of_name(c)).unwrap_or(self.rest.len());
        Token::Name(self.take(end).to_owned())
    }

    fn quoted(&mut self) -> Result<Token, FormulaFault> {
        match self.rest[1..].split_once('`') {
            Some((name, _)) if !name.trim().is_empty() => {
                self.take(name.len() + 2);
                Ok(Token::Name(name.trim().to_owned()))
            }
            _ => Err(FormulaFault::Backtick),
        }
    }

    fn number(&mut self) -> Result<Token, FormulaFault> {
        let mut before = ' ';
        let end = self.rest.find(|c: char| {
            let sign_of_exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            before = c;
            !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign_of_exponent)
        });
        let digits = self.take(end.unwrap_or(self.rest.len()));
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Token::Number(number)),
            _ => Err(FormulaFault::Number(digits.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str, values: &[f64]) -> f64 {
        Formula::parse(text).unwrap().compute(values).unwrap()
    }

    #[test]
    fn values_by_hand() {
        let cases = [
            ("7", 7.0),
            (" 1.5e3 ", 1500.0),
            ("1e-3*1000", 1.0),
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 3 - 2", 5.0),
            ("16 / 4 / 2", 2.0),
            ("16 / (4 / 2)", 8.0),
            ("2 * 3 + 4 / 8 - 1", 5.5),
            ("((((5))))", 5.0),
            ("3-1", 2.0),
            ("0 - 2 * 3", -6.0),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text, &[]), expected, "{text}");
        }
    }

    #[test]
    fn names_are_plain_or_quoted_and_listed_once() {
        let text = "cpu-cycles/`cpu/event=0xa2,umask=8/`+sched:sched_switch - cpu-cycles";
        let formula = Formula::parse(text).unwrap();
        assert_eq!(formula.names(), ["cpu-cycles", "cpu/event=0xa2,umask=8/", "sched:sched_switch"]);
        assert_eq!(formula.compute(&[8.0, 2.0, 1.0]), Ok(-3.0));
        // Without blanks the hyphen belongs to the name.
        assert_eq!(Formula::parse("any-rob").unwrap().names(), ["any-rob"]);
    }

    #[test]
    fn faults_name_their_column() {
        let cases = [
            ("", 1, FormulaFault::NoOperand),
            ("  ", 3, FormulaFault::NoOperand),
            ("1 +", 4, FormulaFault::NoOperand),
            ("1 + * 2", 5, FormulaFault::NoOperand),
            ("-1", 1, FormulaFault::NoOperand),
            ("()", 2, FormulaFault::NoOperand),
            ("1 2", 3, FormulaFault::NoOperator),
            ("a `b`", 3, FormulaFault::NoOperator),
            ("2 (3)", 3, FormulaFault::NoOperator),
            ("1)", 2, FormulaFault::Unopened),
            ("1 * (2", 5, FormulaFault::Unclosed),
            ("1 + 3200MHz", 5, FormulaFault::Number("3200MHz".to_owned())),
            ("1.2.3", 1, FormulaFault::Number("1.2.3".to_owned())),
            ("1e999", 1, FormulaFault::Number("1e999".to_owned())),
            ("`cycles", 1, FormulaFault::Backtick),
            ("1 / ``", 5, FormulaFault::Backtick),
            ("é % 2", 1, FormulaFault::Character('é')),
            ("é", 1, FormulaFault::Character('é')),
            ("a\u{a0}% 2", 3, FormulaFault::Character('%')),
        ];
        for (text, column, fault) in cases {
            assert_eq!(Formula::parse(text), Err(Misfit { column, fault }), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_not_a_number() {
        let compute = |text: &str, values: &[f64]| Formula::parse(text).unwrap().compute(values);
        assert_eq!(compute("1 / (2 - 2)", &[]), Err(NoValue::DivisionByZero));
        assert_eq!(compute("a / b", &[0.0, 0.0]), Err(NoValue::DivisionByZero));
        assert_eq!(compute("1e308 * 10", &[]), Err(NoValue::OutOfRange));
        assert_eq!(compute("1 / (1e308 * 10)", &[]), Err(NoValue::OutOfRange));
        assert_eq!(compute("a + b", &[1.0]), Err(NoValue::OutOfRange));
    }

    #[test]
    fn length_and_depth_do_not_overflow_the_stack() {
        let long = format!("1{}", " + 1".repeat(200_000));
        assert_eq!(value(&long, &[]), 200_001.0);
        let deep = format!("{}1{}", "(".repeat(200_000), ")".repeat(200_000));
        assert_eq!(value(&deep, &[]), 1.0);
    }

    /// A formula as a tree, computed the plain way: the other opinion.
    #[derive(Debug, Clone)]
    enum Tree {
        Leaf(u8),
        Node(Box<Tree>, Operator, Box<Tree>),
    }

    impl Tree {
        /// With parentheses only where the rules of precedence need them.
        fn text(&self) -> String {
            let Tree::Node(left, operator, right) = self else {
                let Tree::Leaf(name) = self else { unreachable!() };
                return format!("n{name}");
            };
            let sign = match operator {
                Operator::Plus => " + ",
                Operator::Minus => " - ",
                Operator::Times => "*",
                Operator::Over => " /",
            };
            let part = |tree: &Tree, wrapped: bool| {
                if wrapped { format!("({})", tree.text()) } else { tree.text() }
            };
            let wrap_left = left.operator().is_some_and(|o| operator.binds_tightly() && !o.binds_tightly());
            let wrap_right = right.operator().is_some_and(|o| operator.binds_tightly() || !o.binds_tightly());
            format!("{}{sign}{}", part(left, wrap_left), part(right, wrap_right))
        }

        fn operator(&self) -> Option<Operator> {
            match self {
                Tree::Leaf(_) => None,
                Tree::Node(_, operator, _) => Some(*operator),
            }
        }

        fn value(&self) -> Result<f64, NoValue> {
            match self {
                Tree::Leaf(name) => Ok(value_of_leaf(*name)),
                Tree::Node(left, operator, right) => operator.apply(left.value()?, right.value()?),
            }
        }
    }

    fn value_of_leaf(name: u8) -> f64 {
        f64::from(name) - 2.0
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let operators = vec![Operator::Plus, Operator::Minus, Operator::Times, Operator::Over];
        let operator = prop::sample::select(operators);
        (0..5_u8).prop_map(Tree::Leaf).prop_recursive(6, 40, 2, move |inner| {
            (inner.clone(), operator.clone(), inner)
                .prop_map(|(left, operator, right)| Tree::Node(Box::new(left), operator, Box::new(right)))
        })
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC*", number in any::<f64>()) {
            if let Ok(formula) = Formula::parse(&text) {
                let _ = formula.compute(&vec![number; formula.names().len()]);
            }
        }

        #[test]
        fn any_soup_of_tokens_is_parsed_or_refused(text in "([0-9.e]|[abé]|[-+*/() `]){0,40}") {
            match Formula::parse(&text) {
                Ok(formula) => {
                    let value = formula.compute(&vec![3.0; formula.names().len()]);
                    prop_assert!(value.is_err() || value.is_ok_and(f64::is_finite));
                }
                Err(misfit) => {
                    let end = text.chars().count() + 1;
                    prop_assert!((1..=end).contains(&misfit.column), "{text:?} {misfit:?}");
                }
            }
        }

        #[test]
        fn precedence_is_that_of_a_tree(tree in tree()) {
            let formula = Formula::parse(&tree.text()).unwrap();
            let values: Vec<f64> =
                formula.names().iter().map(|name| value_of_leaf(name[1..].parse().unwrap())).collect();
            prop_assert_eq!(formula.compute(&values), tree.value(), "{}", tree.text());
        }
    }
}
