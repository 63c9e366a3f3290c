import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { Database } from '#platform/persistence';
import type { DefinitionFile, Diagnostic, PlanEntry } from '../domain/definition.js';
import { DefinitionReader } from './definition-reader.js';
import { PlanDefinition } from './plan-definition.js';

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
