import { randomBytes } from 'node:crypto';
import {
  BUILTIN_HARNESS,
  type DetectedHarness,
  detectHarnesses,
  HarnessesFileError,
  readHarnessesFile,
  STANDARD_HARNESSES,
} from '#execution/runner';
import {
  clusterAccess,
  containerSpecification,
  DockerEngine,
  type EngineAddress,
  EngineConnection,
  EngineError,
  type ImageInfo,
  runnerMounts,
} from '#execution/backends';
import type { Settings } from '#platform/config';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, skip, warn } from '../check-result.js';
import type { DoctorContext } from '../doctor-context.js';

const SEE_DOCS = 'See docs/operations/docker-executor.md for the requirements.';

export const executorCheck: DoctorCheck = {
  name: 'executor',
  uses: ['EXECUTOR', 'DOCKER_HOST', 'DOCKER_CERT_PATH', 'KUBECONFIG', 'KUBERNETES_NAMESPACE'],
  examine: checkExecutor,
};

async function checkExecutor({ settings, options: { isWorker, backend } }: DoctorContext): Promise<CheckResult> {
  const kind = isWorker ? backend : settings.executor;
  if (kind === 'kubernetes') return checkCluster(settings);
  if (kind !== 'docker') return ok(kind);
  const place = formatAddress(settings.dockerHost);
  try {
    const { version, processors } = await new DockerEngine(new EngineConnection(settings)).connect();
    return ok(`docker: engine ${version} at ${place}, ${processors} processors`);
  } catch (error) {
    if (error instanceof EngineError) return fail(`docker: ${place}: ${reasonOf(error)}`, SEE_DOCS);
    const reason = reasonOf(error);
    if (reason.includes('EACCES'))
      return fail(
        `docker: this user is not allowed to use the engine at ${place} (${reason})`,
        'Add the user to the group of the socket (`usermod -aG docker <user>`), and log in again.',
      );
    return fail(
      `docker: the engine at ${place} does not answer (${reason})`,
      'Start it (`systemctl start docker`), fix DOCKER_HOST and DOCKER_CERT_PATH, or execute runs as processes.',
    );
  }
}

async function checkCluster(settings: Settings): Promise<CheckResult> {
  const see = 'See docs/operations/kubernetes.md for the requirements.';
  try {
    const { address, namespace, version, missingRights } = await clusterAccess(settings);
    const place = `kubernetes: ${version} at ${address}, namespace ${namespace}`;
    if (missingRights.length > 0) return fail(`${place}: not allowed to ${missingRights.join(', ')}`, see);
    return ok(place);
  } catch (error) {
    return fail(`kubernetes: ${reasonOf(error)}`, see);
  }
}

const formatAddress = (address: EngineAddress): string =>
  address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;

const TIMEOUT_MS = 12_000;
/** Exit codes of a shell, or of the init of a container, for a program that cannot be started. */
const NOT_STARTED = [126, 127];

export const containerCheck: DoctorCheck = {
  name: 'container',
  uses: ['EXECUTOR', 'DOCKER_HOST', 'DOCKER_CERT_PATH', 'RUNNER_API_URL', 'DOCKER_DEFAULT_IMAGE', 'DOCKER_NETWORK'],
  examine: checkContainer,
};

async function checkContainer({ settings, api, options: { isWorker } }: DoctorContext): Promise<CheckResult> {
  if (isWorker || settings.executor !== 'docker') return skip('EXECUTOR is not docker');
  const engine = new DockerEngine(new EngineConnection(settings));
  const facts = await engine.connect().catch(() => null);
  if (facts === null) return skip('the engine does not answer');
  const image = await engine.inspectImage(settings.dockerDefaultImage);
  if (image === null) return missingImage(settings);
  const isUp = await api.readiness().then(
    () => true,
    () => false,
  );
  if (!isUp) return skip('the API is not running, so no container was started to call it');
  return probeFromContainer(engine, settings, image, facts.processors);
}

function missingImage({ dockerDefaultImage: image, dockerPull }: Settings): CheckResult {
  return dockerPull === 'never'
    ? fail(`the image ${image} (DOCKER_DEFAULT_IMAGE) does not exist, and DOCKER_PULL is never`, `docker pull ${image}`)
    : warn(
        `the image ${image} (DOCKER_DEFAULT_IMAGE) is pulled by the first run that needs it`,
        `docker pull ${image}`,
      );
}

async function probeFromContainer(
  engine: DockerEngine,
  settings: Settings,
  { id: imageId }: ImageInfo,
  processors: number,
): Promise<CheckResult> {
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

/** Installed agents. Those of HARNESSES_FILE and --harness are required, the others are optional. */
export const harnessCheck: DoctorCheck = {
  name: 'harnesses',
  uses: ['HARNESSES_FILE'],
  examine: async ({ settings: { harnessesFile, executor }, options }) => {
    const kind = options.isWorker ? options.backend : executor;
    if ((kind === 'docker' || kind === 'kubernetes') && options.harnesses.length === 0)
      return skip(`not checked: with ${kind}, agents are installed in the images of environments`);
    let extra: ReturnType<typeof readHarnessesFile>;
    try {
      extra = readHarnessesFile(harnessesFile);
    } catch (error) {
      if (!(error instanceof HarnessesFileError)) throw error;
      return error.problems.map((problem) =>
        fail(problem.replace(/\.$/, ''), `Fix ${harnessesFile}; docs/harnesses.md describes it.`),
      );
    }
    const known = { ...STANDARD_HARNESSES, ...extra };
    const hintOf = (id: string): string => known[id]?.install_hint ?? `install the command ${known[id]?.command ?? id}`;
    const wanted = new Set([...Object.keys(extra), ...options.harnesses]);
    return compareHarnesses(await detectHarnesses(extra), wanted, hintOf);
  },
};

function compareHarnesses(
  detected: readonly DetectedHarness[],
  wanted: ReadonlySet<string>,
  hintOf: (id: string) => string,
): CheckResult[] {
  const missing = detected.filter(({ installed }) => !installed).map(({ id }) => id);
  const optional = missing.filter((id) => !wanted.has(id));
  const isKnown = (id: string): boolean => id === BUILTIN_HARNESS || detected.some((harness) => harness.id === id);
  const installed = detected
    .filter((harness) => harness.installed)
    .map(({ id, version }) => (version === undefined ? id : `${id} ${version}`));
  const there = `installed: ${[BUILTIN_HARNESS, ...installed].join(', ')}`;
  return [
    ...missing.filter((id) => wanted.has(id)).map((id) => fail(`${id} is not installed`, hintOf(id))),
    ...[...wanted]
      .filter((id) => !isKnown(id))
      .map((id) => fail(`${id} is unknown`, 'Define it in the file of HARNESSES_FILE, or fix --harness.')),
    optional.length === 0
      ? ok(there)
      : warn(
          `${there}; not installed: ${optional.join(', ')}`,
          ...optional.map((id) => `${id}, if runs use it: ${hintOf(id)}`),
        ),
  ];
}
