import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Shutdown } from '#platform/http';
import { ReadSkills } from '../application/read-skills.js';

/** A request that waits for a repository does not keep the API from stopping. */
@Injectable()
export class SkillsFarewell implements OnModuleInit {
  constructor(
    private readonly shutdown: Shutdown,
    private readonly reader: ReadSkills,
  ) {}

  onModuleInit(): void {
    this.shutdown.onShutdown(() => this.reader.giveUp());
  }
}
