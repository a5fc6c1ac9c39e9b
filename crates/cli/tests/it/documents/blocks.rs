//! Reads the fenced blocks of a Markdown text, with the markers before them: HTML comments that say
//! what a test does with a block. Knows nothing of files, languages or commands.

/// A fenced block of code.
#[derive(Debug)]
pub struct CodeBlock {
    /// The line of the opening fence.
    pub line: usize,
    pub language: String,
    pub markers: Vec<Marker>,
    pub text: String,
}

/// A comment in the lines just before a block.
#[derive(Debug, PartialEq)]
pub enum Marker {
    /// `<!-- file: PATH -->`: the block is the text of a file.
    File(String),
    /// `<!-- model: COMMAND -->`: a scripted model lets Claude Code run this command.
    Model(String),
    /// `<!-- new project -->`: this block begins with an empty project and home.
    NewProject,
}

impl CodeBlock {
    /// The file that the block is the text of.
    pub fn file(&self) -> Option<&str> {
        self.markers.iter().find_map(|marker| match marker {
            Marker::File(path) => Some(path.as_str()),
            _ => None,
        })
    }
}

/// Every fenced block, in order. An error names a line: a block without an end, or a marker that
/// stands before no block.
pub fn read_blocks(text: &str) -> Result<Vec<CodeBlock>, String> {
    let mut lines = text.lines().enumerate();
    let (mut blocks, mut markers) = (Vec::new(), Vec::new());
    while let Some((at, line)) = lines.next() {
        let trimmed = line.trim_start();
        if let Some(marker) = read_marker(trimmed) {
            markers.push(marker);
            continue;
        }
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        if ticks < 3 {
            if !markers.is_empty() {
                return Err(format!("line {}: no code follows the marker", at + 1));
            }
            continue;
        }
        // A block in a list is indented as a whole.
        let (indent, fence) = line.split_at(line.len() - trimmed.len());
        let (fence, language) = fence.split_at(ticks);
        let mut block = String::new();
        loop {
            let Some((_, line)) = lines.next() else {
                return Err(format!("line {}: the block has no end", at + 1));
            };
            if line.trim() == fence {
                break;
            }
            block += line.strip_prefix(indent).unwrap_or(line.trim_start());
            block.push('\n');
        }
        let (language, markers) = (language.trim().to_owned(), std::mem::take(&mut markers));
        blocks.push(CodeBlock { line: at + 1, language, markers, text: block });
    }
    Ok(blocks)
}

fn read_marker(line: &str) -> Option<Marker> {
    let comment = line.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    match comment.split_once(": ") {
        Some(("file", path)) => Some(Marker::File(path.to_owned())),
        Some(("model", command)) => Some(Marker::Model(command.to_owned())),
        _ => (comment == "new project").then_some(Marker::NewProject),
    }
}

#[test]
fn reads_blocks_with_their_markers() {
    let text = "# A\n\n```console\n$ ls\n```\n\n1. List:\n\n   <!-- new project -->\n   \
                <!-- file: a/b.yaml -->\n   ```yaml\n   a:\n     b\n\n   ```\n\n````text\n```\n````\n";
    let blocks = read_blocks(text).unwrap();
    let shown: Vec<_> = blocks.iter().map(|b| (b.line, b.language.as_str(), &*b.text)).collect();
    assert_eq!(
        shown,
        [(3, "console", "$ ls\n"), (11, "yaml", "a:\n  b\n\n"), (17, "text", "```\n")]
    );
    assert_eq!(blocks[1].markers, [Marker::NewProject, Marker::File("a/b.yaml".into())]);
    assert_eq!(blocks[1].file(), Some("a/b.yaml"));
}

#[test]
fn refuses_open_blocks_and_lost_markers() {
    for (text, why) in [
        ("a\n```sh\nls\n", "line 2: the block has no end"),
        ("<!-- file: a -->\n\ntext\n", "line 2: no code follows the marker"),
    ] {
        assert_eq!(read_blocks(text).unwrap_err(), why);
    }
}
