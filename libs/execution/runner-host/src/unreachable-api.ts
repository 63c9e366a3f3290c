/** What a runner that ended with RUNNER_EXIT.notClaimed means to the operator of the processor. */
export const unreachableApi = (runnerApiUrl: string): string =>
  `The runner could not reach the API at ${runnerApiUrl} (RUNNER_API_URL).`;
