import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallation, PROGRAM } from '#platform/kernel';
import type { DockerOptions } from './docker-options.js';

/** Where the runner is found in every container. */
const PLACE = '/opt/headrace';
/** A part of an installation; the data directory may well lie beside these, and must not come along. */
const PARTS = ['dist', 'node_modules', 'package.json'];

/** The runner, as the first words of a container's command. */
export const RUNNER_COMMAND = [`${PLACE}/bin/node`, `${PLACE}/${PROGRAM}`] as const;

export interface RunnerMount {
  readonly Type: 'bind' | 'volume';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: true;
}

/**
 * What brings Node and this program into any image, read-only: the files that this process runs from, or
 * DOCKER_RUNNER_SOURCE. Throws when the program is not built.
 */
export function runnerMounts({ dockerRunnerSource: source }: Pick<DockerOptions, 'dockerRunnerSource'>): RunnerMount[] {
  if (source !== '') return [mount(source, PLACE, source.startsWith('/') ? 'bind' : 'volume')];
  const root = findInstallation();
  return [
    mount(realpathSync(process.execPath), `${PLACE}/bin/node`),
    ...PARTS.map((part) => mount(realpathSync(join(root, part)), `${PLACE}/${part}`)),
  ];
}

const mount = (source: string, target: string, type: RunnerMount['Type'] = 'bind'): RunnerMount => ({
  Type: type,
  Source: source,
  Target: target,
  ReadOnly: true,
});
