import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { prefixIssues } from '#platform/kernel';
import { type Automation, invalid } from '../domain/automation.js';
import type { Trigger, TriggerCheck } from '../domain/trigger.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import type { InvalidAutomation } from './automation-writes.js';
import type { UnknownAutomation } from './automations.service.js';
import { TriggerProviders } from './trigger-providers.js';
import type { TriggerSample, TriggerScope } from './trigger-provider.js';

export type TestTriggerResult =
  | { readonly kind: 'tested'; readonly wouldTrigger: boolean; readonly checks: readonly TriggerCheck[] }
  | UnknownAutomation
  | { readonly kind: 'unknown_trigger' }
  | InvalidAutomation;

/** Whether an event would start an automation, and which checks decide it. Starts nothing. */
@Injectable()
export class TestTrigger {
  constructor(
    private readonly database: Database,
    private readonly store: AutomationsStore,
    private readonly providers: TriggerProviders,
  ) {}

  /** A trigger of an automation; `index` counts from 0. */
  async ofAutomation(
    scope: TriggerScope,
    uid: string,
    index: number,
    sample: TriggerSample,
  ): Promise<TestTriggerResult> {
    const automation = await this.store.find(scope.factoryUid, uid);
    if (!automation) return { kind: 'unknown' };
    const trigger = automation.triggers[index];
    if (!trigger) return { kind: 'unknown_trigger' };
    const obstacle = await this.obstacleCheck(scope, trigger);
    return this.test(scope, trigger, sample, [enabledCheck(automation), ...(obstacle ? [obstacle] : [])]);
  }

  /** A trigger that is not saved; it must be valid. */
  async ofTrigger(scope: TriggerScope, trigger: unknown, sample: TriggerSample): Promise<TestTriggerResult> {
    const [issues = []] = await this.providers.validate(this.database, scope, [trigger]);
    if (issues.length > 0) {
      const found = issues.map(({ pointer, detail }) => invalid(pointer, detail));
      return { kind: 'invalid', issues: prefixIssues('/trigger', found) };
    }
    return this.test(scope, trigger as Trigger, sample, []);
  }

  private async test(
    scope: TriggerScope,
    trigger: Trigger,
    sample: TriggerSample,
    before: readonly TriggerCheck[],
  ): Promise<TestTriggerResult> {
    const provider = this.providers.find(trigger);
    const sampled = provider && (await provider.sample(this.database, scope, trigger, sample));
    if (sampled?.kind === 'invalid') return { kind: 'invalid', issues: [invalid(sampled.pointer, sampled.detail)] };
    // A trigger without a provider has an obstacle, which is a failed check.
    const own = provider && sampled ? provider.compile(trigger).check(sampled.event) : [];
    const checks = [...before, ...own.filter(({ check }) => !before.some((one) => one.check === check))];
    return { kind: 'tested', wouldTrigger: checks.every(({ passed }) => passed), checks };
  }

  /** A failed check with the name of the provider, when the trigger cannot fire. */
  private async obstacleCheck(scope: TriggerScope, trigger: Trigger): Promise<TriggerCheck | null> {
    const obstacle = (await this.providers.obstacles(this.database, scope, [trigger])).get(trigger);
    return obstacle ? { check: trigger.provider, passed: false, reason: obstacle.detail } : null;
  }
}

const enabledCheck = ({ enabled }: Automation): TriggerCheck => ({
  check: 'enabled',
  passed: enabled,
  reason: enabled ? 'The automation is enabled.' : 'The automation is disabled.',
});
