// The theme as canvases need it: whether it is dark, and colors as numbers.

/** Returns whether the page is dark. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "dark" || chosen === "light") return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const known = new Map();

/** Returns the color of a custom property as the canvas understands it. */
export function colorOf(element, property) {
  const key = `${isDark()} ${property}`;
  if (!known.has(key)) {
    const color = computedColor(element, property);
    if (document.readyState !== "complete") return color; // style sheets may be missing yet
    known.set(key, color);
  }
  return known.get(key);
}

function computedColor(element, property) {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  probe.hidden = true;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Calls a function when the theme changes; returns the function that ends that. */
export function onTheme(callback) {
  const observer = new MutationObserver(callback);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", callback);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", callback);
  };
}
