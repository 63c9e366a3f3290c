// A minimal server in front of pg-boss: it sends the body of each request as a job to a queue that nobody reads.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const { databaseUrl, directory, poolSize } = JSON.parse(process.env.BENCH_PG_BOSS);
const PgBoss = createRequire(`${directory}/`)('pg-boss');
const boss = new PgBoss({ connectionString: databaseUrl, max: poolSize });
await boss.start();
await boss.createQueue('runs');

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    try {
      const id = await boss.send('runs', JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id }));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
}).listen(0, '127.0.0.1', function () {
  console.log(`listening ${this.address().port}`);
});
