import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { SkillOccurrence } from '../domain/found-skill.js';
import { repositoryNameOf } from '../domain/skill-spec.js';

interface Row {
  worker_host: string;
  name: string;
  description: string;
  repository: string;
  path: string;
}

/** Workers report their skills with their hello, which is kept with the connection. Older ones report no path. */
const LIST = statement('agents_list_worker_skills')`
  SELECT DISTINCT w.worker_host, s.name, s.description, s.repository, s.path
FROM headrace.worker_connections w,
  jsonb_to_recordset(w.skills) AS s (name text, description text, repository text, path text)
WHERE w.team_uid = ANY($1::text[]) AND w.alive_until > headrace.now() AND s.path IS NOT NULL AND s.repository IS NOT NULL
ORDER BY w.worker_host, s.repository, s.path`;

@Injectable()
export class WorkerSkillsStore {
  constructor(private readonly database: Database) {}

  async list(teamUids: readonly string[]): Promise<SkillOccurrence[]> {
    const rows = await this.database.query<Row & Record<string, unknown>>(LIST, [teamUids]);
    return rows.map(({ worker_host: workerHost, name, description, repository, path }) => {
      const { owner, name: repo } = repositoryNameOf(repository);
      const parsed = { kind: 'skill', name, description, body: '' } as const;
      const skill = { path, oid: `worker ${workerHost}`, parsed, listed: true };
      return { owner, repo, workerHost, skill, environments: [] };
    });
  }
}
