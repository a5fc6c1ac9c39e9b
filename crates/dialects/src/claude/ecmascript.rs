//! Translates a JavaScript regular expression without flags to the syntax of `fancy-regex`.
//! Refuses the expressions that JavaScript refuses.

use std::iter::Peekable;
use std::str::Chars;

/// Why JavaScript refuses an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexSyntaxError {
    #[error("a group is not closed")]
    UnclosedGroup,
    #[error("a group is closed and not opened")]
    UnopenedGroup,
    #[error("`(?{0}` is not a JavaScript group")]
    UnknownGroup(String),
    #[error("the name of a group is not closed")]
    UnclosedName,
    #[error("`{0}` has nothing to repeat")]
    NothingToRepeat(String),
    #[error("a backslash at the end")]
    TrailingBackslash,
    #[error("a class is not closed")]
    UnclosedClass,
    #[error("the range {0}-{1} is out of order")]
    ReversedRange(char, char),
}

/// Translates an expression.
pub fn translate_regex(text: &str) -> Result<String, RegexSyntaxError> {
    let mut reader = RegexReader {
        rest: text.chars().peekable(),
        out: String::new(),
        depth: 0,
        last: LastAtom::Nothing,
    };
    while let Some(c) = reader.rest.next() {
        reader.read_char(c)?;
    }
    match reader.depth {
        0 => Ok(reader.out),
        _ => Err(RegexSyntaxError::UnclosedGroup),
    }
}

/// The element before the current character, for quantifiers.
#[derive(Clone, Copy, PartialEq)]
enum LastAtom {
    Nothing,
    Atom,
    /// A quantifier. One `?` after it makes it lazy.
    Repeated,
}

struct RegexReader<'t> {
    rest: Peekable<Chars<'t>>,
    out: String,
    depth: usize,
    last: LastAtom,
}

/// One member of a class: a character, or a set in the target syntax.
enum ClassMember {
    One(char),
    Many(&'static str),
}

impl RegexReader<'_> {
    fn read_char(&mut self, c: char) -> Result<(), RegexSyntaxError> {
        let last = match c {
            '\\' => self.read_escape()?,
            '[' => self.read_class()?,
            '(' => self.open_group()?,
            ')' => {
                self.depth = self.depth.checked_sub(1).ok_or(RegexSyntaxError::UnopenedGroup)?;
                self.out.push(')');
                LastAtom::Atom
            }
            '*' | '+' | '?' => self.write_quantifier(&c.to_string())?,
            '{' => match self.read_bounds() {
                Some(bounds) => self.write_quantifier(&bounds)?,
                None => self.write_literal('{'),
            },
            '^' | '$' | '|' => {
                self.out.push(c);
                LastAtom::Nothing
            }
            '.' => {
                self.out.push('.');
                LastAtom::Atom
            }
            c => self.write_literal(c),
        };
        self.last = last;
        Ok(())
    }

    fn write_literal(&mut self, c: char) -> LastAtom {
        match c {
            '&' | '~' | '-' => self.out.push(c),
            c => push_escaped(&mut self.out, c),
        }
        LastAtom::Atom
    }

    fn write_quantifier(&mut self, sign: &str) -> Result<LastAtom, RegexSyntaxError> {
        self.out.push_str(sign);
        match (self.last, sign) {
            (LastAtom::Atom, _) => Ok(LastAtom::Repeated),
            (LastAtom::Repeated, "?") => Ok(LastAtom::Nothing),
            _ => Err(RegexSyntaxError::NothingToRepeat(sign.to_owned())),
        }
    }

    /// Reads `{2}`, `{2,}` or `{2,3}`; `None` if the brace is literal text.
    fn read_bounds(&mut self) -> Option<String> {
        let ahead: String = self.rest.clone().take_while(|c| *c != '}').collect();
        let (from, to) = ahead.split_once(',').unwrap_or((&ahead, ""));
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let closed = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        if from.is_empty() || !number(from) || !number(to) || !closed {
            return None;
        }
        self.rest.by_ref().take(ahead.chars().count() + 1).for_each(drop);
        Some(format!("{{{ahead}}}"))
    }

    /// Reads the start of a group: capturing, named, non-capturing, or a lookaround.
    fn open_group(&mut self) -> Result<LastAtom, RegexSyntaxError> {
        self.depth += 1;
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(LastAtom::Nothing);
        }
        let ahead: String = self.rest.clone().take_while(|c| !matches!(c, ':' | ')')).collect();
        let flags = !ahead.is_empty() && ahead.chars().all(|c| "ims-".contains(c));
        let named = ahead.strip_prefix('<').and_then(|rest| rest.chars().next());
        let named = named.is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$' | '=' | '!'));
        let after = self.rest.clone().nth(ahead.len());
        match self.rest.peek() {
            Some(':' | '=' | '!') => {}
            Some('<') if named => {}
            Some(_) if flags && after == Some(':') => {}
            _ => return Err(RegexSyntaxError::UnknownGroup(ahead)),
        }

        self.out.push('?');
        let mut head = if flags { ahead.len() + 1 } else { 1 };
        if ahead.starts_with("<=") || ahead.starts_with("<!") {
            head = 2;
        } else if ahead.starts_with('<') {
            head = ahead.find('>').ok_or(RegexSyntaxError::UnclosedName)? + 1;
        }
        self.out.extend(self.rest.by_ref().take(head));
        Ok(LastAtom::Nothing)
    }

    fn read_escape(&mut self) -> Result<LastAtom, RegexSyntaxError> {
        match self.rest.peek().copied() {
            None => return Err(RegexSyntaxError::TrailingBackslash),
            Some(c @ ('b' | 'B')) => {
                self.rest.next();
                self.out.extend(['\\', c]);
                return Ok(LastAtom::Nothing);
            }
            // A back-reference.
            Some(c @ ('1'..='9' | 'k')) => {
                self.rest.next();
                self.out.extend(['\\', c]);
            }
            Some(_) => match self.read_member()? {
                ClassMember::One(c) => push_escaped(&mut self.out, c),
                ClassMember::Many(set) => {
                    self.out.push('[');
                    self.out.push_str(set);
                    self.out.push(']');
                }
            },
        }
        Ok(LastAtom::Atom)
    }

    /// Reads the rest of an escape, in a class or outside.
    fn read_member(&mut self) -> Result<ClassMember, RegexSyntaxError> {
        let c = self.rest.next().ok_or(RegexSyntaxError::TrailingBackslash)?;
        Ok(match c {
            'd' => ClassMember::Many("0-9"),
            'w' => ClassMember::Many("0-9A-Za-z_"),
            's' => ClassMember::Many(r"\s\x{feff}"),
            'D' => ClassMember::Many(r"\x00-/:-\x{10ffff}"),
            'W' => ClassMember::Many(r"\x00-/:-@\[-\^`\{-\x{10ffff}"),
            'S' => ClassMember::Many(r"\S"),
            't' => ClassMember::One('\t'),
            'n' => ClassMember::One('\n'),
            'r' => ClassMember::One('\r'),
            'v' => ClassMember::One('\u{b}'),
            'f' => ClassMember::One('\u{c}'),
            '0' => ClassMember::One('\0'),
            'x' => ClassMember::One(self.read_code_point(2).unwrap_or('x')),
            'u' => ClassMember::One(self.read_code_point(4).unwrap_or('u')),
            other => ClassMember::One(other),
        })
    }

    fn read_code_point(&mut self, digits: usize) -> Option<char> {
        let code: String = self.rest.clone().take(digits).collect();
        let hex = code.chars().count() == digits && code.bytes().all(|b| b.is_ascii_hexdigit());
        let found = char::from_u32(u32::from_str_radix(&code, 16).ok()?).filter(|_| hex)?;
        self.rest.by_ref().take(digits).for_each(drop);
        Some(found)
    }

    /// Reads a class. `[]` matches nothing, and `[^]` matches everything.
    fn read_class(&mut self) -> Result<LastAtom, RegexSyntaxError> {
        let excludes = self.rest.next_if_eq(&'^').is_some();
        let mut set = String::new();
        while let Some(first) = self.next_member()? {
            let mut ahead = self.rest.clone();
            let range = ahead.next() == Some('-') && !matches!(ahead.next(), None | Some(']'));
            if !range {
                push_member(&mut set, first);
                continue;
            }
            self.rest.next();
            let last = self.next_member()?.ok_or(RegexSyntaxError::UnclosedClass)?;
            match (first, last) {
                (ClassMember::One(a), ClassMember::One(b)) if a > b => {
                    return Err(RegexSyntaxError::ReversedRange(a, b));
                }
                (ClassMember::One(a), ClassMember::One(b)) => {
                    push_escaped(&mut set, a);
                    set.push('-');
                    push_escaped(&mut set, b);
                }
                (first, last) => [first, ClassMember::One('-'), last]
                    .into_iter()
                    .for_each(|member| push_member(&mut set, member)),
            }
        }

        let written = match (set.is_empty(), excludes) {
            (true, true) => r"[\s\S]".to_owned(),
            (true, false) => r"[^\s\S]".to_owned(),
            (false, true) => format!("[^{set}]"),
            (false, false) => format!("[{set}]"),
        };
        self.out.push_str(&written);
        Ok(LastAtom::Atom)
    }

    /// Reads the next member of a class; `None` at its end.
    fn next_member(&mut self) -> Result<Option<ClassMember>, RegexSyntaxError> {
        match self.rest.next().ok_or(RegexSyntaxError::UnclosedClass)? {
            ']' => Ok(None),
            '\\' if self.rest.next_if_eq(&'b').is_some() => Ok(Some(ClassMember::One('\u{8}'))),
            '\\' => self.read_member().map(Some),
            c => Ok(Some(ClassMember::One(c))),
        }
    }
}

fn push_member(set: &mut String, member: ClassMember) {
    match member {
        ClassMember::One(c) => push_escaped(set, c),
        ClassMember::Many(many) => set.push_str(many),
    }
}

/// Appends a literal character, escaped if necessary, in a class or outside.
fn push_escaped(out: &mut String, c: char) {
    if r"\.+*?()|[]{}^$&~-".contains(c) {
        out.push('\\');
    }
    out.push(c);
}
