//! Texts of hooks, agents and users cannot become part of the page.

use gambrel_model::ticket::Ticket;
use gambrel_model::{AnswerEffects, QuestionContext};

use crate::fixture::{ServerFixture, new_ticket, path_of};

const EVIL: &str = "</pre><script>alert(1)</script><img src=x onerror=\"a()\">'&\u{1b}[2J\u{202e}";

#[test]
fn escapes_every_foreign_text() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket_with(Ticket {
        title: EVIL.into(),
        session: EVIL.into(),
        project: EVIL.into(),
        hook: EVIL.into(),
        shown: vec![(EVIL.into(), EVIL.into()), ("Diff".into(), format!("{EVIL}\n").repeat(9))],
        context: QuestionContext {
            command: EVIL.into(),
            path: EVIL.into(),
            diff: format!("@@ -1 +1 @@\n-{EVIL}\n+{EVIL}\n"),
            why: EVIL.into(),
            agent: EVIL.into(),
            machine: EVIL.into(),
            branch: EVIL.into(),
            effects: AnswerEffects {
                approve: EVIL.into(),
                reject: EVIL.into(),
                silence: EVIL.into(),
                reader: EVIL.into(),
            },
        },
        ..new_ticket("evil")
    });
    let cookie = fixture.cookie();
    let encoded = "%3Cscript%3Ealert(1)%3C/script%3E%22%27";
    let asks = [
        fixture.get(&path_of(&opened)),
        fixture.get(&format!("{}?action={encoded}", path_of(&opened))),
        fixture.get("/").with_header(&cookie),
        fixture
            .post(&path_of(&opened), &format!("action={encoded}&message={encoded}"))
            .with_header("Accept: text/html"),
        fixture.get(&path_of(&opened)),
        fixture.get("/").with_header(&cookie),
        fixture.get("/history").with_header(&cookie),
    ];
    for ask in asks {
        let page = without_assets(&ask.send().body);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(!page.contains("<img") && !page.contains("\"'"), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    }
}

/// The page without the text of its style sheet and script.
fn without_assets(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (body, _script) = rest.split_once("</style>").unwrap().1.split_once("<script>").unwrap();
    format!("{before}{body}<script>")
}

#[test]
fn cuts_and_boxes_long_texts() {
    let fixture = ServerFixture::new();
    let shown = vec![("Diff".to_owned(), "+ a line of code\n".repeat(20_000))];
    let opened = fixture.open_ticket_with(Ticket { shown, ..new_ticket("long") });
    let page = fixture.get(&path_of(&opened)).send().body;
    assert!(page.contains("<pre tabindex=\"0\" aria-label=\"Diff\">+ a line"), "{page}");
    assert!(page.contains("(cut)") && page.len() < 60_000, "{}", page.len());
}
