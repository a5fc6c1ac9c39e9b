//! Fills a shell command so that the shell reads every value as the data it is: quoted for the
//! quotes it stands in, or fetched from the environment where quoting cannot be trusted.

use std::collections::BTreeSet;

use super::Style;
use super::context::{QuoteContext, QuotedPlace, TemplateSurvey, survey_template};
use super::scan::{is_name_byte, split_template};
use crate::text;

/// A command ready for the shell, and the environment that it leans on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellText {
    /// The command line.
    pub text: String,
    /// Variables that must be in the environment for it, each name once.
    pub env: Vec<(String, String)>,
}

/// Fills a command; a name that `lookup` does not know is left to the shell.
pub fn expand_shell(
    text: &str,
    style: Style,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> ShellText {
    let mut found = survey_template(text, style);
    if found.odd {
        found.places = find_references(text, style);
    }
    let mut filler = Filler::new(text, style, &found);
    for place in &found.places {
        if let Some(value) = lookup(place.name) {
            filler.fill_place(place, &value.replace('\0', ""));
        }
    }
    filler.finish()
}

/// Every variable as a reference: what is left when the text was not understood.
fn find_references(text: &str, style: Style) -> Vec<QuotedPlace<'_>> {
    let mut start = 0;
    let mut places = Vec::new();
    for piece in split_template(text, style) {
        let end = start + piece.text.len();
        let escaped = style == Style::Dollar && text[..start].ends_with('\\');
        if let Some(name) = piece.name.filter(|_| !escaped) {
            places.push(QuotedPlace::new(name, start..end, QuoteContext::Reference));
        }
        start = end;
    }
    places
}

struct Filler<'t> {
    text: &'t str,
    style: Style,
    braces: bool,
    computes: bool,
    evaluates: bool,
    done: usize,
    subscript: Subscript,
    /// The names in `out.env`.
    known: BTreeSet<String>,
    out: ShellText,
}

/// Whether an array's subscript is open where the text has been read to.
#[derive(Default)]
struct Subscript {
    read: usize,
    /// The `[` of the current word after which no `]` came.
    open: Option<usize>,
}

impl Subscript {
    fn read_to(&mut self, text: &str, end: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate().take(end).skip(self.read) {
            match byte {
                b'[' => self.open = Some(at),
                b' ' | b'\t' | b'\n' | b';' | b']' => self.open = None,
                _ => {}
            }
        }
        self.read = self.read.max(end);
        self.open
    }
}

impl<'t> Filler<'t> {
    fn new(text: &'t str, style: Style, found: &TemplateSurvey<'_>) -> Self {
        Self {
            text,
            style,
            braces: found.braces,
            computes: text.contains("((") || text.contains("$["),
            evaluates: evaluates_text(text),
            done: 0,
            subscript: Subscript::default(),
            known: BTreeSet::new(),
            out: ShellText::default(),
        }
    }

    fn fill_place(&mut self, place: &QuotedPlace<'_>, value: &str) {
        let filled = match &place.context {
            QuoteContext::Comment => String::new(),
            QuoteContext::Number => check_number(place.name, value),
            QuoteContext::Reference if self.computes => check_number(place.name, value),
            QuoteContext::Reference => self.variable_reference(place.name, value),
            QuoteContext::Script(double) => {
                let escape = if *double { "\\" } else { "" };
                format!("{escape}{}", self.variable_reference(place.name, value))
            }
            QuoteContext::Verbatim(delimiter) if ends_document(value, delimiter) => {
                self.variable_reference(place.name, value)
            }
            QuoteContext::Verbatim(_) => value.to_owned(),
            quotes if place.documents.iter().any(|word| ends_document(value, word)) => {
                let reference = self.variable_reference(place.name, value);
                match quotes {
                    QuoteContext::Single => format!("'\"{reference}\"'"),
                    QuoteContext::Bare => format!("\"{reference}\""),
                    _ => reference,
                }
            }
            _ if self.in_subscript(place) => check_number(place.name, value),
            quotes if self.evaluates && is_subscript(value) => refusal_text(quotes, place.name),
            QuoteContext::Single => value.replace('\'', r"'\''"),
            QuoteContext::Double if self.follows_name(place.start) => {
                format!("\"{}\"", text::quote(value))
            }
            QuoteContext::Double => quote_double(value),
            QuoteContext::Bare => self.quote_bare(place, value),
        };
        self.out.text.push_str(&self.text[self.done..place.start]);
        self.out.text.push_str(&filled);
        self.done = place.end;
    }

    fn finish(mut self) -> ShellText {
        self.out.text.push_str(&self.text[self.done..]);
        self.out
    }

    fn variable_reference(&mut self, name: &str, value: &str) -> String {
        let name = match self.style {
            Style::Dollar => name.to_owned(),
            Style::Braces => format!("GAMBREL_V_{name}"),
        };
        let reference = format!("${{{name}}}");
        if self.known.insert(name.clone()) {
            self.out.env.push((name, value.to_owned()));
        }
        reference
    }

    fn quote_bare(&self, place: &QuotedPlace<'_>, value: &str) -> String {
        let before = self.text[..place.start].bytes().next_back();
        let after = self.text[place.end..].bytes().next();
        if value.is_empty() {
            // Nothing, unless its neighbours would then join into another operator or a comment.
            let joins = |byte: Option<u8>| byte.is_some_and(|b| b"<>&|;()#$".contains(&b));
            let needed = (joins(before) && joins(after))
                || after == Some(b'#')
                || self.follows_name(place.start);
            return if needed { "''".to_owned() } else { String::new() };
        }
        // `2>file`: a number that touches a redirection would name a descriptor.
        let touches = matches!(after, Some(b'<' | b'>'));
        let spreads = self.braces && (value.contains(',') || value.contains(".."));
        let plain = value.bytes().all(is_safe) && !RESERVED.contains(&value);
        if plain && !touches && !spreads && !self.follows_name(place.start) {
            return value.to_owned();
        }
        text::quote(value)
    }

    /// Whether a value would be the subscript of an array, which bash evaluates even when quoted.
    fn in_subscript(&mut self, place: &QuotedPlace<'_>) -> bool {
        let before = &self.text[..place.start];
        let subscript = match place.context {
            QuoteContext::Bare => {
                self.subscript.read_to(self.text, place.start).map(|at| &before[..at])
            }
            _ => before.strip_suffix(['"', '\'']).and_then(|rest| rest.strip_suffix('[')),
        };
        subscript.is_some_and(|name| name.bytes().next_back().is_some_and(is_name_byte))
    }

    /// Whether the text before is `$NAME`, which a value beginning with a letter would lengthen.
    fn follows_name(&self, start: usize) -> bool {
        let before = &self.text.as_bytes()[..start];
        let name = before.iter().rev().take_while(|b| is_name_byte(**b)).count();
        name > 0 && before[..start - name].ends_with(b"$")
    }
}

const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done", "case",
    "esac", "in", "function", "time", "coproc",
];

fn is_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_@%+:,./-".contains(&byte)
}

fn quote_double(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | '"' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A whole number as it is; anything else makes the shell stop and say why.
fn check_number(name: &str, value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return format!("${{GAMBREL_REFUSED?{name} must be a whole number here}}");
    }
    if digits.len() < value.len() { format!("({value})") } else { value.to_owned() }
}

// `[[ x -gt 1 ]]`, `let` and subscripts of bash run a `$(…)` inside a subscript even when quoted.
fn evaluates_text(text: &str) -> bool {
    const COMPARISONS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"];
    const WORDS: &[&str] = &["let ", "declare ", "typeset ", "local ", "unset ", "printf -v"];
    let compares = text.contains("[[") && COMPARISONS.iter().any(|word| text.contains(word));
    let subscripts = ["[$", "[{", "[\"", "['"].iter().any(|open| text.contains(open));
    compares || subscripts || text.contains("((") || WORDS.iter().any(|word| text.contains(word))
}

fn is_subscript(value: &str) -> bool {
    let Some((_, inside)) = value.split_once('[') else { return false };
    let runs = ["`", "$(", "${", "$["].iter().any(|open| inside.contains(open));
    runs || inside.ends_with('$')
}

fn refusal_text(quotes: &QuoteContext, name: &str) -> String {
    let stop = format!("${{GAMBREL_REFUSED?{name} holds code that this command would run}}");
    if *quotes == QuoteContext::Single { format!("'\"{stop}\"'") } else { stop }
}

/// Whether a value could complete the line that ends its here-document.
fn ends_document(value: &str, delimiter: &str) -> bool {
    let mut lines = value.split('\n');
    !value.is_empty() && lines.any(|line| delimiter.contains(line.trim_start_matches('\t')))
}
