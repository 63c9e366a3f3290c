import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasEnded, identify, parseJson, processNamespace, type ProcessIdentity } from '#platform/kernel';
import { z } from 'zod';
import type { HostLog } from '#execution/runner';
import type { FoundTask } from '../backend.js';
import { isExecutionId } from './workspaces.js';

const identity = z.object({ pid: z.number(), started: z.string(), boot: z.string() });
const shape = z.object({
  /** Process numbers are valid in it only. */
  namespace: z.string(),
  supervisor: identity,
  runner: identity.extend({ uid: z.number().optional(), started_at: z.number() }),
});

const FILE_NAME = /^(\d+)\.runner\.json$/;

/**
 * One file beside the workspace of each execution: by it a later process of the host finds the runner. Errors are logged: an
 * execution without a record is executed, and left to its lease when its host has ended.
 */
export class RunnerRecords {
  constructor(
    private readonly directory: string,
    private readonly log: Pick<HostLog, 'warn'>,
  ) {}

  /** This process supervises the runner. */
  write(executionId: string, runner: z.infer<typeof shape>['runner']): void {
    const file = this.fileOf(executionId);
    this.attempt(executionId, () => {
      const record: z.infer<typeof shape> = { namespace: processNamespace(), supervisor: thisProcess(), runner };
      // Not synchronised to the disk: after a failure of the machine the runner does not exist either.
      writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    });
  }

  /** This process supervises the runner from now on. */
  supervise(executionId: string): void {
    const record = this.read(executionId);
    if (record !== null) this.write(executionId, record.runner);
  }

  /** `unknown` also for runners of another machine or container that uses the same directory. */
  find(executionId: string): Omit<FoundTask, 'executionId'> {
    const record = this.read(executionId);
    if (record === null || record.namespace === '' || record.namespace !== processNamespace())
      return { state: 'unknown', handle: {} };
    // Another process that supervises it notices its end.
    if (!hasEnded(record.supervisor)) return { state: 'running', handle: {} };
    const { uid, ...runner } = record.runner;
    return { state: 'orphaned', handle: { ...runner, ...(uid === undefined ? {} : { uid }) } };
  }

  /** Whether there is none any more. */
  remove(executionId: string): boolean {
    return this.attempt(executionId, () => rmSync(this.fileOf(executionId), { force: true, recursive: true }));
  }

  executions(): string[] {
    return readdirSync(this.directory)
      .flatMap((name) => FILE_NAME.exec(name)?.[1] ?? [])
      .filter(isExecutionId);
  }

  private read(executionId: string): z.infer<typeof shape> | null {
    try {
      return shape.safeParse(parseJson(readFileSync(this.fileOf(executionId), 'utf8'))).data ?? null;
    } catch {
      return null; // It does not exist, or cannot be read now.
    }
  }

  private attempt(executionId: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.log.warn('the record of a runner could not be changed', { execution_id: executionId, error: String(error) });
      return false;
    }
  }

  private fileOf(executionId: string): string {
    return join(this.directory, `${executionId}.runner.json`);
  }
}

let own: ProcessIdentity | null = null;

function thisProcess(): ProcessIdentity {
  own ??= identify(process.pid);
  if (own === null) throw new Error('This process cannot be identified.');
  return own;
}
