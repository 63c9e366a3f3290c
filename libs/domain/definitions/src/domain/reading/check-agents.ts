import { nearMisses } from '#platform/kernel';
import type { Diagnostic } from '../definition.js';
import { printable } from '../diagnostics.js';
import { fault, type PlacedFile } from '../files/check-files.js';
import type { FilePlaces } from './file-places.js';

/** What names an agent, in a file that may have other faults: the value of `agent:`. */
export interface AgentUse {
  readonly path: string;
  readonly agent: unknown;
  readonly places: FilePlaces;
}

/** Agents that are named and are not there, although files by themselves are right. */
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
