import { Injectable } from '@nestjs/common';
import type { AgentConfig } from '#execution/executions';
import type { Caller } from '#platform/auth';
import type { RejectionOf } from '#platform/kernel';
import type { Metadata } from '../domain/run-filters.js';
import { type Run, type RunMode, titleFromPrompt } from '../domain/run.js';
import {
  namesSkills,
  overrideConfig,
  restoreSubmitted,
  type SubmittedInput,
  withoutSkills,
} from '../domain/submitted-input.js';
import type { IdempotencyClaim } from '../persistence/run-inserts.js';
import { RunsStore } from '../persistence/runs.store.js';
import { Attachments } from './attachments.js';
import { ConfigSecrets } from './config-secrets.js';
import { CreateRun, type CreateRunCommand, type CreateRunResult } from './create-run.js';
import { RunsService } from './runs.service.js';

/** What differs from the input of the source; absent fields are the same. */
export interface RerunOverrides {
  readonly prompt?: string;
  readonly title?: string;
  readonly mode?: RunMode;
  readonly config?: AgentConfig;
  readonly metadata?: Metadata;
}

export type RerunResult =
  | CreateRunResult
  | RejectionOf<'not_found' | 'forbidden'>
  | { readonly kind: 'attachment_missing'; readonly fileName: string };

/**
 * Creates a run with the input of another one, in any state. The new run has the owner of its source and is created like any
 * other: references, permissions, defaults and skills are those of the moment and of the caller.
 */
@Injectable()
export class RerunRun {
  constructor(
    private readonly runs: RunsService,
    private readonly store: RunsStore,
    private readonly attachments: Attachments,
    private readonly secrets: ConfigSecrets,
    private readonly createRun: CreateRun,
  ) {}

  async execute(
    caller: Caller,
    runId: string,
    overrides: RerunOverrides,
    idempotency: IdempotencyClaim | null,
  ): Promise<RerunResult> {
    const lookup = await this.runs.find(caller, runId);
    if (lookup.kind !== 'found') return lookup;
    const { run } = lookup;
    const files = await this.attachments.readAll(run.id);
    if (files.kind === 'missing') return { kind: 'attachment_missing', fileName: files.fileName };
    const submitted = await this.store.findSubmitted(run.id);
    return this.createRun.execute(caller, {
      ...this.commandOf(run, submitted, overrides),
      attachments: files.attachments,
      idempotency,
    });
  }

  /** Conversation, parent, schedule and trigger are circumstances of the source, and no input of the agent. */
  private commandOf(
    run: Run,
    submitted: SubmittedInput | null,
    { prompt, title, mode, config: override = {}, metadata }: RerunOverrides,
  ): Omit<CreateRunCommand, 'attachments' | 'idempotency'> {
    const stored = this.secrets.openForRun(run.id, run.config);
    const config = overrideConfig(configOf(run, stored, submitted), override);
    const hasDerivedTitle = run.title === titleFromPrompt(run.prompt);
    const labels = metadata ?? run.metadata;
    return {
      owner: run.owner,
      prompt: prompt ?? run.prompt,
      title: title ?? (hasDerivedTitle ? undefined : run.title),
      mode: mode ?? run.mode,
      interactive: run.interactive,
      config,
      skill: namesSkills(override) ? undefined : submitted?.skill,
      skillArguments: prompt === undefined ? submitted?.skill_arguments : undefined,
      agentIdentityUid: identityOf(run, submitted),
      ...(labels === null ? {} : { metadata: labels }),
      source: 'API',
      rerunOf: run.id,
    };
  }
}

function configOf({ skill }: Run, stored: AgentConfig, submitted: SubmittedInput | null): AgentConfig {
  if (submitted !== null) return restoreSubmitted(stored, submitted);
  return skill === null ? stored : withoutSkills(stored);
}

/** Of a run without a record, an executor that is not its creator can only be the identity that was asked for. */
function identityOf({ executor, creator }: Run, submitted: SubmittedInput | null): string | undefined {
  if (submitted !== null) return submitted.agent_identity_uid;
  return executor.uid === creator.uid ? undefined : executor.uid;
}
