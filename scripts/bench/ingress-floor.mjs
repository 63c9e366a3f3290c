// The floor: node:http and pg, one INSERT of the same row per request, nothing else.
import { createServer } from 'node:http';
import pg from 'pg';
import { uuidv7 } from 'uuidv7';

const { databaseUrl, poolSize } = JSON.parse(process.env.BENCH_FLOOR);
const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize, options: '-c search_path=headrace' });
const statement = `INSERT INTO bench_floor (webhook_id, id, outcome, identity_kind, identity, size_bytes, received_at, source_ip, headers, trace_id, body)
  VALUES ($1, $2, 'A', 'scheme_header', $3, $4, now(), $5, $6, $7, $8)`;

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    try {
      const body = Buffer.concat(chunks);
      const id = uuidv7();
      const {
        'x-github-delivery': identity,
        'content-type': type,
        'user-agent': agent,
        'x-github-event': event,
      } = request.headers;
      const headers = JSON.stringify({ 'content-type': type, 'user-agent': agent, 'x-github-event': event });
      await pool.query({
        name: 'floor',
        text: statement,
        values: ['1', id, identity, body.length, '127.0.0.1', headers, 'a'.repeat(32), body],
      });
      response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ delivery_id: id }));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
}).listen(0, '127.0.0.1', function () {
  console.log(`listening ${this.address().port}`);
});
