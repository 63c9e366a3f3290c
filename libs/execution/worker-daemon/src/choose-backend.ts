import type { HostLog } from '#execution/runner-host';
import type { Backend } from './backend.js';
import { DockerBackend } from './docker/docker-backend.js';
import type { WorkerOptions } from './options/read-worker-options.js';
import { ProcessBackend } from './process/process-backend.js';

/** @param installationKey of the data directory; chooses users and names, and never leaves the process. */
export function chooseBackend(options: WorkerOptions, installationKey: string, log: HostLog): Backend {
  switch (options.backend) {
    case 'process':
      return new ProcessBackend(options, installationKey, log);
    case 'docker':
      return new DockerBackend(options, installationKey, log);
  }
}
