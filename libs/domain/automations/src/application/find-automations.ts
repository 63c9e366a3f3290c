import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { type CursorValue, PageCursors } from '#platform/kernel';
import { Database } from '#platform/persistence';
import type { Automation } from '../domain/automation.js';
import { type AutomationPlace, AutomationsStore } from '../persistence/automations.store.js';
import type { AutomationPageResult, AutomationView, FindAutomationResult } from './automation-outcomes.js';
import { TriggerObstacles } from './trigger-obstacles.js';
import type { TriggerScope } from './trigger-provider.js';

export interface AutomationPageQuery {
  readonly limit: number;
  readonly cursor: string | null;
}

/** Automations of a factory, for those who manage it. */
@Injectable()
export class FindAutomations {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly store: AutomationsStore,
    private readonly obstacles: TriggerObstacles,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('automation', settings);
  }

  async find(scope: TriggerScope, uid: string): Promise<FindAutomationResult> {
    const automation = await this.store.find(scope.factoryUid, uid);
    if (!automation) return { kind: 'unknown' };
    const [view] = await this.view(scope, [automation]);
    return view ? { kind: 'found', view } : { kind: 'unknown' };
  }

  /** By name, prompts cut. */
  async page(scope: TriggerScope, { limit, cursor }: AutomationPageQuery): Promise<AutomationPageResult> {
    const query = { factoryUid: scope.factoryUid };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'bad_cursor' };
    const { automations, hasMore } = await this.store.page(scope.factoryUid, placeOf(position), limit);
    const last = automations.at(-1);
    const nextCursor = hasMore && last ? this.cursors.encode([last.name, last.uid], query) : null;
    return { kind: 'page', views: await this.view(scope, automations), nextCursor };
  }

  private async view(scope: TriggerScope, automations: readonly Automation[]): Promise<AutomationView[]> {
    const triggers = automations.flatMap((automation) => automation.triggers);
    const obstacles = await this.obstacles.of(this.database, scope, triggers);
    return automations.map((automation) => ({ automation, obstacles }));
  }
}

function placeOf([name, uid]: readonly CursorValue[]): AutomationPlace | null {
  return name === undefined ? null : { name: String(name), uid: String(uid) };
}
