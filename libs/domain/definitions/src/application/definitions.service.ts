import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { TriggerProviders } from '#domain/automations';
import { type Factory, LockFactory } from '#domain/factories';
import type { PrincipalRef } from '#domain/runs';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import { type Applying, RefusedError } from './applying.js';
import { AgentRules, AutomationRules, FactoryRules, LimitRules, WebhookRules } from './definition-rules.js';
import { FactoryState } from './factory-state.js';
import { WritePlan } from './write-plan.js';
import {
  type DefinitionFile,
  type Diagnostic,
  type PlanEntry,
  type ReadDefinition,
  sortedDiagnostics,
} from '../domain/definition.js';
import { desiredState } from '../domain/desired-state.js';
import { exportFiles } from '../domain/export.js';
import { FACTORY_PATH } from '../domain/files/layout.js';
import { planDefinition } from '../domain/plan.js';
import { readDefinition } from '../domain/reading/read-definition.js';

export type ApplyResult =
  | { readonly kind: 'applied'; readonly plan: readonly PlanEntry[] }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  /** The factory is gone. */
  | { readonly kind: 'unknown' };

const DEADLOCK = '40P01';
/** Somebody took a name, or a lock, in the same moment: the next plan sees what they did. */
const RACES: ReadonlySet<string | null> = new Set([DEADLOCK, UNIQUE_VIOLATION]);
const ATTEMPTS = 3;

/** Makes a factory what its files say, as a whole or not at all. Applies of one factory come one after the other. */
@Injectable()
export class ApplyDefinition {
  constructor(
    private readonly database: Database,
    private readonly factories: LockFactory,
    private readonly reader: DefinitionReader,
    private readonly planning: PlanDefinition,
    private readonly writing: WritePlan,
    private readonly identities: DefinedIdentities,
  ) {}

  async execute(factoryUid: string, author: PrincipalRef, files: readonly DefinitionFile[]): Promise<ApplyResult> {
    const read = this.reader.read(files);
    if (read.kind === 'invalid') return read;
    const result = await this.attempt(factoryUid, author, files, read);
    if (result.kind === 'applied' && result.plan.some(({ kind, action }) => kind === 'agent' && action === 'delete'))
      this.identities.forgetRemoved();
    return result;
  }

  private async attempt(
    factoryUid: string,
    author: PrincipalRef,
    files: readonly DefinitionFile[],
    read: UnderstoodDefinition,
    attempt = 1,
  ): Promise<ApplyResult> {
    try {
      return await this.database.transaction((tx) => this.apply(tx, factoryUid, author, files, read));
    } catch (error) {
      if (error instanceof RefusedError) return { kind: 'invalid', diagnostics: error.diagnostics };
      if (attempt === ATTEMPTS || !RACES.has(sqlState(error))) throw error;
      return this.attempt(factoryUid, author, files, read, attempt + 1);
    }
  }

  private async apply(
    tx: Queryable,
    factoryUid: string,
    author: PrincipalRef,
    files: readonly DefinitionFile[],
    read: UnderstoodDefinition,
  ): Promise<ApplyResult> {
    const factory = await this.factories.execute(tx, factoryUid);
    if (!factory) return { kind: 'unknown' };
    const planning = await this.planning.execute(tx, factory, read, { held: true });
    if (planning.kind === 'invalid') return planning;
    return { kind: 'applied', plan: await this.writing.execute(tx, planning.applying, author, files) };
  }
}

export type ValidateResult =
  | { readonly kind: 'valid'; readonly plan: readonly PlanEntry[] }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] };

/** Whether an apply would be done at the moment, and what it would do. Writes nothing, and is in nobody's way. */
@Injectable()
export class ValidateDefinition {
  constructor(
    private readonly database: Database,
    private readonly reader: DefinitionReader,
    private readonly planning: PlanDefinition,
  ) {}

  async execute(factory: Factory, files: readonly DefinitionFile[]): Promise<ValidateResult> {
    const read = this.reader.read(files);
    if (read.kind === 'invalid') return read;
    const planning = await this.database.transaction((tx) => this.planning.execute(tx, factory, read, { held: false }));
    return planning.kind === 'invalid' ? planning : { kind: 'valid', plan: planning.applying.plan };
  }
}

/** What a factory is now, as files. What was made through the API is no part of its definition. */
@Injectable()
export class ExportDefinition {
  constructor(
    private readonly database: Database,
    private readonly state: FactoryState,
  ) {}

  execute(factory: Factory): Promise<DefinitionFile[]> {
    return this.database.transaction(async (tx) => {
      // Of one moment, whatever is applied meanwhile.
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return exportFiles(await this.state.read(tx, factory, { held: false }));
    });
  }
}

/** Reads files, with the triggers that this installation knows. */
@Injectable()
export class DefinitionReader {
  constructor(private readonly triggers: TriggerProviders) {}

  read(files: readonly DefinitionFile[]): ReadDefinition {
    return readDefinition(files, { triggers: this.triggers.all() });
  }
}

export type UnderstoodDefinition = Extract<ReadDefinition, { kind: 'valid' }>;

export type Planning =
  | { readonly kind: 'planned'; readonly applying: Applying }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] };

/** What an apply does, or everything that keeps it from being done. Writes nothing. */
@Injectable()
export class PlanDefinition {
  constructor(
    private readonly state: FactoryState,
    private readonly factories: FactoryRules,
    private readonly webhooks: WebhookRules,
    private readonly agents: AgentRules,
    private readonly automations: AutomationRules,
    private readonly limits: LimitRules,
  ) {}

  /** `held`: what the plan says stays true until the transaction ends. */
  async execute(
    tx: Queryable,
    factory: Factory,
    { definition, places }: UnderstoodDefinition,
    { held }: { readonly held: boolean },
  ): Promise<Planning> {
    const present = await this.state.read(tx, factory, { held });
    const desired = desiredState(definition);
    const plan = planDefinition(factory.uid, desired, present);
    const applying: Applying = { factory, definition, places, desired, present, plan };
    const found: Diagnostic[] = [];
    for (const rules of [this.factories, this.webhooks, this.agents, this.automations, this.limits])
      found.push(...(await rules.check(tx, applying)));
    const diagnostics = withoutRepeats(sortedDiagnostics(found));
    return diagnostics.length > 0 ? { kind: 'invalid', diagnostics } : { kind: 'planned', applying };
  }
}

/** A fault of the defaults shows in everything that has them, in other words. */
function withoutRepeats(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const keyOf = ({ path, line, column, code, message }: Diagnostic): string =>
    [path, line, column, code, ...(path === FACTORY_PATH ? [] : [message])].join(':');
  return [...new Map(diagnostics.map((one) => [keyOf(one), one])).values()];
}
