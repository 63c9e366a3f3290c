import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { ExecutionTokens } from '#execution/executions';
import type { RunExecutionLocation } from '../domain/run.js';
import { RunInserts } from '../persistence/run-inserts.js';
import { type CreatedRun, CreateRun, type CreateRunCommand, type CreateRunResult } from './create-run.js';

export type RegisterExternalRunResult =
  | (CreatedRun & { readonly executionId: string; readonly token: string })
  | Exclude<CreateRunResult, { kind: 'created' }>;

/**
 * Registers a run that the caller executes on another machine. The answer has what its runner claims the execution
 * with, within CLAIM_DEADLINE: a token that is good for this execution and nothing else.
 */
@Injectable()
export class RegisterExternalRun {
  private readonly tokens: ExecutionTokens;

  constructor(
    private readonly createRun: CreateRun,
    private readonly inserts: RunInserts,
    settings: Settings,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
  }

  async execute(
    caller: Caller,
    location: RunExecutionLocation,
    command: Omit<CreateRunCommand, 'external'>,
  ): Promise<RegisterExternalRunResult> {
    const result = await this.createRun.execute(caller, { ...command, external: location });
    if (result.kind !== 'created') return result;
    const executionId = await this.inserts.executionOf(result.runId);
    return { ...result, executionId, token: this.tokens.mint(executionId) };
  }
}
