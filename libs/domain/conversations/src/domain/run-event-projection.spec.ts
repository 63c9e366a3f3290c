import { describe, expect, it } from 'vitest';
import { RunLogBuilder } from '#testing';
import type { Block, Step } from './conversation.js';
import { projectConversation } from '#testing';
import { RunEventProjection } from './run-event-projection.js';

const steps = (log: RunLogBuilder): Step[] => projectConversation('c', log.events).steps;
const blocks = (step: Step | undefined): Block[] => step?.messages.flatMap((message) => message.content) ?? [];
const states = (step: Step | undefined): unknown[] =>
  blocks(step).flatMap((block) => (block.type === 'action_result' ? [[block.action_id, block.state]] : []));

describe('attachments of a prompt', () => {
  it('are in the user’s message, after its text', () => {
    const attachments = [{ file_name: 'a.png', mime_type: 'image/png', size_bytes: 3 }];
    const log = new RunLogBuilder().add('turn_started', { turn_id: 't1', prompt: 'Look.', attachments });
    expect(steps(log.says('m', 'Nice.'))[0]?.messages).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'event', name: 'attachments', data: { attachments } },
        ],
      },
      { role: 'assistant' },
    ]);
  });
});

describe('a late update', () => {
  it('changes an open call of an earlier turn of the execution, and marks its step as changed', () => {
    const log = new RunLogBuilder()
      .inExecution('1')
      .turn('t1', 'a')
      .tool({ tool_call_id: 'c', title: 'x' })
      .ended('t1');
    log.turn('t2', 'b').ended('t2').turn('t3', 'c');
    const fold = new RunEventProjection();
    fold.add(log.events);
    const later = new RunEventProjection(structuredClone(fold.state));
    expect(later.changedFrom).toBe(2);
    later.add(log.tool({ tool_call_id: 'c', status: 'failed' }).events);
    expect(later.changedFrom).toBe(0);
    expect(states(later.render()[0])).toEqual([['c', 'failed']]);
    expect(blocks(later.render()[2])).toHaveLength(1);
  });

  it('is another call when the id has ended before, or belongs to another execution', () => {
    const settled = new RunLogBuilder()
      .inExecution('1')
      .turn('t1', 'a')
      .tool({ tool_call_id: 'c', status: 'completed' })
      .turn('t2', 'b');
    expect(steps(settled.tool({ tool_call_id: 'c', status: 'failed' })).map(states)).toEqual([
      [['c', 'completed']],
      [['c', 'failed']],
    ]);
    const other = new RunLogBuilder()
      .inExecution('1')
      .turn('t1', 'a')
      .tool({ tool_call_id: 'c' })
      .inExecution('2')
      .turn('t2', 'b');
    expect(steps(other.tool({ tool_call_id: 'c' })).map(states)).toEqual([[['c', 'failed']], [['c', 'running']]]);
  });

  it('is added to the last turn after its end, and closed by the next step', () => {
    const log = new RunLogBuilder().turn('t1', 'a').ended('t1').says('m', 'late').tool({ tool_call_id: 'c' });
    expect(steps(log)).toMatchObject([
      { id: 't1', messages: [{ role: 'user' }, { content: [{ text: 'late' }, { id: 'c' }] }, { role: 'tool' }] },
    ]);
    expect(steps(log.turn('t2', 'b')).map(states)).toEqual([[['c', 'completed']], []]);
  });
});

describe('missing events', () => {
  it('a turn’s start: one is made up, and ended by the next end', () => {
    const log = new RunLogBuilder().says('m', 'hello').ended('t7', 'refusal', 'No.');
    expect(steps(log)).toMatchObject([
      {
        id: 'turn-1',
        completed_at: expect.any(String),
        messages: [
          { role: 'assistant' },
          { content: [{ name: 'turn_ended', data: { stop_reason: 'refusal', message: 'No.' } }] },
        ],
      },
    ]);
  });

  it('a turn’s end: the run’s end closes what is open', () => {
    const open = () => new RunLogBuilder().turn('t1', 'a').tool({ tool_call_id: 'c', status: 'in_progress' });
    expect(states(steps(open().add('run_errored'))[0])).toEqual([['c', 'failed']]);
    expect(states(steps(open().add('run_done'))[0])).toEqual([['c', 'completed']]);
    expect(states(steps(open().add('run_blocked'))[0])).toEqual([['c', 'running']]);
  });

  it('accepts a missing end of a denied call', () => {
    const log = new RunLogBuilder().turn('t1', 'a').tool({ tool_call_id: 'c' });
    log
      .add('permission_requested', { approval_id: 'p', tool_call_id: 'c', title: 'x' })
      .add('permission_decided', { approval_id: 'p', decision: 'deny', by: 'policy' });
    expect(states(steps(log)[0])).toEqual([['c', 'running']]);
    expect(states(steps(log.ended('t1'))[0])).toEqual([['c', 'denied']]);
  });

  it('shows the work of an unknown delegating call in a separate step, and links the call when it arrives', () => {
    const log = new RunLogBuilder().turn('t1', 'a').tool({ tool_call_id: 'inner', parent_tool_call_id: 'outer' });
    log.tool({ tool_call_id: 'outer', title: 'Look around', status: 'completed' });
    expect(steps(log)).toMatchObject([
      { steps: [{ id: 'outer', description: 'Look around', completed_at: expect.any(String) }] },
    ]);
    expect(blocks(steps(log)[0])).toMatchObject([{ type: 'text' }, { name: 'start_agent' }, { name: 'start_agent' }]);
  });
});

describe('unusual events', () => {
  it('nests agents eight levels deep, deeper ones at the last level', () => {
    const log = new RunLogBuilder().turn('t1', 'a');
    for (let level = 0; level < 30; level += 1) {
      log.tool({ tool_call_id: `c${level}`, ...(level === 0 ? {} : { parent_tool_call_id: `c${level - 1}` }) });
    }
    let depth = 0;
    let step = steps(log)[0];
    for (; step?.steps[0]; step = step.steps[0]) depth += 1;
    expect(depth).toBe(8);
    expect(states(step)).toHaveLength(22);
  });

  it('ignores a call that is its own parent', () => {
    const log = new RunLogBuilder().turn('t1', 'a').tool({ tool_call_id: 'c', parent_tool_call_id: 'c' });
    expect(steps(log)).toMatchObject([{ steps: [] }]);
  });

  it('ignores data that are not objects and a repeated start of a turn', () => {
    const log = new RunLogBuilder().turn('t1', 'a').turn('t1', 'a');
    log.events.push({
      run_id: 'r',
      seq: 3,
      execution_id: null,
      kind: 'tool_call',
      at: new Date(0),
      data: null as never,
    });
    expect(steps(log)).toMatchObject([
      { id: 't1', messages: [{ role: 'user' }, { content: [{ id: 'call-3', name: 'other' }] }, { role: 'tool' }] },
    ]);
  });
});
