// A minimal third-party agent: repeats its prompt, and keeps a record of it where
// RECORD says (`{id}` is the session). CAPABILITIES is JSON. FORGETFUL: it knows no earlier session.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

const { RECORD, CAPABILITIES = '{}', FORGETFUL } = process.env;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const recordOf = (id) => RECORD?.replace('{id}', id);
const say = (sessionId, text) =>
  send({
    method: 'session/update',
    params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  });

const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: JSON.parse(CAPABILITIES) }),
  'session/new': () => ({ sessionId: 'echo-0001' }),
  'session/load': ({ sessionId }) => {
    if (FORGETFUL) throw new Error('unknown session');
    const path = recordOf(sessionId);
    if (path) say(sessionId, readFileSync(path, 'utf8'));
    return {};
  },
  'session/prompt': ({ sessionId, prompt }) => {
    const path = recordOf(sessionId);
    if (path) {
      mkdirSync(dirname(path), { recursive: true });
      appendFileSync(path, `${JSON.stringify({ prompt })}\n`);
    }
    say(sessionId, JSON.stringify(prompt));
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  try {
    const answer = answers[method];
    send(answer ? { id, result: answer(params) } : { id, error: { code: -32601, message: 'no such method' } });
  } catch (error) {
    send({ id, error: { code: -32000, message: String(error) } });
  }
});
