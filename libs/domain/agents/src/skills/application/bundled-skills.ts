import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { findShipped } from '#platform/kernel';
import type { FoundSkill } from '../domain/found-skill.js';
import { parseSkill } from '../domain/parse-skill.js';

export const BUNDLED_OWNER = 'headrace';
export const BUNDLED_NAME = 'bundled';

export function isBundled(owner: string, name: string): boolean {
  return owner.toLowerCase() === BUNDLED_OWNER && name.toLowerCase() === BUNDLED_NAME;
}

/** As `headrace/bundled`; paths are `<id>/SKILL.md`. They change with a release only, so they are read once. */
@Injectable()
export class BundledSkills implements OnModuleInit {
  private known: readonly FoundSkill[] = [];

  onModuleInit(): void {
    const place = findShipped('libs/domain/agents/skills');
    this.known = readdirSync(place)
      .sort()
      .map((id) => readShipped(place, id));
  }

  get skills(): readonly FoundSkill[] {
    return this.known;
  }
}

function readShipped(place: string, id: string): FoundSkill {
  const content = readFileSync(join(place, id, 'SKILL.md'));
  const oid = createHash('sha256').update(content).digest('hex');
  return { path: `${id}/SKILL.md`, oid, parsed: parseSkill(content), listed: true };
}
