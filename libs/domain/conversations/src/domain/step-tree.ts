import type { RunEvent } from '#execution/runner-protocol';
import { isSettled } from './call-merge.js';
import type { CallState, Entry, StepState } from './projection-state.js';

/** Agents that start agents: what is deeper is shown at this depth. */
const MAX_DEPTH = 8;

interface Place {
  call: CallState;
  step: StepState;
  turn: StepState;
}

export type EventEntry = Extract<Entry, { kind: 'event' }>;

/** The indexes are built from the steps alone, so that a stored state behaves like one in memory. */
export class StepTree {
  /** Calls by id; an id that is reused in a later turn refers to the later call. */
  private readonly calls = new Map<string, Place>();
  /** Steps of agents started in the last turn, by the call that started them. */
  private readonly agents = new Map<string, StepState>();

  private readonly plans = new Map<StepState, EventEntry>();
  /** Steps of the last turn with a request of the approval. */
  private readonly asking = new Map<string, StepState[]>();

  /** Index of the first step that may differ from the steps given at the start. */
  changedFrom: number;

  constructor(readonly steps: StepState[]) {
    // A step with a successor changes only by late events; the last one may always grow.
    this.changedFrom = Math.max(0, steps.length - 1);
    const lastTurn = steps.findLast((step) => step.kind === 'turn');
    for (const step of steps) {
      if (step === lastTurn) this.asking.clear();
      this.index(step, step, step === steps.at(-1));
    }
  }

  openTurn(): StepState | undefined {
    const last = this.steps.at(-1);
    return last?.kind === 'turn' && last.completed_at === undefined ? last : undefined;
  }

  /** The latest turn with that id; without an id, or when the start of the open turn is missing, the open turn. */
  turn(id: string | undefined): StepState | undefined {
    const found = this.steps.findLast((step) => step.kind === 'turn' && step.id === id);
    if (found) this.touch(found);
    return found ?? (id === undefined || this.openTurn()?.id.startsWith('turn-') ? this.openTurn() : undefined);
  }

  startTurn(id: string, event: RunEvent, at: string): StepState {
    return this.push(newStep(id, 'turn', 0, event, at));
  }

  /** The step for an event of the agent: that of its parent call, or the turn, which is created when its start is missing. */
  stepFor(event: RunEvent, at: string, parentCallId?: string): StepState {
    const last = this.steps.at(-1);
    const turn = last?.kind === 'turn' ? last : this.startTurn(`turn-${event.seq}`, event, at);
    return parentCallId === undefined ? turn : this.agentStep(turn, parentCallId, event, at);
  }

  /** The step for preparations: the running turn, else a set-up step, a new one after a turn. */
  preparingStep(event: RunEvent, at: string): StepState {
    const open = this.openTurn();
    if (open) return open;
    const last = this.steps.at(-1);
    const step =
      last?.kind === 'setup'
        ? last
        : this.push({ ...newStep(`setup-${event.seq}`, 'setup', 0, event, at), description: 'Setup' });
    if (event.kind === 'agent_started') step.completed_at ??= at;
    return step;
  }

  lastStep(event: RunEvent, at: string): StepState {
    return this.steps.at(-1) ?? this.preparingStep(event, at);
  }

  /**
   * The call that an upsert means: one of the last turn, or one that an earlier turn of the same execution left open.
   * Agents start their ids at the beginning in every process, so the same id elsewhere is another call.
   */
  call(id: string, event: RunEvent): CallState | undefined {
    const place = this.calls.get(id);
    if (!place) return undefined;
    if (place.turn === this.steps.at(-1)) return place.call;
    const sameExecution = (place.turn.execution_id ?? null) === event.execution_id;
    if (!sameExecution || isSettled(place.call)) return undefined;
    this.touch(place.turn);
    return place.call;
  }

  indexCall(call: CallState, step: StepState): void {
    const turn = this.steps.at(-1) ?? step;
    this.calls.set(call.id, { call, step, turn });
    if (this.agents.has(call.id)) call.delegates = true;
  }

  /** The step that shows the call, when it is one of the last turn. */
  stepOfCall(id: string | undefined): StepState | undefined {
    const place = id === undefined ? undefined : this.calls.get(id);
    return place && place.turn === this.steps.at(-1) ? place.step : undefined;
  }

  completeAgent(callId: string, at: string): void {
    const step = this.agents.get(callId);
    if (step) step.completed_at ??= at;
  }

  /** The latest request of that approval, searched in the last step that is a turn. */
  findApproval(approvalId: string): { entry: EventEntry; step: StepState } | undefined {
    const turn = this.steps.findLast((step) => step.kind === 'turn');
    if (turn) this.touch(turn);
    const asking = this.asking.get(approvalId) ?? [];
    // Which one of several is decided by the steps alone, so that a stored state gives the same.
    const step = asking.length > 1 && turn ? firstOf(turn, asking) : asking[0];
    const entry = step?.entries.findLast((item) => isRequestOf(item, approvalId));
    return step && entry && { entry, step };
  }

  planOf(step: StepState): EventEntry | undefined {
    return this.plans.get(step);
  }

  /** To be called when the entry is added to the step. */
  indexEvent(entry: EventEntry, step: StepState): void {
    if (entry.name === 'plan') this.plans.set(step, entry);
    if (entry.name !== 'permission_request') return;
    const id = String(entry.data['approval_id']);
    const asking = this.asking.get(id) ?? [];
    if (!asking.includes(step)) this.asking.set(id, [...asking, step]);
  }

  /** Ends a step: what is still open in it gets `outcome`. */
  close(step: StepState, at: string, outcome: 'completed' | 'failed'): void {
    step.completed_at ??= at;
    for (const entry of step.entries) {
      if (entry.kind === 'call' && !isSettled(entry.call)) entry.call.closed ??= outcome;
    }
    for (const child of step.steps) this.close(child, at, outcome);
  }

  private touch(step: StepState): void {
    this.changedFrom = Math.min(this.changedFrom, this.steps.lastIndexOf(step));
  }

  private agentStep(turn: StepState, callId: string, event: RunEvent, at: string): StepState {
    const known = this.agents.get(callId);
    if (known) return known;
    const place = this.calls.get(callId);
    const host = place?.turn === turn ? place.step : turn;
    if (place?.turn === turn) place.call.delegates = true;
    if (host.depth >= MAX_DEPTH) return host;
    const step = newStep(callId, 'agent', host.depth + 1, event, at);
    host.steps.push(step);
    this.agents.set(callId, step);
    return step;
  }

  /** Nothing is still running in a step that another one follows. */
  private push(step: StepState): StepState {
    const last = this.steps.at(-1);
    if (last) this.close(last, step.started_at, last.completed_at === undefined ? 'failed' : 'completed');
    this.steps.push(step);
    if (step.kind === 'turn') this.asking.clear();
    this.agents.clear();
    return step;
  }

  private index(step: StepState, turn: StepState, isLast: boolean): void {
    for (const entry of step.entries) {
      if (entry.kind === 'call') this.calls.set(entry.call.id, { call: entry.call, step, turn });
      if (entry.kind === 'event') this.indexEvent(entry, step);
    }
    for (const child of step.steps) {
      if (isLast) this.agents.set(child.id, child);
      this.index(child, turn, isLast);
    }
  }
}

const isRequestOf = (entry: Entry, approvalId: string): entry is EventEntry =>
  entry.kind === 'event' && entry.name === 'permission_request' && entry.data['approval_id'] === approvalId;

/** The first of the wanted steps: a step before those below it, and of those the last one first. */
function firstOf(turn: StepState, wanted: readonly StepState[]): StepState | undefined {
  const pending = [turn];
  for (let step = pending.pop(); step; step = pending.pop()) {
    if (wanted.includes(step)) return step;
    for (const child of step.steps) pending.push(child);
  }
  return undefined;
}

function newStep(id: string, kind: StepState['kind'], depth: number, event: RunEvent, at: string): StepState {
  return {
    id,
    kind,
    depth,
    ...(event.execution_id === null ? {} : { execution_id: event.execution_id }),
    started_at: at,
    entries: [],
    steps: [],
  };
}
