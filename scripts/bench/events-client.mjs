// Runners and readers of `npm run bench -- events`.
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';

const { port, tokens, runners, readers, eventsPerSecond, seconds } = JSON.parse(process.env.BENCH_EVENTS);
/** As the outbox of a runner. */
const BATCH_MS = 250;
const WARM_UP_MS = 3_000;
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;

function call(method, path, token, body) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const sent = request({ port, host: '127.0.0.1', method, path: `/api/v1${path}`, agent, headers }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => {
        const answer = Buffer.concat(parts).toString();
        if (response.statusCode >= 300)
          reject(new Error(`${method} ${path}: ${response.statusCode} ${answer.slice(0, 300)}`));
        else resolve(answer === '' ? null : JSON.parse(answer));
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

let measuring = false;
const batchTimes = [];
const lags = [];
let eventCount = 0;

async function startRunner(index) {
  const token = tokens[index % tokens.length];
  const run = await call('POST', '/agent/runs/external', token, { prompt: 'Go.', title: `run ${index}` });
  const path = `/runner/v1/executions/${run.execution_id}`;
  const claim = { protocol_version: 1, instance_id: `bench-${index}` };
  const { lease_epoch } = await call('POST', `${path}/claim`, run.token, claim);
  let seq = 0;
  const report = (events) =>
    call('POST', `${path}/events`, run.token, {
      lease_epoch,
      events: events.map(([kind, data]) => ({ source_seq: (seq += 1), kind, data })),
    });
  await report([
    ['sandbox_ready', {}],
    ['session_started', { session_id: `session-${index}`, resumed: false }],
    ['agent_started', { harness: 'oz' }],
    ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
  ]);
  const size = Math.round((eventsPerSecond * BATCH_MS) / 1000);
  let batch = 0;
  const stream = async () => {
    const at = performance.timeOrigin + performance.now();
    batch += 1;
    const events = Array.from({ length: size }, (_, position) => [
      'message_chunk',
      // The agent says a message of ten seconds.
      {
        message_id: `m${Math.ceil((batch * BATCH_MS) / 10_000)}`,
        text: position === 0 ? `at=${at.toFixed(1)}; ` : 'a few words ',
      },
    ]);
    const began = performance.now();
    await report(events);
    if (measuring) {
      batchTimes.push(performance.now() - began);
      eventCount += size;
    }
  };
  return { runId: run.run_id, token, stream };
}

function read({ runId, token }) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
    const sent = request(
      { port, host: '127.0.0.1', path: `/api/v1/agent/runs/${runId}/events`, headers },
      (response) => {
        if (response.statusCode !== 200)
          return reject(new Error(`The event stream was answered with ${response.statusCode}.`));
        response.setEncoding('utf8');
        let newest = 0;
        response.on('data', (text) => {
          const now = performance.timeOrigin + performance.now();
          // A message is sent again when it has grown: only what is new counts.
          for (const [, written] of text.matchAll(/at=(\d+\.\d);/g)) {
            const at = Number(written);
            if (at <= newest) continue;
            newest = at;
            if (measuring) lags.push(now - at);
          }
        });
        resolve(response);
      },
    );
    sent.on('error', () => undefined);
    sent.end();
  });
}

const started = [];
for (let index = 0; index < runners; index += 1) started.push(await startRunner(index));
for (let index = 0; index < readers; index += 1) await read(started[index % started.length]);

let stopping = false;
// At different times, as runners are that have started at different times.
const streams = started.map(async ({ stream }, index) => {
  await new Promise((resolve) => setTimeout(resolve, (index * BATCH_MS) / started.length));
  for (let due = performance.now(); !stopping; due += BATCH_MS) {
    await stream();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due + BATCH_MS - performance.now())));
  }
});
await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
measuring = true;
console.log('measuring');
await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
measuring = false;
stopping = true;
await Promise.all(streams);
batchTimes.sort((a, b) => a - b);
lags.sort((a, b) => a - b);
console.log(
  JSON.stringify({
    batches: batchTimes.length,
    events: eventCount,
    batchP50: percentile(batchTimes, 0.5),
    batchP99: percentile(batchTimes, 0.99),
    lags: lags.length,
    lagP50: percentile(lags, 0.5),
    lagP99: percentile(lags, 0.99),
  }),
);
process.exit();
