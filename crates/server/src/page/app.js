// Counts down to expiry and keeps the list up to date. Every page works without this script.
"use strict";

const units = [[172800, 86400, "day"], [7200, 3600, "hour"], [60, 60, "minute"], [0, 1, "second"]];

const distance = (ms) => {
  const apart = Math.abs(ms) / 1000;
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

const follow = (entries) => {
  const live = document.querySelector(".live");
  const say = (text) => { write(live, text); live.hidden = !text; };
  const source = new EventSource("/events");
  source.addEventListener("list", (event) => {
    const { open, html } = JSON.parse(event.data);
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const id of ["open", "past"]) {
      merge(entries.querySelector(`#${id}`), fresh.querySelector(`#${id}`));
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
