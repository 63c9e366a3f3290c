import type { HostLog } from '../host-log.js';
import type { DockerOptions } from './docker-options.js';
import type { DockerEngine, ImageFacts } from './engine/docker-engine.js';
import { EngineRefusal, EngineUnreachable } from './engine/engine-errors.js';
import { type ImageReference, parseImageReference } from './image-reference.js';
import { registryCredentials } from './registry-credentials.js';

export type SuppliedImage =
  | { readonly kind: 'ready'; readonly image: ImageFacts }
  /** For the person whose run it is: names the image, and what the registry said. */
  | { readonly kind: 'failed'; readonly message: string };

/** Sees to it that the engine has an image. Several who want the same one wait for one pull. */
export class ImageSupply {
  private readonly pulls = new Map<string, Promise<string | null>>();

  constructor(
    private readonly engine: DockerEngine,
    private readonly settings: Pick<DockerOptions, 'dockerPull' | 'dockerPullTimeout' | 'dockerAuthFile'>,
    private readonly log: HostLog,
  ) {}

  /** Rejects with EngineUnreachable. */
  async supply(text: string): Promise<SuppliedImage> {
    const reference = parseImageReference(text);
    if (!reference) return { kind: 'failed', message: `"${text}" is not the name of a Docker image.` };
    const { dockerPull } = this.settings;
    const present = dockerPull === 'always' ? null : await this.engine.inspectImage(text);
    if (present) return { kind: 'ready', image: present };
    if (dockerPull === 'never')
      return { kind: 'failed', message: `The image ${text} is not there, and DOCKER_PULL is never.` };
    const problem = await this.pull(reference);
    if (problem !== null) return { kind: 'failed', message: `The image ${text} could not be pulled: ${problem}` };
    const image = await this.engine.inspectImage(text);
    if (image) return { kind: 'ready', image };
    return { kind: 'failed', message: `The image ${text} was pulled, and is not there.` };
  }

  /** What went wrong, or null. */
  private pull(reference: ImageReference): Promise<string | null> {
    const running = this.pulls.get(reference.text);
    if (running) return running;
    const pull = this.pullOnce(reference).finally(() => this.pulls.delete(reference.text));
    this.pulls.set(reference.text, pull);
    return pull;
  }

  private async pullOnce({ text, name, tag, registry }: ImageReference): Promise<string | null> {
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
      if (error instanceof EngineRefusal) return problem;
      return 'the credentials of its registry could not be read.';
    }
    this.log.info('image pulled', { image: text, seconds: Math.round((performance.now() - startedAt) / 1000) });
    return null;
  }
}
