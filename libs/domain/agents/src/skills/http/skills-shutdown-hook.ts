import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Shutdown } from '#platform/http';
import { ReadSkills } from '../application/read-skills.js';

/** Aborts readings at shutdown, so that a request that waits for a repository does not delay it. */
@Injectable()
export class SkillsShutdownHook implements OnModuleInit {
  constructor(
    private readonly shutdown: Shutdown,
    private readonly reader: ReadSkills,
  ) {}

  onModuleInit(): void {
    this.shutdown.onShutdown(() => this.reader.abort());
  }
}
