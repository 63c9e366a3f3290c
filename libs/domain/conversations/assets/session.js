/* * The session page reads the event stream of one run and displays it. Output of agents is inserted as text, never as
 * markup. See docs/live-events.md for the stream.
 */
const TOKEN_KEY = 'headrace-token';
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const STATE_LOOK = {
  SUCCEEDED: 'good',
  FAILED: 'bad',
  ERROR: 'bad',
  CANCELLED: 'bad',
  BLOCKED: 'wait',
  QUEUED: 'wait',
};

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

const byId = (id) => document.getElementById(id);
const runId = location.pathname.replace(/\/+$/, '').split('/').pop() ?? '';
const runUrl = new URL(`../api/v1/agent/runs/${encodeURIComponent(runId)}`, location.href);

const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const clockOf = (text) => {
  const time = make('time', '', new Date(text).toLocaleString());
  time.dateTime = text;
  return time;
};

/** Moves a token from the fragment of the URL into the session storage of the tab, so that it leaves the address bar. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    sessionStorage.setItem(TOKEN_KEY, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN_KEY);
}

/** Calls the API about this run; throws an Error with the detail of a problem document. */
async function call(method, path, body) {
  const response = await fetch(runUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY)}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    cache: 'no-store',
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail ?? `The service returned status ${response.status}.`);
  return answer;
}

/* ---- display ---- */

function showState({ state, status_message: status }) {
  const hasEnded = ENDED.includes(state);
  byId('cancel').hidden = hasEnded;
  byId('followup').hidden = false;
  void showApprovals(state);
  const badge = byId('state');
  badge.textContent = state;
  badge.className = `badge ${STATE_LOOK[state] ?? ''}`;
  byId('message').hidden = !status;
  byId('message').textContent = status ? `${status.message}${debugNote(status)}` : '';
  byId('message').className = status?.error_code ? 'bad' : '';
}

async function showApprovals(state) {
  const { approvals } =
    state === 'BLOCKED' ? await call('GET', '/approvals').catch(() => ({ approvals: [] })) : { approvals: [] };
  const pending = approvals.filter((approval) => approval.state === 'pending');
  byId('pending').replaceChildren(...pending.map(approvalOf));
  byId('approvals').hidden = pending.length === 0;
}

function approvalOf({ approval_id: id, title, expires_at: expiresAt }) {
  const element = make('div', 'approval');
  const hint = make('p', 'hint');
  const decide = (decision) => async () => {
    element.querySelectorAll('button').forEach((button) => (button.disabled = true));
    try {
      await call('POST', `/approvals/${encodeURIComponent(id)}`, { decision });
      await showApprovals('BLOCKED');
    } catch (error) {
      hint.textContent = error.message;
      element.querySelectorAll('button').forEach((button) => (button.disabled = false));
    }
  };
  const button = (text, decision) => {
    const made = make('button', '', text);
    made.type = 'button';
    made.addEventListener('click', () => void decide(decision)());
    return made;
  };
  hint.append('Denied without an answer at ', clockOf(expiresAt), '.');
  element.append(
    make('p', '', title),
    button('Allow', 'allow'),
    button('Always allow', 'allow_always'),
    button('Deny', 'deny'),
    hint,
  );
  return element;
}

function debugNote({ session_debug_until: until, debug_agent_active: isActive }) {
  if (!until) return '';
  const open = `Open for debugging until ${new Date(until).toLocaleTimeString()}`;
  return `\n\n${open}${isActive ? '; the debug agent is working.' : ': a follow-up starts a debug agent.'}`;
}

function showRun(run) {
  byId('title').textContent = run.title;
  document.title = `${run.title} · Headrace`;
  const facts = byId('facts');
  facts.replaceChildren(clockOf(run.created_at));
  if (run.creator?.display_name) facts.append(` · ${run.creator.display_name}`);
  if (run.agent_config?.harness?.type) facts.append(` · ${run.agent_config.harness.type}`);
}

function addTimeline({ event_type: kind, occurred_at: at, payload }) {
  const item = make('li');
  item.append(clockOf(at), kind.replaceAll('_', ' '));
  const said = payload?.message ?? payload?.command ?? payload?.reason ?? payload?.title;
  if (typeof said === 'string') item.append(`: ${said}`);
  if (typeof payload?.exit_code === 'number') item.append(` (exit code ${payload.exit_code})`);
  if (typeof payload?.output === 'string' && payload.output !== '') item.append(folded('output', payload.output));
  byId('timeline').append(item);
}

function folded(title, text, open = false) {
  const details = make('details');
  details.open = open;
  details.append(make('summary', '', title), make('pre', '', text));
  return details;
}

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function blockOf(block) {
  switch (block.type) {
    case 'text':
      return make('div', 'text', block.text);
    case 'action': {
      const { command, paths, query, url, tool, description } = block.input;
      const what = command ?? paths ?? query ?? url ?? tool ?? description ?? '';
      const details = folded(block.name.replaceAll('_', ' '), asText(block.input));
      details.firstChild.append(' ', make('code', '', Array.isArray(what) ? what.join(', ') : String(what)));
      return details;
    }
    case 'action_result': {
      const failed = block.state === 'failed' || block.state === 'denied';
      const details = folded(block.state, asText(block.output.output ?? block.output) || '(no output)', failed);
      if (failed) details.firstChild.className = 'bad';
      return details;
    }
    default:
      if (block.name === 'thinking') return make('div', 'text thinking', block.data.text);
      if (block.name === 'plan')
        return make('div', 'text', block.data.entries.map((entry) => `${entry.status}: ${entry.content}`).join('\n'));
      if (block.name === 'lifecycle')
        return make('div', 'who', block.data.events.map((event) => event.event_type.replaceAll('_', ' ')).join(' · '));
      if (block.name === 'permission_request') return permissionRequest(block.data);
      if (block.name === 'permission_decision') return permissionDecision(block.data);
      return folded(block.name.replaceAll('_', ' '), asText(block.data));
  }
}

/** One line per request. Pending requests are decided above the conversation. */
const permissionRequest = ({ title }) => make('div', 'quiet', `Permission requested: ${title}`);

function permissionDecision({ decision, by, note, principal }) {
  const decidedBy = principal?.display_name ?? by;
  return make('div', 'quiet', `${decision.replaceAll('_', ' ')}, by ${decidedBy}${note ? `: ${note}` : ''}`);
}

/** The steps of the page by their path, each with the elements of its messages and nested steps. */
const steps = new Map();

function stepAt(path) {
  const key = path.join('.');
  const known = steps.get(key);
  if (known) return known;
  const parent = path.length > 1 ? stepAt(path.slice(0, -1)).children : byId('conversation');
  const step = { head: make('h3'), messages: make('div'), children: make('div') };
  const element = make('div', 'step');
  element.append(step.head, step.messages, step.children);
  parent.append(element);
  steps.set(key, step);
  return step;
}

function showConversation({ path, step: header, message_index: index, message }) {
  byId('quiet').hidden = true;
  const step = stepAt(path);
  step.head.replaceChildren(header.description ?? 'Step', ' ');
  if (header.started_at) step.head.append(clockOf(header.started_at));
  if (!header.completed_at) step.head.append(' …');
  if (message) {
    while (step.messages.children.length <= index) step.messages.append(make('div', 'message'));
    const place = step.messages.children[index];
    const open = [...place.querySelectorAll('details')].map((details) => details.open);
    place.className = `message ${message.role}`;
    place.replaceChildren(make('div', 'who', message.role), ...message.content.map(blockOf));
    // Opened details stay open when the message is updated.
    place.querySelectorAll('details').forEach((details, position) => (details.open ||= open[position] ?? false));
  }
  while (step.messages.children.length > header.message_count) step.messages.lastChild.remove();
}

const say = (text) => (byId('connection').textContent = text);

/* ---- the stream ---- */

/** Calls back with each event of an event stream; resolves when it closes. */
async function readStream(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map();
      for (const line of block.split('\n')) {
        const colon = line.indexOf(': ');
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
      }
      if (fields.has('data')) onEvent(fields.get('event'), fields.get('id'), JSON.parse(fields.get('data')));
    }
  }
}

let lastEventId = '';
const handlers = { state: showState, timeline: addTimeline, conversation: showConversation };

/** One connection. Resolves with the next action: `again`, `ended`, `unknown_token` or `refused`. */
async function watchOnce(token, onNews) {
  const response = await fetch(`${runUrl}/events`, {
    headers: { authorization: `Bearer ${token}`, ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
    cache: 'no-store',
  });
  if (response.status === 204) return 'ended';
  if (response.status === 401) return 'unknown_token';
  if (response.status === 429 || response.status >= 500) return 'again';
  if (!response.ok) {
    say((await response.json()).detail ?? `The service returned status ${response.status}.`);
    return 'refused';
  }
  say('Live.');
  let outcome = 'again';
  await readStream(response.body, (event, id, data) => {
    onNews();
    lastEventId = id || lastEventId;
    handlers[event]?.(data);
    if (event === 'end') outcome = data.reason === 'access_ended' ? 'unknown_token' : 'ended';
  });
  return outcome;
}

async function watch(token) {
  byId('ask').hidden = true;
  byId('again').hidden = true;
  byId('run').hidden = false;
  byId('forget').hidden = false;
  say('Connecting …');
  fetch(runUrl, { headers: { authorization: `Bearer ${token}` }, cache: 'no-store' })
    .then(async (response) => (response.ok ? showRun(await response.json()) : undefined))
    .catch(() => undefined);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const outcome = await watchOnce(token, () => (pause = FIRST_PAUSE_MS)).catch(() => 'again');
    if (outcome === 'ended') {
      say('The run has ended. A follow-up continues it.');
      byId('again').hidden = false;
      byId('again').onclick = () => {
        lastEventId = '';
        steps.clear();
        byId('conversation').replaceChildren();
        byId('timeline').replaceChildren();
        void watch(token);
      };
      return;
    }
    if (outcome === 'unknown_token') return ask('The token is invalid.');
    if (outcome === 'refused') return (byId('run').hidden = true);
    say('The connection was lost. Reconnecting …');
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function ask(why = '') {
  sessionStorage.removeItem(TOKEN_KEY);
  say(why);
  byId('run').hidden = true;
  byId('forget').hidden = true;
  byId('ask').hidden = false;
  byId('token').focus();
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const token = byId('token').value.trim();
  byId('token').value = '';
  sessionStorage.setItem(TOKEN_KEY, token);
  void watch(token);
});
byId('forget').addEventListener('click', () => {
  sessionStorage.removeItem(TOKEN_KEY);
  location.reload();
});

byId('cancel').addEventListener('click', async () => {
  byId('cancel').disabled = true;
  try {
    await call('POST', '/cancel');
  } catch (error) {
    say(error.message);
  } finally {
    byId('cancel').disabled = false;
  }
});
byId('followup').addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = byId('message-text');
  try {
    const { outcome } = await call('POST', '/followups', { message: text.value });
    text.value = '';
    byId('followup-result').textContent = `Accepted (${outcome.replaceAll('_', ' ')}).`;
    // A run that has ended has no open stream: the follow-up continues it.
    if (!byId('again').hidden) byId('again').click();
  } catch (error) {
    byId('followup-result').textContent = error.message;
  }
});

const token = takeToken();
if (token) void watch(token);
else ask();
