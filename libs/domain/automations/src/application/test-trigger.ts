import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { prefixIssues, type RejectionOf } from '#platform/kernel';
import type { Trigger, TriggerCheck } from '../domain/trigger.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import { TriggerProviders } from './trigger-providers.js';
import type { TriggerSample, TriggerScope } from './trigger-provider.js';

export interface TriggerTest {
  readonly kind: 'tested';
  readonly wouldTrigger: boolean;
  readonly checks: readonly TriggerCheck[];
}
type TestTriggerResult = TriggerTest | { readonly kind: 'unknown_trigger' } | RejectionOf<'not_found' | 'invalid'>;

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
    if (!automation) return { kind: 'not_found' };
    const trigger = automation.triggers[index];
    if (!trigger) return { kind: 'unknown_trigger' };
    const { enabled } = automation;
    const reason = enabled ? 'The automation is enabled.' : 'The automation is disabled.';
    const before: TriggerCheck[] = [{ check: 'enabled', passed: enabled, reason }];
    // A trigger that cannot fire has a failed check with the name of its provider.
    const obstacle = (await this.providers.obstacles(this.database, scope, [trigger])).get(trigger);
    if (obstacle) before.push({ check: trigger.provider, passed: false, reason: obstacle.detail });
    return this.test(scope, trigger, sample, before);
  }

  async ofTrigger(scope: TriggerScope, trigger: unknown, sample: TriggerSample): Promise<TestTriggerResult> {
    const [issues = []] = await this.providers.validate(this.database, scope, [trigger]);
    if (issues.length > 0) return { kind: 'invalid', issues: prefixIssues('/trigger', issues) };
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
    if (sampled?.kind === 'invalid') return sampled;
    // A trigger without a provider has an obstacle, which is a failed check.
    const own = provider && sampled ? provider.compile(trigger).check(sampled.event) : [];
    const checks = [...before, ...own.filter(({ check }) => !before.some((one) => one.check === check))];
    return { kind: 'tested', wouldTrigger: checks.every(({ passed }) => passed), checks };
  }
}
