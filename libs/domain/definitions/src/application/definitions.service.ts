import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { DefinedAutomations, TriggerProviders } from '#domain/automations';
import { FactoriesService, type Factory } from '#domain/factories';
import type { PrincipalRef } from '#domain/runs';
import { DefinedWebhooks, IngressAuthModes } from '#domain/webhooks';
import type { RejectionOf } from '#platform/kernel';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import {
  type DefinitionFile,
  type Diagnostic,
  type InvalidDefinition,
  type PlanEntry,
  sortedDiagnostics,
  type ValidDefinition,
} from '../domain/definition.js';
import { desiredState } from '../domain/desired-state.js';
import { exportFiles } from '../domain/export.js';
import { FACTORY_PATH } from '../domain/files/layout.js';
import { planDefinition } from '../domain/plan.js';
import { NOTHING_APPLIED, type PresentAgent, type PresentState } from '../domain/present-state.js';
import { readDefinition } from '../domain/reading/read-definition.js';
import { definitionSchemas, type KnownParts } from '../domain/schema/definition-schemas.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';
import { type Applying, RefusedError } from './applying.js';
import { DefinitionRules } from './definition-rules.js';
import { WritePlan } from './write-plan.js';

type ApplyResult =
  | { readonly kind: 'applied'; readonly plan: readonly PlanEntry[] }
  | InvalidDefinition
  | RejectionOf<'not_found'>;

const DEADLOCK = '40P01';
/** Another transaction wrote a name, or took a lock, at the same time: the next plan includes its changes. */
const RACES: ReadonlySet<string | null> = new Set([DEADLOCK, UNIQUE_VIOLATION]);
const ATTEMPTS = 3;

@Injectable()
export class DefinitionsService {
  constructor(
    private readonly database: Database,
    private readonly factories: FactoriesService,
    private readonly triggers: TriggerProviders,
    private readonly store: DefinitionsStore,
    private readonly webhooks: DefinedWebhooks,
    private readonly automations: DefinedAutomations,
    private readonly rules: DefinitionRules,
    private readonly writing: WritePlan,
    private readonly identities: DefinedIdentities,
    private readonly modes: IngressAuthModes,
  ) {}

  private get known(): KnownParts {
    return { triggers: this.triggers.all(), authModes: this.modes.names };
  }

  schemas() {
    return definitionSchemas(this.known);
  }

  /** Everything that is wrong with the files by themselves. Reads no factory. */
  check(files: readonly DefinitionFile[]): readonly Diagnostic[] {
    const read = this.read(files);
    return read.kind === 'invalid' ? read.diagnostics : [];
  }

  /** Applies all files or nothing. Applies of one factory come one after the other. */
  async apply(factoryUid: string, author: PrincipalRef, files: readonly DefinitionFile[]): Promise<ApplyResult> {
    const read = this.read(files);
    if (read.kind === 'invalid') return read;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.database.transaction(async (tx): Promise<ApplyResult> => {
          const factory = await this.factories.lock(tx, factoryUid);
          if (!factory) return { kind: 'not_found' };
          const planning = await this.plan(tx, factory, read, { held: true });
          if (planning.kind === 'invalid') return planning;
          return { kind: 'applied', plan: await this.writing.execute(tx, planning.applying, author, files) };
        });
      } catch (error) {
        if (error instanceof RefusedError) return { kind: 'invalid', diagnostics: error.diagnostics };
        if (attempt === ATTEMPTS || !RACES.has(sqlState(error))) throw error;
      }
    }
  }

  /** Whether an apply would succeed at the moment, and what it would do. Writes nothing and takes no lock. */
  async validate(factory: Factory, files: readonly DefinitionFile[]) {
    const read = this.read(files);
    if (read.kind === 'invalid') return read;
    const planning = await this.database.transaction((tx) => this.plan(tx, factory, read, { held: false }));
    return planning.kind === 'invalid' ? planning : { kind: 'valid' as const, plan: planning.applying.plan };
  }

  /** The present state of a factory as files. What was made through the API is no part of its definition. */
  export(factory: Factory): Promise<DefinitionFile[]> {
    return this.database.transaction(async (tx) => {
      // One snapshot, also while a definition is applied.
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return exportFiles(await this.state(tx, factory, { held: false }));
    });
  }

  private read(files: readonly DefinitionFile[]) {
    return readDefinition(files, this.known);
  }

  /** What an apply does, or everything that prevents it. `held`: the plan stays true until the transaction ends. */
  private async plan(
    tx: Queryable,
    factory: Factory,
    { definition, places }: ValidDefinition,
    { held }: { readonly held: boolean },
  ): Promise<{ readonly kind: 'planned'; readonly applying: Applying } | InvalidDefinition> {
    const present = await this.state(tx, factory, { held });
    const desired = desiredState(definition);
    const plan = planDefinition(factory.uid, desired, present);
    const applying: Applying = { factory, definition, places, desired, present, plan };
    const diagnostics = withoutRepeats(sortedDiagnostics(await this.rules.check(tx, applying)));
    return diagnostics.length > 0 ? { kind: 'invalid', diagnostics } : { kind: 'planned', applying };
  }

  /** `held`: nobody else changes what definitions own until the transaction ends. */
  private async state(tx: Queryable, factory: Factory, { held }: { readonly held: boolean }): Promise<PresentState> {
    if (held) {
      await this.webhooks.lock(tx, factory);
      await this.automations.lock(tx, factory.uid);
    }
    const applied = (await this.store.find(tx, factory.uid)) ?? NOTHING_APPLIED;
    const { name, description, alias } = factory;
    return {
      applied,
      factory: { name, description, alias, agentDefaults: applied.agentDefaults },
      webhooks: await this.webhooks.list(tx, factory),
      agents: await this.agents(tx, factory, applied.agents, held),
      automations: await this.automations.list(tx, factory.uid),
    };
  }

  private async agents(
    tx: Queryable,
    { teamUid }: Factory,
    uids: ReadonlyMap<string, string>,
    held: boolean,
  ): Promise<PresentAgent[]> {
    const found = await this.identities.find(tx, teamUid, [...uids.values()], held);
    const known = new Map(found.map((identity) => [identity.uid, identity]));
    return [...uids].flatMap(([name, uid]) => {
      const identity = known.get(uid);
      return identity ? [{ name, identity }] : [];
    });
  }
}

/** An issue of the defaults is found in every resource that inherits them, with different messages. */
function withoutRepeats(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const keyOf = ({ path, line, column, code, message }: Diagnostic): string =>
    [path, line, column, code, ...(path === FACTORY_PATH ? [] : [message])].join(':');
  return [...new Map(diagnostics.map((one) => [keyOf(one), one])).values()];
}
