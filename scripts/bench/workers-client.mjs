// The workers of `npm run bench -- workers`, all in one separate process, as a small machine cannot run thousands.
// Every second one is a worker of ours (hello and beats), the others ping and send heartbeats like the published daemon.
// Takes orders on its standard input, one JSON a line: {connect: n}, {create: {perSecond, seconds}}; answers each with one.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';

const { origins, token, heartbeatSeconds } = JSON.parse(process.env.BENCH_WORKERS);
/** When a run was asked for, and who waits for it, by its prompt. */
const asked = new Map();
let connected = 0;
let lost = 0;

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const answer = order.connect ? await connectAll(order.connect) : await createAll(order.create);
  console.log(JSON.stringify({ ...answer, lost }));
}
process.exit(0);

async function connectAll(count) {
  const from = performance.now();
  const waiting = Array.from({ length: count }, () => connected++);
  const connectNext = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) await connect(index);
  };
  // So many at once as a restarted service sees.
  await Promise.all(Array.from({ length: 64 }, connectNext));
  return { seconds: (performance.now() - from) / 1000 };
}

async function connect(index) {
  const ours = index % 2 === 0;
  const socket = new WebSocket(
    `${origins[0].replace('http', 'ws')}/api/v1/selfhosted/worker/ws?worker_id=worker-${index}`,
    {
      headers: { Authorization: `Bearer ${token}`, ...(ours && { 'X-Headrace-Worker-Hello': '1' }) },
      perMessageDeflate: false,
    },
  );
  const send = (type, data) => socket.send(JSON.stringify({ type, data }));
  socket.on('error', (error) => console.error(`  worker-${index}: ${error.message}`));
  socket.on('message', (bytes) => {
    const { type, data } = JSON.parse(bytes.toString());
    if (type === 'task_assignment') runTask(data, `worker-${index}`, send);
  });
  await once(socket, 'open');
  socket.on('close', () => (lost += 1));
  if (ours) send('hello', helloOf(index));
  const beat = () => {
    if (ours) send('beat', { draining: false, free_slots: 4, tasks: [] });
    else socket.ping();
    if (!ours) socket.send('{"type":"heartbeat"}');
  };
  setTimeout(() => setInterval(beat, heartbeatSeconds * 1000), Math.random() * heartbeatSeconds * 1000);
}

function helloOf(index) {
  return {
    protocol: 1,
    instance_id: `bench-${index}`,
    version: '0.0.0',
    backend: 'process',
    slots: 4,
    features: [],
    harnesses: [
      { id: 'oz', installed: true },
      { id: 'claude', installed: true, version: '2.0.0' },
    ],
    skills: [{ name: 'write-tests', description: 'Writes tests for what lacks them.' }],
    tasks: [],
  };
}

function runTask({ task_id, task }, worker_id, send) {
  const { prompt } = task.task_definition;
  asked.get(prompt)?.(performance.now());
  send('task_claimed', { task_id, worker_id });
  send('task_completed', { task_id, message: 'Done.' });
}

/** At even times: a slow answer does not keep the next one from being sent. By turns at each of the processes. */
async function createAll({ perSecond, seconds, workers }) {
  const latencies = origins.map(() => []);
  const answers = [];
  const open = [];
  let sent = 0;
  const timer = setInterval(() => {
    const place = sent % origins.length;
    open.push(create(origins[place], sent, Math.floor(Math.random() * workers), latencies[place], answers));
    sent += 1;
  }, 1000 / perSecond);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  clearInterval(timer);
  await Promise.all(open);
  return { sent, latencies, answers };
}

async function create(origin, number, worker, latencies, answers) {
  const prompt = `Task ${process.hrtime.bigint()} ${number}`;
  const arrival = new Promise((resolve) => asked.set(prompt, resolve));
  const from = performance.now();
  const answer = await fetch(`${origin}/api/v1/agent/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt, config: { worker_host: `worker-${worker}` } }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`A create was answered ${answer.status}: ${text}`);
  answers.push(performance.now() - from);
  const late = setTimeout(() => console.error(`  no assignment after 30 s: ${text.slice(0, 200)}`), 30_000);
  latencies.push((await arrival) - from);
  clearTimeout(late);
  asked.delete(prompt);
}
