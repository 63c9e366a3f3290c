import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';

/** All connections of one name. */
export interface ConnectedWorker {
  readonly workerHost: string;
  readonly connections: number;
  /** Of the oldest connection. */
  readonly connectedAt: Date;
  readonly lastSeenAt: Date;
}

interface Row {
  worker_host: string;
  connections: number;
  connected_at: Date;
  last_seen_at: Date;
}

const LIST: Statement = {
  name: 'workers_list_connected',
  text: `
SELECT worker_host, count(*)::int AS connections, min(connected_at) AS connected_at, max(last_seen_at) AS last_seen_at
FROM headrace.worker_connections
WHERE team_uid = ANY($1::text[]) AND alive_until > headrace.now()
GROUP BY team_uid, worker_host ORDER BY worker_host, team_uid`,
};

@Injectable()
export class ConnectedWorkersStore {
  constructor(private readonly database: Database) {}

  /** By name. */
  async list(teamUids: readonly string[]): Promise<ConnectedWorker[]> {
    const rows = await this.database.query<Row>(LIST, [teamUids]);
    return rows.map((row) => ({
      workerHost: row.worker_host,
      connections: row.connections,
      connectedAt: row.connected_at,
      lastSeenAt: row.last_seen_at,
    }));
  }
}
