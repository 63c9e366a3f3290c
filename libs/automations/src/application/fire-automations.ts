import { Injectable } from '@nestjs/common';
import type { AutomationResult } from '#libs/webhooks';
import type { TriggerCheck, TriggerEvent } from '../domain/trigger.js';
import { type FiringAutomation, FiringStore, type ReachedTrigger } from '../persistence/firing.store.js';
import { CompiledTriggers } from './compiled-triggers.js';
import { FiringSteps } from './firing-steps.js';
import { LaunchRun } from './launch-run.js';

/** Runs of one event that are started at the same time. */
const LAUNCHES_AT_ONCE = 8;
/** Automations whose prompts and configurations are in memory at the same time. */
const LOADED_AT_ONCE = 64;

/** An automation was saved, disabled or deleted between the two looks at it: both have to be of the same version. */
const CHANGED = Symbol('changed');
const ATTEMPTS = 5;

interface Decision {
  readonly reached: ReachedTrigger;
  readonly matched: boolean;
  readonly reason: string;
}

/**
 * What an event starts: one run for each enabled automation of which a trigger fires. Idempotent by automation and
 * event: after a fault or a crash the same event is to be fired again. One round trip when nothing fires; when
 * something does, one more for each 64 automations, and what a run costs.
 */
@Injectable()
export class FireAutomations {
  constructor(
    private readonly store: FiringStore,
    private readonly compiled: CompiledTriggers,
    private readonly launch: LaunchRun,
    private readonly steps: FiringSteps,
  ) {}

  /** What became of each automation that the event reached, in a fixed order. Throws on faults only. */
  async execute(event: TriggerEvent): Promise<readonly AutomationResult[]> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const results = await this.attempt(event);
      if (results !== CHANGED) return results;
    }
    throw new Error(`The automations of ${event.provider} ${event.subject} were changed all the time.`);
  }

  private async attempt(event: TriggerEvent): Promise<readonly AutomationResult[] | typeof CHANGED> {
    this.steps.reached('before_reading');
    const reached = await this.store.reached(event);
    this.steps.reached('triggers_read');
    const decisions = decide(reached, (one) => this.compiled.of(one).check(event));
    this.steps.reached('filters_evaluated');
    const results = new Map<string, AutomationResult>();
    const fired = decisions.filter(({ matched }) => matched);
    for (let index = 0; index < fired.length; index += LOADED_AT_ONCE) {
      const started = await this.fire(event, fired.slice(index, index + LOADED_AT_ONCE));
      if (started === CHANGED) return CHANGED;
      for (const result of started) results.set(result.automationUid, result);
    }
    if (fired.length > 0) this.steps.reached('all_launched');
    return decisions.map(
      ({ reached: { automationUid }, reason }) =>
        results.get(automationUid) ?? { automationUid, matched: false, reason },
    );
  }

  private async fire(event: TriggerEvent, fired: readonly Decision[]): Promise<AutomationResult[] | typeof CHANGED> {
    const automations = await this.store.load(fired.map(({ reached }) => reached));
    if (automations.size < fired.length) return CHANGED;
    this.steps.reached('automations_loaded');
    const results: AutomationResult[] = [];
    for (let index = 0; index < fired.length; index += LAUNCHES_AT_ONCE) {
      const launches = fired.slice(index, index + LAUNCHES_AT_ONCE).flatMap((decision) => {
        const automation = automations.get(decision.reached.automationId);
        return automation ? [this.start(event, decision, automation)] : [];
      });
      // All have come to an end before one's fault ends the rest: nothing goes on behind the back of a retry.
      for (const launch of await Promise.allSettled(launches)) {
        if (launch.status === 'rejected') throw launch.reason;
        results.push(launch.value);
      }
    }
    return results;
  }

  private async start(
    event: TriggerEvent,
    { reached: { automationUid }, reason }: Decision,
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

/** One decision an automation: its first trigger that fires, or else why none did. */
function decide(
  reached: readonly ReachedTrigger[],
  check: (one: ReachedTrigger) => readonly TriggerCheck[],
): Decision[] {
  const decisions = new Map<string, Decision>();
  for (const one of reached) {
    const known = decisions.get(one.automationId);
    if (known?.matched) continue;
    const decision = one.enabled ? decisionOf(one, check(one)) : { reached: one, matched: false, reason: DISABLED };
    if (!known || decision.matched) decisions.set(one.automationId, decision);
    else if (one.enabled)
      decisions.set(one.automationId, { ...known, reason: `${known.reason} ${decision.reason}`.slice(0, 1000) });
  }
  return [...decisions.values()];
}

const DISABLED = 'The automation is disabled.';

function decisionOf(reached: ReachedTrigger, checks: readonly TriggerCheck[]): Decision {
  const failed = checks.find(({ passed }) => !passed);
  return { reached, matched: failed === undefined, reason: (failed ?? checks.at(-1))?.reason ?? '' };
}
