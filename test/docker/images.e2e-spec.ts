import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutorInstallation } from '../support/executor-installation.js';
import { startInstallation } from './docker-installation.js';
import { BASE_IMAGE, imageOf } from './images.js';

describe('images', () => {
  let installation: ExecutorInstallation;

  beforeAll(async () => {
    installation = await startInstallation();
  });
  afterAll(() => installation.stop());
  afterEach(() => installation.nothingIsLeft());

  it('pass their variables to setup commands and agents, and nothing else of their configuration', async () => {
    const { run, conversation } = await installation.execute('cat made; echo "agent $TOOLCHAIN"', {
      docker_image: imageOf('special'),
      setup_commands: ['echo "setup $TOOLCHAIN" > made'],
    });
    expect(run.state).toBe('SUCCEEDED');
    for (const text of ['setup stable-9', 'agent stable-9']) expect(conversation).toContain(text);
  });

  it('choose the user of runner and agent', async () => {
    const { run, conversation } = await installation.execute('id', { docker_image: imageOf('user') });
    expect(run.state).toBe('SUCCEEDED');
    expect(conversation).toContain('uid=1234(dev)');
  });

  it.each([
    ['does not exist', 'headrace.invalid/no/such:image', 'headrace.invalid/no/such:image'],
    ['has an invalid name', 'Not A Name', 'Not A Name'],
    ['has no dynamic loader', imageOf('static'), 'cannot run Headrace’s runner'],
    ['has no libstdc++', imageOf('noLibstdcxx'), 'cannot run Headrace’s runner'],
    ['has an unknown user', imageOf('unknownUser'), 'nobody-knows'],
  ])('fail the run when the image %s', async (_case, image, message) => {
    const { run } = await installation.execute('echo never', { docker_image: image });
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: expect.stringContaining(message) },
    });
  });
});

describe('settings of containers', () => {
  it('override the user of the image with DOCKER_USER', async () => {
    const installation = await startInstallation({ DOCKER_USER: '4321:4321' });
    try {
      const { conversation } = await installation.execute('id', { docker_image: imageOf('user') });
      expect(conversation).toContain('uid=4321');
    } finally {
      await installation.stop();
    }
  });

  it.each([
    ['DOCKER_RUNTIME', 'no-such-runtime'],
    // The storage driver of this engine cannot limit the disk.
    ['DOCKER_DISK_BYTES', '1000000000'],
  ])('end a run with resource_unavailable when the engine rejects %s', async (setting, value) => {
    const installation = await startInstallation({ [setting]: value, DOCKER_DEFAULT_IMAGE: BASE_IMAGE });
    try {
      const { run } = await installation.execute('echo never');
      expect(run).toMatchObject({ state: 'ERROR', status_message: { error_code: 'resource_unavailable' } });
      expect(installation.log).toContain('container_refused');
      await installation.nothingIsLeft();
    } finally {
      await installation.stop();
    }
  });
});
