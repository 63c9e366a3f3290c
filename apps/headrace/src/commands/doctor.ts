import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { SystemClock } from '#platform/kernel';
import { CommandError, UsageError } from '../cli/command.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { examine } from '../doctor/doctor.js';
import { findingsAsJson, isHealthy, renderFindings } from '../doctor/render-findings.js';
import { connectLauncher } from '../process/launcher.js';
import { parseBaseUrl } from '../remote/connect.js';

/** Something that hangs must not keep the process once everything is said. */
const LINGER_MS = 500;
const BACKENDS = ['process', 'docker'];

/** Exit code 0 when nothing failed, 1 otherwise. */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      worker: { type: 'boolean', default: false },
      url: { type: 'string' },
      'token-file': { type: 'string' },
      backend: { type: 'string', default: 'process' },
      harness: { type: 'string', multiple: true, default: [] },
    },
  });
  // What libraries log about what is broken is told by the findings.
  Logger.overrideLogger(false);
  const { environment } = await connectLauncher();
  if (!BACKENDS.includes(values.backend)) throw new UsageError(`--backend must be ${BACKENDS.join(' or ')}`);
  const given = [
    readSecretFile(values['token-file'], '--token-file'),
    environment.HEADRACE_TOKEN,
    environment.WARP_API_KEY,
  ].map((text) => text?.trim() ?? '');
  const token = given.find((text) => text !== '') ?? null;
  if (token !== null && !/^[\x21-\x7e]+$/.test(token))
    throw new CommandError('the token is none: it has characters that no token has.');
  const options = {
    isWorker: values.worker,
    origin: values.url === undefined ? null : parseBaseUrl(values.url).replace(/\/api\/v1$/, ''),
    token,
    backend: values.backend,
    harnesses: values.harness,
  };
  const findings = await examine(environment, options, new SystemClock());
  process.stdout.write(`${values.json ? findingsAsJson(findings) : renderFindings(findings)}\n`);
  const code = isHealthy(findings) ? 0 : 1;
  setTimeout(() => process.exit(code), LINGER_MS).unref();
  return code;
}
