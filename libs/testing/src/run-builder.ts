import { newUuid } from '#platform/kernel';
import { facetsOf, type RunState } from '#domain/runs';
import type { ObjectStore } from '#platform/storage';
import type { TestPrincipal } from './api/identities.js';
import type { TestDatabase } from './database/test-database.js';
import { APPROVAL_OPTIONS, logOf, statusOf } from './run-story.js';

export interface RunShape {
  /** Creator and executor; the owner too, unless a team is. */
  readonly by: TestPrincipal;
  /** Uid of the owning team. */
  readonly team?: string;
  /** Default: QUEUED. */
  readonly state?: RunState;
  /**
   * `live`: an execution that is offered, claimed or works, as the state has it. `idle`: it stays open after its turn.
   * `stopping`: it was asked to stop. Default: live where the state cannot be without one, else none.
   */
  readonly session?: 'none' | 'live' | 'idle' | 'stopping';
  /** Whether an agent's session had begun. Default: as the state has it, and where that leaves it open, no. */
  readonly conversation?: boolean;
  readonly conversationFormat?: string;
  /** An earlier run's conversation that this one continues. Default: a separate one, when a session had begun. */
  readonly conversationId?: string;
  /** The agent's session, when it had begun. Default: a separate one. */
  readonly sessionId?: string;
  /** Runs that execute outside the platform are refused by some operations. Default: hosted. */
  readonly kind?: 'hosted' | 'self_hosted' | 'local' | 'github_action';
  readonly title?: string;
  readonly prompt?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Columns of its row that are to be something else; objects as JSON text. */
  readonly columns?: Readonly<Record<string, unknown>>;
  /** Default: a minute ago. */
  readonly createdAt?: Date;
  /** Default: the time of the last event. */
  readonly updatedAt?: Date;
  /** Questions that wait for a person; for BLOCKED runs with a live session, which have one by default. */
  readonly approvals?: number;
  /** Raw transcript, put into the object store. */
  readonly transcript?: string;
  /** The harness that wrote the transcript. Default: the built-in one. */
  readonly transcriptFormat?: string;
}

export interface BuiltRun {
  readonly id: string;
  readonly state: RunState;
  readonly conversationId: string | null;
  /** Of the last execution, dead or alive. */
  readonly executionId: string | null;
  readonly approvalIds: readonly string[];
}

export interface RunBuilderOptions {
  /** Where transcripts go. */
  readonly objects?: ObjectStore;
  /** Slots of the hosted pool and of each owner. */
  readonly slots?: number;
}

const STARTED: ReadonlySet<RunState> = new Set<RunState>(['INPROGRESS', 'BLOCKED', 'SUCCEEDED']);
const LIVING: ReadonlySet<RunState> = new Set<RunState>(['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED']);
const PROMPT = 'Fix the failing test.';
const WORKER_HOST = 'build-farm-1';
const DAY_MS = 86_400_000;

/**
 * Runs in any state, with the rows that belong to it, straight into the database: what the service cannot be brought to
 * in a test of the API alone (there is no worker), and kinds of runs that it does not make itself.
 *
 *   const runs = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
 *   const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED', session: 'idle' });
 */
export class RunBuilder {
  private readonly objects: ObjectStore | null;
  private readonly slots: number;

  constructor(
    private readonly database: TestDatabase,
    { objects, slots }: RunBuilderOptions = {},
  ) {
    this.objects = objects ?? null;
    this.slots = slots ?? 10_000;
  }

  async build(shape: RunShape): Promise<BuiltRun> {
    const { by, team, kind = 'hosted' } = shape;
    const state = shape.state ?? 'QUEUED';
    const session = shape.session ?? (LIVING.has(state) ? 'live' : 'none');
    const hasStarted = shape.conversation ?? (STARTED.has(state) || session === 'idle' || session === 'stopping');
    refuseContradictions(state, session, hasStarted);
    const id = newUuid();
    const status = statusOf({ state, hasStarted });
    const creator = { type: by.type, uid: by.uid };
    const createdAt = shape.createdAt ?? new Date((await this.now()).getTime() - 60_000);
    const slotKey = team === undefined ? `user:${by.uid}` : `team:${team}`;
    const pool = kind === 'hosted' ? 'hosted' : kind === 'self_hosted' ? `worker:${WORKER_HOST}` : 'elsewhere';
    const source = kind === 'github_action' ? 'GITHUB_ACTION' : kind === 'local' ? 'LOCAL' : 'API';
    const prompt = shape.prompt ?? PROMPT;
    const conversationId = shape.conversationId ?? (hasStarted ? newUuid() : null);
    const sessionId = shape.sessionId ?? `session-${id}`;
    const approvalIds =
      state === 'BLOCKED' && session !== 'none' ? Array.from({ length: shape.approvals ?? 1 }, () => newUuid()) : [];
    await this.insert('runs', {
      id,
      team_uid: team ?? null,
      owner_user_uid: team === undefined ? by.uid : null,
      slot_key: slotKey,
      pool,
      state,
      title: shape.title ?? prompt.slice(0, 120),
      prompt,
      source,
      execution_location: kind === 'local' || kind === 'github_action' ? 'LOCAL' : 'REMOTE',
      mode: 'normal',
      interactive: state === 'BLOCKED',
      creator_type: by.type,
      creator_uid: by.uid,
      executor_type: by.type,
      executor_uid: by.uid,
      config: JSON.stringify({ ...shape.config, ...(kind === 'self_hosted' ? { worker_host: WORKER_HOST } : {}) }),
      metadata: shape.metadata === undefined ? null : JSON.stringify(shape.metadata),
      conversation_id: conversationId,
      conversation_format: shape.conversationFormat ?? null,
      session_id: hasStarted ? sessionId : null,
      status_message: status === null ? null : JSON.stringify(status),
      offers: LIVING.has(state) ? 1 : 0,
      prompt_taken: hasStarted,
      busy_ms: hasStarted && !(LIVING.has(state) && session === 'live') ? 2000 : 0,
      transcript: await this.storeTranscript(id, sessionId, shape),
      queued_at: createdAt,
      created_at: createdAt,
      updated_at: createdAt,
      ...shape.columns,
    });
    await this.database.query(
      `INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('r')} FROM runs r WHERE r.id = $1`,
      [id],
    );
    const wasOffered = hasStarted || session !== 'none' || state === 'FAILED' || state === 'ERROR';
    const executionId = wasOffered
      ? await this.insertExecution({ id, slotKey, pool, state, session, hasStarted, at: createdAt })
      : null;
    const story = {
      runId: id,
      prompt,
      state,
      source,
      creator,
      createdAt,
      executionId,
      hasStarted,
      isLive: session !== 'none',
      sessionId,
      approvalIds,
    };
    await this.tell(story, shape.updatedAt);
    for (const approvalId of approvalIds) await this.insertApproval(id, approvalId, executionId);
    return { id, state, conversationId, executionId, approvalIds };
  }

  private async insertExecution(run: ExecutionShape): Promise<string> {
    const { state, session, at } = run;
    const isLive = session !== 'none';
    const phase = !isLive
      ? 'ended'
      : session === 'idle'
        ? 'idle'
        : state === 'PENDING'
          ? 'offered'
          : state === 'CLAIMED'
            ? 'claimed'
            : 'started';
    const holdsSlot = isLive && phase !== 'idle' && run.pool === 'hosted';
    const isStopping = session === 'stopping';
    if (holdsSlot) for (const key of ['pool:hosted', run.slotKey]) await this.takeSlot(key);
    const now = await this.now();
    return this.insert('executions', {
      run_id: run.id,
      slot_key: run.slotKey,
      pool: run.pool,
      phase,
      lease_epoch: phase === 'offered' ? 0 : 1,
      placed_by: 'run-builder',
      instance_id: phase === 'offered' ? null : 'run-builder',
      slot_held: holdsSlot,
      desired: isStopping ? 'stop' : 'run',
      desired_reason: isStopping ? 'cancelled' : null,
      fence_at: isStopping ? new Date(now.getTime() + 60_000) : null,
      idle_timeout_ms: 600_000,
      offered_at: at,
      // Nobody beats for it, so that tests may move the clock by hours.
      lease_expires_at: new Date(now.getTime() + DAY_MS),
      claimed_at: phase === 'offered' ? null : at,
      started_at: run.hasStarted ? at : null,
      busy_since: phase === 'started' ? now : null,
      idle_since: phase === 'idle' ? now : null,
      ended_at: isLive ? null : now,
      end_reason: isLive ? null : 'closed',
    });
  }

  private async takeSlot(key: string): Promise<void> {
    await this.database.query(
      `INSERT INTO slot_pools AS s (key, used, capacity) VALUES ($1, 1, $2) ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = $2`,
      [key, this.slots],
    );
  }

  private async tell(story: Parameters<typeof logOf>[0], updatedAt: Date | undefined): Promise<void> {
    const { events } = logOf(story);
    await this.database.query(
      `INSERT INTO run_events (run_id, seq, execution_id, kind, at, data) SELECT * FROM
         jsonb_to_recordset($1) AS e (run_id uuid, seq bigint, execution_id bigint, kind text, at timestamptz, data jsonb)`,
      [JSON.stringify(events)],
    );
    await this.insert('run_heads', { run_id: story.runId, last_seq: events.length });
    const startedAt = events.find(({ kind }) => kind === 'agent_started')?.at ?? null;
    await this.database.query('UPDATE runs SET started_at = $2, updated_at = $3 WHERE id = $1', [
      story.runId,
      startedAt,
      updatedAt ?? events.at(-1)?.at,
    ]);
  }

  private async insertApproval(runId: string, approvalId: string, executionId: string | null): Promise<void> {
    const now = await this.now();
    await this.insert('approvals', {
      run_id: runId,
      id: approvalId,
      execution_id: executionId,
      title: 'Run `make deploy`',
      input: JSON.stringify({ command: 'make deploy' }),
      options: JSON.stringify(APPROVAL_OPTIONS),
      state: 'pending',
      requested_at: now,
      expires_at: new Date(now.getTime() + 1_800_000),
    });
  }

  private async storeTranscript(
    runId: string,
    sessionId: string,
    { transcript: content, transcriptFormat = 'oz' }: RunShape,
  ): Promise<string | null> {
    if (content === undefined) return null;
    if (!this.objects) throw new Error('Give the builder an object store to build runs with transcripts.');
    const key = `transcripts/${runId}/${newUuid()}.jsonl`;
    await this.objects.put(key, Buffer.from(content), { contentType: 'application/x-ndjson' });
    return JSON.stringify({ key, format: transcriptFormat, session_id: sessionId });
  }

  private async now(): Promise<Date> {
    const [row] = await this.database.query<{ now: Date }>('SELECT headrace.now() AS now');
    if (!row) throw new Error('PostgreSQL has no time.');
    return row.now;
  }

  /** Returns the row's `id`, where it has one. */
  private async insert(table: string, row: Readonly<Record<string, unknown>>): Promise<string> {
    const columns = Object.keys(row);
    const places = columns.map((_, index) => `$${index + 1}`).join(', ');
    const [inserted] = await this.database.query<{ id?: string }>(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) RETURNING *`,
      Object.values(row),
    );
    return inserted?.id ?? '';
  }
}

interface ExecutionShape {
  readonly id: string;
  readonly slotKey: string;
  readonly pool: string;
  readonly state: RunState;
  readonly session: NonNullable<RunShape['session']>;
  readonly hasStarted: boolean;
  readonly at: Date;
}

/** A row that the service could never have written would prove nothing. */
function refuseContradictions(state: RunState, session: NonNullable<RunShape['session']>, hasStarted: boolean): void {
  const contradictions: readonly [boolean, string][] = [
    [session === 'none' && LIVING.has(state) && state !== 'BLOCKED', `a ${state} run has an execution`],
    [session === 'live' && !LIVING.has(state), `the execution of a ${state} run is idle, stopping or gone`],
    [
      session === 'idle' && state !== 'SUCCEEDED' && state !== 'FAILED',
      `only a finished turn leaves an idle session, not ${state}`,
    ],
    [session === 'stopping' && LIVING.has(state), `a ${state} run is not stopping`],
    [
      !hasStarted && (STARTED.has(state) || session === 'idle' || session === 'stopping'),
      `the agent of a ${state} run with this session had started`,
    ],
    [
      hasStarted && (state === 'PENDING' || state === 'CLAIMED'),
      `the builder knows no second executions, so the agent of a ${state} run has not started`,
    ],
  ];
  const found = contradictions.find(([holds]) => holds);
  if (found) throw new Error(`No such run: ${found[1]}.`);
}
