import { Injectable } from '@nestjs/common';
import {
  ExecutionsStore,
  isEnded,
  type PrincipalRef,
  RUN_STATE_MACHINE,
  RunLogStore,
  type RunState,
  RunStopper,
  RunTail,
  RunTransitions,
  slotKeys,
  TurnInterrupter,
} from '#execution/executions';
import { type Caller, allowedTeams, isAllowed, type Permission } from '#platform/auth';
import { Settings } from '#platform/config';
import { isUuid, PageCursors, type RejectionOf } from '#platform/kernel';
import { Database, type Transaction } from '#platform/persistence';
import { isCancellableKind, type Run } from '../domain/run.js';
import { projectTimeline } from '../domain/timeline.js';
import { type ReadableScope, RunsStore } from '../persistence/runs.store.js';

export type RunLookup = { readonly kind: 'found'; readonly run: Run } | RejectionOf<'not_found' | 'forbidden'>;

export type CancelRunResult =
  | { readonly kind: 'cancelled'; readonly runId: string }
  | { readonly kind: 'busy' | 'not_supported' }
  | { readonly kind: 'gone'; readonly state: RunState }
  | RejectionOf<'not_found' | 'forbidden'>;

export type InterruptRunResult =
  | { readonly kind: 'requested'; readonly runId: string }
  /** `busy`: the agent has not started. `no_turn`: it has, and the next turn has not begun. */
  | { readonly kind: 'busy' | 'no_turn'; readonly state: RunState }
  | { readonly kind: 'gone'; readonly state: RunState }
  | RejectionOf<'not_found' | 'forbidden'>;

/** All owners whose runs the caller may read: the team header narrows lists, not access by id. */
export const readableBy = (caller: Caller): ReadableScope => ({
  teamUids: allowedTeams(caller, 'runs:read'),
  userUid: caller.principal.type === 'user' ? caller.principal.uid : null,
});

/** `slot_key` of each owner whose runs a list shows the caller: the teams of the request, and the person. */
export const ownersOf = ({ principal, teamUids }: Caller): string[] =>
  slotKeys({ teamUids, userUid: principal.type === 'user' ? principal.uid : null });

/** Runs, each loaded through the caller's permission. */
@Injectable()
export class RunsService {
  private readonly timelineCursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly queries: RunsStore,
    private readonly transitions: RunTransitions,
    private readonly executions: ExecutionsStore,
    private readonly stopper: RunStopper,
    private readonly interrupter: TurnInterrupter,
    private readonly log: RunLogStore,
    private readonly tail: RunTail,
    private readonly settings: Settings,
  ) {
    this.timelineCursors = new PageCursors('timeline', settings);
  }

  /** One round trip. `permission`: by default that of the operation. */
  async find(caller: Caller, runId: string, permission?: Permission): Promise<RunLookup> {
    const run = isUuid(runId) ? await this.queries.find(runId) : null;
    if (!run) return { kind: 'not_found' };
    return isAllowed(caller, run.owner, permission) ? { kind: 'found', run } : { kind: 'forbidden' };
  }

  /** The newest run of a conversation among those that the caller may read, or null. One round trip. */
  async findNewestOf(caller: Caller, conversationId: string): Promise<Run | null> {
    if (!isUuid(conversationId)) return null;
    return this.queries.findNewestOfConversation(conversationId, readableBy(caller));
  }

  /** The run is CANCELLED at once; its agent is commanded to stop, and its slot is released when that has ended. */
  async cancel(caller: Caller, runId: string): Promise<CancelRunResult> {
    const lookup = await this.find(caller, runId);
    if (lookup.kind !== 'found') return lookup;
    const { type, uid } = caller.principal;
    return this.database.transaction((tx) => this.cancelIn(tx, runId, lookup.run, { type, uid }, 'Cancelled.'));
  }

  /** Within the transaction of the caller, who has checked the permission. `kind`: of the run; null: it is held, so no worker has it. */
  async cancelIn(
    tx: Transaction,
    runId: string,
    kind: Parameters<typeof isCancellableKind>[0] | null,
    principal: PrincipalRef,
    message: string,
  ): Promise<CancelRunResult> {
    const run = await this.transitions.lock(tx, runId);
    if (!run) return { kind: 'not_found' };
    const execution = await this.executions.lockLive(tx, runId);
    if (isEnded(run.state, execution !== null)) return { kind: 'gone', state: run.state };
    if ('refuse' in RUN_STATE_MACHINE.apply(run.state, 'cancel')) return { kind: 'busy' };
    // Only the worker could end an adopted execution, and the worker may not know it.
    const isCancellable = kind === null || isCancellableKind(kind, this.settings.selfHostedCancel);
    if (!isCancellable && execution?.is_adopted !== true) return { kind: 'not_supported' };
    const events = await this.stopper.cancel(tx, runId, execution?.id ?? null, message, principal);
    await this.log.append(tx, runId, execution?.id ?? null, events);
    return { kind: 'cancelled', runId };
  }

  /** The agent is asked to end its turn; the run and its session continue as after any turn. */
  async interrupt(caller: Caller, runId: string): Promise<InterruptRunResult> {
    const lookup = await this.find(caller, runId);
    if (lookup.kind !== 'found') return lookup;
    const { type, uid } = caller.principal;
    return this.database.transaction(async (tx): Promise<InterruptRunResult> => {
      const run = await this.transitions.lock(tx, runId);
      if (!run) return { kind: 'not_found' };
      const execution = await this.executions.lockLive(tx, runId);
      const { state } = run;
      if (isEnded(state, execution !== null)) return { kind: 'gone', state };
      if (execution === null || (state !== 'INPROGRESS' && state !== 'BLOCKED')) return { kind: 'busy', state };
      const outcome = await this.interrupter.interrupt(tx, run, execution, { type, uid });
      return outcome === 'no_turn' ? { kind: 'no_turn', state } : { kind: 'requested', runId };
    });
  }

  /** A page of a run's timeline, oldest first. The caller's permission on the run has been checked. */
  async timeline(runId: string, limit: number, cursor: string | null) {
    const after = this.timelineCursors.decode(cursor, runId);
    if (after === null) return { kind: 'invalid_cursor' } as const;
    const rows = await this.tail.readLifecycle(runId, Number(after[0] ?? 0), limit + 1);
    const { items, nextCursor } = this.timelineCursors.page(rows, limit, runId, ({ seq }) => [seq]);
    return { kind: 'page', events: projectTimeline(items), nextCursor } as const;
  }
}
