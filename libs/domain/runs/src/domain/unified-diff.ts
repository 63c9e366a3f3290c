import { createTwoFilesPatch, formatPatch } from 'diff';

const CONTEXT_LINES = 3;
const NO_NEWLINE = '\\ No newline at end of file';

interface FileVersions {
  /** Undefined: the file does not exist. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly old: string;
  readonly current: string;
}

/**
 * The unified diff of two texts. Finding the fewest changed lines takes long when the texts have little in common: after
 * `timeoutMs` milliseconds the diff is one block, from the first line that differs to the last one.
 */
export function unifiedDiff({ from, to, old, current }: FileVersions, timeoutMs: number): string {
  const oldFileName = from === undefined ? '/dev/null' : `a/${from}`;
  const newFileName = to === undefined ? '/dev/null' : `b/${to}`;
  const shortest =
    timeoutMs > 0
      ? createTwoFilesPatch(oldFileName, newFileName, old, current, undefined, undefined, {
          context: CONTEXT_LINES,
          timeout: timeoutMs,
        })
      : undefined;
  if (shortest !== undefined) return shortest;
  const hunks = [blockOf(linesOf(old), linesOf(current))];
  return formatPatch({ oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks });
}

/** Each with its line break; only the last one may have none. */
const linesOf = (text: string): string[] => text.split(/(?<=\n)/).filter((line) => line !== '');

function blockOf(old: readonly string[], current: readonly string[]) {
  const shorter = Math.min(old.length, current.length);
  let start = 0;
  while (start < shorter && old[start] === current[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === current.at(-1 - end)) end += 1;
  const first = Math.max(0, start - CONTEXT_LINES);
  const after = Math.max(0, end - CONTEXT_LINES);
  const marked = (lines: readonly string[], sign: string): string[] =>
    lines.flatMap((line) => (line.endsWith('\n') ? [`${sign}${line.slice(0, -1)}`] : [`${sign}${line}`, NO_NEWLINE]));
  return {
    oldStart: first + 1,
    oldLines: old.length - after - first,
    newStart: first + 1,
    newLines: current.length - after - first,
    lines: [
      ...marked(old.slice(first, start), ' '),
      ...marked(old.slice(start, old.length - end), '-'),
      ...marked(current.slice(start, current.length - end), '+'),
      ...marked(old.slice(old.length - end, old.length - after), ' '),
    ],
  };
}
