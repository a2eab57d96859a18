// The pictures of the page, as strokes on a field of 24 by 24.

const SPACE = "http://www.w3.org/2000/svg";

const STROKES = {
  back: "M19 12H5M11 6l-6 6 6 6",
  chat: "M4 5.5h16v11H10l-4.5 3.5v-3.5H4z",
  check: "M5 12.5l4.5 4.5L19 7",
  clock: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M12 7.5V12l3 2",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  dots: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  down: "M6 9.5l6 6 6-6",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  edit: "M4 20l1-4.5L15.5 5l3.5 3.5L8.5 19zM13.5 7l3.5 3.5",
  file: "M6 3.5h8l4.5 4.5v12.5H6zM14 3.5V8h4.5",
  folder: "M3.5 6h6l2 2.5h9V19h-17z",
  history: "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5M12 8v4.5l3 1.5",
  key: "M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 12.5l8.5-8.5M16 7.5l3 3",
  leave: "M14 4H5v16h9M10 12h10M16.5 8l4 4-4 4",
  left: "M14.5 6l-6 6 6 6",
  library: "M5 4h4v16H5zM9 4h4v16H9zM13.5 5.2l3.8-1 3.7 15-3.8 1z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  panel: "M4 5h16v14H4zM14.5 5v14",
  plus: "M12 5v14M5 12h14",
  read: "M12 6.5C10 5 7 4.5 3.5 5v13.5c3.5-.5 6.5 0 8.5 1.5 2-1.5 5-2 8.5-1.5V5C17 4.5 14 5 12 6.5zM12 6.5V20",
  refresh: "M20 12a8 8 0 1 1-2.5-5.8L20 8.5M20 4v4.5h-4.5",
  right: "M9.5 6l6 6-6 6",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L20.5 20.5",
  send: "M12 20V5M6 11l6-6 6 6",
  status: "M3 12.5h4l2.5-7 4.5 13 2.5-6H21",
  stop: "M7 7h10v10H7z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  trash: "M4.5 7h15M9.5 7V4h5v3M6.5 7l1 13h9l1-13M10 11v5.5M14 11v5.5",
  up: "M6 14.5l6-6 6 6",
  upload: "M12 16V5M7 9.5l5-5 5 5M5 20h14",
  warning: "M12 4L2.5 20h19zM12 10v4.5M12 17.3h.01",
  why: "M4 20V4M4 20h16M8.5 16v-4M13 16V7M17.5 16v-6",
};

/** A picture that says nothing to a screen reader: whoever uses it has words beside it. */
export function icon(name) {
  const svg = document.createElementNS(SPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SPACE, "path");
  path.setAttribute("d", STROKES[name]);
  svg.append(path);
  return svg;
}
