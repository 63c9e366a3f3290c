export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'place' | 'same';
  readonly text: string;
}

const CONTEXT = 3;
/** Cells of the table of the comparison; beyond it everything between the equal ends is shown as replaced. */
const MAX_CELLS = 250_000;

/** The lines of a unified diff, without the lines that name its file. */
export function unifiedLines(text: string): readonly DiffLine[] {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('@@'));
  return lines.slice(Math.max(0, first)).map((line) => ({ kind: kindOf(line), text: line }));
}

const kindOf = (line: string): DiffLine['kind'] =>
  line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : 'same';

/** The changed lines between two texts, with three equal lines around them. */
export function compareLines(before: string, after: string, maxCells = MAX_CELLS): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = compareMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end), maxCells);
  const same = (line: string): DiffLine => ({ kind: 'same', text: ` ${line}` });
  const all = [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
  return withoutFarLines(all);
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** By the longest common subsequence of lines. */
function compareMiddle(old: readonly string[], now: readonly string[], maxCells: number): DiffLine[] {
  const removed = (line: string): DiffLine => ({ kind: 'removed', text: `-${line}` });
  const added = (line: string): DiffLine => ({ kind: 'added', text: `+${line}` });
  const width = now.length + 1;
  if (old.length === 0 || now.length === 0 || (old.length + 1) * width > maxCells)
    return [...old.map(removed), ...now.map(added)];
  const length = new Uint32Array((old.length + 1) * width);
  const cell = (row: number, column: number): number => length[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      length[row * width + column] =
        old[row] === now[column]
          ? cell(row + 1, column + 1) + 1
          : Math.max(cell(row + 1, column), cell(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < now.length) {
    const [left = '', right = ''] = [old[row], now[column]];
    if (row < old.length && column < now.length && left === right) {
      lines.push({ kind: 'same', text: ` ${left}` });
      row += 1;
      column += 1;
    } else if (column >= now.length || (row < old.length && cell(row + 1, column) >= cell(row, column + 1))) {
      lines.push(removed(left));
      row += 1;
    } else {
      lines.push(added(right));
      column += 1;
    }
  }
  return lines;
}

function withoutFarLines(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  lines.forEach(({ kind }, index) => {
    if (kind !== 'same') isNear.fill(1, Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1));
  });
  return lines.flatMap((line, index): DiffLine[] => {
    if (isNear[index] === 1) return [line];
    return index === 0 || isNear[index - 1] === 1 ? [{ kind: 'place', text: '…' }] : [];
  });
}
