//! Finds what an agent reported in one turn: in the text that it printed, else in the files that
//! it wrote. What an earlier turn of the same iteration left is not read again.

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::result::read_usage_field;
use crate::usage::{UsageReport, read_usage};
use crate::usage_format::UsageFormat;

/// The most bytes of one turn that are searched for a report.
const MAX_PRINTED_BYTES: u64 = 64 << 20;
/// The longest line that can be a report.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// How far a file's time is set back, so that a later write always changes it.
const STAMP_DELAY: Duration = Duration::from_secs(1);

/// The files of a turn before it began.
pub(crate) struct TurnWatch {
    format: Option<UsageFormat>,
    /// The files that may contain what the agent prints, the first choice first.
    printed: [PrintedFile; 2],
    /// `result.json` and `status.json`.
    written: [WrittenFile; 2],
}

struct PrintedFile {
    path: PathBuf,
    length: u64,
}

struct WrittenFile {
    path: PathBuf,
    name: &'static str,
    stamp: Option<FileStamp>,
}

/// Differs after every write.
#[derive(PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl TurnWatch {
    /// Looks at the files before a turn.
    pub fn start(spec: &str, output: &Path, status: &Path, result: &Path) -> Self {
        let printed = |path: PathBuf| {
            let length = fs::metadata(&path).map_or(0, |known| known.len());
            PrintedFile { path, length }
        };
        let written = |path: &Path, name| {
            age_file(path);
            WrittenFile { path: path.to_owned(), name, stamp: read_stamp(path) }
        };
        Self {
            format: UsageFormat::of_agent(spec),
            printed: [printed(output.with_extension("log")), printed(output.to_owned())],
            written: [written(result, "result.json"), written(status, "status.json")],
        }
    }

    /// What the agent reported since then.
    pub fn finish(self) -> UsageReport {
        let Some(format) = self.format else { return self.read_files() };
        if let Some(report) = self.read_printed(format) {
            return report;
        }
        let mut report = self.read_files();
        if report.usage.is_empty() {
            let name = format.program();
            report.warnings.push(format!("the output of {name} has no usage, so none is counted"));
        }
        report
    }

    fn read_printed(&self, format: UsageFormat) -> Option<UsageReport> {
        let has_grown = |file: &&PrintedFile| {
            fs::metadata(&file.path).is_ok_and(|known| known.len() > file.length)
        };
        let file = self.printed.iter().find(has_grown)?;
        let mut reader = fs::File::open(&file.path).ok()?;
        reader.seek(SeekFrom::Start(file.length)).ok()?;
        let mut reader = BufReader::new(reader.take(MAX_PRINTED_BYTES));
        let mut found: Option<UsageReport> = None;
        let mut line = Vec::new();
        // A longer line is read in parts, and no part is JSON.
        while reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).ok()? > 0 {
            if let Some(report) = format.read_line(&String::from_utf8_lossy(&line)) {
                match &mut found {
                    Some(sum) if !format.is_total() => sum.add(report),
                    found => *found = Some(report),
                }
            }
            line.clear();
        }
        found
    }

    /// The report in the first file that was written in this turn and has one.
    fn read_files(&self) -> UsageReport {
        let is_new = |file: &&WrittenFile| read_stamp(&file.path) != file.stamp;
        let mut reports = self.written.iter().filter(is_new).filter_map(|file| {
            read_usage_field(&file.path).map(|usage| read_usage(file.name, Some(&usage)))
        });
        reports.next().unwrap_or_default()
    }
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    let known = fs::metadata(path).ok()?;
    let modified = (known.mtime(), known.mtime_nsec());
    Some(FileStamp { inode: known.ino(), length: known.len(), modified })
}

/// Sets the time of a file back. Two writes within one tick of the file system's clock would leave
/// the same time.
fn age_file(path: &Path) {
    let Some(known) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else { return };
    let earlier = known.modified().ok().and_then(|time| time.checked_sub(STAMP_DELAY));
    if let (Some(earlier), Ok(file)) = (earlier, fs::File::open(path)) {
        // Where this fails, the file's own time still tells most writes apart.
        let _set = file.set_modified(earlier);
    }
}

#[cfg(test)]
mod tests {
    use super::TurnWatch;

    #[test]
    fn reads_a_file_that_was_written_again_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let [output, status, result] =
            ["output.md", "status.json", "result.json"].map(|name| folder.path().join(name));
        let text = r#"{"usage":{"input_tokens":5}}"#;
        std::fs::write(&status, text).unwrap();
        for _ in 0..50 {
            let watch = TurnWatch::start("script:x", &output, &status, &result);
            assert!(watch.finish().usage.is_empty(), "an old report was read again");
            let watch = TurnWatch::start("script:x", &output, &status, &result);
            std::fs::write(&status, text).unwrap();
            assert_eq!(watch.finish().usage.input_tokens, Some(5));
        }
    }
}
