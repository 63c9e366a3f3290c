import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TriggerCheck } from '../domain/trigger.js';
import type { ReachedTrigger } from '../persistence/firing.store.js';

/** What an event means for one automation. */
export interface FiringDecision {
  readonly reached: ReachedTrigger;
  readonly matched: boolean;
  readonly reason: string;
}

const DISABLED = 'The automation is disabled.';
/** What else the process has to do waits no longer: 40,000 triggers may look at 256 KB each. */
const TURN_MS = 20;

/** One decision an automation: its first trigger that fires, or else why none did. Throws what `signal` is aborted with. */
export async function decideFiring(
  reached: readonly ReachedTrigger[],
  check: (one: ReachedTrigger) => readonly TriggerCheck[],
  signal?: AbortSignal,
): Promise<FiringDecision[]> {
  const decisions = new Map<string, FiringDecision>();
  let turnBegan = performance.now();
  for (const one of reached) {
    if (performance.now() - turnBegan > TURN_MS) {
      await nextTurn();
      signal?.throwIfAborted();
      turnBegan = performance.now();
    }
    const known = decisions.get(one.automationId);
    if (known?.matched) continue;
    const decision = one.enabled ? decisionOf(one, check(one)) : { reached: one, matched: false, reason: DISABLED };
    if (!known || decision.matched) decisions.set(one.automationId, decision);
    else if (one.enabled)
      decisions.set(one.automationId, { ...known, reason: `${known.reason} ${decision.reason}`.slice(0, 1000) });
  }
  return [...decisions.values()];
}

function decisionOf(reached: ReachedTrigger, checks: readonly TriggerCheck[]): FiringDecision {
  const failed = checks.find(({ passed }) => !passed);
  return { reached, matched: failed === undefined, reason: (failed ?? checks.at(-1))?.reason ?? '' };
}
