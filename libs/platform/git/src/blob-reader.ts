import { GitFailure } from './git-failure.js';
import { COMMIT_ID } from './git-location.js';
import { GitProcess, inDirectory } from './git-process.js';

interface Waiting {
  readonly wants: 'size' | 'content';
  readonly resolve: (content: Buffer) => void;
  readonly reject: (error: GitFailure) => void;
}

const IDLE_MS = 1_000;
const LIFE_MS = 3_600_000;
const HEADER = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/;

/**
 * Reads blobs by one `git cat-file` after another answer, so that two thousand files are not two thousand processes. The
 * process leaves by itself when nobody has asked for a while. What is too large is refused before its content is read.
 */
export class BlobReader {
  private git: GitProcess | null = null;
  private idle: NodeJS.Timeout | undefined;
  private tail: Promise<unknown> = Promise.resolve();
  private waiting: Waiting | null = null;
  private buffer: Buffer[] = [];
  private buffered = 0;

  constructor(private readonly directory: string) {}

  /** Rejects with GitFailure `too_large`, or `damaged` when there is no such blob. */
  read(oid: string, maxBytes: number): Promise<Buffer> {
    if (!COMMIT_ID.test(oid)) return Promise.reject(new GitFailure('invalid', 'The object id of a file is invalid.'));
    const result = this.tail.then(async () => {
      const bytes = Number((await this.ask('size', `info ${oid}`)).toString('latin1'));
      if (bytes > maxBytes)
        throw new GitFailure('too_large', `The file has ${bytes} bytes; at most ${maxBytes} are read.`);
      return this.ask('content', `contents ${oid}`);
    });
    this.tail = result.catch(() => undefined);
    return result;
  }

  private ask(wants: Waiting['wants'], line: string): Promise<Buffer> {
    const git = this.running();
    return new Promise((resolve, reject) => {
      this.waiting = { wants, resolve, reject };
      git.stdin?.write(`${line}\n`);
    });
  }

  private running(): GitProcess {
    clearTimeout(this.idle);
    if (this.git) return this.git;
    const git = new GitProcess({
      ...inDirectory(this.directory, 'cat-file', '--batch-command'),
      streamsInput: true,
      timeoutMs: LIFE_MS,
    });
    git.stdout?.on('data', (chunk: Buffer) => this.take(chunk));
    const gone = (error: unknown): void => {
      if (this.git !== git) return; // it was let go
      this.git = null;
      this.settle(error instanceof GitFailure ? error : new GitFailure('failed', 'git left while it was asked.'));
    };
    git.finished().then(gone, gone);
    this.git = git;
    return git;
  }

  private take(chunk: Buffer): void {
    this.buffer.push(chunk);
    this.buffered += chunk.length;
    const { waiting } = this;
    if (!waiting) return;
    // Joined only when there is a reason to look: a large file comes in many pieces.
    const first = this.buffer[0] ?? chunk;
    if (first.indexOf(0x0a) < 0 && this.buffer.length > 1) this.join();
    const head = this.buffer[0] ?? chunk;
    const end = head.indexOf(0x0a);
    if (end < 0) return;
    const header = HEADER.exec(head.toString('latin1', 0, end));
    if (header?.[2] !== 'blob')
      return this.settle(new GitFailure('damaged', 'There is no such file in the repository.'));
    if (waiting.wants === 'size') return this.settle(Buffer.from(header[3] ?? '0'));
    const size = Number(header[3]);
    if (this.buffered < end + 1 + size + 1) return;
    this.join();
    this.settle(Buffer.from((this.buffer[0] ?? head).subarray(end + 1, end + 1 + size)));
  }

  private leave(): void {
    const { git } = this;
    this.git = null;
    git?.stdin?.end();
  }

  private join(): void {
    this.buffer = [Buffer.concat(this.buffer)];
  }

  private settle(result: Buffer | GitFailure): void {
    const { waiting } = this;
    this.waiting = null;
    this.buffer = [];
    this.buffered = 0;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.leave(), IDLE_MS);
    this.idle.unref();
    if (result instanceof GitFailure) waiting?.reject(result);
    else waiting?.resolve(result);
  }
}
