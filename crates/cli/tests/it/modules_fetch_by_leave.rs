//! `fetch` in a module, through the binary: off until the user's environment allows it, and then by
//! the way out that every request takes.

use crate::ground::{Ground, text};
use crate::mailbox::Mailbox;

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;

fn told(ground: &Ground, url: &str) -> String {
    let asks = format!(
        "export default (pi) => pi.on('tool_call', async () => {{
           const told = await fetch({url:?}, {{ method: 'POST', body: 'hello' }}).then((r) => `status ${{r.status}}`, String);
           return {{ block: true, reason: told }};
         }});\n"
    );
    ground.file(".omp/hooks/asks.ts", &asks);
    text(&ground.run(&["fire", "--from", "omp"], CALL.as_bytes()).stdout)
}

#[test]
fn nothing_is_sent_without_leave() {
    let mailbox = Mailbox::open();
    let said = told(&Ground::new(), &mailbox.url("/x"));
    assert!(said.contains("GAMBREL_FETCH=1"), "{said}");
    assert_eq!(mailbox.count(), 0);
}

#[test]
fn with_leave_it_is_sent_but_never_to_the_inside() {
    let mailbox = Mailbox::answering(|_| Some(418));
    let ground = Ground::new().with("GAMBREL_FETCH", "1");
    assert!(told(&ground, &mailbox.url("/x")).contains("status 418"));
    let letter = mailbox.letters()[0].clone();
    assert_eq!((letter.method.as_str(), letter.body.as_slice()), ("POST", &b"hello"[..]));
    let said = told(&ground, "https://169.254.169.254/latest/meta-data");
    assert!(said.contains("fetch failed: refused: "), "{said}");
}

#[test]
fn the_user_may_open_the_inside() {
    let ground = Ground::new().with("GAMBREL_FETCH", "1");
    // Whoever is there, or nobody: it is tried, which takes longer than a refusal.
    let tries = "export default (pi) => pi.on('tool_call', async () => {
      const tried = fetch('https://10.255.255.1:9/x').catch(String);
      const waited = new Promise((done) => setTimeout(done, 500, 'still trying'));
      return { block: true, reason: await Promise.race([tried, waited]) };
    });\n";
    ground.file(".omp/hooks/tries.ts", tries);
    let said = || text(&ground.run(&["fire", "--from", "omp"], CALL.as_bytes()).stdout);
    assert!(said().contains("fetch failed: refused: "), "{}", said());
    ground.file("../home/.config/gambrel/config.yaml", "http: {allow: [10.255.255.1]}\n");
    assert!(!said().contains("refused: "), "{}", said());
}
