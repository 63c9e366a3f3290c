import { Injectable } from '@nestjs/common';
import { newUid, type RejectionOf } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type AgentConfig, ConfigSecrets, type PrincipalRef } from '#domain/runs';
import { type Automation, type AutomationFields, type AutomationSource, secretsOf } from '../domain/automation.js';
import { AUTOMATION_QUOTA, AutomationsStore, type WrittenAutomation } from '../persistence/automations.store.js';
import type { TriggerScope } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

/** Writes valid automations within the transaction of the caller. */
@Injectable()
export class AutomationWrites {
  constructor(
    private readonly store: AutomationsStore,
    private readonly secrets: ConfigSecrets,
    private readonly providers: TriggerProviders,
  ) {}

  /** At most {@link AUTOMATION_QUOTA.limit} in a factory, also with concurrent creations. */
  async create(
    tx: Queryable,
    { factoryUid, teamUid }: TriggerScope,
    source: AutomationSource,
    author: PrincipalRef,
    fields: AutomationFields,
  ): Promise<{ readonly kind: 'created'; readonly uid: string } | RejectionOf<'limit_reached' | 'invalid'>> {
    const uid = newUid();
    const written = this.prepare(uid, author, fields, null);
    if ('kind' in written) return written;
    if (!(await AUTOMATION_QUOTA.reserve(tx, factoryUid)))
      return { kind: 'limit_reached', limit: AUTOMATION_QUOTA.limit };
    await this.store.insert(tx, { ...written, uid, factoryUid, teamUid, source });
    await this.subscribe(tx, { factoryUid, teamUid }, fields);
    return { kind: 'created', uid };
  }

  /** `stored`: locked by the transaction. */
  async replace(
    tx: Queryable,
    stored: Automation,
    author: PrincipalRef,
    fields: AutomationFields,
  ): Promise<{ readonly kind: 'replaced' } | RejectionOf<'invalid'>> {
    const written = this.prepare(stored.uid, author, fields, stored.agentConfig);
    if ('kind' in written) return written;
    await this.store.update(tx, stored.id, written);
    await this.subscribe(tx, stored, fields);
    return { kind: 'replaced' };
  }

  async delete(tx: Queryable, factoryUid: string, uid: string): Promise<boolean> {
    await AUTOMATION_QUOTA.lock(tx, factoryUid);
    if (!(await this.store.delete(tx, factoryUid, uid))) return false;
    await AUTOMATION_QUOTA.release(tx, factoryUid);
    return true;
  }

  private async subscribe(
    tx: Queryable,
    { factoryUid, teamUid }: TriggerScope,
    { triggers }: AutomationFields,
  ): Promise<void> {
    for (const provider of this.providers.all()) {
      const own = triggers.filter((trigger) => this.providers.find(trigger) === provider);
      if (own.length > 0) await provider.subscribe(tx, { factoryUid, teamUid }, own);
    }
  }

  private prepare(
    uid: string,
    author: PrincipalRef,
    fields: AutomationFields,
    stored: AgentConfig | null,
  ): WrittenAutomation | RejectionOf<'invalid'> {
    const { agentConfig, triggers } = fields;
    const sealing = agentConfig && this.secrets.seal(secretsOf(uid), agentConfig, stored);
    if (sealing?.kind === 'invalid') return { kind: 'invalid', issues: sealing.issues };
    return {
      ...fields,
      agentConfig: sealing?.value ?? null,
      author,
      // A kept trigger whose provider no longer exists has no subject.
      triggers: triggers.map((trigger) => ({
        trigger,
        subject: this.providers.find(trigger)?.subjectOf(trigger) ?? '',
      })),
    };
  }
}
