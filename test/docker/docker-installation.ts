import { ExecutorInstallation } from '../support/executor-installation.js';
import { until } from '../support/installation.js';
import { type Container, DockerEngineProcess } from './engine.js';
import { BASE_IMAGE } from './images.js';

export const engine = DockerEngineProcess.current();
export const MIB = 1_048_576;

/** An installation whose executor is the engine of these tests. */
export function startInstallation(settings: Readonly<Record<string, string>> = {}): Promise<ExecutorInstallation> {
  return ExecutorInstallation.start('host.docker.internal', () => engine.leftovers(), {
    EXECUTOR: 'docker',
    DOCKER_HOST: engine.host,
    DOCKER_DEFAULT_IMAGE: BASE_IMAGE,
    ...settings,
  });
}

/** The container of an execution. */
export const anyContainer = (): Promise<Container> =>
  until(async () => (await engine.containers())[0], 30_000, 'a container');
