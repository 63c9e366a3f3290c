import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isSameProcess, processNamespace, type ProcessIdentity } from '#platform/kernel';
import { z } from 'zod';
import type { FoundTask, TaskHandle } from '../backend.js';

const identity = z.object({ pid: z.number(), started: z.string(), boot: z.string() });
const shape = z.object({
  /** Process numbers are valid in it only. */
  namespace: z.string(),
  supervisor: identity,
  runner: identity.extend({ uid: z.number().optional(), started_at: z.number() }),
});

const FILE_NAME = /^(\d{1,19})\.runner\.json$/;

/** One file beside the workspace of each execution: by it a later process of the host finds the runner. */
export class RunnerRecords {
  constructor(private readonly directory: string) {}

  write(executionId: string, runner: z.infer<typeof shape>['runner']): void {
    const record: z.infer<typeof shape> = { namespace: processNamespace(), supervisor: thisProcess(), runner };
    // Not synchronised to the disk: after a failure of the machine the runner does not exist either.
    writeFileSync(this.fileOf(executionId), JSON.stringify(record), { mode: 0o600 });
  }

  /** This process supervises the runner from now on. */
  supervise(executionId: string): void {
    const record = this.read(executionId);
    if (record !== null) this.write(executionId, record.runner);
  }

  /** `unknown` also for runners of another machine or container that uses the same directory. */
  find(executionId: string): Pick<FoundTask, 'state'> & { handle: TaskHandle } {
    const record = this.read(executionId);
    if (record === null || record.namespace === '' || record.namespace !== processNamespace())
      return { state: 'unknown', handle: {} };
    const { uid, ...runner } = record.runner;
    // Another process that supervises it notices its end.
    if (isSameProcess(record.supervisor)) return { state: 'running', handle: {} };
    return { state: 'orphaned', handle: { ...runner, ...(uid === undefined ? {} : { uid }) } };
  }

  remove(executionId: string): void {
    rmSync(this.fileOf(executionId), { force: true });
  }

  executions(): string[] {
    return readdirSync(this.directory).flatMap((name) => FILE_NAME.exec(name)?.[1] ?? []);
  }

  private read(executionId: string): z.infer<typeof shape> | null {
    try {
      return shape.parse(JSON.parse(readFileSync(this.fileOf(executionId), 'utf8')));
    } catch {
      return null; // It does not exist, or its writer was killed.
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
