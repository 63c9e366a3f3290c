import { resolve } from 'node:path';
import { type Backend, DockerBackend, isLoopbackUrl, KubernetesBackend, ProcessBackend } from '#execution/backends';
import { type Settings, SettingsError } from '#platform/config';
import { cloneLimits } from '../application/hosted-worker.js';
import { nestLog } from '../application/nest-log.js';
import { ExecutionTokens } from '../domain/execution-token.js';

export function processBackend(settings: Settings): Backend {
  const { dataDir, gitLocalRoots, gitAllowPrivate, githubUrl, gitMirrorsMaxBytes, secretsKey } = settings;
  const tokens = new ExecutionTokens(secretsKey ?? '');
  return new ProcessBackend(
    {
      ...settings,
      maxProcesses: settings.agentMaxProcesses,
      // Runners share the mirrors of this machine.
      git: {
        ...cloneLimits(settings),
        mirrors_dir: resolve(dataDir, 'mirrors'),
        local_roots: [...gitLocalRoots],
        hosts: { allow_private: [...gitAllowPrivate], trusted_urls: [githubUrl] },
        max_mirrors_bytes: gitMirrorsMaxBytes,
      },
      marker: (executionId) => tokens.marker(executionId),
    },
    nestLog('ProcessBackend'),
  );
}

/** Throws a SettingsError when containers cannot reach the API at RUNNER_API_URL. */
export function dockerBackend(settings: Settings): Backend {
  const problem = runnerAddressProblem(settings);
  if (problem !== null) throw new SettingsError([problem]);
  const { secretsKey, secretsKeyPrevious } = settings;
  return new DockerBackend(
    { ...settings, installationKey: secretsKey ?? '', previousKeys: secretsKeyPrevious },
    nestLog('DockerBackend'),
  );
}

/** Throws a SettingsError when pods cannot reach the API at RUNNER_API_URL. */
export function kubernetesBackend(settings: Settings): Backend {
  const { runnerApiUrl, secretsKey, secretsKeyPrevious } = settings;
  if (isLoopbackUrl(runnerApiUrl))
    throw new SettingsError([
      `EXECUTOR is kubernetes, and RUNNER_API_URL is ${runnerApiUrl}: inside a pod that address is the pod itself. Set RUNNER_API_URL to an address of the API that pods reach, such as http://headrace-api.headrace.svc:3000.`,
    ]);
  return new KubernetesBackend(
    { ...settings, installationKey: secretsKey ?? '', previousKeys: secretsKeyPrevious },
    nestLog('KubernetesBackend'),
  );
}

export function runnerAddressProblem({ runnerApiUrl, port }: Pick<Settings, 'runnerApiUrl' | 'port'>): string | null {
  if (!isLoopbackUrl(runnerApiUrl)) return null;
  return (
    `EXECUTOR is docker, and RUNNER_API_URL is ${runnerApiUrl}: inside a container that address is the container itself. ` +
    `Set RUNNER_API_URL to an address of this machine that containers reach, such as http://host.docker.internal:${port}, ` +
    'and HOST to an address that the API is reached at from there, such as that of the bridge (172.17.0.1) or 0.0.0.0.'
  );
}
