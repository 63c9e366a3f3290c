import { Injectable } from '@nestjs/common';
import { isDatabaseUnavailable } from '#platform/persistence';
import type { AutomationResult } from '#domain/webhooks';
import type { TriggerEvent } from '../domain/trigger.js';
import { type FiringAutomation, FiringStore } from '../persistence/firing.store.js';
import { CompiledTriggers } from './compiled-triggers.js';
import { decideFiring, type FiringDecision } from './firing-decisions.js';
import { FiringSteps } from './firing-steps.js';
import { LaunchRun } from './launch-run.js';

/** Runs of one event that are started at the same time. */
const LAUNCHES_AT_ONCE = 8;
/** Automations whose prompts and configurations are in memory at the same time. */
const LOADED_AT_ONCE = 64;

/** An automation was saved, disabled or deleted between the two looks at it: both have to be of the same version. */
const CHANGED = Symbol('changed');
const ATTEMPTS = 5;

interface Firing {
  readonly event: TriggerEvent;
  readonly signal: AbortSignal | undefined;
  /** Of single automations; those of the others are started all the same. */
  readonly faults: unknown[];
}

/**
 * What an event starts: one run for each enabled automation of which a trigger fires. Idempotent by automation and
 * event: after a fault or a crash the same event is to be fired again. One round trip when nothing fires; when
 * something does, two more for each 64 automations, and what a run costs that is not there yet: what took too long goes on
 * where it was when it is fired again.
 */
@Injectable()
export class FireAutomations {
  constructor(
    private readonly store: FiringStore,
    private readonly compiled: CompiledTriggers,
    private readonly launch: LaunchRun,
    private readonly steps: FiringSteps,
  ) {}

  /**
   * What became of each automation that the event reached, in a fixed order. Throws on faults only, and
   * what `signal` is aborted with: then it begins nothing any more.
   */
  async execute(event: TriggerEvent, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const results = await this.attempt({ event, signal, faults: [] });
      if (results !== CHANGED) return results;
    }
    throw new Error(`The automations of ${event.provider} ${event.subject} were changed all the time.`);
  }

  private async attempt(firing: Firing): Promise<readonly AutomationResult[] | typeof CHANGED> {
    const { event, signal, faults } = firing;
    this.steps.reached('before_reading');
    const reached = await this.store.reached(event);
    this.steps.reached('triggers_read');
    const decisions = await decideFiring(reached, (one) => this.compiled.of(one).check(event), signal);
    this.steps.reached('filters_evaluated');
    const results = new Map<string, AutomationResult>();
    const fired = decisions.filter(({ matched }) => matched);
    for (let index = 0; index < fired.length; index += LOADED_AT_ONCE) {
      const started = await this.fire(firing, fired.slice(index, index + LOADED_AT_ONCE));
      if (started === CHANGED) return CHANGED;
      for (const result of started) results.set(result.automationUid, result);
    }
    if (faults.length > 0) throw faults[0];
    if (fired.length > 0) this.steps.reached('all_launched');
    return decisions.map(
      ({ reached: { automationUid }, reason }) =>
        results.get(automationUid) ?? { automationUid, matched: false, reason },
    );
  }

  private async fire(
    { event, signal, faults }: Firing,
    fired: readonly FiringDecision[],
  ): Promise<AutomationResult[] | typeof CHANGED> {
    const [automations, before] = await Promise.all([
      this.store.load(fired.map(({ reached }) => reached)),
      this.launch.before(
        fired.map(({ reached }) => reached.automationUid),
        event,
      ),
    ]);
    if (automations.size < fired.length) return CHANGED;
    this.steps.reached('automations_loaded');
    const results = fired.flatMap(({ reached: { automationUid }, reason }): AutomationResult[] => {
      const runId = before.get(automationUid);
      return runId === undefined ? [] : [{ automationUid, matched: true, runId, reason }];
    });
    const missing = fired.filter(({ reached }) => !before.has(reached.automationUid));
    for (let index = 0; index < missing.length; index += LAUNCHES_AT_ONCE) {
      signal?.throwIfAborted();
      const launches = missing.slice(index, index + LAUNCHES_AT_ONCE).flatMap((decision) => {
        const automation = automations.get(decision.reached.automationId);
        return automation ? [this.start(event, decision, automation)] : [];
      });
      // All have come to an end before a fault is told: nothing goes on behind the back of a retry.
      for (const launch of await Promise.allSettled(launches)) {
        if (launch.status === 'fulfilled') results.push(launch.value);
        else faults.push(launch.reason);
      }
      // Nobody else would be started either.
      if (faults.some(isDatabaseUnavailable)) throw faults.find(isDatabaseUnavailable);
    }
    return results;
  }

  private async start(
    event: TriggerEvent,
    { reached: { automationUid }, reason }: FiringDecision,
    automation: FiringAutomation,
  ): Promise<AutomationResult> {
    this.steps.reached('before_launch');
    const launched = await this.launch.execute(automation, event);
    this.steps.reached('launched');
    return launched.kind === 'launched'
      ? { automationUid, matched: true, runId: launched.runId, reason }
      : { automationUid, matched: true, reason: `${reason} No run was started: ${launched.reason}` };
  }
}
