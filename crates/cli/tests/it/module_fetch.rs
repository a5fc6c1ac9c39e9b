//! `fetch` in a module: off until the user's environment allows it, and then limited like every
//! request.

use crate::http_server::HttpServer;
use crate::test_project::{TestProject, text};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;

fn fetch_in_module(project: &TestProject, url: &str) -> String {
    let asks = format!(
        "export default (pi) => pi.on('tool_call', async () => {{
           const result = await fetch({url:?}, {{ method: 'POST', body: 'hello' }}).then((r) => `status ${{r.status}}`, String);
           return {{ block: true, reason: result }};
         }});\n"
    );
    project.file(".omp/hooks/asks.ts", &asks);
    text(&project.run(&["fire", "--from", "omp"], CALL.as_bytes()).stdout)
}

#[test]
fn refuses_fetch_by_default() {
    let server = HttpServer::start();
    let reply = fetch_in_module(&TestProject::new(), &server.url("/x"));
    assert!(reply.contains("GAMBREL_FETCH=1"), "{reply}");
    assert_eq!(server.count(), 0);
}

#[test]
fn fetches_with_permission_but_not_from_private_addresses() {
    let server = HttpServer::with_answer(|_| Some(418));
    let project = TestProject::new().with("GAMBREL_FETCH", "1");
    assert!(fetch_in_module(&project, &server.url("/x")).contains("status 418"));
    let request = server.received()[0].clone();
    assert_eq!((request.method.as_str(), request.body.as_slice()), ("POST", &b"hello"[..]));
    let reply = fetch_in_module(&project, "https://169.254.169.254/latest/meta-data");
    assert!(reply.contains("fetch failed: refused: "), "{reply}");
}

#[test]
fn user_config_allows_private_addresses() {
    let project = TestProject::new().with("GAMBREL_FETCH", "1");
    // The attempt takes longer than a refusal, whether or not a host answers.
    let tries = "export default (pi) => pi.on('tool_call', async () => {
      const tried = fetch('https://10.255.255.1:9/x').catch(String);
      const waited = new Promise((done) => setTimeout(done, 500, 'still trying'));
      return { block: true, reason: await Promise.race([tried, waited]) };
    });\n";
    project.file(".omp/hooks/tries.ts", tries);
    let fire = || text(&project.run(&["fire", "--from", "omp"], CALL.as_bytes()).stdout);
    assert!(fire().contains("fetch failed: refused: "), "{}", fire());
    project.file("../home/.config/gambrel/config.yaml", "http: {allow: [10.255.255.1]}\n");
    assert!(!fire().contains("refused: "), "{}", fire());
}
