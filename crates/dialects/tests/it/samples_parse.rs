//! A sample of every event of every dialect parses as that event, with the facts of its moment.

use std::path::Path;

use gambrel_dialects::{DIALECTS, sample_event};
use gambrel_model::{CallerContext, Moment};

#[test]
fn every_sample_is_an_event_of_its_row() {
    for dialect in DIALECTS {
        for spec in dialect.events().iter().filter(|spec| !spec.name.is_empty()) {
            let at = format!("{} {}", dialect.name, spec.name);
            let sample = sample_event(dialect, spec, Path::new("/srv/project"));
            let context = CallerContext { cwd: "/srv/project".into(), ..CallerContext::default() };
            let parsed = dialect.caller.receive_event(sample.to_string().as_bytes(), &context);
            let parsed = parsed.unwrap_or_else(|complaint| panic!("{at}: {complaint}"));
            assert_eq!(parsed.name, spec.name, "{at}: {sample}");
            assert_eq!(parsed.moment, spec.moment, "{at}: {sample}");
            assert_eq!(parsed.session, "sample", "{at}: {sample}");
            let facts = parsed.facts;
            match spec.moment {
                Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed => {
                    let tool = facts.tool.unwrap_or_else(|| panic!("{at}: {sample}"));
                    assert_eq!(tool.args["command"], "cargo test", "{at}");
                    assert_eq!(tool.result.is_some(), spec.moment != Moment::ToolBefore, "{at}");
                }
                Moment::TaskCompleted => assert!(facts.task.is_some(), "{at}: {sample}"),
                _ => {}
            }
        }
    }
}
