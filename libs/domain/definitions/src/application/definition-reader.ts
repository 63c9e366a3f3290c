import { Injectable } from '@nestjs/common';
import { TriggerProviders } from '#domain/automations';
import type { DefinitionFile, ReadDefinition } from '../domain/definition.js';
import { readDefinition } from '../domain/reading/read-definition.js';

/** Reads files, with the triggers that this installation knows. */
@Injectable()
export class DefinitionReader {
  constructor(private readonly triggers: TriggerProviders) {}

  read(files: readonly DefinitionFile[]): ReadDefinition {
    return readDefinition(files, { triggers: this.triggers.all() });
  }
}
