import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { LockFactory } from '#domain/factories';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { DefinitionFile, Diagnostic, PlanEntry } from '../domain/definition.js';
import { DefinitionReader } from './definition-reader.js';
import { PlanDefinition, type UnderstoodDefinition } from './plan-definition.js';
import { RefusedError } from './refused-error.js';
import { WritePlan } from './write-plan.js';

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
