// Reads the timeline of a run and plays it; timeline.md describes the bytes.

const HEAD_BYTES = 16;
const COLUMNS = [
  ["timesNs", BigInt64Array],
  ["deltas", BigInt64Array],
  ["subjectIndex", Uint32Array],
  ["fieldIndex", Uint16Array],
];

/**
 * Returns the timeline of chunks that follow each other.
 *
 * @param {ArrayBuffer} buffer
 * @returns {{subjects: [string, string][], fields: string[], firstNs: bigint,
 *   timesNs: BigInt64Array, deltas: BigInt64Array, subjectIndex: Uint32Array,
 *   fieldIndex: Uint16Array}}
 */
export function readTimeline(buffer) {
  const view = new DataView(buffer);
  const found = { subjects: [], fields: [], firstNs: 0n };
  const parts = COLUMNS.map(() => []);
  for (let at = 0; at < buffer.byteLength; ) {
    if (buffer.byteLength - at < HEAD_BYTES || text(buffer, at, 4) !== "PWT1") {
      throw new Error(`byte ${at}: must be the start of a chunk of a timeline`);
    }
    const headerBytes = view.getUint32(at + 4, true);
    const end = at + HEAD_BYTES + headerBytes + Number(view.getBigUint64(at + 8, true));
    if (end > buffer.byteLength) {
      throw new Error(`byte ${at}: the timeline ends within a chunk`);
    }
    const header = JSON.parse(text(buffer, at + HEAD_BYTES, headerBytes));
    found.subjects = found.subjects.concat(header.subjects);
    found.fields = found.fields.concat(header.fields);
    found.firstNs = BigInt(header.firstNs);
    let column = at + HEAD_BYTES + headerBytes;
    COLUMNS.forEach(([, Kind], index) => {
      parts[index].push(new Kind(buffer, column, header.rows));
      column += header.rows * Kind.BYTES_PER_ELEMENT;
    });
    at = end;
  }
  COLUMNS.forEach(([name, Kind], index) => (found[name] = joined(Kind, parts[index])));
  return found;
}

/** The state of a timeline at a time, which can be moved forwards and backwards. */
export class Player {
  constructor(timeline) {
    this.timeline = timeline;
    this.row = 0; // the first row that is not added
    this.values = new Float64Array(timeline.subjects.length * timeline.fields.length);
  }

  /** Moves to the state after every change up to a time, in nanoseconds since 1970. */
  seek(timeNs) {
    const { timesNs } = this.timeline;
    while (this.row < timesNs.length && timesNs[this.row] <= timeNs) this.add(this.row++, 1);
    while (this.row > 0 && timesNs[this.row - 1] > timeNs) this.add(--this.row, -1);
  }

  /** Returns the value of a subject and a field, by their indexes. */
  value(subject, field) {
    return this.values[subject * this.timeline.fields.length + field];
  }

  add(row, sign) {
    const { subjectIndex, fieldIndex, fields, deltas } = this.timeline;
    this.values[subjectIndex[row] * fields.length + fieldIndex[row]] += sign * Number(deltas[row]);
  }
}

function text(buffer, at, length) {
  return new TextDecoder().decode(new Uint8Array(buffer, at, length));
}

function joined(Kind, parts) {
  const whole = new Kind(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
