// An agent of a third party that does what the JSON array in its prompt says, one step after the other:
//   {"ask": {"title", "kind", "name", "input"}, "options": [kinds]}   asks, and says which kind of option it got, and the note
//   {"cost": 1.5}      tells what its session has cost so far, in dollars
//   {"tokens": 100}    tells with the turn's end that it has used so many
//   {"wait": true}     works until it is cancelled
//   {"untilCancelled": true}   the same, and then does the next step; {"hang": true} never answers, also not to a cancel
//   {"say": "text"}    says it; {"update": {…}} and {"notify": {"method", "params"}} send such a notification
//   {"run": "command"}   runs it in its working directory, and says its output
//   {"fail": {"code", "message", "data"}}   answers the prompt with this error; {"answer": {…}} with these fields
//   {"stderr": "text"} and {"exit": 3}      write to standard error, and end the process
//   {"orphan": true}                        is killed, while a child of it holds its streams
// SCRIPTED_MODES, such as "auto,default", names the modes of its session; the first is the current one. {"mode": true} says the current one.
// {"meta": true} says the _meta of session/new and of session/prompt.
import { execSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (sessionId, fields) => send({ method: 'session/update', params: { sessionId, update: fields } });
const say = (sessionId, text) =>
  update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `${text}\n` } });

let asked = 0;
const answers = new Map();
let cancel = () => undefined;

function ask(sessionId, { title, kind, name, input }, kinds = ['allow_once', 'allow_always', 'reject_once']) {
  const id = (asked += 1);
  const toolCall = { toolCallId: `call-${id}`, title, kind, rawInput: input, ...(name ? { name } : {}) };
  update(sessionId, { sessionUpdate: 'tool_call', status: 'pending', ...toolCall });
  const options = kinds.map((optionKind) => ({ optionId: optionKind, name: optionKind, kind: optionKind }));
  // Agents need not repeat what they have said of the call.
  const params = { sessionId, toolCall: { toolCallId: toolCall.toolCallId }, options };
  return new Promise((resolve) => {
    answers.set(id, resolve);
    send({ id, method: 'session/request_permission', params });
  });
}

async function turn(sessionId, prompt, promptMeta) {
  const text = prompt.map((block) => block.text ?? '').join('');
  const steps = JSON.parse(text.slice(text.search(/\[[{\]]/), text.lastIndexOf(']') + 1));
  let tokens = 0;
  let answer = {};
  const cancelled = new Promise((resolve) => (cancel = () => resolve('cancelled')));
  for (const step of steps) {
    if (step.cost !== undefined)
      update(sessionId, {
        sessionUpdate: 'usage_update',
        used: 1,
        size: 2,
        cost: { amount: step.cost, currency: 'USD' },
      });
    if (step.tokens !== undefined) tokens += step.tokens;
    if (step.ask !== undefined) {
      const outcome = await Promise.race([ask(sessionId, step.ask, step.options), cancelled]);
      if (outcome === 'cancelled' || outcome.outcome === 'cancelled') return { stopReason: 'cancelled' };
      say(sessionId, [step.ask.title, outcome.optionId, outcome._meta?.note].filter(Boolean).join(' | '));
    }
    if (step.run !== undefined) say(sessionId, execSync(step.run, { encoding: 'utf8' }));
    if (step.mode) say(sessionId, `mode ${mode}`);
    if (step.meta) say(sessionId, `meta ${JSON.stringify(meta)} ${JSON.stringify(promptMeta)}`);
    if (step.say !== undefined) say(sessionId, step.say);
    if (step.update !== undefined) update(sessionId, step.update);
    if (step.notify !== undefined) send(step.notify);
    if (step.stderr !== undefined) process.stderr.write(step.stderr);
    if (step.exit !== undefined) process.exit(step.exit);
    if (step.orphan) {
      spawn('sleep', ['600'], { stdio: 'inherit' });
      process.kill(process.pid, 'SIGKILL');
    }
    if (step.fail !== undefined) throw step.fail;
    if (step.answer !== undefined) answer = { ...answer, ...step.answer };
    if (step.hang) await new Promise(() => undefined);
    if (step.untilCancelled) {
      say(sessionId, 'working');
      await cancelled;
    }
    if (step.wait) {
      say(sessionId, 'working');
      await cancelled;
      return { stopReason: 'cancelled' };
    }
  }
  const usage = { inputTokens: tokens, outputTokens: 0, totalTokens: tokens };
  return { stopReason: 'end_turn', ...(tokens > 0 ? { usage } : {}), ...answer };
}

let meta;
let [mode, ...otherModes] = (process.env.SCRIPTED_MODES ?? '').split(',').filter(Boolean);
const modes = () => {
  if (mode === undefined) return {};
  const availableModes = [mode, ...otherModes].map((id) => ({ id, name: id }));
  return { modes: { currentModeId: mode, availableModes } };
};

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
  'session/new': ({ _meta }) => {
    meta = _meta;
    return { sessionId: 'scripted-0001', ...modes() };
  },
  'session/load': () => modes(),
  'session/set_mode': ({ modeId }) => {
    mode = modeId;
    return {};
  },
  'session/prompt': ({ sessionId, prompt, _meta }) => turn(sessionId, prompt, _meta),
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return answers.get(id)?.(result?.outcome ?? { outcome: 'cancelled' });
  if (method === 'session/cancel') return cancel();
  if (id === undefined) return;
  try {
    const answer = methods[method];
    send(answer ? { id, result: await answer(params) } : { id, error: { code: -32601, message: 'no such method' } });
  } catch (error) {
    send({ id, error: error instanceof Error ? { code: -32000, message: String(error) } : error });
  }
});
