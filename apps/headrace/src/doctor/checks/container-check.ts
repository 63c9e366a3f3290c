import { randomBytes } from 'node:crypto';
import {
  containerSpecification,
  DockerEngine,
  EngineConnection,
  type ImageInfo,
  runnerMounts,
} from '#execution/runner-host';
import type { Settings } from '#platform/config';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip, warn } from '../finding.js';
import type { Patient } from '../patient.js';
import { reasonOf } from '../reason.js';

const TIMEOUT_MS = 12_000;
/** What a shell, or the init of a container, answers for a program that cannot be started. */
const NOT_STARTED = [126, 127];

/** With Docker: the default image is there, can run the runner, and reaches the API from inside a container. */
export const containerCheck: DoctorCheck = {
  name: 'container',
  uses: ['EXECUTOR', 'DOCKER_HOST', 'DOCKER_CERT_PATH', 'RUNNER_API_URL', 'DOCKER_DEFAULT_IMAGE', 'DOCKER_NETWORK'],
  examine: async (patient) => [await examineContainer(patient)],
};

async function examineContainer({ settings, api, options: { isWorker } }: Patient): Promise<Finding> {
  if (isWorker || settings.executor !== 'docker') return skip('EXECUTOR is not docker');
  const engine = new DockerEngine(new EngineConnection(settings));
  const facts = await engine.connect().catch(() => null);
  if (facts === null) return skip('the engine does not answer');
  const image = await engine.inspectImage(settings.dockerDefaultImage);
  if (image === null) return missing(settings);
  const isUp = await api.readiness().then(
    () => true,
    () => false,
  );
  if (!isUp) return skip('the API is not running, so no container was started to call it');
  return probe(engine, settings, image, facts.processors);
}

function missing({ dockerDefaultImage: image, dockerPull }: Settings): Finding {
  return dockerPull === 'never'
    ? fail(`the image ${image} (DOCKER_DEFAULT_IMAGE) does not exist, and DOCKER_PULL is never`, `docker pull ${image}`)
    : warn(
        `the image ${image} (DOCKER_DEFAULT_IMAGE) is pulled by the first run that needs it`,
        `docker pull ${image}`,
      );
}

async function probe(
  engine: DockerEngine,
  settings: Settings,
  { id: imageId }: ImageInfo,
  processors: number,
): Promise<Finding> {
  const { runnerApiUrl: url, dockerDefaultImage: image, dockerNetwork: network } = settings;
  const name = `headrace-doctor-${randomBytes(6).toString('hex')}`;
  const specification = containerSpecification(settings, {
    ...{ imageId, labels: {}, mounts: runnerMounts(settings), processors },
    hostAddress: await engine.hostAddress(network),
  });
  try {
    await engine.createContainer(name, { ...specification, Cmd: ['agent', 'probe', url], OpenStdin: false });
    await engine.startContainer(name);
    await engine.waitContainer(name, AbortSignal.timeout(TIMEOUT_MS));
    const exitCode = (await engine.inspectContainer(name))?.exitCode ?? -1;
    if (exitCode === 0) return ok(`a container of ${image} reaches ${url}`);
    if (NOT_STARTED.includes(exitCode))
      return fail(
        `the image ${image} (DOCKER_DEFAULT_IMAGE) cannot run the runner`,
        'Use an image with glibc and libstdc++, such as debian:bookworm-slim.',
      );
    return fail(
      `a container in the network ${network} does not reach ${url}`,
      'Let HOST be an address that containers reach, such as that of the bridge (172.17.0.1) or 0.0.0.0.',
      'Check RUNNER_API_URL, and the firewall between containers and this machine.',
    );
  } catch (error) {
    return fail(
      `a container of ${image} could not be run (${reasonOf(error)})`,
      'See docs/operations/docker-executor.md.',
    );
  } finally {
    await engine.removeContainer(name);
  }
}
