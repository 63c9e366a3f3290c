import type { Schemas } from '../../api/client';
import { Markdown } from '../../components/markdown';
import { Time } from '../../components/basics';
import type { LiveStep, Message } from './live-run';

type Block = Message['content'][number];
type Action = Extract<Block, { type: 'action' }>;
type Result = Extract<Block, { type: 'action_result' }>;

type Event = Extract<Block, { type: 'event' }>;
const isAction = (block: Block): block is Action => block.type === 'action';
const isShownEvent = (block: Block): block is Event => block.type === 'event' && block.name !== 'lifecycle';

const MAX_SHOWN = 20_000;
const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
const shortened = (value: string): string =>
  value.length <= MAX_SHOWN ? value : `${value.slice(0, MAX_SHOWN)}\n… ${value.length - MAX_SHOWN} characters more`;

export function Conversation({ steps }: { readonly steps: readonly LiveStep[] }) {
  return (
    <div class="history">
      {steps.map((step) => (
        <StepView key={step.id} step={step} />
      ))}
    </div>
  );
}

function StepView({ step }: { readonly step: LiveStep }) {
  const results = new Map<string, Result>();
  for (const { content } of step.messages)
    for (const block of content) if (block.type === 'action_result') results.set(block.action_id, block);
  return (
    <>
      {step.messages.map((message, index) => (
        <MessageView key={message.message_ids?.[0] ?? index} message={message} results={results} />
      ))}
      {step.steps.map((nested) => (
        <details class="call card" key={nested.id}>
          <summary>{nested.description ?? 'Delegated work'}</summary>
          <div class="inside">
            <StepView step={nested} />
          </div>
        </details>
      ))}
    </>
  );
}

const WHO: Readonly<Record<string, string>> = { user: 'User', assistant: 'Agent', system: 'System', tool: 'Tool' };

function MessageView({
  message,
  results,
}: {
  readonly message: Message;
  readonly results: ReadonlyMap<string, Result>;
}) {
  const { role, content, timestamp } = message;
  const texts = content.filter((block) => block.type === 'text');
  // The timeline shows the lifecycle.
  const others = content.filter((block) => isAction(block) || isShownEvent(block));
  return (
    <>
      {texts.length > 0 && (
        <article class={`message card ${role}`}>
          <div class="who">
            {WHO[role] ?? role}
            {timestamp !== undefined && <Time at={timestamp} />}
          </div>
          {texts.map((block) => (
            <Markdown text={block.text} />
          ))}
        </article>
      )}
      {others.map((block) =>
        block.type === 'action' ? (
          <ActionView key={block.id} action={block} result={results.get(block.id)} />
        ) : (
          <EventView name={block.name} data={block.data as Record<string, unknown>} />
        ),
      )}
    </>
  );
}

const RESULT: Readonly<Record<string, string>> = { running: '…', completed: '✓', failed: '✕', denied: '⃠' };

function ActionView({ action, result }: { readonly action: Action; readonly result: Result | undefined }) {
  const input = action.input as Record<string, unknown>;
  const { command } = input;
  const subject = command ?? input['path'] ?? input['title'] ?? input['query'] ?? input['url'] ?? '';
  const state = result?.state ?? 'running';
  return (
    <details class="call card" data-action={action.name} data-state={state}>
      <summary>
        <span class={state === 'failed' || state === 'denied' ? 'failure' : 'muted'} title={state}>
          {RESULT[state]}{' '}
        </span>
        {action.name.replaceAll('_', ' ')} <code>{shortened(text(subject)).split('\n')[0]}</code>
      </summary>
      <div class="inside">
        <pre tabIndex={0}>{shortened(typeof command === 'string' ? command : text(action.input))}</pre>
        {result && <pre tabIndex={0}>{shortened(outputOf(result.output))}</pre>}
      </div>
    </details>
  );
}

function outputOf(output: Schemas['ActionResultBlock']['output']): string {
  const fields = output as Record<string, unknown>;
  const known = fields['output'] ?? fields['text'] ?? fields['stdout'];
  if (typeof known !== 'string') return text(output);
  const code = fields['exit_code'];
  return typeof code === 'number' && code !== 0 ? `${known}\nExit code ${code}` : known;
}

function EventView({ name, data }: { readonly name: string; readonly data: Record<string, unknown> }) {
  const said = data['text'] ?? data['message'];
  return (
    <details class="call card">
      <summary class="muted">{name.replaceAll('_', ' ')}</summary>
      <div class="inside">
        {typeof said === 'string' ? <Markdown text={said} /> : <pre tabIndex={0}>{shortened(text(data))}</pre>}
      </div>
    </details>
  );
}
