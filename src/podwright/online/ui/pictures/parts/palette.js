// Colors of the heat map. The steps differ in lightness, so the color-blind tell them apart.

/** Ten steps of even lightness after the colormap YlGnBu of ColorBrewer, from high to low. */
export const STEPS = [
  "#081d58",
  "#1c2d81",
  "#26459c",
  "#2362aa",
  "#227eb7",
  "#299ac1",
  "#43b7c4",
  "#84cfbb",
  "#bde5b5",
  "#f3f9c0",
];

/** Colors of categories, after Okabe and Ito. */
export const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f"];

/**
 * Returns the steps of a theme: more is farther from the background in both.
 *
 * @param {boolean} isDark
 */
export function steps(isDark) {
  return isDark ? STEPS : STEPS.toReversed();
}

/**
 * Returns the index of the step of a share; a share of 1 and more has the last one.
 *
 * @param {number} share
 */
export function stepOf(share) {
  return Math.max(0, Math.min(STEPS.length - 1, Math.floor(share * STEPS.length)));
}

const inks = new Map();

/** Returns black or white, whichever is legible on a color such as #00224e. */
export function inkOn(color) {
  let ink = inks.get(color);
  if (ink === undefined) inks.set(color, (ink = legibleOn(color)));
  return ink;
}

function legibleOn(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(color.slice(at, at + 2), 16) / 255));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
}

function linear(value) {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
