import { maskSecrets } from '#platform/kernel';
import { actionOf, resultState, actionInput, actionOutput } from './action.js';
import type { Block, JsonObject, Message, Role, Step } from './conversation.js';
import type { CallState, Entry, StepState } from './projection-state.js';
import { integerField } from './json-fields.js';
import { firstLine } from './summarise.js';

/** The wire form of a step. Neighbouring blocks of one role share a message. */
export function renderStep(step: StepState): Step {
  const starters = new Map(
    step.entries.flatMap((entry) => (entry.kind === 'call' ? [[entry.call.id, entry.call] as const] : [])),
  );
  return {
    id: step.id,
    ...(step.description === undefined ? {} : { description: step.description }),
    started_at: step.started_at,
    ...(step.completed_at === undefined ? {} : { completed_at: step.completed_at }),
    messages: messagesOf(step.entries),
    steps: step.steps.map((child) => describeAgent(renderStep(child), starters.get(child.id))),
  };
}

function describeAgent(step: Step, call: CallState | undefined): Step {
  const description = call && actionInput('start_agent', call).description;
  const line = typeof description === 'string' ? firstLine(description) : undefined;
  return line === undefined ? step : { ...step, description: line };
}

interface Part {
  role: Role;
  at: string;
  block: Block;
}

function messagesOf(entries: readonly Entry[]): Message[] {
  const drafts: { role: Role; at: string; blocks: Block[]; ids: Set<string> }[] = [];
  for (const { role, block, at } of entries.flatMap(partsOf)) {
    let draft = drafts.at(-1);
    if (draft?.role !== role) {
      draft = { role, at, blocks: [], ids: new Set() };
      drafts.push(draft);
    }
    draft.blocks.push(block);
    if (block.message_id !== undefined) draft.ids.add(block.message_id);
  }
  return drafts.map(({ role, at, blocks, ids }) => ({
    role,
    content: blocks,
    ...(ids.size === 0 ? {} : { message_ids: [...ids] }),
    timestamp: at,
  }));
}

function partsOf(entry: Entry): Part[] {
  const { at } = entry;
  switch (entry.kind) {
    case 'user':
    case 'text':
    case 'thinking': {
      const id = entry.message_id === undefined ? {} : { message_id: entry.message_id };
      const block: Block =
        entry.kind === 'thinking'
          ? { type: 'event', name: 'thinking', data: { text: entry.text }, ...id }
          : { type: 'text', text: entry.text, ...id };
      return [{ role: entry.kind === 'user' ? 'user' : 'assistant', at, block }];
    }
    case 'call':
      return callParts(entry.call, at);
    case 'event':
      return [{ role: entry.role, at, block: { type: 'event', name: entry.name, data: entry.data } }];
    case 'lifecycle':
      return [{ role: 'system', at, block: { type: 'event', name: 'lifecycle', data: { events: entry.events } } }];
  }
}

function callParts(call: CallState, at: string): Part[] {
  const action = actionOf(call);
  const input = maskSecrets(actionInput(action.name, call)) as JsonObject;
  const output = maskSecrets(actionOutput(action.name, call)) as JsonObject;
  const state = resultState(call, integerField(output, 'exit_code'));
  return [
    { role: 'assistant', at, block: { type: 'action', id: call.id, ...action, input } },
    { role: 'tool', at, block: { type: 'action_result', action_id: call.id, ...action, state, output } },
  ];
}
