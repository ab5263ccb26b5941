// Where the cells of a heat map are. Cells are as large as the room allows.

export const TITLE_PX = 22;
const LARGEST_PX = 40;
const SMALLEST_PX = 5;

/**
 * Returns the layout of groups of cells.
 *
 * @param {{title: string, slots: number[]}[]} groups
 * @param {number} width of the room in pixels
 * @param {number} height of the room; more is used if cells would be too small
 * @returns {{cellPx: number, columns: number, height: number,
 *   blocks: {title: string, slots: number[], top: number}[]}} `top` is that of the first row of cells
 */
export function heatLayout(groups, width, height) {
  for (let cellPx = LARGEST_PX; ; cellPx--) {
    const columns = Math.max(1, Math.floor(width / cellPx));
    let top = 0;
    const blocks = groups.map(({ title, slots }) => {
      if (title) top += TITLE_PX;
      const block = { title, slots, top };
      top += Math.ceil(slots.length / columns) * cellPx + (title ? 6 : 0);
      return block;
    });
    if (top <= height || cellPx === SMALLEST_PX) return { cellPx, columns, height: top, blocks };
  }
}

/** Returns the position of a cell: `block` and `index` in it; null where there is none. */
export function cellAt(layout, x, y) {
  const { cellPx, columns, blocks } = layout;
  const column = Math.floor(x / cellPx);
  if (column < 0 || column >= columns) return null;
  for (let block = blocks.length - 1; block >= 0; block--) {
    if (y < blocks[block].top) continue;
    const index = Math.floor((y - blocks[block].top) / cellPx) * columns + column;
    return index < blocks[block].slots.length ? { block, index } : null;
  }
  return null;
}

/** Returns the left and top edge of a cell. */
export function edgeOf(layout, { block, index }) {
  const { cellPx, columns, blocks } = layout;
  return [(index % columns) * cellPx, blocks[block].top + Math.floor(index / columns) * cellPx];
}

/** Returns the cell of a slot; null if it is not shown. */
export function cellOf(layout, slot) {
  for (let block = 0; block < layout.blocks.length; block++) {
    const index = layout.blocks[block].slots.indexOf(slot);
    if (index >= 0) return { block, index };
  }
  return null;
}

/** Returns the cell that an arrow key leads to. */
export function neighbor(layout, { block, index }, key) {
  const { columns, blocks } = layout;
  const lengthOf = (at) => blocks[at].slots.length;
  let next = { block, index };
  if (key === "ArrowRight") next.index += 1;
  if (key === "ArrowLeft") next.index -= 1;
  if (key === "ArrowDown") next.index += columns;
  if (key === "ArrowUp") next.index -= columns;
  if (key === "Home") next = { block: 0, index: 0 };
  if (key === "End") next = { block: blocks.length - 1, index: lengthOf(blocks.length - 1) - 1 };
  if (next.index >= lengthOf(block) && next.block === block) {
    const isLastRow = Math.floor(index / columns) === Math.floor((lengthOf(block) - 1) / columns);
    if (key === "ArrowDown" && !isLastRow) next.index = lengthOf(block) - 1;
    else if (block + 1 < blocks.length) next = { block: block + 1, index: key === "ArrowDown" ? Math.min(index % columns, lengthOf(block + 1) - 1) : 0 };
    else next = { block, index };
  } else if (next.index < 0) {
    if (block === 0) return { block, index };
    const length = lengthOf(block - 1);
    const lastRow = Math.floor((length - 1) / columns) * columns;
    next = { block: block - 1, index: key === "ArrowUp" ? Math.min(lastRow + (index % columns), length - 1) : length - 1 };
  }
  return next;
}
