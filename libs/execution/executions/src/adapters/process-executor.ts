import { Injectable } from '@nestjs/common';
import { join, resolve } from 'node:path';
import { findProgram } from '#platform/kernel';
import {
  AgentUsers,
  clearExecution,
  listWorkspaces,
  openWorkspacesDir,
  RunnerProcess,
  unreachableApiMessage,
} from '#execution/runner-host';
import { RUNNER_EXIT } from '#execution/runner';
import type { GitHandover } from '#execution/runner-protocol';
import type { Offer } from '../application/executors.js';
import { REAP_WORKSPACES_TASK } from '../application/tasks.js';
import { nestLog, RunnerExecutor } from './runner-executor.js';

/** How long a runner tries to claim, in multiples of CLAIM_DEADLINE: the offers of living runners are extended. */
const CLAIM_DEADLINES = 4;

/** As root every execution has a separate numeric user. See docs/operations for what this does and does not isolate. */
@Injectable()
export class ProcessExecutor extends RunnerExecutor {
  private readonly log = nestLog('Runner');
  private readonly users = new AgentUsers(this.settings);
  private readonly isRoot = process.getuid?.() === 0;
  private workspacesDir = '';
  private entry = '';

  override async prepare(): Promise<void> {
    this.entry = findProgram();
    this.workspacesDir = openWorkspacesDir(this.settings);
    await this.reap();
    this.startTasks([[REAP_WORKSPACES_TASK, () => this.reap()]]);
  }

  override launch({ executionId, runId }: Offer): void {
    const uid = this.uidOf(executionId);
    const { claimDeadline, agentMaxProcesses, runnerApiUrl } = this.settings;
    const runner = new RunnerProcess(this.entry, this.log, agentMaxProcesses).assign(
      this.handover(executionId, {
        workspace_dir: this.workspaceOf(executionId),
        claim_seconds: (claimDeadline * CLAIM_DEADLINES) / 1000,
        ...(uid === undefined ? {} : { run_as: { uid, gid: uid } }),
        git: this.localCloning,
      }),
    );
    this.logger.log({ msg: 'runner started', execution_id: executionId, run_id: runId, pid: runner.pid });
    this.starting.started(executionId);
    const gone = runner.exited.then(async ({ code, signal }) => {
      this.starting.gone(executionId);
      const hint = code === RUNNER_EXIT.notClaimed ? unreachableApiMessage(runnerApiUrl) : undefined;
      if (code !== 0)
        this.logger.warn({ msg: 'runner ended', execution_id: executionId, run_id: runId, code, signal, hint });
      await this.clear(executionId).catch((error: unknown) => this.reportRemains(executionId, error));
      const reason = signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`;
      if (code !== 0) await this.finish.lose(executionId, reason, { detail: hint });
    });
    const settled = gone
      .catch((error: unknown) => this.logger.warn(`Execution ${executionId} is left to its lease: ${String(error)}`))
      .finally(() => this.runners.delete(executionId));
    this.runners.set(executionId, { signal: (signal) => runner.signal(signal), gone: settled });
  }

  /** Runners share the mirrors of this machine. */
  private get localCloning(): GitHandover {
    const { dataDir, gitLocalRoots, gitAllowPrivate, githubUrl, gitMirrorsMaxBytes } = this.settings;
    return {
      ...this.cloning,
      mirrors_dir: resolve(dataDir, 'mirrors'),
      local_roots: [...gitLocalRoots],
      hosts: { allow_private: [...gitAllowPrivate], trusted_urls: [githubUrl] },
      max_mirrors_bytes: gitMirrorsMaxBytes,
    };
  }

  private uidOf(executionId: string): number | undefined {
    return this.isRoot ? this.users.uidOf(executionId) : undefined;
  }

  private workspaceOf(executionId: string): string {
    return join(this.workspacesDir, executionId);
  }

  private clear(executionId: string): Promise<void> {
    const remains = {
      executionId,
      marker: this.tokens.marker(executionId),
      workspaceDir: this.workspaceOf(executionId),
      uid: this.uidOf(executionId),
    };
    return clearExecution(remains, this.log);
  }

  private reportRemains(executionId: string, error: unknown): void {
    this.logger.error(`What is left of execution ${executionId} could not be cleared: ${String(error)}`);
  }

  /** Clears workspaces whose execution has ended while nobody looked after it, such as after a crash of ours. */
  private async reap(): Promise<void> {
    const orphans = listWorkspaces(this.workspacesDir).filter((executionId) => !this.runners.has(executionId));
    if (orphans.length === 0) return;
    const alive = await this.queries.live(orphans);
    for (const executionId of orphans.filter((id) => !alive.has(id))) {
      try {
        await this.clear(executionId);
        this.logger.log(`Cleared what was left of execution ${executionId}.`);
      } catch (error) {
        // One workspace that cannot be removed keeps neither the others nor the service.
        this.reportRemains(executionId, error);
      }
    }
  }
}
