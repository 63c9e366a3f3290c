import type { HostLog } from '../host-log.js';
import { forwardRunnerLine } from '../runner-line.js';

const MAX_LINE_BYTES = 16_384;
const MAX_LOGGED_BYTES = 4 * 1_048_576;
const TAIL_BYTES = 2000;

/**
 * What a container writes, line by line into our log. Whatever runs in there may write: a line has its limit, and so
 * has all of it together.
 */
export class RunnerOutput {
  private line = Buffer.alloc(0);
  private logged = 0;
  private tail_ = '';

  constructor(
    private readonly executionId: string,
    private readonly log: HostLog,
  ) {}

  /** The end of it, on one line. */
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
    const room = MAX_LINE_BYTES - this.line.length;
    if (room > 0 && part.length > 0) this.line = Buffer.concat([this.line, part.subarray(0, room)]);
  }

  private flush(): void {
    const text = this.line.toString('utf8');
    this.line = Buffer.alloc(0);
    if (text === '' || this.logged > MAX_LOGGED_BYTES) return;
    this.logged += text.length;
    if (this.logged > MAX_LOGGED_BYTES)
      this.log.warn('no more of this runner’s output is logged', { execution_id: this.executionId });
    else forwardRunnerLine(this.log, text, this.executionId);
  }
}
