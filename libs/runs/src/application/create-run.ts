import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { EnvironmentDirectory } from '#libs/environments';
import { newUuid } from '#libs/kernel';
import type { RunState } from '../domain/run-state.js';
import { resolveConfig } from '../domain/resolve-config.js';
import {
  type AgentConfig,
  HOSTED_POOL,
  type RunMode,
  type RunOwner,
  type RunSourceType,
  slotKey,
  titleFromPrompt,
} from '../domain/run.js';
import { type IdempotencyClaim, RunInserts } from '../persistence/run-inserts.js';
import { PlacementNudge } from './ports.js';
import { mayOnOwner, RunAccess } from './run-access.js';

export interface CreateRunCommand {
  readonly prompt: string;
  readonly title?: string;
  readonly mode?: RunMode;
  readonly skill?: string;
  readonly team?: boolean;
  readonly agentIdentityUid?: string;
  readonly conversationId?: string;
  readonly parentRunId?: string;
  readonly interactive?: boolean;
  readonly metadata?: Record<string, string>;
  readonly config?: AgentConfig;
  readonly source: RunSourceType;
  readonly idempotency: IdempotencyClaim | null;
}

export type CreateRunResult =
  | { readonly kind: 'created'; readonly runId: string; readonly state: RunState; readonly atCapacity: boolean }
  | { readonly kind: 'invalid'; readonly pointer: string; readonly detail: string }
  | { readonly kind: 'not_authorized'; readonly detail: string }
  | { readonly kind: 'key_reused' };

/** Queues a run: config resolved, run and first event committed together. One round trip when nothing is referenced. */
@Injectable()
export class CreateRun {
  constructor(
    private readonly inserts: RunInserts,
    private readonly access: RunAccess,
    private readonly environments: EnvironmentDirectory,
    private readonly nudge: PlacementNudge,
  ) {}

  async execute(caller: Caller, command: CreateRunCommand): Promise<CreateRunResult> {
    const owner = ownerOf(caller, command.team);
    if (owner === null) {
      return {
        kind: 'invalid',
        pointer: '/team',
        detail: 'a caller on several teams picks the team with the X-Headrace-Team-Uid header',
      };
    }
    if (!mayOnOwner(caller, owner, 'runs:write'))
      return { kind: 'not_authorized', detail: 'Your role on the team does not allow creating runs.' };
    const config = resolveConfig(command.config ?? {}, command.skill);
    const refusal = await this.checkReferences(caller, owner, command, config);
    if (refusal) return refusal;
    const { principal } = caller;
    const self = { type: principal.type, uid: principal.uid } as const;
    const run = {
      id: newUuid(),
      owner,
      pool: poolOf(config),
      title: command.title ?? titleFromPrompt(command.prompt),
      prompt: command.prompt,
      source: command.source,
      executionLocation: 'REMOTE',
      mode: command.mode ?? 'normal',
      interactive: command.interactive ?? false,
      creator: self,
      executor: self,
      config,
      metadata: command.metadata ?? null,
      parentRunId: command.parentRunId ?? null,
      conversationId: null,
    } as const;
    const result = await this.inserts.insert(run, `${slotKey(owner)}/${principal.uid}`, command.idempotency);
    switch (result.kind) {
      case 'created':
        // At capacity the next freed slot nudges.
        if (!result.atCapacity) this.nudge.nudge();
        return { kind: 'created', runId: run.id, state: 'QUEUED', atCapacity: result.atCapacity };
      case 'replayed':
        return { kind: 'created', runId: result.runId, state: result.state, atCapacity: false };
      case 'key_reused':
        return result;
    }
  }

  /** Anything that does not exist or may not be used is refused alike, so that nothing is told about it. */
  private async checkReferences(
    caller: Caller,
    owner: RunOwner,
    command: CreateRunCommand,
    config: AgentConfig,
  ): Promise<CreateRunResult | null> {
    if (command.agentIdentityUid !== undefined) {
      return { kind: 'not_authorized', detail: 'agent_identity_uid names no agent identity that you may use.' };
    }
    if (command.conversationId !== undefined) {
      return {
        kind: 'invalid',
        pointer: '/conversation_id',
        detail: 'names no conversation that a new run can continue; send a follow-up to its run instead',
      };
    }
    const registered = Object.entries(config.mcp_servers ?? {}).find(([, server]) => server.warp_id !== undefined);
    if (registered)
      return {
        kind: 'not_authorized',
        detail: `config.mcp_servers.${registered[0]}.warp_id names no MCP server registered for the team.`,
      };
    if (config.harness_auth_secrets !== undefined && Object.keys(config.harness_auth_secrets as object).length > 0) {
      return {
        kind: 'not_authorized',
        detail: 'config.harness_auth_secrets names a managed secret that does not exist.',
      };
    }
    if (config.environment_id !== undefined) {
      const environment = await this.environments.find(config.environment_id);
      if (!environment || !this.environments.isUsableBy(environment, caller, owner.teamUid)) {
        return { kind: 'not_authorized', detail: 'config.environment_id names no environment that you may use.' };
      }
    }
    if (command.parentRunId !== undefined) {
      const parent = await this.access.find(caller, command.parentRunId, 'runs:read');
      if (parent.kind !== 'found')
        return { kind: 'invalid', pointer: '/parent_run_id', detail: 'must be a run that exists and that you may see' };
    }
    return null;
  }
}

function ownerOf(caller: Caller, team: boolean | undefined): RunOwner | null {
  const isService = caller.principal.type === 'service_account';
  if (isService || (team ?? caller.teamUid !== null))
    return caller.teamUid === null ? null : { teamUid: caller.teamUid, userUid: null };
  return { teamUid: null, userUid: caller.principal.uid };
}

function poolOf(config: AgentConfig): string {
  return config.worker_host === undefined || config.worker_host === 'warp'
    ? HOSTED_POOL
    : `worker:${config.worker_host}`;
}
