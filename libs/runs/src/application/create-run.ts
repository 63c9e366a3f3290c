import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { newUuid } from '#libs/kernel';
import type { AttachmentInput } from '../domain/attachment.js';
import { type Metadata, MAX_METADATA_KEYS, mergeMetadata } from '../domain/metadata.js';
import { resolveConfig } from '../domain/resolve-config.js';
import {
  type AgentConfig,
  HOSTED_POOL,
  type PrincipalRef,
  type Run,
  type RunMode,
  type RunOwner,
  type RunSchedule,
  type RunSourceType,
  slotKey,
  titleFromPrompt,
} from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';
import type { ContinuedConversation, NewRun } from '../persistence/new-run.js';
import { type IdempotencyClaim, RunInserts } from '../persistence/run-inserts.js';
import { Attachments } from './attachments.js';
import { Transcripts } from './execution/transcripts.js';
import { McpSecrets } from './mcp-secrets.js';
import { PlacementNudge } from './ports.js';
import { mayOnOwner } from './run-access.js';
import {
  type FoundReferences,
  type ReferenceRefusal,
  type RequestedReferences,
  RunReferences,
} from './run-references.js';

export interface CreateRunCommand extends RequestedReferences {
  readonly prompt: string;
  readonly title?: string;
  readonly mode?: RunMode;
  readonly skill?: string;
  readonly team?: boolean;
  readonly interactive?: boolean;
  readonly metadata?: Metadata;
  readonly config?: AgentConfig;
  readonly attachments?: readonly AttachmentInput[];
  readonly source: RunSourceType;
  /** Labels that the platform stamps; the request's and the parent's win. */
  readonly automaticMetadata?: Metadata;
  readonly schedule?: RunSchedule;
  /** Where to read what triggered the run. */
  readonly triggerUrl?: string;
  readonly idempotency: IdempotencyClaim | null;
}

export type CreateRunResult =
  | { readonly kind: 'created'; readonly runId: string; readonly state: RunState; readonly atCapacity: boolean }
  | ReferenceRefusal
  | { readonly kind: 'key_reused' };

/** What creating a run takes besides its row. */
@Injectable()
export class RunParts {
  constructor(
    readonly references: RunReferences,
    readonly attachments: Attachments,
    readonly transcripts: Transcripts,
    readonly secrets: McpSecrets,
  ) {}
}

/**
 * Queues a run: config resolved, run and first event committed together. One round trip when nothing is referenced; an
 * identity, the environment, the MCP servers, the parent and the conversation cost one each. A service account pays one
 * to see whether it is an identity.
 */
@Injectable()
export class CreateRun {
  constructor(
    private readonly inserts: RunInserts,
    private readonly parts: RunParts,
    private readonly nudge: PlacementNudge,
  ) {}

  async execute(caller: Caller, command: CreateRunCommand): Promise<CreateRunResult> {
    const owner = ownerOf(caller, command.team);
    if (owner === null)
      return invalid('/team', 'a caller on several teams picks the team with the X-Headrace-Team-Uid header');
    if (!mayOnOwner(caller, owner, 'runs:write'))
      return { kind: 'not_authorized', detail: 'Your role on the team does not allow creating runs.' };
    const found = await this.parts.references.find(caller, owner, command);
    if ('kind' in found) return found;
    const metadata = mergeMetadata(
      command.metadata ?? null,
      found.parent?.metadata ?? null,
      command.automaticMetadata ?? null,
    );
    if (metadata === 'too_many')
      return invalid('/metadata', `must have at most ${MAX_METADATA_KEYS} keys with those of the parent run`);
    const config = resolveConfig(withHarnessOf(found.continued, command.config ?? {}), command.skill, {
      identity: found.identity,
      team: caller.principal.memberships.find(({ teamUid }) => teamUid === owner.teamUid)?.team ?? null,
    });
    const refusal =
      (await this.parts.references.checkConfig(caller, owner, config)) ?? otherHarness(found.continued, config);
    if (refusal) return refusal;
    return this.insert(caller, owner, command, found, config, metadata);
  }

  private async insert(
    { principal }: Caller,
    owner: RunOwner,
    command: CreateRunCommand,
    { identity, parent, continued }: FoundReferences,
    config: AgentConfig,
    metadata: Metadata | null,
  ): Promise<CreateRunResult> {
    const { attachments, secrets } = this.parts;
    const id = newUuid();
    const creator: PrincipalRef = { type: principal.type, uid: principal.uid };
    const run: NewRun = {
      id,
      owner,
      pool: poolOf(config),
      title: command.title ?? titleFromPrompt(command.prompt),
      prompt: command.prompt,
      source: command.source,
      executionLocation: 'REMOTE',
      mode: command.mode ?? 'normal',
      interactive: command.interactive ?? false,
      creator,
      executor: identity ? { type: 'service_account', uid: identity.uid } : creator,
      config: secrets.seal(id, config),
      metadata,
      parentRunId: parent?.id ?? null,
      ancestorRunIds: parent ? [...parent.ancestorRunIds, parent.id] : [],
      schedule: command.schedule ?? null,
      triggerUrl: command.triggerUrl ?? null,
      continues: continued && (await this.continue(continued, id)),
      attachments: await attachments.prepare(id, command.attachments ?? []),
    };
    const result = await this.insertOrDiscard(run, `${slotKey(owner)}/${principal.uid}`, command.idempotency);
    switch (result.kind) {
      case 'created':
        // At capacity the next freed slot nudges.
        if (!result.atCapacity) this.nudge.nudge();
        return { kind: 'created', runId: id, state: 'QUEUED', atCapacity: result.atCapacity };
      case 'replayed':
        return { kind: 'created', runId: result.runId, state: result.state, atCapacity: false };
      case 'key_reused':
        return result;
    }
  }

  /** The new run gets a transcript of its own: the old run's may be replaced or pruned. */
  private async continue(run: Run, newRunId: string): Promise<ContinuedConversation | null> {
    if (run.conversationId === null) return null;
    const transcript = await this.parts.transcripts.copyFor(run.id, newRunId);
    return { conversationId: run.conversationId, sessionId: run.sessionId, transcript };
  }

  /** Objects go before the row that names them; without a row they go again. */
  private async insertOrDiscard(run: NewRun, scope: string, claim: IdempotencyClaim | null) {
    const { attachments, transcripts } = this.parts;
    const discard = async (): Promise<void> => {
      if (run.attachments.length > 0) await attachments.discard(run.id);
      if ((run.continues?.transcript ?? null) !== null) await transcripts.discardCopy(run.id);
    };
    try {
      const result = await this.inserts.insert(run, scope, claim);
      if (result.kind !== 'created') await discard();
      return result;
    } catch (error) {
      await discard();
      throw error;
    }
  }
}

const invalid = (pointer: string, detail: string): ReferenceRefusal => ({ kind: 'invalid', pointer, detail });

/** Whoever continues a conversation goes on with its agent. */
function withHarnessOf(continued: Run | null, config: AgentConfig): AgentConfig {
  return continued?.config.harness === undefined || config.harness !== undefined
    ? config
    : { ...config, harness: continued.config.harness };
}

function otherHarness(continued: Run | null, { harness }: AgentConfig): ReferenceRefusal | null {
  const type = continued?.config.harness?.type ?? 'oz';
  if (!continued || (harness?.type ?? 'oz') === type) return null;
  return invalid('/config/harness/type', `must be ${type}, the harness of the conversation`);
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
