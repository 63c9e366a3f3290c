import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { EnvironmentDirectory } from '#domain/environments';
import { ExecutionFacts } from '../execution-facts.js';

/** Which image an execution runs in: its environment's, else DOCKER_DEFAULT_IMAGE. */
@Injectable()
export class EnvironmentImages {
  constructor(
    private readonly facts: ExecutionFacts,
    private readonly environments: EnvironmentDirectory,
    private readonly settings: Settings,
  ) {}

  async imageOf(executionId: string): Promise<string> {
    const uid = await this.facts.environmentOf(executionId);
    // An environment that is gone is told when the runner claims its execution.
    const environment = uid === null ? null : await this.environments.find(uid);
    return environment?.config.docker_image ?? this.settings.dockerDefaultImage;
  }
}
