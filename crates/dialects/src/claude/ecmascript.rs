//! A matcher is a regular expression of JavaScript, without flags. Here it is spelled in our
//! engine's way; what JavaScript refuses is refused. Knows no event and no hook.

use std::iter::Peekable;
use std::str::Chars;

/// The same expression in our spelling. The error says why JavaScript would not take it.
pub fn translated(text: &str) -> Result<String, String> {
    let mut reader =
        Reader { rest: text.chars().peekable(), out: String::new(), depth: 0, last: Last::Nothing };
    while let Some(c) = reader.rest.next() {
        reader.one(c)?;
    }
    match reader.depth {
        0 => Ok(reader.out),
        _ => Err("a group is not closed".into()),
    }
}

/// What stands before the next sign, for a sign that repeats it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Atom,
    /// A repetition, that one `?` may still make lazy.
    Repeated,
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    out: String,
    depth: usize,
    last: Last,
}

/// One member of a class: a character, or many at once in our spelling.
enum Member {
    One(char),
    Many(&'static str),
}

impl Reader<'_> {
    fn one(&mut self, c: char) -> Result<(), String> {
        let last = match c {
            '\\' => self.escape()?,
            '[' => self.class()?,
            '(' => self.open()?,
            ')' => {
                self.depth = self.depth.checked_sub(1).ok_or("a group is closed and not opened")?;
                self.out.push(')');
                Last::Atom
            }
            '*' | '+' | '?' => self.repeat(&c.to_string())?,
            '{' => match self.bounds() {
                Some(bounds) => self.repeat(&bounds)?,
                None => self.literal('{'),
            },
            '^' | '$' | '|' => {
                self.out.push(c);
                Last::Nothing
            }
            '.' => {
                self.out.push('.');
                Last::Atom
            }
            c => self.literal(c),
        };
        self.last = last;
        Ok(())
    }

    fn literal(&mut self, c: char) -> Last {
        match c {
            '&' | '~' | '-' => self.out.push(c),
            c => spell(&mut self.out, c),
        }
        Last::Atom
    }

    fn repeat(&mut self, sign: &str) -> Result<Last, String> {
        self.out.push_str(sign);
        match (self.last, sign) {
            (Last::Atom, _) => Ok(Last::Repeated),
            (Last::Repeated, "?") => Ok(Last::Nothing),
            _ => Err(format!("`{sign}` has nothing to repeat")),
        }
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else after a brace is text.
    fn bounds(&mut self) -> Option<String> {
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

    /// A group: plain, named, without a number, or a look around.
    fn open(&mut self) -> Result<Last, String> {
        self.depth += 1;
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(Last::Nothing);
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
            _ => return Err(format!("`(?{ahead}` is no group of JavaScript's")),
        }
        self.out.push('?');
        let mut head = if flags { ahead.len() + 1 } else { 1 };
        if ahead.starts_with("<=") || ahead.starts_with("<!") {
            head = 2;
        } else if ahead.starts_with('<') {
            head = ahead.find('>').ok_or("the name of a group is not closed")? + 1;
        }
        self.out.extend(self.rest.by_ref().take(head));
        Ok(Last::Nothing)
    }

    fn escape(&mut self) -> Result<Last, String> {
        match self.rest.peek().copied() {
            None => return Err("a backslash at the end".into()),
            Some(c @ ('b' | 'B')) => {
                self.rest.next();
                self.out.extend(['\\', c]);
                return Ok(Last::Nothing);
            }
            // A look back at a group.
            Some(c @ ('1'..='9' | 'k')) => {
                self.rest.next();
                self.out.extend(['\\', c]);
            }
            Some(_) => match self.member()? {
                Member::One(c) => spell(&mut self.out, c),
                Member::Many(set) => {
                    self.out.push('[');
                    self.out.push_str(set);
                    self.out.push(']');
                }
            },
        }
        Ok(Last::Atom)
    }

    /// What follows a backslash, in a class and outside.
    fn member(&mut self) -> Result<Member, String> {
        let c = self.rest.next().ok_or("a backslash at the end")?;
        Ok(match c {
            'd' => Member::Many("0-9"),
            'w' => Member::Many("0-9A-Za-z_"),
            's' => Member::Many(r"\s\x{feff}"),
            'D' => Member::Many(r"\x00-/:-\x{10ffff}"),
            'W' => Member::Many(r"\x00-/:-@\[-\^`\{-\x{10ffff}"),
            'S' => Member::Many(r"\S"),
            't' => Member::One('\t'),
            'n' => Member::One('\n'),
            'r' => Member::One('\r'),
            'v' => Member::One('\u{b}'),
            'f' => Member::One('\u{c}'),
            '0' => Member::One('\0'),
            'x' => Member::One(self.coded(2).unwrap_or('x')),
            'u' => Member::One(self.coded(4).unwrap_or('u')),
            other => Member::One(other),
        })
    }

    fn coded(&mut self, digits: usize) -> Option<char> {
        let code: String = self.rest.clone().take(digits).collect();
        let hex = code.chars().count() == digits && code.bytes().all(|b| b.is_ascii_hexdigit());
        let found = char::from_u32(u32::from_str_radix(&code, 16).ok()?).filter(|_| hex)?;
        self.rest.by_ref().take(digits).for_each(drop);
        Some(found)
    }

    /// `[…]`. An empty one meets nothing; one that excludes nothing meets all.
    fn class(&mut self) -> Result<Last, String> {
        let excludes = self.rest.next_if_eq(&'^').is_some();
        let mut set = String::new();
        while let Some(first) = self.within()? {
            let mut ahead = self.rest.clone();
            let range = ahead.next() == Some('-') && !matches!(ahead.next(), None | Some(']'));
            if !range {
                add(&mut set, first);
                continue;
            }
            self.rest.next();
            let last = self.within()?.ok_or("a class is not closed")?;
            match (first, last) {
                (Member::One(a), Member::One(b)) if a > b => {
                    return Err(format!("the range {a}-{b} is out of order"));
                }
                (Member::One(a), Member::One(b)) => {
                    spell(&mut set, a);
                    set.push('-');
                    spell(&mut set, b);
                }
                (first, last) => [first, Member::One('-'), last]
                    .into_iter()
                    .for_each(|member| add(&mut set, member)),
            }
        }
        let written = match (set.is_empty(), excludes) {
            (true, true) => r"[\s\S]".to_owned(),
            (true, false) => r"[^\s\S]".to_owned(),
            (false, true) => format!("[^{set}]"),
            (false, false) => format!("[{set}]"),
        };
        self.out.push_str(&written);
        Ok(Last::Atom)
    }

    /// The next member of a class; nothing at its end.
    fn within(&mut self) -> Result<Option<Member>, String> {
        match self.rest.next().ok_or("a class is not closed")? {
            ']' => Ok(None),
            '\\' if self.rest.next_if_eq(&'b').is_some() => Ok(Some(Member::One('\u{8}'))),
            '\\' => self.member().map(Some),
            c => Ok(Some(Member::One(c))),
        }
    }
}

fn add(set: &mut String, member: Member) {
    match member {
        Member::One(c) => spell(set, c),
        Member::Many(many) => set.push_str(many),
    }
}

/// A character that stands for itself, in a class and outside.
fn spell(out: &mut String, c: char) {
    if r"\.+*?()|[]{}^$&~-".contains(c) {
        out.push('\\');
    }
    out.push(c);
}
