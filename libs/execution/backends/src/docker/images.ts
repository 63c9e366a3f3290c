import { readFile } from 'node:fs/promises';
import { SingleFlight } from '#platform/kernel';
import type { HostLog } from '#execution/runner';
import type { DockerEngine, ImageInfo } from './docker-engine.js';
import { type DockerOptions, EngineError, EngineUnreachable } from './engine-connection.js';

export interface ImageReference {
  readonly text: string;
  readonly name: string;
  /** Tag or digest; `latest` when none is written. */
  readonly tag: string;
  /** Host, with its port, of the registry; `docker.io` when none is written. */
  readonly registry: string;
}

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,128}$/;
const MAX_LENGTH = 512;

/** Null when it is invalid. A valid reference has no characters with a meaning in a URL. */
export function parseImageReference(text: string): ImageReference | null {
  if (text.length > MAX_LENGTH) return null;
  const [front = '', digest, ...more] = text.split('@');
  const colon = front.lastIndexOf(':');
  const hasTag = colon > front.lastIndexOf('/');
  const name = hasTag ? front.slice(0, colon) : front;
  const tag = hasTag ? front.slice(colon + 1) : undefined;
  const [first = '', ...rest] = name.split('/');
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const segments = hasHost ? rest : [first, ...rest];
  const isGood =
    more.length === 0 &&
    (!hasHost || HOST.test(first)) &&
    segments.every((segment) => SEGMENT.test(segment)) &&
    (tag === undefined || TAG.test(tag)) &&
    (digest === undefined || DIGEST.test(digest));
  return isGood ? { text, name, tag: digest ?? tag ?? 'latest', registry: hasHost ? first : 'docker.io' } : null;
}

/** The name under which `docker login` stores the credentials of Docker Hub. */
const HUB = 'https://index.docker.io/v1/';

/** As the engine expects them; null: there are none. Throws, without a value of the file, when it cannot be used. */
export async function registryCredentials(file: string, registry: string): Promise<string | null> {
  if (file === '') return null;
  const { auths } = await readAuths(file);
  const names = registry === 'docker.io' ? [HUB, 'docker.io', 'index.docker.io'] : [registry, `https://${registry}`];
  const found = names.map((name) => auths[name]).find((entry) => entry !== undefined);
  if (found === undefined) return null;
  const [username, password] = pairOf(found);
  const header =
    found.identitytoken === undefined
      ? { username, password, serveraddress: registry }
      : { identitytoken: found.identitytoken, serveraddress: registry };
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}

interface AuthEntry {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
}

async function readAuths(file: string): Promise<{ auths: Record<string, AuthEntry | undefined> }> {
  const text = await readFile(file, 'utf8');
  try {
    const { auths } = JSON.parse(text) as { auths?: Record<string, AuthEntry> };
    return { auths: auths ?? {} };
  } catch {
    throw new Error('The file that DOCKER_AUTH_FILE names is not JSON.');
  }
}

function pairOf({ auth, username, password }: AuthEntry): [string, string] {
  if (auth === undefined) return [username ?? '', password ?? ''];
  const decoded = Buffer.from(auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? [decoded, ''] : [decoded.slice(0, colon), decoded.slice(colon + 1)];
}

/** The variables of an image, from lines `NAME=value`, except PATH, which the runner sets. */
export function imageVariables(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines
      .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
      .filter(([name]) => name !== '' && name !== 'PATH'),
  );
}

export type PullResult =
  | { readonly kind: 'ready'; readonly image: ImageInfo }
  /** The message is for the person who started the run: the image, and the error of the registry. */
  | { readonly kind: 'failed'; readonly message: string };

/** Pulls images that the engine does not have; concurrent requests for one image wait for the same pull. */
export class ImagePuller {
  private readonly pulls = new SingleFlight<string | null>(() => new Error('The pull was stopped.'));

  constructor(
    private readonly engine: DockerEngine,
    private readonly settings: Pick<DockerOptions, 'dockerPull' | 'dockerPullTimeout' | 'dockerAuthFile'>,
    private readonly log: HostLog,
  ) {}

  async ensure(text: string): Promise<PullResult> {
    const reference = parseImageReference(text);
    if (!reference) return { kind: 'failed', message: `"${text}" is not a valid Docker image name.` };
    const { dockerPull } = this.settings;
    const present = dockerPull === 'always' ? null : await this.engine.inspectImage(text);
    if (present) return { kind: 'ready', image: present };
    if (dockerPull === 'never')
      return { kind: 'failed', message: `The image ${text} does not exist on the engine, and DOCKER_PULL is never.` };
    const problem = await this.pulls.run(text, undefined, () => this.pull(reference));
    if (problem !== null) return { kind: 'failed', message: `The image ${text} could not be pulled: ${problem}` };
    const image = await this.engine.inspectImage(text);
    if (image) return { kind: 'ready', image };
    return { kind: 'failed', message: `The image ${text} was pulled, but does not exist on the engine.` };
  }

  private async pull({ text, name, tag, registry }: ImageReference): Promise<string | null> {
    const { dockerPullTimeout, dockerAuthFile } = this.settings;
    const timeout = AbortSignal.timeout(dockerPullTimeout);
    const startedAt = performance.now();
    try {
      const auth = await registryCredentials(dockerAuthFile, registry);
      await this.engine.pullImage(name, tag, auth, timeout);
    } catch (error) {
      if (error instanceof EngineUnreachable) {
        if (timeout.aborted) return `it took longer than ${dockerPullTimeout / 1000} s (DOCKER_PULL_TIMEOUT).`;
        throw error;
      }
      const problem = error instanceof Error ? error.message : String(error);
      this.log.warn('image not pulled', { image: text, registry, problem });
      if (error instanceof EngineError) return problem;
      return 'the credentials of its registry could not be read.';
    }
    this.log.info('image pulled', { image: text, seconds: Math.round((performance.now() - startedAt) / 1000) });
    return null;
  }
}
