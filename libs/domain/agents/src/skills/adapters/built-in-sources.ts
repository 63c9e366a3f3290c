import { join } from 'node:path';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { githubApi, MirrorCache } from '#platform/git';
import { Clock } from '#platform/kernel';
import { SkillSources } from '../application/skill-sources.js';
import { GithubSkillSource } from './github-skill-source.js';
import { MirrorSkillSource } from './mirror-skill-source.js';

@Injectable()
export class BuiltInSources implements OnModuleInit {
  constructor(
    private readonly sources: SkillSources,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const { dataDir, gitLocalRoots, gitCloneTimeout, gitMaxRepositoryBytes, gitMirrorsMaxBytes } = this.settings;
    const { gitAllowPrivate, githubUrl, githubSkillsSource, githubApiToken } = this.settings;
    const mirrors = new MirrorCache({
      directory: join(dataDir, 'mirrors'),
      localRoots: gitLocalRoots,
      hosts: { allowPrivate: gitAllowPrivate, trustedUrls: [githubUrl] },
      timeoutMs: gitCloneTimeout,
      maxBytes: gitMaxRepositoryBytes,
      maxTotalBytes: gitMirrorsMaxBytes,
      clock: this.clock,
    });
    this.sources.register(new MirrorSkillSource(mirrors));
    if (githubSkillsSource === 'api')
      this.sources.register(
        new GithubSkillSource({
          origin: githubApi(this.settings),
          ...(githubApiToken !== undefined && { token: githubApiToken }),
        }),
      );
  }
}
