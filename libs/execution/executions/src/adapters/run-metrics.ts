import { Injectable } from '@nestjs/common';
import { type LabeledCounter, Metrics } from '#platform/observability';
import { EXTERNAL_POOL, HOSTED_POOL, type RunUsage } from '../domain/run.js';
import { RUN_STATES, type RunState } from '../domain/run-state.js';

/** Pools of self-hosted workers are counted together: their number is not bounded. */
const EXECUTORS = ['hosted', 'self_hosted', 'external'] as const;
type Executor = (typeof EXECUTORS)[number];

/** What a run waits for or does, in this order; `turn` once for each turn of its agent. */
type RunPhase = 'queued' | 'offered' | 'setup' | 'turn';

const PHASE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400];
/** Names of harnesses come from configurations of runs; further ones are counted as `other`. */
const MAX_HARNESSES = 50;

const executorOf = (pool: string): Executor =>
  pool === HOSTED_POOL ? 'hosted' : pool === EXTERNAL_POOL ? 'external' : 'self_hosted';

/** Counts of what this process has changed; no label identifies a run, a team or a person. */
@Injectable()
export class RunMetrics {
  private readonly stateChanges: LabeledCounter<RunState>;
  private readonly placements: LabeledCounter<Executor>;
  private readonly executionEnds;
  private readonly lostRunners: LabeledCounter<Executor>;
  private readonly phases;
  private readonly tokens;
  private readonly cost;
  private readonly harnesses = new Set<string>();

  constructor(metrics: Metrics) {
    this.stateChanges = metrics.labeledCounter(
      'headrace_run_state_changes_total',
      'Changes of the state of a run, by the new state. The creation of a run is not counted.',
      'state',
      RUN_STATES,
    );
    this.placements = metrics.labeledCounter(
      'headrace_run_placements_total',
      'Offers of queued runs to workers, by the kind of worker.',
      'executor',
      EXECUTORS,
    );
    this.executionEnds = metrics.counter('headrace_executions_ended_total', 'Executions that have ended, by reason.', [
      'executor',
      'reason',
    ]);
    this.lostRunners = metrics.labeledCounter(
      'headrace_runners_lost_total',
      'Runners that have exited or stopped reporting before the end of their execution.',
      'executor',
      EXECUTORS,
    );
    this.phases = metrics.histogram(
      'headrace_run_phase_seconds',
      'Time that runs were queued, offered until a runner claimed them, in setup, and that turns of their agents took.',
      ['phase', 'executor'],
      PHASE_BUCKETS,
    );
    this.tokens = metrics.counter('headrace_agent_tokens_total', 'Tokens that agents have reported, by direction.', [
      'harness',
      'direction',
    ]);
    this.cost = metrics.counter('headrace_agent_cost_usd_total', 'Cost in US dollars that agents have reported.', [
      'harness',
    ]);
  }

  stateChanged(state: RunState): void {
    this.stateChanges.add(state);
  }

  placed(pool: string): void {
    this.placements.add(executorOf(pool));
    this.stateChanges.add('PENDING');
  }

  executionEnded(pool: string, { reason, isLost }: { readonly reason: string; readonly isLost: boolean }): void {
    const executor = executorOf(pool);
    this.executionEnds.inc({ executor, reason });
    if (isLost) this.lostRunners.add(executor);
  }

  /** Null and undefined: the phase did not end now. */
  phaseEnded(phase: RunPhase, pool: string, seconds: number | null | undefined): void {
    // Clocks of tests move.
    if (typeof seconds === 'number') this.phases.observe({ phase, executor: executorOf(pool) }, Math.max(0, seconds));
  }

  used(harness: string, usage: RunUsage): void {
    const known = this.harnesses.has(harness) || this.harnesses.size < MAX_HARNESSES;
    if (known) this.harnesses.add(harness);
    const label = known ? harness : 'other';
    if (usage.input_tokens !== undefined) this.tokens.inc({ harness: label, direction: 'input' }, usage.input_tokens);
    if (usage.output_tokens !== undefined)
      this.tokens.inc({ harness: label, direction: 'output' }, usage.output_tokens);
    if (usage.cost_usd !== undefined) this.cost.inc({ harness: label }, usage.cost_usd);
  }
}
