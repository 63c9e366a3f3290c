import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PageCursors, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { Automation, RequestedAutomation } from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import { AutomationChecks } from './automation-checks.js';
import { AutomationWrites } from './automation-writes.js';
import type { TriggerObstacle, TriggerScope } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

/** An automation, and why some of its triggers cannot fire. */
export interface AutomationView {
  readonly automation: Automation;
  readonly obstacles: ReadonlyMap<Trigger, TriggerObstacle>;
}

type Found = { readonly kind: 'found'; readonly view: AutomationView };

/** Automations of a factory. Access to the factory is checked by the caller. */
@Injectable()
export class AutomationsService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly store: AutomationsStore,
    private readonly checks: AutomationChecks,
    private readonly writes: AutomationWrites,
    private readonly providers: TriggerProviders,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('automation', settings);
  }

  async list(scope: TriggerScope, limit: number, cursor: string | null) {
    const query = { factoryUid: scope.factoryUid };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'invalid_cursor' as const };
    const [name, uid] = position;
    const after = name === undefined ? null : ([String(name), String(uid)] as const);
    const { automations, hasMore } = await this.store.page(scope.factoryUid, after, limit);
    const last = automations.at(-1);
    const nextCursor = hasMore && last ? this.cursors.encode([last.name, last.uid], query) : null;
    return { kind: 'page' as const, views: await this.view(scope, automations), nextCursor };
  }

  async get(scope: TriggerScope, uid: string): Promise<Found | RejectionOf<'not_found'>> {
    const automation = await this.store.find(scope.factoryUid, uid);
    const [view] = automation ? await this.view(scope, [automation]) : [];
    return view ? { kind: 'found', view } : { kind: 'not_found' };
  }

  /** Events after the commit start it. */
  async create(scope: TriggerScope, author: PrincipalRef, requested: RequestedAutomation) {
    const checked = await this.checks.check(this.database, scope, requested);
    if (checked.kind !== 'valid') return checked;
    const created = await this.database.transaction((tx) =>
      this.writes.create(tx, scope, 'api', author, checked.fields),
    );
    return created.kind === 'created' ? this.get(scope, created.uid) : created;
  }

  async replace(scope: TriggerScope, author: PrincipalRef, uid: string, requested: RequestedAutomation) {
    const before = await this.store.find(scope.factoryUid, uid);
    if (!before) return { kind: 'not_found' as const };
    const checked = await this.checks.check(this.database, scope, requested, before);
    if (checked.kind !== 'valid') return checked;
    const change = await this.database.transaction(async (tx) => {
      const stored = await this.store.lock(tx, scope.factoryUid, uid);
      if (!stored) return { kind: 'not_found' as const };
      if (stored.source === 'definition' && checked.fields.name !== stored.name)
        return { kind: 'name_is_defined' as const };
      return this.writes.replace(tx, stored, author, checked.fields);
    });
    return change.kind === 'replaced' ? this.get(scope, uid) : change;
  }

  async delete({ factoryUid }: TriggerScope, uid: string) {
    const isDeleted = await this.database.transaction((tx) => this.writes.delete(tx, factoryUid, uid));
    return { kind: isDeleted ? ('deleted' as const) : ('not_found' as const) };
  }

  private async view(scope: TriggerScope, automations: readonly Automation[]): Promise<AutomationView[]> {
    const triggers = automations.flatMap((automation) => automation.triggers);
    const obstacles = await this.providers.obstacles(this.database, scope, triggers);
    return automations.map((automation) => ({ automation, obstacles }));
  }
}
