// Elements, made without any markup: what comes from documents, models and people is always text.

/**
 * An element. `given` sets properties by name; `class`, `role`, `aria-*`, `data-*`, `for` and the
 * like are attributes; `on` holds listeners by event; null and false leave a thing out.
 */
export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "class" || name === "for" || name === "role" || name.includes("-")) {
      element.setAttribute(name, value === true ? "" : String(value));
    } else {
      element[name] = value;
    }
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Put other children in an element's place of those that it has. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Tell people who cannot see the page what has changed on it. */
export function announce(message) {
  const region = document.getElementById("announcements");
  if (region) region.textContent = message;
}
