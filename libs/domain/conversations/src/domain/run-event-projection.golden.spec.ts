import { describe, expect, it } from 'vitest';
import { RunLogBuilder } from '#testing';
import { projectConversation } from '#testing';

/** One conversation a file, whole and as it goes over the wire. A change here is a change that clients see. */
async function expectGolden(name: string, log: RunLogBuilder): Promise<void> {
  const json = `${JSON.stringify(projectConversation('conversation-1', log.events), null, 2)}\n`;
  await expect(json).toMatchFileSnapshot(`../../test-fixtures/${name}.json`);
}

const prepared = () => new RunLogBuilder().prepared();

describe('golden conversations', () => {
  it('edits a file, runs a failing and then a passing command', async () => {
    const log = prepared()
      .turn('t1', 'Fix the test\n\nIt fails since yesterday.')
      .add('thought_chunk', { message_id: 'm0', text: 'Look at ' })
      .add('thought_chunk', { message_id: 'm0', text: 'the test first.' })
      .says('m1', 'I will run', ' the test.')
      .tool({
        tool_call_id: 'c1',
        title: '`npm test`',
        tool_kind: 'execute',
        status: 'pending',
        input: { command: 'npm test', cwd: '/w' },
      })
      .tool({ tool_call_id: 'c1', status: 'in_progress', content: [{ type: 'terminal', text: '1 failed\n' }] })
      .tool({ tool_call_id: 'c1', status: 'failed', output: { output: '1 failed\n', exit_code: 1 } })
      .says('m2', 'It expects 2.')
      .tool({
        tool_call_id: 'c2',
        title: 'Edit src/sum.ts',
        tool_kind: 'edit',
        status: 'completed',
        input: { path: 'src/sum.ts' },
        content: [{ type: 'diff', path: 'src/sum.ts', old_text: 'return 1;', new_text: 'return 2;' }],
        locations: [{ path: 'src/sum.ts', line: 3 }],
      })
      .tool({
        tool_call_id: 'c3',
        tool_kind: 'execute',
        status: 'completed',
        input: { command: 'npm test' },
        output: { output: 'ok\n', exit_code: 0 },
      })
      .says('m3', 'Done.')
      .add('usage', { total_tokens: 12 })
      .ended('t1')
      .add('run_done');
    await expectGolden('edit-fail-pass', log);
  });

  it('asks for permission: one allowed, one denied', async () => {
    const options = [{ option_id: 'y', name: 'Allow', kind: 'allow_once' }];
    const log = prepared()
      .turn('t1', 'Deploy')
      .tool({ tool_call_id: 'c1', tool_kind: 'execute', status: 'pending', input: { command: 'make deploy' } })
      .add('permission_requested', { approval_id: 'a1', tool_call_id: 'c1', title: 'make deploy', options, ask: true })
      .add('run_blocked')
      .add('permission_decided', {
        approval_id: 'a1',
        decision: 'allow',
        by: 'user',
        note: 'go',
        principal: { type: 'user', uid: 'u1' },
      })
      .tool({ tool_call_id: 'c1', status: 'completed', output: 'deployed' })
      .tool({ tool_call_id: 'c2', tool_kind: 'delete', status: 'pending', input: { path: 'data' } })
      .add('permission_requested', { approval_id: 'a2', tool_call_id: 'c2', title: 'delete data', options, ask: true })
      .add('permission_decided', { approval_id: 'a2', decision: 'deny', by: 'timeout' })
      .tool({ tool_call_id: 'c2', status: 'failed' })
      .ended('t1');
    await expectGolden('permissions', log);
  });

  it('keeps only the latest plan of a turn', async () => {
    const log = prepared()
      .turn('t1', 'Plan it')
      .add('plan', { entries: [{ content: 'look', status: 'in_progress' }] })
      .says('m1', 'Looking.')
      .add('mode_changed', { mode_id: 'code' })
      .add('plan', {
        entries: [
          { content: 'look', status: 'completed' },
          { content: 'write', status: 'pending', priority: 'high' },
        ],
      })
      .ended('t1')
      .turn('t2', 'Again')
      .add('plan', { entries: [] })
      .ended('t2');
    await expectGolden('plan', log);
  });

  it('nests the work of a delegated agent, and of the agent that it starts', async () => {
    const log = prepared()
      .turn('t1', 'Delegate')
      .tool({
        tool_call_id: 'task',
        tool_name: 'Task',
        tool_kind: 'think',
        title: 'Research',
        status: 'in_progress',
        input: { description: 'Find the bug', prompt: 'Find it.', subagent_type: 'explorer' },
      })
      .add('message_chunk', { message_id: 's1', text: 'Searching', parent_tool_call_id: 'task' })
      .says('m1', 'Meanwhile.')
      .tool({
        tool_call_id: 'grep',
        tool_kind: 'search',
        title: 'grep bug',
        status: 'completed',
        input: { pattern: 'bug' },
        output: 'a.ts:1',
        parent_tool_call_id: 'task',
      })
      .tool({
        tool_call_id: 'inner',
        tool_kind: 'other',
        title: 'Helper',
        status: 'in_progress',
        parent_tool_call_id: 'task',
      })
      .add('message_chunk', { message_id: 's1', text: 'deep', parent_tool_call_id: 'inner' })
      .tool({ tool_call_id: 'inner', status: 'completed', output: 'found' })
      .add('message_chunk', { message_id: 's2', text: 'Found.', parent_tool_call_id: 'task' })
      .tool({
        tool_call_id: 'task',
        status: 'completed',
        output: { content: [{ type: 'text', text: 'It is in a.ts.' }] },
      })
      .ended('t1');
    await expectGolden('delegation', log);
  });

  it('closes open calls of a cancelled turn, and continues in a new execution', async () => {
    const log = prepared()
      .turn('t1', 'Sleep')
      .tool({ tool_call_id: 'c1', tool_kind: 'execute', status: 'in_progress', input: { command: 'sleep 600' } })
      .add('run_cancelled')
      .ended('t1', 'cancelled')
      .add('sandbox_shutdown', { reason: 'cancelled' })
      .add('followup_received', { followup_id: 'f1' })
      .inExecution('2')
      .add('run_claimed')
      .add('session_started', { session_id: 's1', resumed: true })
      .add('agent_started', { harness: 'oz' })
      .turn('t2', '')
      .tool({ tool_call_id: 'c1', tool_kind: 'execute', status: 'completed', input: { command: 'true' } })
      .ended('t2')
      .add('run_done');
    await expectGolden('cancelled-and-continued', log);
  });

  it('shows a failed set-up', async () => {
    const log = new RunLogBuilder()
      .add('run_created', { source: 'API' })
      .inExecution('1')
      .add('run_claimed')
      .add('setup_started', { commands: 1 })
      .add('setup_command_finished', {
        index: 0,
        command: 'git clone https://me:hunter2@example.org/x.git',
        exit_code: 128,
        duration_ms: 7,
        output: 'fatal: no https://me:hunter2@example.org',
      })
      .add('run_failed', { message: 'Set-up failed.', error_code: 'environment_setup_failed' })
      .add('sandbox_shutdown', { reason: 'failed' });
    await expectGolden('setup-failed', log);
  });
});
