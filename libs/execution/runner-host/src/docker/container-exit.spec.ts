import { describe, expect, it } from 'vitest';
import { classifyContainerExit, isIncompatibleImage } from './container-specification.js';

const about = {
  image: 'alpine:3',
  memoryBytes: 512 * 1_048_576,
  tail: 'exec node failed',
  runnerApiUrl: 'http://host.docker.internal:3000',
};
const state = (exitCode: number, isOutOfMemory = false) => ({ isRunning: false, exitCode, isOutOfMemory, error: '' });

describe('classifyContainerExit', () => {
  it.each([
    [0, { kind: 'in_order' }],
    [69, { kind: 'lost', reason: 'runner_exit_69', hint: expect.stringContaining('RUNNER_API_URL') }],
    [75, { kind: 'lost', reason: 'runner_exit_75' }],
    [126, { kind: 'failed', code: 'environment_setup_failed', message: expect.stringContaining('exec node failed') }],
    [127, { kind: 'failed', code: 'environment_setup_failed', message: expect.stringContaining('alpine:3') }],
    [137, { kind: 'lost', reason: 'runner_exit_137' }],
  ])('of exit code %d', (exitCode, verdict) => {
    expect(classifyContainerExit(state(exitCode), about)).toMatchObject(verdict);
  });

  it('distinguishes out-of-memory from other exits, and reported from unreported ends', () => {
    expect(classifyContainerExit(state(137, true), about)).toMatchObject({
      kind: 'failed',
      code: 'agent_process_failed',
    });
    // A process in the container was killed, but the runner has reported the outcome of the run.
    expect(classifyContainerExit(state(0, true), about)).toEqual({ kind: 'in_order' });
    expect(classifyContainerExit(null, about)).toEqual({ kind: 'lost', reason: 'container_removed' });
  });
});

describe('isIncompatibleImage', () => {
  it.each([
    [
      'failed to create task: exec: "/opt/headrace/bin/node": stat /opt/headrace/bin/node: no such file or directory',
      true,
    ],
    ['exec /opt/headrace/bin/node: exec format error', true],
    ['exec: "x": executable file not found in $PATH', true],
    ['invalid mount config for type "bind": bind source path does not exist: /srv/headrace/dist', false],
    ['no space left on device', false],
  ])('%s', (message, expected) => {
    expect(isIncompatibleImage(message)).toBe(expected);
  });
});
