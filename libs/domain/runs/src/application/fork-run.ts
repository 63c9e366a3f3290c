import { Injectable } from '@nestjs/common';
import { type AgentConfig, DEFAULT_HARNESS, type StoredSnapshot } from '#execution/executions';
import type { Caller } from '#platform/auth';
import type { RejectionOf } from '#platform/kernel';
import type { Run } from '../domain/run.js';
import type { Metadata } from '../domain/run-filters.js';
import { overrideConfig, withoutSkills } from '../domain/submitted-input.js';
import { type CreatedRun, type IdempotencyClaim, SnapshotGoneError } from '../persistence/run-inserts.js';
import { ConfigSecrets } from './config-secrets.js';
import { CreateRun, type CreateRunResult, type ForkSource } from './create-run.js';
import { RunSnapshots, type SnapshotPoint } from './run-snapshots.js';
import { RunsService } from './runs.service.js';

export interface ForkRunCommand {
  /** Default: the last snapshot. */
  readonly at?: SnapshotPoint;
  readonly prompt?: string;
  readonly title?: string;
  /** Replaces fields of the run's configuration. */
  readonly config?: AgentConfig;
  readonly metadata?: Metadata;
  readonly count: number;
  readonly idempotency: IdempotencyClaim | null;
}

export type ForkRunResult =
  | { readonly kind: 'forked'; readonly snapshot: StoredSnapshot; readonly runs: readonly CreatedRun[] }
  | { readonly kind: 'no_snapshot' }
  | Exclude<CreateRunResult, { kind: 'created' }>
  | RejectionOf<'not_found' | 'forbidden'>;

const CONTINUE_PROMPT = 'Continue from where you stopped.';

/**
 * Starts runs with the files of a snapshot of another run. With the same harness they continue its session, as it was at
 * that time; with another one they get a summary of the conversation.
 */
@Injectable()
export class ForkRun {
  constructor(
    private readonly runs: RunsService,
    private readonly createRun: CreateRun,
    private readonly snapshots: RunSnapshots,
    private readonly secrets: ConfigSecrets,
  ) {}

  async execute(caller: Caller, runId: string, command: ForkRunCommand): Promise<ForkRunResult> {
    const found = await this.runs.find(caller, runId);
    if (found.kind !== 'found') return found;
    const { run } = found;
    const snapshot = await this.snapshots.find(run.id, command.at);
    if (snapshot === null) return { kind: 'no_snapshot' };
    const config = this.configOf(run, command.config ?? {});
    const fork: ForkSource = {
      runId: run.id,
      snapshotId: snapshot.id,
      seq: snapshot.seq,
      sessionId: harnessOf(config) === harnessOf(run.config) ? run.sessionId : null,
    };
    const runs: CreatedRun[] = [];
    for (let index = 0; index < command.count; index += 1) {
      const created = await this.create(caller, run, { ...command, config }, fork, index);
      if (created.kind !== 'created') return created;
      runs.push(created);
    }
    return { kind: 'forked', snapshot, runs };
  }

  private async create(
    caller: Caller,
    run: Run,
    { prompt = CONTINUE_PROMPT, title = run.title, metadata, config, idempotency }: ForkRunCommand,
    fork: ForkSource,
    index: number,
  ): Promise<Exclude<ForkRunResult, { kind: 'forked' }> | CreatedRun> {
    try {
      return await this.createRun.execute(caller, {
        prompt,
        title,
        config,
        mode: run.mode,
        interactive: run.interactive,
        metadata,
        owner: run.owner,
        parentRunId: run.id,
        source: 'ORCHESTRATION',
        fork,
        ...(run.executor.type === 'service_account' && run.executor.uid !== caller.principal.uid
          ? { agentIdentityUid: run.executor.uid }
          : {}),
        idempotency: idempotency && {
          ...idempotency,
          key: index === 0 ? idempotency.key : `${idempotency.key}#${index}`,
        },
      });
    } catch (error) {
      if (error instanceof SnapshotGoneError) return { kind: 'no_snapshot' };
      throw error;
    }
  }

  /** The base prompt contains the instructions of skills already. */
  private configOf(run: Run, changes: AgentConfig): AgentConfig {
    return overrideConfig(withoutSkills(this.secrets.openForRun(run.id, run.config)), changes);
  }
}

const harnessOf = ({ harness }: AgentConfig): string => harness?.type ?? DEFAULT_HARNESS;
