import type { DockerOptions } from '#execution/runner-host';

/** How the docker backend makes containers. */
export interface WorkerDocker extends DockerOptions {
  /** Of runs whose assignment names no image. */
  readonly defaultImage: string;
  /** `host:container[:mode]`, each. */
  readonly volumes: readonly string[];
  /** Origin of the API as containers reach it. */
  readonly serverRootUrl: string;
}
