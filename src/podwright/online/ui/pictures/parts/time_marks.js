// What happened, as marks on the time bar: bindings, preemptions, failures of nodes.

/** The custom properties of the colors, in the order in which `drawMarks` takes them. */
export const COLORS = ["--pw-line-strong", "--pw-accent", "--pw-bad", "--pw-warning", "--pw-muted"];

const EDGE_PX = 4;
const placesOf = new WeakMap();

/** Returns where a moment is on a bar. */
export function placeOf(sinceBegin, span, width) {
  return (sinceBegin / (span || 1)) * (width - 2 * EDGE_PX) + EDGE_PX;
}

/** Returns the end of a range, in steps of about a pixel: the end of a live cluster moves on always. */
export function stepped({ begin, end }, width) {
  const step = (end - begin) / BigInt(Math.max(1, Math.round(width))) || 1n;
  return begin + ((end - begin + step - 1n) / step) * step;
}

/** Makes a canvas as large as given, in CSS pixels, and clears it; returns its context. */
export function sized(canvas, width, height) {
  const ratio = devicePixelRatio;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const firstOf = new WeakMap();

/** Returns where the axis of a past begins: shortly before its first change, if nothing precedes it for long. */
export function axisBegin(past, end) {
  const { beginNs, timeline } = past;
  if (!firstOf.has(timeline)) firstOf.set(timeline, timeline.timesNs.find((time) => time > beginNs) ?? beginNs);
  const first = firstOf.get(timeline);
  const before = first - (end - first) / 20n;
  return before > beginNs && first < end ? before : beginNs;
}

/**
 * Draws the marks of a timeline.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {import("../data/past_state.js").PastState} past
 * @param {{begin: bigint, end: bigint, width: number, height: number}} bar
 * @param {number} axis the height of the line of time
 * @param {string[]} colors those of `COLORS`
 */
export function drawMarks(canvas, past, { begin, end, width, height }, axis, [, accent, bad, warning]) {
  const context = sized(canvas, width, height);
  const span = Number(end - begin);
  const lead = Number(begin - past.beginNs);
  if (!placesOf.has(past)) placesOf.set(past, marksByKind(past));
  const [binding, preemption, failure] = ["binding", "preemption", "failure"].map((kind) => placesOf.get(past)[kind].map((since) => Math.max(0, since - lead)));
  // Bindings as a histogram: there may be more of them than pixels.
  const counts = new Uint32Array(Math.ceil(width / 2) + 1);
  for (const since of binding) counts[Math.max(0, Math.floor(placeOf(since, span, width) / 2))] += 1;
  const most = Math.log1p(Math.max(...counts));
  context.fillStyle = accent;
  context.globalAlpha = 0.55;
  counts.forEach((count, at) => {
    if (!count) return;
    const tall = 3 + (most ? (Math.log1p(count) / most) * (axis - 7) : 0);
    context.fillRect(at * 2, axis - tall, 2, tall);
  });
  context.globalAlpha = 1;
  context.fillStyle = warning;
  for (const since of preemption) {
    const x = placeOf(since, span, width);
    context.beginPath();
    context.moveTo(x, axis + 4);
    context.lineTo(x - 4, axis + 10);
    context.lineTo(x + 4, axis + 10);
    context.fill();
  }
  context.strokeStyle = bad;
  context.lineWidth = 2;
  for (const since of failure) {
    const x = placeOf(since, span, width);
    context.beginPath();
    context.moveTo(x - 3, axis + 4);
    context.lineTo(x + 3, axis + 10);
    context.moveTo(x + 3, axis + 4);
    context.lineTo(x - 3, axis + 10);
    context.stroke();
  }
}

/** Returns the nanoseconds between the start and each mark, by its kind. */
function marksByKind(past) {
  const found = { binding: [], preemption: [], failure: [] };
  for (const { kind, timeNs } of marksOf(past.timeline)) found[kind].push(Number(timeNs - past.beginNs));
  return found;
}

/**
 * Returns what to mark on the time bar.
 *
 * @param {ReturnType<import("../data/timeline_reader.js").readTimeline>} timeline
 * @returns {{kind: "binding" | "preemption" | "failure", timeNs: bigint, name: string}[]}
 */
export function marksOf(timeline) {
  const { subjects, fields, timesNs, subjectIndex, fieldIndex, deltas } = timeline;
  const [node, disrupted, ready, present] = ["node", "disruptedBy", "ready", "present"].map((name) => fields.indexOf(name));
  const isPreemption = subjects.map(([kind, name]) => kind === "reason" && name.includes("PreemptionByScheduler"));
  const isThere = new Uint8Array(subjects.length);
  const disruption = new Float64Array(subjects.length);
  const lost = new Map();
  const marks = [];
  for (let row = 0; row < timesNs.length; row++) {
    const subject = subjectIndex[row];
    const [kind, name] = subjects[subject];
    const delta = Number(deltas[row]);
    const timeNs = timesNs[row];
    if (kind === "pod" && fieldIndex[row] === node && delta > 0) marks.push({ kind: "binding", timeNs, name });
    if (kind === "pod" && fieldIndex[row] === disrupted) {
      disruption[subject] += delta;
      if (delta > 0 && isPreemption[disruption[subject] - 1]) marks.push({ kind: "preemption", timeNs, name });
    }
    if (kind !== "node") continue;
    if (fieldIndex[row] === present) {
      isThere[subject] = Number(delta > 0);
      // The values of a node that is deleted become 0 at the same time: that is not a failure.
      if (delta < 0 && lost.get(subject)?.timeNs === timeNs) lost.get(subject).kind = "";
    }
    if (fieldIndex[row] === ready && delta < 0 && isThere[subject]) {
      const mark = { kind: "failure", timeNs, name };
      lost.set(subject, mark);
      marks.push(mark);
    }
  }
  return marks.filter((mark) => mark.kind);
}
