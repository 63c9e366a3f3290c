import { describe, expect, it } from 'vitest';
import { containerEnd, imageFault, isIncompatibleImage } from './container-exit.js';
import { EngineError, EngineUnreachable } from './engine-connection.js';

const about = { image: 'alpine:3', memoryBytes: 512 * 1_048_576, tail: 'exec node failed' };
const state = (exitCode: number, isOutOfMemory = false) => ({ isRunning: false, exitCode, isOutOfMemory, error: '' });

describe('containerEnd', () => {
  it.each([
    [0, { kind: 'exited', code: 0 }],
    [69, { kind: 'exited', code: 69 }],
    [126, { kind: 'setup_failed', message: expect.stringContaining('exec node failed'), exitCode: 126 }],
    [127, { kind: 'setup_failed', message: expect.stringContaining('alpine:3'), exitCode: 127 }],
    [137, { kind: 'exited', code: 137 }],
  ])('classifies exit code %d', (exitCode, end) => {
    expect(containerEnd(state(exitCode), about)).toMatchObject(end);
  });

  it('distinguishes out-of-memory from other exits, and reported from unreported ends', () => {
    expect(containerEnd(state(137, true), about)).toMatchObject({
      kind: 'agent_failed',
      message: expect.stringContaining('512 MiB'),
      exitCode: 137,
    });
    expect(containerEnd(state(0, true), about)).toMatchObject({ kind: 'exited', code: 0 });
    expect(containerEnd(null, about)).toMatchObject({ kind: 'vanished', reason: 'container_removed' });
  });
});

describe('imageFault', () => {
  it.each([
    ['No such image: alpine:3', 'could not be started'],
    ['unable to find user dev: no matching entries in passwd file', 'could not be started'],
    ['exec /opt/headrace/bin/node: exec format error', 'cannot run Headrace’s runner'],
  ])('blames the image for: %s', (message, expected) => {
    expect(imageFault(new EngineError(400, message), 'alpine:3')?.message).toContain(expected);
  });

  it('does not blame the image for a fault of the engine', () => {
    expect(imageFault(new EngineError(500, 'no space left on device'), 'alpine:3')).toBeNull();
    expect(imageFault(new EngineUnreachable('no such image'), 'alpine:3')).toBeNull();
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
