import { Logger } from '@nestjs/common';
import { SystemClock } from '#platform/kernel';
import { choice, command, flag, list, text } from '../cli/command.js';
import { readSecretFile } from '../cli/input.js';
import { OUTPUT_OPTIONS, REMOTE_OPTIONS } from '../cli/shared-options.js';
import { examine, isHealthy, renderResults, resultsAsJson } from '../doctor/doctor.js';
import { connectLauncher } from '../process/launcher.js';
import { assertToken, parseBaseUrl } from '../remote/connect.js';

/** After this time, a check that still hangs does not keep the process alive. */
const LINGER_MS = 500;

export const doctor = command({
  options: {
    worker: flag('Check only what a self-hosted worker needs.'),
    backend: choice(['process', 'docker'], 'Backend of the worker.', { default: 'process' }),
    harness: list('id', 'Agent that must be installed.'),
    url: text('origin', 'Origin of the API. Default: the API of this installation.'),
    'token-file': REMOTE_OPTIONS['token-file'],
    ...OUTPUT_OPTIONS,
  },
  run: async (values) => {
    // The results describe what is broken; log lines of libraries would only repeat it.
    Logger.overrideLogger(false);
    const { environment } = await connectLauncher();
    const given = [
      readSecretFile(values['token-file'], '--token-file'),
      environment.HEADRACE_TOKEN,
      environment.WARP_API_KEY,
    ].map((text) => text?.trim() ?? '');
    const token = given.find((text) => text !== '') ?? null;
    if (token !== null) assertToken(token);
    const results = await examine(
      environment,
      {
        isWorker: values.worker,
        origin: values.url === undefined ? null : parseBaseUrl(values.url).replace(/\/api\/v1$/, ''),
        token,
        backend: values.backend ?? 'process',
        harnesses: values.harness,
      },
      new SystemClock(),
    );
    process.stdout.write(`${values.json ? resultsAsJson(results) : renderResults(results)}\n`);
    const code = isHealthy(results) ? 0 : 1;
    setTimeout(() => process.exit(code), LINGER_MS).unref();
    return code;
  },
});
