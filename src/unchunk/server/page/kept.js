// What this tab remembers over a reload. Where storage is closed to us, it remembers nothing.

export function remember(name, value) {
  try {
    if (value === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // It lasts as long as the page, then.
  }
}

export function forget() {
  try {
    sessionStorage.clear();
  } catch {
    // Then nothing was kept.
  }
}

export function recall(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null;
  }
}
