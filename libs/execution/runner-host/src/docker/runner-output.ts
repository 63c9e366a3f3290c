import type { HostLog } from '#execution/runner';
import { logRunnerLine } from '../runner-process.js';

const MAX_LINE_BYTES = 16_384;
const MAX_LOGGED_BYTES = 4 * 1_048_576;
const TAIL_BYTES = 2000;

/**
 * Logs the output of a container line by line. Every process in it may write, so that each line and the whole output have
 * a limit.
 */
export class RunnerOutput {
  private line = Buffer.alloc(0);
  private logged = 0;
  private tail_ = '';

  constructor(
    private readonly executionId: string,
    private readonly log: HostLog,
  ) {}

  /** The end of the output, on one line. */
  get tail(): string {
    return this.tail_.replace(/\s+/g, ' ').trim();
  }

  push(content: Buffer): void {
    this.tail_ = (this.tail_ + content.toString('utf8')).slice(-TAIL_BYTES);
    let rest = content;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      this.append(rest.subarray(0, end));
      this.flush();
      rest = rest.subarray(end + 1);
    }
    this.append(rest);
  }

  private append(part: Buffer): void {
    const capacity = MAX_LINE_BYTES - this.line.length;
    if (capacity > 0 && part.length > 0) this.line = Buffer.concat([this.line, part.subarray(0, capacity)]);
  }

  private flush(): void {
    const text = this.line.toString('utf8');
    this.line = Buffer.alloc(0);
    if (text === '' || this.logged > MAX_LOGGED_BYTES) return;
    this.logged += text.length;
    if (this.logged > MAX_LOGGED_BYTES)
      this.log.warn('no more of this runner’s output is logged', { execution_id: this.executionId });
    else logRunnerLine(this.log, text, this.executionId);
  }
}

const HEADER_BYTES = 8;

/**
 * Parses the output of a container without a terminal: frames of a header (stream, three zeros, length in four bytes) and
 * content. Content is forwarded as it arrives.
 */
export class OutputFrames {
  private header = Buffer.alloc(0);
  private left = 0;

  constructor(private readonly onContent: (content: Buffer) => void) {}

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.left > 0) {
        const content = rest.subarray(0, this.left);
        this.left -= content.length;
        rest = rest.subarray(content.length);
        this.onContent(content);
        continue;
      }
      const wanted = HEADER_BYTES - this.header.length;
      this.header = Buffer.concat([this.header, rest.subarray(0, wanted)]);
      rest = rest.subarray(wanted);
      if (this.header.length < HEADER_BYTES) return;
      this.left = this.header.readUInt32BE(4);
      this.header = Buffer.alloc(0);
    }
  }
}
