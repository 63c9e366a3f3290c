import type { Settings } from '#platform/config';
import { isLoopbackUrl } from '#execution/runner-host';

/** Why runners in containers cannot call the API back at RUNNER_API_URL, or null. */
export function runnerAddressProblem({ runnerApiUrl, port }: Pick<Settings, 'runnerApiUrl' | 'port'>): string | null {
  if (!isLoopbackUrl(runnerApiUrl)) return null;
  return (
    `EXECUTOR is docker, and RUNNER_API_URL is ${runnerApiUrl}: inside a container that address is the container itself. ` +
    `Set RUNNER_API_URL to an address of this machine that containers reach, such as http://host.docker.internal:${port}, ` +
    'and HOST to an address that the API is reached at from there, such as that of the bridge (172.17.0.1) or 0.0.0.0.'
  );
}
