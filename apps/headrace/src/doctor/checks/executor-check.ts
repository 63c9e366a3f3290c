import { DockerEngine, EngineConnection, EngineError } from '#execution/runner-host';
import type { EngineAddress } from '#execution/runner-host';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok } from '../finding.js';
import type { Patient } from '../patient.js';
import { reasonOf } from '../reason.js';

const SEE = 'See docs/operations/docker-executor.md for what is needed of an engine.';

/** Where runs are carried out: with Docker, whether its engine answers and is one that is known. */
export const executorCheck: DoctorCheck = {
  name: 'executor',
  uses: ['EXECUTOR', 'DOCKER_HOST', 'DOCKER_CERT_PATH'],
  examine: async (patient) => [await look(patient)],
};

async function look({ settings, options: { isWorker, backend } }: Patient): Promise<Finding> {
  const kind = isWorker ? backend : settings.executor;
  if (kind !== 'docker') return ok(kind);
  const place = inWords(settings.dockerHost);
  try {
    const { version, processors } = await new DockerEngine(new EngineConnection(settings)).connect();
    return ok(`docker: engine ${version} at ${place}, ${processors} processors`);
  } catch (error) {
    if (error instanceof EngineError) return fail(`docker: ${place}: ${reasonOf(error)}`, SEE);
    const reason = reasonOf(error);
    if (reason.includes('EACCES'))
      return fail(
        `docker: this user may not use the engine at ${place} (${reason})`,
        'Make the user a member of the group that the socket belongs to (`usermod -aG docker <user>`), and log in anew.',
      );
    return fail(
      `docker: the engine at ${place} does not answer (${reason})`,
      'Start it (`systemctl start docker`), mend DOCKER_HOST and DOCKER_CERT_PATH, or carry runs out as processes.',
    );
  }
}

const inWords = (address: EngineAddress): string =>
  address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;
