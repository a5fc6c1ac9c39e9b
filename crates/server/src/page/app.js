// Counts down to expiry, and keeps the list and the picture of a run up to date. Every page works without this script.
"use strict";

const units = [[172800, 86400, "day"], [7200, 3600, "hour"], [60, 60, "minute"], [0, 1, "second"]];

const distance = (ms) => {
  const apart = Math.abs(ms) / 1000;
  if (ms <= 0 && apart < 5) return "just now";
  const [, size, name] = units.find(([from]) => apart >= from);
  const count = Math.floor(apart / size);
  const words = `${count} ${name}${count === 1 ? "" : "s"}`;
  return ms > 0 ? `in ${words}` : `${words} ago`;
};

const style = { dateStyle: "medium", timeStyle: "short" };
const write = (place, text) => { if (place.textContent !== text) place.textContent = text; };

const tick = () => {
  for (const time of document.querySelectorAll("time[data-at]")) {
    const left = Number(time.dataset.at) - Date.now();
    const clock = new Date(Number(time.dataset.at));
    write(time.querySelector(".distance"), distance(left));
    write(time.querySelector(".clock"), clock.toLocaleString([], style));
    const form = time.closest("article")?.querySelector("form");
    if (form && "live" in time.dataset && left <= 0) {
      for (const button of form.querySelectorAll("button")) button.disabled = true;
    }
  }
};

// Existing cards stay unchanged: a user may be typing in one.
const merge = (old, fresh) => {
  const kept = new Map([...old.children].map((child) => [child.id, child]));
  const next = [...fresh.children].map((child) => (child.id && kept.get(child.id)) || child);
  for (const child of [...old.children]) if (!next.includes(child)) child.remove();
  next.forEach((child, at) => {
    if (old.children[at] !== child) old.insertBefore(child, old.children[at] ?? null);
  });
};

const say = (text) => {
  const live = document.querySelector(".live");
  write(live, text);
  live.hidden = !text;
};

// The picture of a run. What the user has opened stays open.
const followRun = (path) => {
  const source = new EventSource(`${path}/events`);
  source.addEventListener("run", (event) => {
    const { html } = JSON.parse(event.data);
    const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("#timeline");
    const old = document.querySelector("#timeline");
    for (const opened of old.querySelectorAll("details[open]")) {
      const same = opened.id && fresh.querySelector(`#${CSS.escape(opened.id)}`);
      if (same) same.open = true;
    }
    old.replaceWith(fresh);
    say("");
    tick();
  });
  source.addEventListener("error", () => say("Not connected; trying again."));
};

const follow = (entries) => {
  const source = new EventSource("/events");
  source.addEventListener("list", (event) => {
    const { open, html } = JSON.parse(event.data);
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const id of ["open", "past", "runs", "firings"]) {
      const [old, next] = [entries, fresh].map((page) => page.querySelector(`#${id}`));
      if (old && next) merge(old, next);
    }
    document.title = `${open ? `(${open}) ` : ""}Open approvals · gambrel`;
    say("");
    tick();
  });
  source.addEventListener("error", () => say("Not connected; trying again."));
};

tick();
setInterval(tick, 1000);
const entries = document.querySelector("#entries");
if (entries) follow(entries);
if (document.querySelector("#timeline")) followRun(location.pathname);
