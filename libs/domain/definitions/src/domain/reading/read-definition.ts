import { type DefinitionFile, type Diagnostic, type ReadDefinition } from '../definition.js';
import { sortedDiagnostics } from '../diagnostics.js';
import { checkFiles, type PlacedFile } from '../files/check-files.js';
import { promptOf } from '../files/source-text.js';
import { checkValue } from '../schema/check-value.js';
import type { KnownParts } from '../schema/definition-schemas.js';
import { type Validators, validatorsFor } from '../schema/validators.js';
import { LexemeBudget } from '../yaml/scan-yaml.js';
import { type AgentUse, checkAgents } from './check-agents.js';
import { DefinitionBuilder } from './definition-builder.js';
import { FilePlaces, placesIn } from './file-places.js';
import { checkPrompt } from './check-prompt.js';
import { readSource, type Source } from './read-source.js';

/**
 * Reads a whole definition, and says everything that is wrong with its files by themselves. What they refer to outside of
 * them, and what only a trigger's provider knows, is for others to check, with the `places` of the answer. Never throws,
 * whatever the files hold.
 */
export function readDefinition(files: readonly DefinitionFile[], known: KnownParts): ReadDefinition {
  const { placed, faults } = checkFiles(files);
  const diagnostics: Diagnostic[] = [...faults];
  const budget = new LexemeBudget();
  const validators = validatorsFor(known);
  const builder = new DefinitionBuilder();
  const places = new Map<string, FilePlaces>();
  const uses: AgentUse[] = [];
  for (const file of placed) {
    const source = readSource(file, budget);
    const place = new FilePlaces(source, file.place.kind);
    places.set(file.path, place);
    const prompt = source.body && promptOf(source.body.text);
    const found = [
      ...yamlDiagnostics(file, source, place),
      ...valueDiagnostics(file, source, place, validators),
      ...checkPrompt(file, prompt, place),
    ];
    for (const diagnostic of found) diagnostics.push(diagnostic);
    if (file.place.kind === 'automation') uses.push({ path: file.path, agent: agentIn(source.value), places: place });
    if (found.length === 0 && source.value !== undefined) builder.add(file, source.value, prompt ?? '');
  }
  diagnostics.push(...checkAgents(placed, uses));
  const definition = builder.build();
  return definition && diagnostics.length === 0
    ? { kind: 'valid', definition, places: placesIn(places) }
    : { kind: 'invalid', diagnostics: sortedDiagnostics(diagnostics) };
}

const yamlDiagnostics = ({ path }: PlacedFile, { faults }: Source, places: FilePlaces): Diagnostic[] =>
  faults.map(({ code, offset, message }) => ({ code, path, ...places.position(offset), message }));

function valueDiagnostics(
  { path, place }: PlacedFile,
  { value }: Source,
  places: FilePlaces,
  validators: Validators,
): Diagnostic[] {
  if (value === undefined) return [];
  return checkValue(validators, place.kind, value).map(({ code, path: at, side, message }) => ({
    code,
    path,
    ...places.of(at, side),
    message,
  }));
}

const agentIn = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'agent' in value ? value.agent : undefined;
