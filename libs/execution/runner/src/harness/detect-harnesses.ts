import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { findCommand, searchPath } from '../process/child-environment.js';
import { STANDARD_HARNESSES } from './harnesses.js';

export interface DetectedHarness {
  readonly id: string;
  readonly installed: boolean;
  /** Of the npm package that the command belongs to, or that its first argument does where the command is Node. */
  readonly version?: string;
}

const MAX_LEVELS = 6;

/**
 * Which agents are installed here: finds the command as a run does, and starts nothing. `extra` are the harnesses of the
 * HARNESSES_FILE file. The built-in agent is part of Headrace and not included.
 */
export function detectHarnesses(extra: Readonly<Record<string, HarnessDefinition>>): Promise<DetectedHarness[]> {
  const all = Object.entries({ ...STANDARD_HARNESSES, ...extra });
  return Promise.resolve(
    all.map(([id, { command, args, env }]) => {
      const found = findCommand(command, env?.['PATH'] ?? searchPath());
      if (found === null) return { id, installed: false };
      const version = versionOf([args[0] ?? '', found].filter((path) => path.startsWith('/')));
      return { id, installed: true, ...(version === undefined ? {} : { version }) };
    }),
  );
}

/** Programs of npm are in a directory below the package.json of their package. */
function versionOf(programs: readonly string[]): string | undefined {
  for (const program of programs) {
    try {
      let directory = dirname(realpathSync(program));
      for (let level = 0; level < MAX_LEVELS && directory !== dirname(directory); level += 1) {
        const version = packageVersion(join(directory, 'package.json'));
        if (version !== undefined) return version;
        directory = dirname(directory);
      }
    } catch {
      continue; // not a file that can be read: the next one may be
    }
  }
  return undefined;
}

function packageVersion(path: string): string | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown; version?: unknown };
    return typeof name === 'string' && typeof version === 'string' ? version.slice(0, 64) : undefined;
  } catch {
    return undefined; // none here: perhaps further up
  }
}
