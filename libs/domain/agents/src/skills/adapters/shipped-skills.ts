import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { BundledSkills } from '../application/bundled-skills.js';
import type { FoundSkill } from '../domain/found-skill.js';
import { parseSkill } from '../domain/parse-skill.js';

/** `libs/domain/agents/skills`, found from wherever this file runs (build or sources). */
export function findShippedSkills(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const place = join(directory, 'libs/domain/agents/skills');
    if (existsSync(place)) return place;
    if (directory === dirname(directory))
      throw new Error('The bundled skills (libs/domain/agents/skills) were not found.');
  }
}

/** Read once, when the process starts. */
@Injectable()
export class ShippedSkills extends BundledSkills implements OnModuleInit {
  private known: readonly FoundSkill[] = [];

  onModuleInit(): void {
    const place = findShippedSkills();
    this.known = readdirSync(place)
      .sort()
      .map((id) => readShipped(place, id));
  }

  override get skills(): readonly FoundSkill[] {
    return this.known;
  }
}

function readShipped(place: string, id: string): FoundSkill {
  const content = readFileSync(join(place, id, 'SKILL.md'));
  const oid = createHash('sha256').update(content).digest('hex');
  return { path: `${id}/SKILL.md`, oid, parsed: parseSkill(content), listed: true };
}
