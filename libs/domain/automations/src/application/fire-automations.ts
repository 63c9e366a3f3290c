import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { maxEntries } from '#platform/kernel';
import { isDatabaseUnavailable } from '#platform/persistence';
import { RunAnswers } from '#domain/answers';
import type { AutomationResult } from '#domain/webhooks';
import { partsOf } from '../domain/answers.js';
import { firingLimits, limitReason } from '../domain/firing-limits.js';
import { answerPlaceOf } from '../domain/answer-place.js';
import type { TriggerCheck, TriggerEvent } from '../domain/trigger.js';
import { type FiringAutomation, FiringStore, type ReachedTrigger } from '../persistence/firing.store.js';
import { launchKey, LaunchRun, type LaunchResult } from './launch-run.js';
import type { CompiledTrigger } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

const CONCURRENT_LAUNCHES = 8;
/** Automations whose prompts and configurations are in memory at the same time. */
const LOADED_AUTOMATIONS = 64;
const MAX_ATTEMPTS = 5;
const MAX_COMPILED = 10_000;
/** Characters. */
const MAX_REASON = 1_000;
/** Evaluation yields to other work of the process after this time: 40,000 triggers may read 256 KB each. */
const TURN_MS = 20;

export interface FiringDecision extends ReachedTrigger {
  readonly matched: boolean;
  readonly reason: string;
}

/** An automation was saved, disabled or deleted between steps 1 and 3, which have to see the same version. */
const CHANGED = Symbol('changed');

interface Fired {
  /** Of each automation that the event has reached and that has not failed, in a fixed order. */
  readonly results: readonly AutomationResult[];
  /** With a matching trigger, also those that have failed. */
  readonly matched: readonly string[];
  readonly faults: readonly unknown[];
}

/**
 * Starts or continues one run for each enabled automation that has a matching trigger. Idempotent by automation and event: after a fault
 * or a crash the same event is fired again, and continues where it stopped. One round trip when nothing matches; otherwise
 * two more for each 64 automations, and for each new run its cost and, for events with a target, one more; two when nothing is
 * started.
 */
@Injectable()
export class FireAutomations {
  private readonly compiled = new LRUCache<string, { readonly version: string; readonly trigger: CompiledTrigger }>(
    maxEntries(MAX_COMPILED),
  );

  constructor(
    private readonly store: FiringStore,
    private readonly providers: TriggerProviders,
    private readonly launch: LaunchRun,
    private readonly answers: RunAnswers,
    private readonly settings: Settings,
  ) {}

  /**
   * The result of each automation that the event has reached, in a fixed order. Throws only for faults, and the reason of
   * `signal`, after which nothing more is started.
   */
  execute(event: TriggerEvent, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    return this.executeAll([event], signal);
  }

  /** Several events with one key: an automation starts one run for them, by the first one that one of its triggers matches. */
  async executeAll(events: readonly TriggerEvent[], signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const results = new Map<string, AutomationResult>();
    const matched = new Set<string>();
    const faults: unknown[] = [];
    for (const event of events) {
      const fired = await this.fire(event, matched, signal);
      for (const uid of fired.matched) matched.add(uid);
      faults.push(...fired.faults);
      for (const result of fired.results) results.set(result.automationUid, combined(results, result));
    }
    if (faults.length > 0) throw faults[0];
    return [...results.values()];
  }

  private async fire(
    event: TriggerEvent,
    except: ReadonlySet<string>,
    signal: AbortSignal | undefined,
  ): Promise<Fired> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const fired = await this.attempt(event, except, signal);
      if (fired !== CHANGED) return fired;
    }
    throw new Error(`The automations of ${event.provider} ${event.subject} changed during each of the attempts.`);
  }

  private async attempt(
    event: TriggerEvent,
    except: ReadonlySet<string>,
    signal: AbortSignal | undefined,
  ): Promise<Fired | typeof CHANGED> {
    // 1. Find the triggers that the event reaches.
    const reached = (await this.store.reached(event)).filter(({ automationUid }) => !except.has(automationUid));

    // 2. Evaluate their filters: one decision for each automation.
    const decisions = await decideFiring(reached, (one) => this.compile(one).check(event), signal);

    const results = new Map<string, AutomationResult>();
    const faults: unknown[] = [];
    const matched = decisions.filter((decision) => decision.matched);
    for (let start = 0; start < matched.length; start += LOADED_AUTOMATIONS) {
      const batch = matched.slice(start, start + LOADED_AUTOMATIONS);
      // 3. Load the automations in the version that was decided on, and the runs that an earlier attempt has started.
      const uids = batch.map(({ automationUid }) => automationUid);
      const [automations, runs] = await Promise.all([this.store.load(batch), this.launch.findStarted(uids, event)]);
      if (automations.size < batch.length) return CHANGED;
      for (const { automationUid, reason } of batch) {
        const runId = runs.get(automationUid);
        if (runId !== undefined) results.set(automationUid, { automationUid, matched: true, runId, reason });
      }

      // 4. Start the missing runs.
      const missing = batch.filter((decision) => !runs.has(decision.automationUid));
      for (let index = 0; index < missing.length; index += CONCURRENT_LAUNCHES) {
        signal?.throwIfAborted();
        const launches = missing.slice(index, index + CONCURRENT_LAUNCHES).flatMap((decision) => {
          const automation = automations.get(decision.automationId);
          return automation ? [this.start(event, decision, automation)] : [];
        });
        // All launches end before a fault is thrown: a retry never overlaps with a launch of this attempt.
        for (const launch of await Promise.allSettled(launches)) {
          if (launch.status === 'fulfilled') results.set(launch.value.automationUid, launch.value);
          else faults.push(launch.reason);
        }
        // Without the database no other run would start either.
        if (faults.some(isDatabaseUnavailable)) throw faults.find(isDatabaseUnavailable);
      }

      // 5. Show the runs at the issue, pull request or thread of the event, also those that an earlier attempt has started.
      await this.showRuns(event, automations.values(), results);
    }

    // 6. Report every automation, in the order of the decisions.
    return {
      results: decisions.flatMap(({ automationUid, matched: isMatched, reason }) => {
        const result = results.get(automationUid);
        return result ?? (isMatched ? [] : { automationUid, matched: false, reason });
      }),
      matched: matched.map(({ automationUid }) => automationUid),
      faults,
    };
  }

  private async start(
    event: TriggerEvent,
    { automationUid, reason }: FiringDecision,
    automation: FiringAutomation,
  ): Promise<AutomationResult> {
    const launched = await this.launchWithin(automation, event);
    switch (launched.kind) {
      case 'launched':
        return { automationUid, matched: true, runId: launched.runId, reason };
      case 'continued':
        return { automationUid, matched: true, runId: launched.runId, reason: `${reason} The run was continued.` };
      case 'refused':
        return { automationUid, matched: true, reason: `${reason} No run was started: ${launched.reason}` };
    }
  }

  /** Events of one target start the automation a limited number of times; what starts nothing is not counted. */
  private async launchWithin(automation: FiringAutomation, event: TriggerEvent): Promise<LaunchResult> {
    if (!event.target) return this.launch.execute(automation, event);
    const limits = firingLimits(event.target, this.settings.automationTargetLimit);
    const counted = await this.store.countFiring(automation.id, limits);
    let hasStarted = false;
    try {
      const reached = limits.find(({ key, maximum }) =>
        counted.some(({ target, firings }) => target === key && firings > maximum),
      );
      if (reached) return { kind: 'refused', reason: limitReason(reached) };
      const launched = await this.launch.execute(automation, event);
      hasStarted = launched.kind !== 'refused';
      return launched;
    } finally {
      if (!hasStarted) await this.store.uncountFiring(automation.id, counted);
    }
  }

  private async showRuns(
    event: TriggerEvent,
    automations: Iterable<FiringAutomation>,
    results: ReadonlyMap<string, AutomationResult>,
  ): Promise<void> {
    const place = answerPlaceOf(event);
    if (place === null) return;
    const runs = [...automations].flatMap(({ uid, answers }) => {
      const runId = results.get(uid)?.runId;
      if (runId === undefined) return [];
      const run = { runId, parts: partsOf(answers), launchKeys: [launchKey(uid, event)] };
      if (place.target.provider !== 'slack') return [run];
      // Without a token there is no place for an answer.
      if (answers?.secretName === undefined) return [];
      const { secretName, decisions = false } = answers;
      return [{ ...run, chat: { secretName, automationUid: uid, decisions } }];
    });
    await this.answers.record(runs, place.target, place.reaction);
  }

  /** Cached by version: a version of an automation never changes. */
  private compile({ automationId, position, version, trigger }: ReachedTrigger): CompiledTrigger {
    const key = `${automationId}/${position}`;
    const known = this.compiled.get(key);
    if (known?.version === version) return known.trigger;
    const compiled = this.providers.find(trigger)?.compile(trigger) ?? UNKNOWN_PROVIDER;
    this.compiled.set(key, { version, trigger: compiled });
    return compiled;
  }
}

/** With the reasons of the events before. */
function combined(results: ReadonlyMap<string, AutomationResult>, result: AutomationResult): AutomationResult {
  const known = results.get(result.automationUid);
  if (known === undefined || result.matched) return result;
  return { ...result, reason: joinedReasons(known.reason, result.reason) };
}

const joinedReasons = (first: string, second: string): string => `${first} ${second}`.slice(0, MAX_REASON);

/** For a trigger of a provider that is not registered in this process. */
const UNKNOWN_PROVIDER: CompiledTrigger = {
  check: () => [
    { check: 'provider', passed: false, reason: 'This installation does not know the kind of the trigger.' },
  ],
};

/** One decision for each automation: its first matching trigger, or else why none matched. Throws the reason of `signal`. */
export async function decideFiring(
  reached: readonly ReachedTrigger[],
  check: (one: ReachedTrigger) => readonly TriggerCheck[],
  signal?: AbortSignal,
): Promise<FiringDecision[]> {
  const decisions = new Map<string, FiringDecision>();
  let turnStartedAt = performance.now();
  for (const one of reached) {
    if (performance.now() - turnStartedAt > TURN_MS) {
      await nextTurn();
      signal?.throwIfAborted();
      turnStartedAt = performance.now();
    }
    const known = decisions.get(one.automationId);
    if (known?.matched) continue;
    const decision = one.enabled
      ? decisionOf(one, check(one))
      : { ...one, matched: false, reason: 'The automation is disabled.' };
    if (!known || decision.matched) decisions.set(one.automationId, decision);
    else if (one.enabled)
      decisions.set(one.automationId, { ...known, reason: joinedReasons(known.reason, decision.reason) });
  }
  return [...decisions.values()];
}

function decisionOf(reached: ReachedTrigger, checks: readonly TriggerCheck[]): FiringDecision {
  const failed = checks.find(({ passed }) => !passed);
  return { ...reached, matched: failed === undefined, reason: (failed ?? checks.at(-1))?.reason ?? '' };
}
