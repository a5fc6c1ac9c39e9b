//! HTTP receiver of a case in the real run. It records requests and answers as the case describes.
//! Hooks whose name begins with `/` are its paths.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::case::Behaviour;

/// Whether a hook's name is a path of the receiver.
pub fn is_path(name: &str) -> bool {
    name.starts_with('/')
}

/// Listens until the test ends. Returns the port.
pub fn listen(hooks: BTreeMap<String, Behaviour>, given: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hooks = Arc::new(hooks);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (hooks, given) = (Arc::clone(&hooks), given.clone());
            std::thread::spawn(move || drop(serve(stream, &hooks, &given)));
        }
    });
    port
}

fn serve(
    mut stream: TcpStream,
    hooks: &BTreeMap<String, Behaviour>,
    given: &Path,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let (name, value) = (name.to_lowercase(), value.trim().to_owned());
        if name == "content-length" {
            length = value.parse().unwrap_or(0);
        }
        headers.push(format!("{name}={value}"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let path = target.split('?').next().unwrap_or(target);
    let Some(behaviour) = hooks.get(path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    };
    let nth = record_request(given, path, &body, &headers, &[method, target]);
    if behaviour.hangs {
        std::thread::sleep(Duration::from_secs(600));
    }
    let status = if nth <= behaviour.fails_first { 503 } else { behaviour.status.unwrap_or(200) };
    let text = &behaviour.stdout;
    write!(
        stream,
        "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )?;
    stream.flush()?;
    drop(stream);
    if let Some(answer) = behaviour.answers.as_ref().filter(|_| status < 400) {
        let message = format!("{} {}", headers.join(" "), String::from_utf8_lossy(&body));
        answer_back(&message, &answer.to_string());
    }
    Ok(())
}

fn record_request(given: &Path, name: &str, body: &[u8], headers: &[String], args: &[&str]) -> u32 {
    let base = given.join(super::real::record_name(name));
    let mut nth = 1;
    let folder = loop {
        let folder = PathBuf::from(format!("{}.{nth}", base.to_string_lossy()));
        if std::fs::create_dir(&folder).is_ok() {
            break folder;
        }
        // A detached request may arrive after its case ended.
        if !given.exists() {
            return nth;
        }
        nth += 1;
    };
    let parts = [("env", headers.join("\0")), ("args", args.join("\0"))];
    for (part, text) in parts {
        let _gone = std::fs::write(folder.join(part), text);
    }
    let _gone = std::fs::write(folder.join("stdin"), body);
    nth
}

/// Posts an answer to the callback link of a message.
fn answer_back(message: &str, answer: &str) {
    let Some(at) = message.find("http://localhost:") else { return };
    let link: String = message[at..].chars().take_while(|c| !"\"?\\ ".contains(*c)).collect();
    let rest = link.trim_start_matches("http://");
    let Some((host, path)) = rest.split_once('/') else { return };
    let Ok(mut stream) = TcpStream::connect(host) else { return };
    let _gone = write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    let mut response = String::new();
    let _gone = stream.read_to_string(&mut response);
}
