import { nearMisses } from '#platform/kernel';
import {
  type DefinitionFile,
  type Diagnostic,
  printable,
  type InvalidDefinition,
  type ValidDefinition,
  sortedDiagnostics,
} from '../definition.js';
import { checkFiles, fault, type PlacedFile } from '../files/check-files.js';
import { promptOf } from '../files/source-text.js';
import { DefinitionBuilder } from './definition-builder.js';
import { FilePlaces, placesIn, readSource, type Source } from './read-source.js';
import { checkValue, type Validators, validatorsFor } from '../schema/check-value.js';
import type { KnownParts } from '../schema/definition-schemas.js';
import { LexemeBudget } from '../yaml/scan-yaml.js';

/**
 * Reads a whole definition, and says everything that is wrong with its files by themselves. What they refer to outside of
 * them, and what only a trigger's provider knows, is for others to check, with the `places` of the answer. Never throws,
 * whatever the files hold.
 */
export function readDefinition(
  files: readonly DefinitionFile[],
  known: KnownParts,
): ValidDefinition | InvalidDefinition {
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

/** What names an agent, in a file that may have other faults: the value of `agent:`. */
interface AgentUse {
  readonly path: string;
  readonly agent: unknown;
  readonly places: FilePlaces;
}

export function checkAgents(files: readonly PlacedFile[], uses: readonly AgentUse[]): Diagnostic[] {
  const agents = files.flatMap(({ place }) => (place.kind === 'agent' ? [place.name] : []));
  const known = new Set(agents);
  return [
    ...uses.flatMap(({ path, agent, places }) =>
      typeof agent === 'string' && agent !== '' && !known.has(agent)
        ? [{ code: 'unknown_agent', path, ...places.of(['agent'], 'value'), message: unknownAgent(agent, agents) }]
        : [],
    ),
    ...files.flatMap(({ path, place }) =>
      place.kind === 'skill' && place.agent !== null && !known.has(place.agent)
        ? [fault(path, 'missing_file', `The agent of this skill has no agents/${place.agent}/agent.md.`)]
        : [],
    ),
  ];
}

function unknownAgent(agent: string, agents: readonly string[]): string {
  const [near] = nearMisses(agent, agents);
  const hint =
    near === undefined
      ? ' Agents are called like their directories: agents/<name>/agent.md.'
      : ` Did you mean ${near}?`;
  return `This definition has no agent ${printable(agent)}.${hint}`;
}

/** As in the API. */
const MAX_PROMPT_BYTES = 65_536;

/** `prompt`: null without front matter. An agent may have an empty one: it brings settings alone. */
function checkPrompt({ path, place }: PlacedFile, prompt: string | null, places: FilePlaces): Diagnostic[] {
  if (prompt === null || (place.kind !== 'automation' && place.kind !== 'agent')) return [];
  const say = (code: string, message: string): Diagnostic[] => [{ code, path, ...places.at('/prompt'), message }];
  if (place.kind === 'automation' && prompt.trim() === '')
    return say('empty_prompt', 'The prompt of the runs is missing: it follows the front matter.');
  if (Buffer.byteLength(prompt) > MAX_PROMPT_BYTES)
    return say('prompt_too_long', `A prompt has at most ${MAX_PROMPT_BYTES} bytes.`);
  return [];
}
