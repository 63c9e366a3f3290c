import { join } from 'node:path';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { MirrorCache } from '#platform/git';
import { Clock } from '#platform/kernel';
import { SkillSources } from '../application/skill-sources.js';
import { GithubSkillSource } from './github-skill-source.js';
import { MirrorSkillSource } from './mirror-skill-source.js';

const GITHUB_API = 'https://api.github.com';

@Injectable()
export class BuiltInSources implements OnModuleInit {
  constructor(
    private readonly sources: SkillSources,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const { dataDir, gitLocalRoots, gitCloneTimeout, gitMaxRepositoryBytes, gitMirrorsMaxBytes } = this.settings;
    const { gitAllowPrivate, githubUrl, githubSkillsSource, githubApiUrl, githubApiToken } = this.settings;
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
          origin: githubApiUrl ?? GITHUB_API,
          ...(githubApiToken !== undefined && { token: githubApiToken }),
        }),
      );
  }
}
