import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import { Database } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { Automation, RequestedAutomation } from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import { AutomationChecks } from './automation-checks.js';
import { AutomationWrites, type InvalidAutomation, type LimitReached } from './automation-writes.js';
import type { TriggerObstacle, TriggerScope } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

export type UnknownAutomation = { readonly kind: 'unknown' };

/** An automation, and why some of its triggers cannot fire. */
export interface AutomationView {
  readonly automation: Automation;
  readonly obstacles: ReadonlyMap<Trigger, TriggerObstacle>;
}

export type CreateAutomationResult =
  { readonly kind: 'created'; readonly view: AutomationView } | LimitReached | InvalidAutomation;
export type ReplaceAutomationResult =
  | { readonly kind: 'replaced'; readonly view: AutomationView }
  | UnknownAutomation
  /** The name of an automation from a definition is that of its file. */
  | { readonly kind: 'name_is_defined' }
  | InvalidAutomation;
export type DeleteAutomationResult = { readonly kind: 'deleted' } | UnknownAutomation;
export type GetAutomationResult = { readonly kind: 'found'; readonly view: AutomationView } | UnknownAutomation;
export type ListAutomationsResult =
  | { readonly kind: 'page'; readonly views: readonly AutomationView[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

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

  /** By name, with truncated prompts. */
  async list(scope: TriggerScope, limit: number, cursor: string | null): Promise<ListAutomationsResult> {
    const query = { factoryUid: scope.factoryUid };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'bad_cursor' };
    const [name, uid] = position;
    const after = name === undefined ? null : { name: String(name), uid: String(uid) };
    const { automations, hasMore } = await this.store.page(scope.factoryUid, after, limit);
    const last = automations.at(-1);
    const nextCursor = hasMore && last ? this.cursors.encode([last.name, last.uid], query) : null;
    return { kind: 'page', views: await this.view(scope, automations), nextCursor };
  }

  async get(scope: TriggerScope, uid: string): Promise<GetAutomationResult> {
    const automation = await this.store.find(scope.factoryUid, uid);
    const [view] = automation ? await this.view(scope, [automation]) : [];
    return view ? { kind: 'found', view } : { kind: 'unknown' };
  }

  /** Events after the commit start it. */
  async create(
    scope: TriggerScope,
    author: PrincipalRef,
    requested: RequestedAutomation,
  ): Promise<CreateAutomationResult> {
    const checked = await this.checks.check(this.database, scope, requested);
    if (checked.kind === 'invalid') return checked;
    const created = await this.database.transaction((tx) =>
      this.writes.create(tx, scope, { author, source: 'api' }, checked.fields),
    );
    if (created.kind !== 'created') return created;
    const found = await this.get(scope, created.uid);
    if (found.kind === 'unknown') throw new Error('The automation was deleted directly after its creation.');
    return { kind: 'created', view: found.view };
  }

  /** Sets all fields. Unchanged references are kept even when what they refer to has been deleted. */
  async replace(
    scope: TriggerScope,
    author: PrincipalRef,
    uid: string,
    requested: RequestedAutomation,
  ): Promise<ReplaceAutomationResult> {
    const before = await this.store.find(scope.factoryUid, uid);
    if (!before) return { kind: 'unknown' };
    const checked = await this.checks.check(this.database, scope, requested, before);
    if (checked.kind === 'invalid') return checked;
    const change = await this.database.transaction(async (tx) => {
      const stored = await this.store.lock(tx, scope.factoryUid, uid);
      if (!stored) return { kind: 'unknown' as const };
      if (stored.source === 'definition' && checked.fields.name !== stored.name)
        return { kind: 'name_is_defined' as const };
      return this.writes.replace(tx, stored, author, checked.fields);
    });
    if (change.kind !== 'replaced') return change;
    const found = await this.get(scope, uid);
    return found.kind === 'found' ? { kind: 'replaced', view: found.view } : found;
  }

  /** No event starts it any longer; runs that it has started continue. */
  async delete({ factoryUid }: TriggerScope, uid: string): Promise<DeleteAutomationResult> {
    const isDeleted = await this.database.transaction((tx) => this.writes.delete(tx, factoryUid, uid));
    return { kind: isDeleted ? 'deleted' : 'unknown' };
  }

  private async view(scope: TriggerScope, automations: readonly Automation[]): Promise<AutomationView[]> {
    const triggers = automations.flatMap((automation) => automation.triggers);
    const obstacles = await this.providers.obstacles(this.database, scope, triggers);
    return automations.map((automation) => ({ automation, obstacles }));
  }
}
