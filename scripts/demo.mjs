// Walks through the main job: a run is created, an agent executes it, everything it did is read back.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { setTimeout: delay } = await import('node:timers/promises');
const { Api, DemoFailed } = await import('./lib/api.mjs');
const { withInstance } = await import('./lib/demo-instance.mjs');
const { heading, printConversation, printNewEvents } = await import('./lib/demo-print.mjs');
const { StepFailed } = await import('./lib/run-step.mjs');

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const PATIENCE_MS = 120_000;

const WORK = `Write a greeting, look at it, and check two things about it.

\`\`\`write path=greeting.txt
Hello from Headrace.
\`\`\`

\`\`\`sh
cat greeting.txt
\`\`\`

\`\`\`sh
grep -q Goodbye greeting.txt
\`\`\`

\`\`\`sh
grep -c Hello greeting.txt
\`\`\`
`;
const MORE = '```sh\nwc -c greeting.txt\n```';
const ENDLESS = '```sh\nsleep 600\n```';

/** Run → how many of its timeline events stand on the screen. */
const printedEvents = new Map();

/** Follows a run until `isDone(run, events)`, printing states and timeline events as they come. */
async function follow(api, id, isDone) {
  let state = '';
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await delay(200)) {
    const [run, events] = [await api.run(id), await api.timeline(id)];
    printedEvents.set(id, printNewEvents(events, printedEvents.get(id) ?? 0));
    if (run.state !== state) console.log(`   state: ${run.state}`);
    state = run.state;
    if (isDone(run, events)) return run;
  }
  throw new DemoFailed(`Run ${id} is still ${state} after ${PATIENCE_MS / 1000} s.`);
}

const expect = (condition, message) => {
  if (!condition) throw new DemoFailed(message);
};

async function walk(connection) {
  const api = new Api(connection);

  heading('A run is created');
  const { run_id: id, state } = await api.createRun({
    prompt: WORK,
    title: 'Demo: a greeting',
    metadata: { demo: 'yes' },
  });
  console.log(`   ${id} (${state})`);
  const run = await follow(api, id, (item) => ENDED.includes(item.state));
  expect(run.state === 'SUCCEEDED', `The run ended ${run.state}: ${JSON.stringify(run.status_message)}`);

  heading('What the agent did (conversation)');
  printConversation(await api.conversation(id));

  heading('The raw transcript');
  const transcript = await api.transcript(id);
  const lines = transcript.trimEnd().split('\n');
  console.log(`   ${Buffer.byteLength(transcript)} bytes, ${lines.length} lines; the first ones:`);
  for (const line of lines.slice(0, 3)) console.log(`   ${line.slice(0, 140)}`);

  heading('A follow-up');
  const turns = (events) => events.filter(({ event_type }) => event_type === 'run_done').length;
  const before = turns(await api.timeline(id));
  const { outcome } = await api.followUp(id, MORE);
  console.log(`   accepted: ${outcome}`);
  await follow(api, id, (item, events) => ENDED.includes(item.state) && turns(events) > before);
  const { steps } = await api.conversation(id);
  printConversation({ steps: steps.slice(-1) });

  heading('Another run, cancelled while it works');
  const other = (await api.createRun({ prompt: ENDLESS, title: 'Demo: to be cancelled' })).run_id;
  await follow(api, other, (item) => item.state === 'INPROGRESS' || ENDED.includes(item.state));
  const { runs: active } = await api.runs('state=INPROGRESS&limit=100');
  expect(
    active.some(({ run_id }) => run_id === other),
    `The run in progress ${other} is not in the list.`,
  );
  await api.cancel(other);
  await follow(api, other, (item) => item.state === 'CANCELLED');

  heading('The latest runs');
  const { runs } = await api.runs('limit=5&sort_by=created_at');
  for (const item of runs) console.log(`   ${item.created_at}  ${item.state.padEnd(10)}  ${item.title}`);
  console.log('\nThe demo went through.');
}

try {
  await withInstance(walk);
} catch (error) {
  const isExpected = error instanceof DemoFailed || error instanceof StepFailed;
  console.error(`\nThe demo failed: ${isExpected ? error.message : error.stack}`);
  process.exit(1);
}
process.exit(0);
