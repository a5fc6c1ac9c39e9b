//! What a hook, an agent or an answerer wrote cannot become part of the page.

use gambrel_model::ticket::Ticket;

use crate::scene::{Scene, asked, path_of};

const EVIL: &str = "</pre><script>alert(1)</script><img src=x onerror=\"a()\">'&\u{1b}[2J\u{202e}";

#[test]
fn wherever_it_stands() {
    let scene = Scene::with_list();
    let opened = scene.open_with(Ticket {
        title: EVIL.into(),
        session: EVIL.into(),
        project: EVIL.into(),
        hook: EVIL.into(),
        shown: vec![(EVIL.into(), EVIL.into()), ("Diff".into(), format!("{EVIL}\n").repeat(9))],
        ..asked("evil")
    });
    let cookie = scene.cookie();
    let encoded = "%3Cscript%3Ealert(1)%3C/script%3E%22%27";
    let asks = [
        scene.get(&path_of(&opened)),
        scene.get(&format!("{}?action={encoded}", path_of(&opened))),
        scene.get("/").with(&cookie),
        scene
            .post(&path_of(&opened), &format!("action={encoded}&message={encoded}"))
            .with("Accept: text/html"),
        scene.get(&path_of(&opened)),
        scene.get("/").with(&cookie),
    ];
    for ask in asks {
        let page = ask.send().body;
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(!page.contains("<img") && !page.contains("\"'"), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    }
}

#[test]
fn long_ones_get_a_box_and_an_end() {
    let scene = Scene::new();
    let shown = vec![("Diff".to_owned(), "+ a line of code\n".repeat(20_000))];
    let opened = scene.open_with(Ticket { shown, ..asked("long") });
    let page = scene.get(&path_of(&opened)).send().body;
    assert!(page.contains("<pre tabindex=\"0\" aria-label=\"Diff\">+ a line"), "{page}");
    assert!(page.contains("(cut)") && page.len() < 40_000, "{}", page.len());
}
