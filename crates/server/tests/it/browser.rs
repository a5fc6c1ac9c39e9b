//! A headless Chromium, controlled over the pipes of its DevTools protocol: messages are JSON, each
//! ended by a zero byte. The shell places the pipes at the numbers that Chromium expects.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::wait_until;

const BROWSER_TIMEOUT: Duration = Duration::from_secs(60);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// A running browser; ended on drop.
pub(crate) struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    last: u64,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser; `None` and a message if there is none.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = find_chromium() else {
            eprintln!("SKIPPED: no Chromium here; install chromium or set CHROMIUM to its path");
            assert!(std::env::var_os("CI").is_none(), "Chromium is required in CI");
            return None;
        };

        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", PIPES])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-extensions"])
            .args(["--no-proxy-server", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();

        let to = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let reply = serde_json::from_slice(&message).unwrap_or_default();
                message.clear();
                if sender.send(reply).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, to, from, last: 0, _profile: profile })
    }

    /// Opens a tab with a page.
    pub(crate) fn open(&mut self, url: &str) -> Tab<'_> {
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let mut tab = Tab { browser: self, session };
        tab.navigate(url);
        tab
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.try_call(session, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method and returns its result, or the browser's error.
    fn try_call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }

        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{message}\0").as_bytes()).unwrap();
        to.flush().unwrap();
        let end = Instant::now() + BROWSER_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let reply =
                self.from.recv_timeout(left).unwrap_or_else(|why| panic!("{method}: {why}"));
            if reply["id"] == self.last {
                return match reply["error"].is_null() {
                    true => Ok(reply["result"].clone()),
                    false => Err(reply["error"].clone()),
                };
            }
        }
    }
}

impl Drop for Browser {
    /// Closing its pipe ends the browser with all of its processes.
    fn drop(&mut self) {
        drop(self.to.take());
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A tab with a page.
pub(crate) struct Tab<'a> {
    browser: &'a mut Browser,
    session: String,
}

impl Tab<'_> {
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    pub(crate) fn navigate(&mut self, url: &str) {
        let went = self.call("Page.navigate", json!({ "url": url }));
        assert!(went["errorText"].is_null(), "{url}: {went}");
        // The old document must not be taken for the new one.
        let there = json!(url).to_string();
        let start = format!("location.href === {there} || location.pathname === '/'");
        wait_until("the page is there", || (self.evaluate(&start) == true).then_some(()));
        wait_until("the page is complete", || {
            (self.evaluate("document.readyState") == "complete").then_some(())
        });
    }

    /// The value of an expression on the page; null while the page changes.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        const PAGE_CHANGES: [&str; 3] =
            ["target navigated or closed", "Cannot find context", "context was destroyed"];
        let ask = json!({ "expression": expression, "returnByValue": true });
        match self.browser.try_call(Some(&self.session), "Runtime.evaluate", ask) {
            Ok(answer) => answer["result"]["value"].clone(),
            Err(error) => {
                let text = error["message"].as_str().unwrap_or_default();
                assert!(PAGE_CHANGES.iter().any(|known| text.contains(known)), "{error}");
                Value::Null
            }
        }
    }

    pub(crate) fn text(&mut self) -> String {
        self.evaluate("document.body ? document.body.innerText : ''")
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    /// Waits for a text on the page.
    pub(crate) fn wait_for_text(&mut self, words: &str) {
        let mut last = String::new();
        let end = Instant::now() + BROWSER_TIMEOUT;
        while Instant::now() < end {
            last = self.text();
            if last.contains(words) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{words:?} is not on the page: {last}");
    }

    /// Clicks in the middle of an element.
    pub(crate) fn click(&mut self, selector: &str) {
        let chosen = json!(selector).to_string();
        let place = self.evaluate(&format!(
            "(() => {{ const e = document.querySelector({chosen}); e.scrollIntoView(); \
             const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        assert!(place.is_array(), "no {selector} on the page: {}", self.text());
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    pub(crate) fn press_enter(&mut self) {
        for kind in ["keyDown", "keyUp"] {
            let key = json!({ "type": kind, "key": "Enter", "code": "Enter", "text": "\r",
                "windowsVirtualKeyCode": 13 });
            self.call("Input.dispatchKeyEvent", key);
        }
    }

    /// Shows the page as a device with this width and height, in this colour scheme.
    pub(crate) fn show_as(&mut self, scheme: &str, (width, height): (u32, u32)) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Stores a picture of the whole page in a file. The window is as high as the page, so that
    /// nothing lies above anything else.
    pub(crate) fn save_picture(&mut self, path: &Path) {
        // Away from everything that changes under it.
        let away = json!({ "type": "mouseMoved", "x": 0, "y": 0 });
        self.call("Input.dispatchMouseEvent", away);
        let size = self.evaluate("[innerWidth, document.documentElement.scrollHeight]");
        let metrics = json!({ "width": size[0], "height": size[1], "deviceScaleFactor": 1.25,
            "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn type_into(&mut self, selector: &str, text: &str) {
        self.click(selector);
        self.call("Input.insertText", json!({ "text": text }));
    }
}

fn find_chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = NAMES.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
    all.find(|program| program.is_file())
}
