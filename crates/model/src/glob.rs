//! Glob patterns of one name, as a shell reads them: `*`, `?`, `[a-z]`, and a backslash before any
//! of them. Text alone: no file is looked at.

/// Whether one name fits one pattern without slashes.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match take_one(&pattern[p.min(pattern.len())..], name[n]) {
            Some(used) => (p, n) = (p + used, n + 1),
            None => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p.min(pattern.len())..].iter().all(|c| *c == '*')
}

/// How much of a pattern one character takes, if it fits.
fn take_one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        ['[', rest @ ..] => match rest.iter().skip(1).position(|c| *c == ']') {
            Some(end) => in_class(&rest[..=end], c).then_some(end + 3),
            None => (c == '[').then_some(1),
        },
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

fn in_class(class: &[char], c: char) -> bool {
    let (negated, mut rest) = match class {
        ['!' | '^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    while let [first, after @ ..] = rest {
        (found, rest) = match after {
            ['-', last, after @ ..] => (found || (*first..=*last).contains(&c), after),
            _ => (found || *first == c, after),
        };
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names_as_a_shell_does() {
        for (pattern, name, fits) in [
            ("*.sh", "a.sh", true),
            ("lib*.sh", "library.sh", true),
            ("lib?.sh", "lib1.sh", true),
            ("lib?.sh", "lib.sh", false),
            ("[a-c].sh", "b.sh", true),
            ("[!a-c].sh", "b.sh", false),
            ("\\*.sh", "a.sh", false),
            ("\\*.sh", "*.sh", true),
        ] {
            assert_eq!(glob_matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
