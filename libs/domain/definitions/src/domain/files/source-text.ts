export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Lines and columns of a text, both from 1; columns count UTF-16 units, as editors do. A byte order mark is no column. */
export class SourceText {
  readonly text: string;
  private readonly lineStarts: number[] = [0];

  constructor(content: string) {
    this.text = content.startsWith('\uFEFF') ? content.slice(1) : content;
    for (let at = this.text.indexOf('\n'); at !== -1; at = this.text.indexOf('\n', at + 1))
      this.lineStarts.push(at + 1);
  }

  position(offset: number): Position {
    const within = Math.min(Math.max(offset, 0), this.text.length);
    let [low, high] = [0, this.lineStarts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.lineStarts[middle] ?? 0) <= within) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: within - (this.lineStarts[low] ?? 0) + 1 };
  }
}

/** The prompt after the front matter, without the empty line before it and the line break at its end. */
export const promptOf = (body: string): string => body.replace(/^\r?\n/, '').replace(/\r?\n$/, '');

/** The text from which {@link promptOf} reads this prompt. */
export const bodyOf = (prompt: string): string =>
  prompt === '' ? '' : `\n${prompt}${prompt.endsWith('\r') ? '\r\n' : '\n'}`;
