// The floor: node:http and pg, one INSERT of the same row per request, nothing else.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import pg from 'pg';

const { databaseUrl, poolSize } = JSON.parse(process.env.BENCH_FLOOR);
const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize, options: '-c search_path=headrace' });
const statement = `INSERT INTO bench_floor (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location,
  mode, interactive, creator_type, creator_uid, executor_type, executor_uid, config, metadata, queued_at, created_at, updated_at)
  VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,now(),now(),now())`;
const uid = 'A'.repeat(22);

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    try {
      const { prompt, config, metadata } = JSON.parse(Buffer.concat(chunks).toString());
      const id = randomUUID();
      await pool.query({
        name: 'floor',
        text: statement,
        values: [
          id,
          uid,
          null,
          `team:${uid}`,
          'hosted',
          'QUEUED',
          prompt.slice(0, 120),
          prompt,
          'API',
          'REMOTE',
          'normal',
          false,
          'user',
          uid,
          'user',
          uid,
          JSON.stringify(config ?? {}),
          metadata ? JSON.stringify(metadata) : null,
        ],
      });
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ run_id: id, task_id: id, state: 'QUEUED' }));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
}).listen(0, '127.0.0.1', function () {
  console.log(`listening ${this.address().port}`);
});
