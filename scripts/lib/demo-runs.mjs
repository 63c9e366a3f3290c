import { expect, follow, followToSuccess, hasEnded } from './demo-follow.mjs';
import { heading, printConversation } from './demo-print.mjs';

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
const CHANGE = '```sh\necho "Hello from the fork." >> greeting.txt\n```';
const ENDLESS = '```sh\nsleep 600\n```';

/** First act, the main job: a run is created, an agent executes it, everything it did is read back. */
export async function walkThroughRuns(api) {
  heading('A run is created');
  const { run_id: id, state } = await api.createRun({
    prompt: WORK,
    title: 'Demo: a greeting',
    metadata: { demo: 'yes' },
  });
  console.log(`   ${id} (${state})`);
  await followToSuccess(api, id);

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
  await follow(api, id, (item, events) => hasEnded(item) && turns(events) > before);
  const { steps } = await api.conversation(id);
  printConversation({ steps: steps.slice(-1) });

  heading('A fork, which begins with the files and the session of the run, and what it changes');
  const fork = (await api.fork(id, { prompt: CHANGE, title: 'Demo: a fork' })).runs[0].run_id;
  await followToSuccess(api, fork);
  for (const { change, path, diff } of (await api.changes(fork)).files)
    console.log(`   ${change} ${path}\n${diff.replaceAll(/^/gm, '      ')}`);

  heading('Another run, cancelled while it works');
  const other = (await api.createRun({ prompt: ENDLESS, title: 'Demo: to be cancelled' })).run_id;
  await follow(api, other, (item) => item.state === 'INPROGRESS' || hasEnded(item));
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
}
