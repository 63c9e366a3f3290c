import { setTimeout as wait } from 'node:timers/promises';
import type { Socket } from 'node:net';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { HostLog } from '#execution/runner';
import { HOME_DIRECTORY } from './container-specification.js';
import type { ContainerState, DockerEngine, EngineMonitor } from './docker-engine.js';
import { EngineUnreachable, isMissing } from './engine-connection.js';
import { logRunnerLine } from '../process/runner-process.js';

const RETRY_MS = 500;

export interface RunnerContainerDependencies {
  readonly engine: DockerEngine;
  readonly monitor: EngineMonitor;
  readonly log: HostLog;
}

/** A container of a runner, identified by its name, which is unique on an engine. */
export class RunnerContainer {
  private readonly output: RunnerOutput;
  private input: Socket | null = null;
  /** Signals whose requests are pending. */
  private readonly sending = new Set<NodeJS.Signals>();

  constructor(
    readonly name: string,
    private readonly executionId: string,
    private readonly parts: RunnerContainerDependencies,
  ) {
    this.output = new RunnerOutput(executionId, parts.log);
  }

  get tail(): string {
    return this.output.tail;
  }

  /** Creates the container with its workspace, and attaches to it. Returns its id. */
  async create(specification: object): Promise<string> {
    const { engine, log } = this.parts;
    const id = await engine.createContainer(this.name, specification);
    await engine.putArchive(this.name, '/', directoryArchive(HOME_DIRECTORY));
    const { socket, head } = await engine.attach(this.name);
    const frames = new OutputFrames((content) => this.output.push(content));
    frames.push(head);
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
    // A restart of the engine breaks the connection; the exit of the container is read when the engine is back.
    socket.on('error', (error) =>
      log.debug('a container’s output ended', { execution_id: this.executionId, error: error.message }),
    );
    this.input = socket;
    return id;
  }

  start(): Promise<void> {
    return this.parts.engine.startContainer(this.name);
  }

  /** Sends the hand-over; once. */
  assign(handover: RunnerHandover): void {
    this.input?.write(`${JSON.stringify(handover)}\n`);
    this.input = null;
  }

  /**
   * Rejects when the engine does not respond. Does nothing for a container that is not running, and while the same signal
   * is being sent: a slow engine gets no further requests.
   */
  async signal(signal: NodeJS.Signals): Promise<void> {
    if (this.sending.has(signal)) return;
    this.sending.add(signal);
    try {
      await this.parts.engine.signalContainer(this.name, signal);
    } finally {
      this.sending.delete(signal);
    }
  }

  /** Waits without limit, also over restarts of the engine. Null: the container was removed. */
  async exit(signal: AbortSignal): Promise<ContainerState | null> {
    const { engine, monitor, log } = this.parts;
    for (;;) {
      try {
        await engine.waitContainer(this.name, signal);
        const state = await engine.inspectContainer(this.name);
        if (!state?.isRunning) return state;
      } catch (error) {
        if (signal.aborted) throw error;
        if (isMissing(error)) return null;
        if (error instanceof EngineUnreachable) monitor.markUnavailable(error);
        else
          log.warn('the container could not be waited for', { execution_id: this.executionId, error: String(error) });
      }
      await wait(RETRY_MS);
    }
  }

  remove(): Promise<void> {
    return this.parts.engine.removeContainer(this.name);
  }
}

const BLOCK_BYTES = 512;

/** A tar archive of one empty directory with mode 1777: all users may create files, and delete only their own. */
export function directoryArchive(name: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(`${name}/`, 0, 'ascii');
  header.write(octal(0o1777, 7), 100, 'ascii');
  header.write(octal(0, 7), 108, 'ascii');
  header.write(octal(0, 7), 116, 'ascii');
  header.write(octal(0, 11), 124, 'ascii');
  header.write(octal(0, 11), 136, 'ascii');
  // The sum counts itself as spaces.
  header.write(' '.repeat(8), 148, 'ascii');
  header.write('5', 156, 'ascii');
  header.write('ustar\0', 257, 'ascii');
  header.write('00', 263, 'ascii');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
  return Buffer.concat([header, Buffer.alloc(2 * BLOCK_BYTES)]);
}

const MAX_LINE_BYTES = 16_384;
const MAX_LOGGED_BYTES = 4 * 1_048_576;
const TAIL_BYTES = 2000;

/** Every process in the container may write, so each line and the whole output have a limit. */
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

/** Output without a terminal: frames of a header (stream, three zeros, length in four bytes) and content. */
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
