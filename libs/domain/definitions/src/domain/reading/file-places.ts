import { parsePointer } from '#platform/kernel';
import type { ResourceKind, SourcePlaces } from '../definition.js';
import type { Position } from '../files/source-text.js';
import { NodeLocator, type Side } from '../yaml/locate.js';
import type { Source } from './read-source.js';

/** Where the API has a field that files call otherwise. */
const WIRE_NAMES: readonly (readonly [wire: RegExp, file: string])[] = [
  [/^\/agent_config\/model_id\b/, '/model'],
  [/^\/agent_config\/environment_id\b/, '/environmentId'],
  [/^\/agent_config\/worker_host\b/, '/workerHost'],
  [/^\/agent_config\/harness\b/, '/harness'],
  [/^\/agent_config\/mcp_servers\b/, '/mcpServers'],
  [/^\/agent_identity_uid$/, '/agent'],
];

/** Where values of one file stand. */
export class FilePlaces {
  private readonly nodes: NodeLocator;

  constructor(
    private readonly source: Source,
    private readonly kind: ResourceKind,
  ) {
    this.nodes = new NodeLocator(source.root);
  }

  /** Of what a pointer means, by its name in the file or in the API. */
  at(pointer: string): Position {
    const renamed = WIRE_NAMES.reduce((name, [wire, file]) => name.replace(wire, file), pointer);
    const path = parsePointer(renamed);
    if (path[0] === 'prompt' && this.source.body) return this.position(promptStart(this.source.body));
    // The path is the name.
    if (path[0] === 'name' && this.kind !== 'factory' && this.kind !== 'skill') return { line: 1, column: 1 };
    return this.of(path, 'value');
  }

  of(path: readonly string[], side: Side): Position {
    return this.position(this.source.yamlStart + (this.nodes.offsetOf(path, side) ?? 0));
  }

  position(offset: number): Position {
    return this.source.text.position(offset);
  }
}

/** The first line with something on it; the line after the fence where there is none. */
function promptStart({ start, text }: { readonly start: number; readonly text: string }): number {
  const blank = /^(?:[ \t]*\r?\n)*/.exec(text)?.[0].length ?? 0;
  return blank >= text.trimEnd().length ? start : start + blank;
}

/** Of all files; line 1 of one that is not there. */
export function placesIn(files: ReadonlyMap<string, FilePlaces>): SourcePlaces {
  return { at: (path, pointer) => files.get(path)?.at(pointer) ?? { line: 1, column: 1 } };
}
