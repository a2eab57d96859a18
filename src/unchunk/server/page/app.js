// The frame of the page: who is asking, which view is shown, and what is said to everybody.
//
// A view is a module with `async function show(view, parts, query, context)`. `view` is an element
// of its own (nothing is written over by a view that is late), `parts` is the path behind the
// view's name ("#/chat/C1" gives ["C1"]), `query` a URLSearchParams. It may give back a function
// that is called when the view is left. Who only wants another address, and not to be shown
// again, uses `history.replaceState`.

import { learnSession, signOut, whenAnother, whenSignedOut } from "./api.js";
import { ask } from "./dialog.js";
import { announce, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { notify } from "./toasts.js";

const VIEWS = {
  chat: { title: "Chat", icon: "chat", load: () => import("./chat.js") },
  library: { title: "Library", icon: "library", style: "/page/library.css", load: () => import("./library.js") },
  why: { title: "Why", icon: "why", load: () => import("./why.js") },
  status: { title: "Status", icon: "status", style: "/page/library.css", load: () => import("./status.js") },
  read: { title: "Reader", load: () => import("./reader.js") },
  "sign-in": { title: "Sign in", style: "/page/library.css", load: () => import("./signin.js") },
};
const IN_NAVIGATION = ["chat", "library", "why", "status"];

const main = document.getElementById("main");
const context = {
  session: { owner: null, needs_key: false, signed_in: false, csrf: "", version: "" },
  notify,
  confirm: ask,
  go,
  /** For the view that signs in: from here on, these are who we are. */
  enter(session) {
    context.session = session;
    showTools();
  },
};
const styles = {};
let turn = 0;
let shown = { name: "", leave: null };

function go(hash) {
  if (location.hash === hash) route();
  else location.hash = hash;
}

function readHash() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [name, ...parts] = path.split("/").filter(Boolean).map(decoded);
  return { name: name in VIEWS ? name : "chat", parts, query: new URLSearchParams(search) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function route() {
  const mine = ++turn;
  const isFirst = !shown.name;
  const { name, parts, query } = readHash();
  if (needsKey() && name !== "sign-in") return toSignIn();
  shown.leave?.();
  shown = { name, leave: null };
  markNavigation(name);
  document.title = `${VIEWS[name].title} · unchunk`;
  const view = h("div", { class: `view view-${name}` });
  main.dataset.view = name;
  fill(main, view);
  main.scrollTop = 0;
  try {
    const { show } = await loaded(name);
    if (mine !== turn) return;
    const leave = await show(view, parts, query, context);
    if (mine === turn) shown.leave = leave;
    else leave?.();
  } catch (error) {
    if (mine === turn && error.status !== 401) showFault(view, error);
  }
  if (mine === turn && !isFirst) arrive(view, name);
}

async function loaded(name) {
  const { load, style } = VIEWS[name];
  try {
    const [module] = await Promise.all([load(), style && styled(style)]);
    return module;
  } catch (cause) {
    throw new Error("This part of the page could not be loaded.", { cause });
  }
}

/** What not everybody needs at once comes with the view that does, before it is seen. */
function styled(href) {
  styles[href] ??= new Promise((settle, reject) => {
    const link = h("link", { rel: "stylesheet", href, on: { load: settle, error: reject } });
    document.head.append(link);
  });
  return styles[href];
}

/** What was clicked is behind: the next Tab goes into the view, unless the view knows better. */
function arrive(view, name) {
  if (!view.contains(document.activeElement)) main.focus({ preventScroll: true });
  announce(VIEWS[name].title);
}

function showFault(view, error) {
  console.error(error.cause ?? error);
  const again = h("button", { class: "button", type: "button", on: { click: () => location.reload() } }, "Load the page again");
  fill(
    view,
    h("div", { class: "empty", role: "alert" }, icon("warning"), h("h1", {}, "This does not work now"), h("p", {}, error.message), again),
  );
}

function needsKey() {
  return context.session.needs_key && !context.session.owner;
}

function toSignIn() {
  const next = location.hash.startsWith("#/sign-in") ? "" : location.hash;
  location.replace(`#/sign-in${next ? `?next=${encodeURIComponent(next)}` : ""}`);
}

function makeNavigation() {
  const links = IN_NAVIGATION.map((name) =>
    h("a", { href: `#/${name}`, "data-name": name }, icon(VIEWS[name].icon), h("span", {}, VIEWS[name].title), h("span", { class: "count", hidden: true })),
  );
  fill(document.getElementById("nav"), links);
}

function markNavigation(name) {
  // A document is read out of the library.
  const current = name === "read" ? "library" : name;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.name === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.body.dataset.view = name;
}

/** A number at the library's link: files under way, while another view is looked at. */
function showCount(event) {
  const count = document.querySelector('#nav a[data-name="library"] .count');
  const { running } = event.detail;
  count.hidden = !running;
  fill(count, running > 99 ? "99+" : String(running), h("span", { class: "sr-only" }, " files under way"));
}

function showTools() {
  const { signed_in: signedIn, owner } = context.session;
  fill(
    document.getElementById("tools"),
    signedIn && h("span", { class: "owner", title: "Signed in" }, owner),
    themeButton(),
    signedIn && h("button", { class: "icon-button", type: "button", title: "Sign out", "aria-label": "Sign out", on: { click: leave } }, icon("leave")),
  );
}

async function leave() {
  try {
    await signOut();
    beginAnew();
  } catch (error) {
    notify(error.message, "bad");
  }
}

/** The next one finds nothing of whoever was here: no files that wait, no question in the address. */
function beginAnew() {
  dispatchEvent(new Event("forget"));
  // Without a hash it is loaded.
  location.replace("/");
}

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}

function themeButton() {
  const words = `Use the ${isDark() ? "light" : "dark"} theme`;
  return h(
    "button",
    { class: "icon-button", id: "theme", type: "button", title: words, "aria-label": words, on: { click: changeTheme } },
    icon(isDark() ? "sun" : "moon"),
  );
}

/** Whoever comes back to the system's own theme follows it from then on. */
function changeTheme() {
  const wanted = isDark() ? "light" : "dark";
  const isSystems = (wanted === "dark") === systemIsDark.matches;
  if (isSystems) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
  try {
    if (isSystems) localStorage.removeItem("theme");
    else localStorage.setItem("theme", wanted);
  } catch {
    // It lasts as long as the page, then.
  }
  showTools();
  document.getElementById("theme").focus();
}

/** A file that is dropped beside what takes it would be opened in place of the page. */
function keepPage(event) {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}

async function start() {
  makeNavigation();
  showTools();
  systemIsDark.addEventListener("change", showTools);
  whenSignedOut(() => {
    if (readHash().name === "sign-in") return;
    context.session = { ...context.session, owner: null, needs_key: true, signed_in: false };
    showTools();
    toSignIn();
  });
  whenAnother(beginAnew);
  document.getElementById("skip").addEventListener("click", (event) => {
    // The hash belongs to the router.
    event.preventDefault();
    main.focus();
  });
  addEventListener("hashchange", route);
  addEventListener("under-way", showCount);
  addEventListener("dragover", keepPage);
  addEventListener("drop", keepPage);
  try {
    context.enter(await learnSession());
  } catch (error) {
    showFault(main, error);
    return;
  }
  await route();
}

start();
