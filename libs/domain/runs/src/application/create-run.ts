import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, ownerFor, TOKEN_CACHE_MS, TokenAuthenticator } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { Clock, fieldName, newUuid } from '#platform/kernel';
import { beginSpan, type LabeledCounter, Metrics } from '#platform/observability';
import { ObjectDisposal } from '#platform/storage';
import { workerHostFault } from '#execution/worker-protocol';
import type { AttachmentInput } from '../domain/attachment.js';
import { MAX_METADATA_KEYS, mergeMetadata, type Metadata } from '../domain/run-filters.js';
import { isOversized, MAX_CONFIG_BYTES, resolveConfig } from '../domain/resolve-config.js';
import {
  type AgentConfig,
  EXTERNAL_POOL,
  PLACE_RUNS_TASK,
  poolOf,
  type RunOwner,
  slotKey,
  Transcripts,
  ExecutionTokens,
} from '#execution/executions';
import {
  type Run,
  RUN_SOURCE_TYPES,
  type RunExecutionLocation,
  type RunMode,
  type RunSchedule,
  type RunSourceType,
  titleFromPrompt,
} from '../domain/run.js';
import { recordSubmitted } from '../domain/submitted-input.js';
import { type ChildRunResult, ChildRunsStore, type ParentExecution } from '../persistence/child-runs.store.js';
import {
  type CreatedRun,
  type IdempotencyClaim,
  launchClaim,
  objectFolders,
  RunInserts,
  type NewRun,
  type ScopedClaim,
} from '../persistence/run-inserts.js';
import { Attachments } from './attachments.js';
import { type ConcurrentRun, ConcurrentRuns, type RunConcurrency } from './concurrent-runs.js';
import { ConfigSecrets } from './config-secrets.js';
import { PersonalRunPolicy } from './personal-run-policy.js';
import { type ReferenceRefusal, type RequestedReferences, RunReferences } from './run-references.js';
import { RunSkills, type SkilledConfig } from './run-skills.js';

export interface CreateRunCommand extends RequestedReferences {
  readonly prompt: string;
  /** The part of the prompt that was submitted, where the service adds to it. Default: the prompt. */
  readonly submittedPrompt?: string;
  readonly title?: string;
  readonly mode?: RunMode;
  readonly skill?: string;
  /** Arguments of the skills. Default: the prompt. */
  readonly skillArguments?: string;
  /** How long to wait for repositories of skills, where that is less than people wait. */
  readonly skillWaitMs?: number;
  readonly team?: boolean;
  /** In place of `team` and the team of the caller. */
  readonly owner?: RunOwner;
  /** The run whose input this is. */
  readonly rerunOf?: string;
  readonly interactive?: boolean;
  readonly metadata?: Metadata;
  readonly config?: AgentConfig;
  readonly attachments?: readonly AttachmentInput[];
  readonly source: RunSourceType;
  /** The agent of the parent run starts it. */
  readonly isStartedByRun?: boolean;
  /** Labels that the platform stamps; the request's and the parent's win. */
  readonly automaticMetadata?: Metadata;
  readonly schedule?: RunSchedule;
  readonly triggerUrl?: string;
  /** The workspace begins with the snapshot of another run, and the session with the one that is part of it. */
  readonly fork?: ForkSource;
  /** The caller executes the run, there: an execution for it to claim is made with the run. Default: it is queued. */
  readonly external?: RunExecutionLocation;
  readonly idempotency: IdempotencyClaim | null;
  /**
   * In place of `idempotency`, for runs that the service starts by itself: names what the run is started for, at most 255
   * characters. The same name starts one run, independent of the caller and of changes in between.
   */
  readonly launchKey?: string;
}

export interface ForkSource {
  readonly runId: string;
  readonly snapshotId: string;
  /** Of the snapshot in the log of the run. */
  readonly seq: number;
  /** Null: the fork begins a new session. */
  readonly sessionId: string | null;
}

export type CreateRunResult =
  | CreatedRun
  | ReferenceRefusal
  | Exclude<SkilledConfig, { kind: 'applied' }>
  | { readonly kind: 'key_reused' };

/**
 * Queues a run: config resolved, run and first event committed together. One round trip when nothing is referenced; an
 * identity, the environment, the MCP servers, the parent and the conversation cost one each. A service account pays one
 * to see whether it is an identity. Skills cost what their directory asks, and with a key one to see whether it was used.
 */
@Injectable()
export class CreateRun {
  private readonly tokens: ExecutionTokens;
  private readonly created: LabeledCounter<RunSourceType>;

  constructor(
    private readonly inserts: RunInserts,
    private readonly references: RunReferences,
    private readonly skills: RunSkills,
    private readonly attachments: Attachments,
    private readonly transcripts: Transcripts,
    private readonly disposal: ObjectDisposal,
    private readonly secrets: ConfigSecrets,
    private readonly tasks: BackgroundTasks,
    private readonly personalRuns: PersonalRunPolicy,
    private readonly concurrent: ConcurrentRuns,
    private readonly children: ChildRunsStore,
    private readonly authenticator: TokenAuthenticator,
    private readonly clock: Clock,
    settings: Settings,
    metrics: Metrics,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.created = metrics.labeledCounter(
      'headrace_runs_created_total',
      'Runs that were created, by source.',
      'source',
      RUN_SOURCE_TYPES,
    );
  }

  execute(caller: Caller, command: CreateRunCommand): Promise<CreateRunResult> {
    return this.create(caller, command, (run, claim) => this.inserts.insert(run, claim));
  }

  /**
   * A run that is not to be active together with others of its owner, and not an external one. `concurrent`: another run
   * prevents it.
   */
  executeConcurrent(
    caller: Caller,
    command: Omit<CreateRunCommand, 'external'>,
    concurrency: RunConcurrency,
  ): Promise<CreateRunResult | ConcurrentRun> {
    return this.create(caller, command, (run, claim) => this.concurrent.insert(run, claim, concurrency));
  }

  /** A run that the agent of its parent starts. `limited`: a limit of the parent, or it works no more. */
  executeChild(
    caller: Caller,
    command: Omit<CreateRunCommand, 'external'>,
    parent: ParentExecution,
  ): Promise<CreateRunResult | ChildRunResult> {
    return this.create(caller, { ...command, isStartedByRun: true }, (run, claim) =>
      this.children.insert(run, claim, parent),
    );
  }

  private async create<Result extends ConcurrentRun | ChildRunResult>(
    caller: Caller,
    command: CreateRunCommand,
    insert: (run: NewRun, claim: ScopedClaim | null) => Promise<Result>,
  ): Promise<CreateRunResult | Result> {
    const began = performance.now();
    const span = beginSpan();
    // 1. Who owns the run, and whether the caller may create it.
    const owner = command.owner ?? ownerFor(caller, command.team);
    if (owner === null)
      return invalid('/team', 'is required for a member of several teams: set the header X-Headrace-Team-Uid');
    if (!isAllowed(caller, owner, 'runs:write'))
      return { kind: 'not_authorized', detail: 'Your role on the team does not allow creating runs.' };
    const refused = this.personalRuns.refusal(caller, owner);
    if (refused !== null) return { kind: 'not_authorized', detail: refused };
    const claim = claimOf(caller, owner, command);
    // 2. What the request refers to. From here on a repeated key gets its first answer, whatever has changed since.
    const found = await this.references.find(caller, owner, command);
    if ('kind' in found) return this.replayOr(found, claim);
    const labels = mergeMetadata(
      command.metadata ?? null,
      found.parent?.metadata ?? null,
      command.automaticMetadata ?? null,
    );
    if (labels === 'too_many')
      return invalid('/metadata', `must not exceed ${MAX_METADATA_KEYS} keys with those of the parent run`);
    const metadata = withFactory(labels, found.identity?.factoryUid ?? null);
    // 3. The configuration, resolved and checked.
    const submitted = withHarnessOf(found.continued, command.config ?? {});
    const config = resolveConfig(submitted, command.skill, {
      identity: found.identity,
      team: caller.principal.memberships.find(({ teamUid }) => teamUid === owner.teamUid)?.team ?? null,
    });
    if (isOversized(config)) return this.replayOr(CONFIG_TOO_LARGE, claim);
    const refusal =
      unreachableHost(config) ??
      (await this.references.checkConfig(caller, owner, config)) ??
      otherHarness(found.continued, config);
    if (refusal) return this.replayOr(refusal, claim);
    // 4. Skills. A repeated key is answered before they are looked up, which may take a while.
    const known = config.skills && claim && (await this.inserts.find(claim));
    if (known) return known;
    const { prompt: given, skillArguments, skillWaitMs } = command;
    const skilled = await this.skills.apply(caller, owner, config, {
      request: command,
      given: skillArguments ?? given,
      search: {
        factoryUids: [metadata?.factory_uid, found.identity?.factoryUid].filter((uid) => uid != null),
        ...(found.identity && { agentUid: found.identity.uid }),
        ...(skillWaitMs !== undefined && { waitMs: skillWaitMs }),
      },
    });
    if (skilled.kind !== 'applied') return this.replayOr(skilled, claim);
    // 5. Objects, then the run and its first event in one statement.
    const id = newUuid();
    const { identity, parent, continued } = found;
    const { type, uid } = caller.principal;
    // Objects are stored before the row that names them. Their deletion is scheduled first, and the statement that inserts the
    // row cancels it, so a failure in between leaves no object behind.
    const { attachments = [] } = command;
    if (continued !== null || attachments.length > 0) await this.disposal.discardLater(objectFolders(id));
    const transcript = continued && (await this.transcripts.copyFor(continued.id, id));
    const run: NewRun = {
      id,
      team_uid: owner.teamUid,
      owner_user_uid: owner.userUid,
      slot_key: slotKey(owner),
      pool: command.external === undefined ? poolOf(skilled.config) : EXTERNAL_POOL,
      title: command.title ?? titleFromPrompt(command.prompt),
      prompt: command.prompt,
      submitted_prompt: command.submittedPrompt ?? null,
      source: command.source,
      execution_location: command.external ?? 'REMOTE',
      mode: command.mode ?? 'normal',
      interactive: command.interactive ?? false,
      creator_type: type,
      creator_uid: uid,
      executor_type: identity ? 'service_account' : type,
      executor_uid: identity?.uid ?? uid,
      config: this.secrets.sealForRun(id, skilled.config),
      agent_skill: skilled.skill,
      metadata,
      parent_run_id: parent?.id ?? null,
      ancestor_run_ids: parent ? [...parent.ancestorRunIds, parent.id] : [],
      started_by_run: command.isStartedByRun === true,
      conversation_id: continued?.conversationId ?? null,
      session_id: continued?.sessionId ?? command.fork?.sessionId ?? null,
      transcript,
      schedule: command.schedule ?? null,
      trigger_url: command.triggerUrl ?? null,
      forked_from_run_id: command.fork?.runId ?? null,
      forked_from_seq: command.fork?.seq ?? null,
      snapshot: command.fork ?? null,
      rerun_of: command.rerunOf ?? null,
      submitted: recordSubmitted(submitted, skilled.config, {
        skill: command.skill,
        skill_arguments: skillArguments,
        agent_identity_uid: identity?.uid,
      }),
      attachments: await this.attachments.prepare(id, attachments),
      trace_context: span?.traceparent ?? null,
    };
    if (performance.now() - began > TOKEN_CACHE_MS && !(await this.isStillAllowed(caller, owner)))
      return { kind: 'not_authorized', detail: 'Your access has ended.' };
    const result = await insert(run, claim);
    if (result.kind !== 'created' || result.runId !== id) return result;
    this.created.add(command.source);
    span?.end({
      name: 'create_run',
      kind: 'internal',
      attributes: { 'headrace.run.id': id, 'headrace.run.source': command.source },
    });
    // At capacity the next slot that is released wakes the placement.
    if (!result.atCapacity && command.external === undefined) this.tasks.wake(PLACE_RUNS_TASK);
    return result;
  }

  /** A repository of skills, for example, can delay a request for many seconds. */
  private async isStillAllowed({ principal: { type, uid, tokenUid } }: Caller, owner: RunOwner): Promise<boolean> {
    if (tokenUid === '') return true;
    if ((await this.authenticator.ended([tokenUid])).length > 0) return false;
    return this.personalRuns.mayBegin({
      run: { owner },
      externalExecutor: { type, uid },
      requestedAt: this.clock.now(),
    });
  }

  /**
   * Registers a run that the caller executes on another machine. The answer has what its runner claims the execution with,
   * within CLAIM_DEADLINE: a token that is valid for this execution and nothing else.
   */
  async register(caller: Caller, location: RunExecutionLocation, command: Omit<CreateRunCommand, 'external'>) {
    const result = await this.execute(caller, { ...command, external: location });
    if (result.kind !== 'created') return result;
    const executionId = await this.inserts.executionOf(result.runId);
    return { ...result, executionId, token: this.tokens.mint(executionId) };
  }

  /** Whether a run of the team was created with this key of {@link executeConcurrent}. One round trip. */
  hasRunWith(teamUid: string, concurrencyKey: string): Promise<boolean> {
    return this.concurrent.hasRun(teamUid, concurrencyKey);
  }

  /** Ids of the runs that were started under these launch keys, by key; a key without a run is absent. One round trip. */
  findLaunched(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.inserts.findLaunched(keys);
  }

  /** A request that was answered before is answered the same again, though what it refers to may have changed since. */
  private async replayOr(refusal: CreateRunResult, claim: ScopedClaim | null): Promise<CreateRunResult> {
    return (claim && (await this.inserts.find(claim))) ?? refusal;
  }
}

/** A caller's key is one of theirs for this owner; what the service starts has a separate scope. */
export function claimOf({ principal }: Caller, owner: RunOwner, command: CreateRunCommand): ScopedClaim | null {
  const { idempotency, launchKey } = command;
  if (launchKey !== undefined) return launchClaim(launchKey);
  return idempotency && { ...idempotency, scope: `${slotKey(owner)}/${principal.uid}`, isLaunch: false };
}

const invalid = (pointer: string, detail: string): ReferenceRefusal => ({ kind: 'invalid', pointer, detail });

const CONFIG_TOO_LARGE = {
  kind: 'too_large',
  pointer: '/config',
  detail: `must not exceed ${MAX_CONFIG_BYTES} bytes as JSON, with what the agent identity brings`,
} as const;

/** Names the factory of the agent that executes the run, unless the labels name one or their number has reached the limit. */
function withFactory(metadata: Metadata | null, factoryUid: string | null): Metadata | null {
  if (factoryUid === null || metadata?.factory_uid !== undefined) return metadata;
  return Object.keys(metadata ?? {}).length >= MAX_METADATA_KEYS ? metadata : { ...metadata, factory_uid: factoryUid };
}

/** A continued conversation keeps its agent, whatever the identity's default is. */
function withHarnessOf(continued: Run | null, config: AgentConfig): AgentConfig {
  return continued === null || config.harness !== undefined
    ? config
    : { ...config, harness: continued.config.harness ?? { type: 'oz' } };
}

function otherHarness(continued: Run | null, { harness }: AgentConfig): ReferenceRefusal | null {
  const type = continued?.config.harness?.type ?? 'oz';
  if (!continued || (harness?.type ?? 'oz') === type) return null;
  return invalid('/config/harness/type', `must be ${type}, the harness of the conversation`);
}

/** Requests are checked before; identities, schedules and defaults of teams may be older than the rule. */
function unreachableHost({ worker_host: host }: AgentConfig): ReferenceRefusal | null {
  const fault = host === undefined ? null : workerHostFault(host);
  return fault === null ? null : invalid('/config/worker_host', `${fault}, wherever it comes from`);
}

/** Why the service could not start a run by itself. `unavailable`: another attempt can succeed later. `refused`: the configuration must change first. */
export interface LaunchRefusal {
  readonly kind: 'refused' | 'unavailable';
  /** For people; names the field. */
  readonly reason: string;
}

export function launchRefusal(refused: Exclude<CreateRunResult, { kind: 'created' }>): LaunchRefusal {
  const kind = refused.kind === 'unavailable' ? 'unavailable' : 'refused';
  if ('pointer' in refused) return { kind, reason: `${fieldName(refused.pointer)} ${refused.detail}` };
  return { kind, reason: 'detail' in refused ? refused.detail : refused.kind };
}
